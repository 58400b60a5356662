// SPDX-License-Identifier: MIT
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "lib/app.h"

int main(int argc, char **argv)
{
	struct app app = { .out = stdout, .err = stderr };
	int status, error;

	/* "perfctr list | head" ends quietly, whatever the caller ignores */
	signal(SIGPIPE, SIG_DFL);
	/* characters of the terminal only: numbers keep their point */
	setlocale(LC_CTYPE, "");
	error = perfctr_ctx_new(&app.ctx);
	if (error) {
		app_error(&app, "%s", strerror(-error));
		return EXIT_FAILED;
	}
	status = app_run(&app, argc, argv);
	perfctr_ctx_unref(app.ctx);
	error = app_flush(stdout);
	/* a command that failed has said why */
	if (error && status == EXIT_FAILED)
		return status;
	if (error) {
		app_error(&app, "writing the result: %s", strerror(-error));
		return EXIT_FAILED;
	}
	return status;
}
