// SPDX-License-Identifier: MIT
/* Times of captures that --from and --to choose, as GNU date takes them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "capture_file.h"
#include "common/number.h"

/* Skip blanks. */
static const char *after_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

/* A number and the end behind it. Return: false: there is none. */
static bool take_number(const char **text, long long most, long long *number)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*number = strtoll(*text, &end, 10);
	*text = end;
	return *number <= most;
}

/* "2 hours ago" */
static bool parse_ago(const char *text, time_t now, long long *seconds)
{
	static const struct {
		const char *name;
		long long seconds;
	} units[] = {
		{ "second", 1 },  { "sec", 1 },	    { "minute", 60 },	{ "min", 60 },
		{ "hour", 3600 }, { "day", 86400 }, { "week", 604800 },
	};
	const long long most = 100LL * 366 * 86400;
	long long count;
	size_t length;

	if (!take_number(&text, most, &count))
		return false;
	text = after_blanks(text);
	for (size_t n = 0; n < ARRAY_SIZE(units); n++) {
		length = strlen(units[n].name);
		if (strncmp(text, units[n].name, length))
			continue;
		length += text[length] == 's';
		if (strcmp(after_blanks(text + length), "ago") || count > most / units[n].seconds)
			continue;
		*seconds = (long long)now - count * units[n].seconds;
		return true;
	}
	return false;
}

/* "", "Z", "UTC", "+01:00", "+0100". @offset: seconds east of Greenwich; @is_local: it is "" */
static bool parse_zone(const char *text, long *offset, bool *is_local)
{
	int hours, minutes = 0, end = 0;
	char sign;

	text = after_blanks(text);
	*offset = 0;
	*is_local = !*text;
	if (!*text || !strcmp(text, "Z") || !strcmp(text, "UTC"))
		return true;
	if (sscanf(text, "%c%2d:%2d%n", &sign, &hours, &minutes, &end) < 3 &&
	    sscanf(text, "%c%2d%2d%n", &sign, &hours, &minutes, &end) < 3)
		sscanf(text, "%c%2d%n", &sign, &hours, &end);
	if (!end || text[end])
		return false;
	if ((sign != '+' && sign != '-') || hours < 0 || hours > 14 || minutes < 0 || minutes > 59)
		return false;
	*offset = (sign == '-' ? -60 : 60) * (60L * hours + minutes);
	return true;
}

/* "2026-11-30", "2026-11-30 12:00", "2026-11-30T12:00:00+01:00" */
static bool parse_date(const char *text, long long *seconds)
{
	struct tm tm = { .tm_isdst = -1 }, same;
	const char *end = strptime(text, "%Y-%m-%d", &tm), *clock;
	bool is_local;
	long offset;

	if (!end)
		return false;
	clock = after_blanks(end + (*end == 'T'));
	if (clock != end && isdigit((unsigned char)*clock)) {
		end = strptime(clock, "%H:%M", &tm);
		if (end && *end == ':')
			end = strptime(end + 1, "%S", &tm);
	}
	if (!end || !parse_zone(end, &offset, &is_local))
		return false;
	same = tm;
	*seconds = is_local ? mktime(&same) : timegm(&same);
	/* there is no February 30 */
	if (same.tm_mday != tm.tm_mday || same.tm_mon != tm.tm_mon)
		return false;
	*seconds -= offset;
	return true;
}

/* Midnight so many days ago. */
static long long midnight(time_t now, int days)
{
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_mday -= days;
	tm.tm_isdst = -1;
	return mktime(&tm);
}

static bool parse(const char *text, time_t now, long long *seconds)
{
	const char *number = text + 1;

	if (*text == '@')
		return take_number(&number, INT64_MAX / (int64_t)NS_PER_S, seconds) && !*number;
	if (!strcmp(text, "now"))
		*seconds = now;
	else if (!strcmp(text, "today") || !strcmp(text, "yesterday"))
		*seconds = midnight(now, *text == 'y');
	else
		return parse_ago(text, now, seconds) || parse_date(text, seconds);
	return true;
}

int capture_take_time(const struct app *app, void *to, const char *text)
{
	struct capture_time *at = to;
	long long seconds;

	if (!parse(text, time(NULL), &seconds) || seconds < 0 ||
	    seconds > INT64_MAX / (int64_t)NS_PER_S)
		return app_usage(app,
				 "time '%s': give one as 2026-11-30, '2026-11-30 12:00' or "
				 "2026-11-30T12:00:00Z, also +01:00, or '2 hours ago', yesterday, "
				 "today, now, @SECONDS since 1970",
				 text);
	*at = (struct capture_time){ true, (uint64_t)seconds * NS_PER_S };
	return 0;
}

/* When a capture begins. Return: false: it has no time of day. */
static bool begin_of(const struct capture *capture, uint64_t *ns)
{
	for (const struct capture_file *f = capture->files; f < capture->files + capture->count;
	     f++) {
		const struct perfctr_span *span = perfctr_totals_span(f->totals);

		if (span->samples && capture_file_time(f, span->start_ns, CLOCK_REALTIME, ns))
			return true;
	}
	if (!capture->files->anchor_count)
		return false;
	*ns = capture->files->anchors->realtime_ns;
	return true;
}

int capture_list_open(const struct app *app, struct capture_list *list, size_t n,
		      struct capture *capture, int *damage)
{
	const struct capture_times *times = &list->times;
	const char *path = capture_list_path(list, n);
	uint64_t ns = 0;
	int status;

	if (!path) {
		*capture = (struct capture){ 0 };
		app_error(app, "out of memory");
		return EXIT_FAILED;
	}
	status = capture_open(app, path, capture);
	if (status) {
		*damage = EXIT_FAILED;
		if (list->count < 2) {
			capture_close(capture);
			return status;
		}
		app_error(app, "%s is left out", path);
	} else if ((times->from.is_given || times->to.is_given) && !begin_of(capture, &ns)) {
		app_error(app, "%s is left out: it has no time of day", path);
		*damage = EXIT_FAILED;
	} else if ((!times->from.is_given || ns >= times->from.ns) &&
		   (!times->to.is_given || ns < times->to.ns)) {
		list->opened++;
		return 0;
	} else {
		list->others++;
	}
	capture_close(capture);
	if (n + 1 < list->count || list->opened || !list->others)
		return CAPTURE_LEFT_OUT;
	app_error(app, "no capture begins in the time of --from and --to, %zu begin%s outside",
		  list->others, list->others == 1 ? "s" : "");
	return EXIT_FAILED;
}
