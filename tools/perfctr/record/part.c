// SPDX-License-Identifier: MIT
/* A file of perfctr record --switch-output: its limits, its name and its totals. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "common/number.h"
#include "lib/capture_file.h"
#include "record.h"

enum { MS_PER_S = 1000 };

int record_take_switch(const struct app *app, void *to, const char *text)
{
	const bool has_unit = text[strspn(text, "0123456789.")];
	struct record_switch_options *o = to;
	uint64_t value;

	if (has_unit && !number_parse_count(text, &value) && value)
		o->bytes = value;
	else if (has_unit && !number_parse_time(text, 1, &value) && value)
		o->ns = value;
	else
		return app_usage(app,
				 "--switch-output %s: give a size such as 100M, or a time such as "
				 "10s or 5m",
				 text);
	return 0;
}

int record_stem(const char *path, const char **suffix)
{
	const size_t length = strlen(path), own = strlen(".zst");
	const bool is_packed = length > own && !strcmp(path + length - own, ".zst");

	*suffix = is_packed ? ".zst" : "";
	return (int)(length - (is_packed ? own : 0));
}

/* Name a file by its time. Return: whether the names fit. */
static bool set_names(struct record_switch *s, const char *path, int64_t ms)
{
	const time_t seconds = (time_t)(ms / MS_PER_S);
	const char *suffix;
	const int stem = record_stem(path, &suffix);
	char stamp[40] = "";
	struct tm utc;

	if (gmtime_r(&seconds, &utc))
		strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &utc);
	return snprintf(s->name, sizeof(s->name), "%.*s.%s.%03dZ%s", stem, path, stamp,
			(int)(ms % MS_PER_S), suffix) < (int)sizeof(s->name) &&
	       snprintf(s->part, sizeof(s->part), "%s%s", s->name, CAPTURE_PART) <
		       (int)sizeof(s->part);
}

/* Return: as record_open_part(). */
static int open_part(struct record *r)
{
	struct record_switch *s = &r->switching;
	struct timespec now;
	struct stat st;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
	/* names sort also after the clock was set back */
	ms = ms > s->named_ms ? ms : s->named_ms + 1;
	for (int n = 0; n < OUTPUT_PARTS; n++, ms++) {
		int fd;

		if (!set_names(s, r->options.counting.output, ms))
			return -ENAMETOOLONG;
		if (!lstat(s->name, &st))
			continue;
		fd = open(s->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0)
			return -errno;
		/* so readers know that it is being written; not every file system has locks */
		flock(fd, LOCK_EX | LOCK_NB);
		s->named_ms = ms;
		s->begun_ns = perfctr_time_raw_ns();
		return fd;
	}
	return -EEXIST;
}

int record_open_part(struct record *r)
{
	const int fd = open_part(r);

	/* what has the name, if anything, is another one's */
	if (fd < 0)
		r->switching.part[0] = '\0';
	return fd;
}

struct drm_perfctr_status record_part_status(const struct record *r, unsigned int session,
					     bool goes_on)
{
	const struct counted *d = &r->options.counting.counted[session];
	const struct record_origin *from = &r->switching.origins[session];
	struct drm_perfctr_status part = d->status;

	/* samples that were published after the last one in the file are in the next file */
	if (goes_on) {
		part.published = d->taken;
		part.extract_idx = part.insert_idx;
		part.pending_merged = 0;
	}
	part.published -= from->taken;
	part.merged_periods -= from->status.merged_periods;
	part.merged_others -= from->status.merged_others;
	part.lost_ns -= from->status.lost_ns;
	part.errors -= from->status.errors;
	part.overflows -= from->status.overflows;
	part.resets -= from->status.resets;
	part.bad_extract -= from->status.bad_extract;
	part.ring_full -= from->status.ring_full;
	part.wakeups -= from->status.wakeups;
	return part;
}
