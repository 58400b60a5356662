// SPDX-License-Identifier: MIT
/* Blocks signals and reads them from a signalfd. */
#include "signals.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int signals_catch(const struct app *app, struct signals *signals, const int *more)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	while (*more)
		sigaddset(&set, *more++);
	sigprocmask(SIG_BLOCK, &set, &signals->before);
	signals->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals->fd >= 0)
		return 0;
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
	app_error(app, "signalfd: %s", strerror(errno));
	return EXIT_FAILED;
}

bool signals_next(const struct signals *signals, struct signalfd_siginfo *info)
{
	return read(signals->fd, info, sizeof(*info)) == sizeof(*info);
}

void signals_release(struct signals *signals)
{
	struct signalfd_siginfo info;

	if (signals->fd < 0)
		return;
	while (signals_next(signals, &info))
		;
	close(signals->fd);
	signals->fd = -1;
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
}
