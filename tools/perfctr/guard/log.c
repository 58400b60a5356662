// SPDX-License-Identifier: MIT
/* The log: evidence as JSON lines, and lines for people. Both processes append to it. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "guard.h"
#include "lib/json.h"

struct json_object *log_record(const char *kind, const struct budget *budget)
{
	struct json_object *o = json_object_new_object();
	struct timespec now;
	struct tm utc;
	char text[40];
	size_t length;

	clock_gettime(CLOCK_REALTIME, &now);
	length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
	snprintf(text + length, sizeof(text) - length, ".%06ldZ", now.tv_nsec / 1000);
	json_add_text(o, "record", kind);
	json_add_text(o, "time", text);
	json_add_u64(o, "raw_ns", perfctr_time_raw_ns());
	json_add_text(o, "budget", budget->name);
	return o;
}

void log_write(const struct guard *guard, const struct budget *budget, struct json_object *record,
	       const char *format, ...)
{
	va_list args;

	if (format && !guard->quiet) {
		fprintf(guard->app->err, "perfctr guard: %s: ", budget->name);
		va_start(args, format);
		vfprintf(guard->app->err, format, args);
		va_end(args);
		fputc('\n', guard->app->err);
	}
	if (!guard->log) {
		json_object_put(record);
		return;
	}
	json_write(guard->log, record, false);
	/* a line that was written survives the process */
	fflush(guard->log);
}

void policy_on_loss(struct guard *guard, struct budget *b, const char *reason)
{
	const int error = target_set(&b->target, b->freeze_on_loss);
	struct json_object *o = log_record("loss", b);

	b->held = b->freeze_on_loss;
	json_add_text(o, "reason", reason);
	json_add_text(o, "on_loss", b->freeze_on_loss ? "freeze" : "release");
	json_add_text(o, "action", target_action_name(b->target.action));
	json_add_text(o, "error", error && error != -ESRCH ? strerror(-error) : NULL);
	b->sums.losses++;
	log_write(guard, b, o, "counts are lost: %s; %s", reason,
		  b->freeze_on_loss ? "the target is held" : "the target is released");
}
