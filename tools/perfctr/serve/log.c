// SPDX-License-Identifier: MIT
/* One line of the log, written at once. */
#include "log.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "lib/app.h"
#include "lib/json.h"

enum { LINE_BYTES = 1024 };

/*
 * One write() for a line: processes that share the file do not mix their lines. A line that could
 * not be written is reported with the next one.
 */
static void put(struct serve_log *log, const char *line, size_t length)
{
	fwrite(line, 1, length, log->to);
	if (app_flush(log->to))
		log->suppressed++;
}

static void put_json(struct serve_log *log, const char *event, const struct serve_peer *peer,
		     const char *text)
{
	struct json_object *o = json_object_new_object();
	struct timespec now;
	char *line = NULL;
	size_t length = 0;
	FILE *memory;

	clock_gettime(CLOCK_REALTIME, &now);
	json_add_double(o, "time_s", (double)now.tv_sec + (double)(now.tv_nsec / 1000) * 1e-6);
	json_add_text(o, "event", event);
	if (peer) {
		json_add_u64(o, "client", peer->number);
		json_add_u64(o, "uid", peer->uid);
		json_add_u64(o, "pid", (uint64_t)peer->pid);
	}
	json_add_text(o, "text", text);
	memory = open_memstream(&line, &length);
	if (!memory) {
		json_object_put(o);
		return;
	}
	json_write(memory, o, false);
	if (!fclose(memory))
		put(log, line, length);
	free(line);
}

static void put_line(struct serve_log *log, const char *event, const struct serve_peer *peer,
		     const char *text)
{
	char line[LINE_BYTES];
	int length;

	if (log->json) {
		put_json(log, event, peer, text);
		return;
	}
	if (peer)
		length = snprintf(line, sizeof(line),
				  "perfctr serve: client %lu (uid %u, pid %d): %s: %s\n",
				  peer->number, peer->uid, peer->pid, event, text);
	else
		length = snprintf(line, sizeof(line), "perfctr serve: %s: %s\n", event, text);
	if (length > 0)
		put(log, line, length < LINE_BYTES ? (size_t)length : LINE_BYTES - 1);
}

void serve_log_line(struct serve_log *log, const char *event, const struct serve_peer *peer,
		    const char *format, ...)
{
	char text[LINE_BYTES / 2];
	struct timespec now;
	va_list args;

	if (!log->to)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != log->second) {
		log->second = now.tv_sec;
		log->lines = 0;
	}
	if (log->lines >= SERVE_LOG_LINES_PER_S) {
		log->suppressed++;
		return;
	}
	if (log->suppressed) {
		snprintf(text, sizeof(text), "%lu lines left out", log->suppressed);
		log->suppressed = 0;
		put_line(log, "left-out", NULL, text);
	}
	log->lines++;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put_line(log, event, peer, text);
}
