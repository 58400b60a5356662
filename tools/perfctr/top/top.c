// SPDX-License-Identifier: MIT
/* perfctr top: counters live. */
#include <curses.h>
#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "lib/busiest.h"
#include "lib/counting.h"
#include "lib/device.h"
#include "lib/json.h"
#include "lib/option.h"
#include "lib/output.h"
#include "lib/signals.h"
#include "common/number.h"
#include "views.h"
#include "screen.h"

enum {
	ESCAPE = 27,
	DELETE = 127,
	DEFAULT_INTERVAL_MS = 500,
	/* that keys reach */
	MIN_INTERVAL_MS = 10,
	MAX_INTERVAL_MS = 60000,
	SNAPSHOT_COLUMNS = 100,
	MAX_COLUMNS = 512,
	LINE_BYTES = 4 * MAX_COLUMNS + 1,
};

static const char help[] =
	"usage: perfctr top [OPTION...]\n"
	"\n"
	"Shows counters live: rates per second and metrics, with a bar (full: 100 %, or the\n"
	"largest value so far) and the last values as a line.\n"
	"\n"
	"  -e, --event EVENTS   what to show, as in perfctr stat (default: the main ones)\n"
	"  -I, --interval TIME  time between updates; a number without unit is in ms\n"
	"      --view NAME      overview; or metrics and readings of gpu, memory, pcie, links\n"
	"  -A, --per-core       a line for each block (also --per-block)\n"
	"      --per-client     engine times of each process that uses a GPU, too (local)\n"
	"  -n, --count N        end after N updates\n"
	"      --timeout TIME   end after TIME, 500ms or 2s; a number is in ms\n"
	"      --snapshot       count one interval, print it, end\n"
	"      --plain          no screen control: print each update below the last one;\n"
	"                       always so if stdout is no terminal\n"
	"      --ascii          no characters beyond ASCII\n"
	"  -j, --json           with --snapshot: as JSON\n"
	"      --trusted-only   leave out what perfctr validate did not find trusted\n"
	"  -d, --device DEVICE  node (renderD128), driver or name; several, or all\n"
	"      --via SOCKET     through the broker (perfctr serve) there\n"
	"\n"
	"Keys: up down PgUp PgDn move, space or Enter folds a block, a folds all, s sorts\n"
	"(as selected, by value, by name), c single blocks or sums, v next view, 1-5 views,\n"
	"/ shows only names with a text, + and - change the interval, p pauses, h lists the\n"
	"keys, q ends.\n"
	"Exit: 0 fine, 1 error, 2 usage, 3 not permitted, 4 no device.\n";

/* a device on the screen */
struct top_device {
	struct perfctr_totals *totals;
	struct rows rows; /* of the last interval */
	struct top_time time;
	uint64_t elapsed_ns; /* of the last interval */
	bool is_fresh; /* it has a sample that no update counted */
};

struct top {
	struct app *app;
	struct counting counting;
	uint64_t interval_ns;
	uint64_t updates;
	bool per_block;
	bool trusted_only;
	bool snapshot;
	bool plain;
	bool ascii;
	bool json;
	bool utf8;
	struct top_device devices[COUNTING_DEVICES];
	int taken; /* updates by counting_take() */
	struct verdicts *verdicts;
	struct top_screen screen;
	struct signals signals;
	/* index into top_views, and the error of the last attempt to switch */
	size_t view;
	char note[BUSIEST_BYTES]; /* the last message */
	char *first_errors; /* of the first view, which the screen covers; or NULL */
	bool paused;
	bool typing; /* the filter */
	bool help;
	bool quit;
	/* first line on the screen, and the selected line */
	size_t first;
	size_t at;
};

static int take_view(const struct app *app, void *top, const char *text)
{
	struct top *t = top;
	int view = top_view_find(text);

	if (view < 0)
		return app_usage(app, "--view '%s': overview, gpu, memory, pcie, links", text);
	t->view = (size_t)view;
	return 0;
}

static int parse_options(struct top *t, int argc, char **argv)
{
	const struct option_spec options[] = {
		OPTION('e', "event", WORDS, &t->counting.events),
		OPTION('I', "interval", TIME, &t->interval_ns),
		OPTION_PER_BLOCK(&t->per_block),
		OPTION(0, "per-client", FLAG, &t->counting.per_client),
		OPTION('n', "count", NUMBER, &t->updates, .min = 1, .max = UINT64_MAX),
		OPTION(0, "timeout", TIME, &t->counting.timeout_ns),
		OPTION(0, "snapshot", FLAG, &t->snapshot),
		OPTION(0, "plain", FLAG, &t->plain),
		OPTION(0, "ascii", FLAG, &t->ascii),
		OPTION(0, "trusted-only", FLAG, &t->trusted_only),
		OPTION('j', "json", FLAG, &t->json),
		OPTION('d', "device", WORDS, &t->counting.devices),
		OPTION(0, "via", TEXT, &t->app->via),
		OPTION(0, "view", CALL, t, .call = take_view),
		OPTIONS_END,
	};
	int status = option_parse(t->app, argc, argv, help, options, THEN_NOTHING);

	if (status)
		return status;
	if (t->json && !t->snapshot)
		return app_usage(t->app, "--json needs --snapshot; for a stream use perfctr stat "
					 "-I 500 --jsonl");
	return 0;
}

/* --- samples -------------------------------------------------------------------- */

/* Drop the counters that metrics are computed from: a view shows metrics, and readings of PMUs. */
static void keep_results(struct rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		if (row->metric || row->info->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
			rows->rows[kept++] = *row;
	}
	rows->count = kept;
}

/* Whether an update is complete: each device that goes on has a sample, or this one has two. */
static bool is_update(struct top *t, struct top_device *d)
{
	bool all = true;

	if (!d->is_fresh) {
		d->is_fresh = true;
		for (size_t n = 0; n < t->counting.count; n++)
			all &= t->devices[n].is_fresh || !t->counting.counted[n].session ||
			       t->counting.counted[n].is_gone;
	}
	for (size_t n = 0; all && n < t->counting.count; n++)
		t->devices[n].is_fresh = false;
	return all;
}

static int take_sample(void *data, struct counted *counted, const struct perfctr_slot *slot)
{
	struct top *t = data;
	struct top_device *d = &t->devices[counted - t->counting.counted];
	struct perfctr_sample sample;
	int error = perfctr_decode_sample(slot->bytes, slot->size, &sample);

	if (error <= 0)
		return error ? error : -EBADMSG;
	perfctr_totals_reset(d->totals);
	error = perfctr_totals_add(d->totals, &sample);
	if (!error)
		error = rows_fill(&d->rows, d->totals, counted->selection, t->per_block);
	if (error)
		return error;
	if (top_views[t->view].events)
		keep_results(&d->rows);
	/* the first period is shorter: periods lie on a grid */
	if (t->paused || (!d->time.samples && !t->snapshot &&
			  sample.end_ns - sample.start_ns < t->interval_ns / 2))
		return 0;
	d->elapsed_ns = d->rows.span.elapsed_ns;
	top_time_add(&d->time, &d->rows.span);
	t->taken += is_update(t, d);
	return top_screen_update(&t->screen, &d->rows);
}

/* Take in the samples of the rings. Return: updates, or a negative errno. */
static int take_samples(struct top *t)
{
	int error;

	t->taken = 0;
	error = counting_take(t->app, &t->counting, take_sample, t);
	return error ? error : t->taken;
}

static int start(struct top *t)
{
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.flags = PERFCTR_SESSION_SKIP_UNSUPPORTED,
		/* a snapshot takes exactly one interval, not the rest of a period */
		.period_ns = t->snapshot ? 0 : t->interval_ns,
	};
	struct counting *c = &t->counting;
	int status = counting_create(t->app, c, &opts, false), error = 0;

	for (size_t n = 0; !status && !error && n < c->count; n++) {
		struct rows *rows = &t->devices[n].rows;

		rows->verdicts = t->verdicts;
		rows->ctx = t->app->ctx;
		rows->trusted_only = t->trusted_only;
		rows->device = counting_name(c, &c->counted[n]);
		if (c->counted[n].selection)
			error = rows_totals(t->app, c->counted[n].selection, &t->devices[n].totals);
	}
	if (error)
		return app_failed(t->app, error);
	return status ? status : counting_start(t->app, c);
}

/* Sleep until a signal, a sample or a key. Return: whether to exit. */
static bool wait_for_events(struct top *t, int timeout_ms, bool keys)
{
	struct pollfd fds[] = {
		{ .fd = t->signals.fd, .events = POLLIN },
		{ .fd = keys ? STDIN_FILENO : -1, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	bool end = counting_wait(&t->counting, fds, ARRAY_SIZE(fds), timeout_ms);

	while (signals_next(&t->signals, &info)) {
		if (info.ssi_signo == SIGWINCH)
			/* curses reads it there if its own handler cannot run */
			ungetch(KEY_RESIZE);
		else
			end = true;
	}
	/* a closed terminal reads as end of file for ever */
	return end || fds[1].revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* --- without a screen ------------------------------------------------------------- */

/* "renderD128: 12.0 s, 24 samples", or the device's name if it is the only one. Return: @text. */
static char *device_status(const struct top *t, size_t n, char *text, size_t size)
{
	const struct counted *d = &t->counting.counted[n];
	char status[192];

	top_status(&t->devices[n].time, status, sizeof(status));
	snprintf(text, size, "%.40s: %s%s",
		 t->counting.count > 1 ? d->name : perfctr_device_info(d->device)->name, status,
		 d->is_gone ? ", gone" : "");
	return text;
}

static void print_view(struct top *t, unsigned int width)
{
	char text[LINE_BYTES];
	struct top_line *lines;
	size_t count;

	if (top_screen_lines(&t->screen, &lines, &count))
		return;
	for (size_t n = 0; n < t->counting.count; n++)
		if (t->counting.counted[n].session)
			fprintf(t->app->out, "%s\n", device_status(t, n, text, sizeof(text)));
	for (size_t i = 0; i < count; i++) {
		top_format(&lines[i], width, t->utf8, text, sizeof(text));
		fprintf(t->app->out, "%s\n", text);
	}
	for (size_t n = 0; n < t->counting.count; n++) {
		const struct rows *rows = &t->devices[n].rows;

		for (size_t i = 0; i < rows->count; i++)
			verdicts_print_note(t->verdicts, t->app->out, rows->rows[i].event,
					    rows->rows[i].desc);
		if (t->devices[n].totals && *busiest_text(t->devices[n].totals, text))
			fprintf(t->app->out, "busiest: %s\n", text);
	}
	fflush(t->app->out);
	free(lines);
}

static void print_json(struct top *t)
{
	struct json_object *root = json_object_new_object();
	struct json_object *items = json_object_new_array();
	struct json_object *devices = json_object_new_array();
	const struct counting *c = &t->counting;

	json_add_u64(root, "version", 1);
	/* of several, each event has its device's node before it */
	json_add_text(root, "device",
		      c->count == 1 ? perfctr_device_info(c->counted[0].device)->name : NULL);
	for (size_t n = 0; n < c->count; n++) {
		struct json_object *o = json_append(devices);

		json_add_text(o, "node", c->counted[n].name);
		json_add_text(o, "name", perfctr_device_info(c->counted[n].device)->name);
		json_add_u64(o, "elapsed_ns", t->devices[n].elapsed_ns);
		json_add_u64(o, "merged_periods", t->devices[n].time.merged_periods);
		json_add_u64(o, "lost_ns", t->devices[n].time.lost_ns);
		json_add(o, "busiest",
			 t->devices[n].totals ? busiest_json(t->devices[n].totals) : NULL);
	}
	json_add(root, "devices", devices);
	json_add_u64(root, "elapsed_ns", t->devices[0].elapsed_ns);
	for (size_t i = 0; i < t->screen.count; i++) {
		const struct top_item *item = &t->screen.items[i];
		struct json_object *o = json_append(items);
		char unit[ROW_UNIT_BYTES + 2];

		snprintf(unit, sizeof(unit), "%s%s", item->unit, item->is_rate ? "/s" : "");
		json_add_text(o, "event", item->event);
		json_add_text(o, "group", item->group);
		json_add_text(o, "trust", verdicts_trust_name(item->trust));
		json_add_double(o, "value", item->now);
		json_add_text(o, "unit", unit);
		/* 0.1 divided the rate of cycles by the number of blocks */
		json_add_text(o, "state", perfctr_value_state_text(item->state));
		json_add_bool(o, "estimated", item->flags & PERFCTR_VALUE_ESTIMATED);
	}
	json_add(root, "items", items);
	json_write(t->app->out, root, true);
}

static int run_snapshot(struct top *t)
{
	int error;

	wait_for_events(t, (int)(t->interval_ns / NS_PER_MS), false);
	error = counting_stop(&t->counting);
	if (!error)
		error = take_samples(t);
	if (error < 0)
		return app_failed(t->app, error);
	if (t->json)
		print_json(t);
	else
		print_view(t, terminal_columns(t->app->out, SNAPSHOT_COLUMNS));
	return EXIT_FINE;
}

static bool time_is_over(const struct top *t, uint64_t begin_ns)
{
	const uint64_t ns = t->counting.timeout_ns;

	return ns && perfctr_time_raw_ns() - begin_ns >= ns;
}

static int run_plain(struct top *t)
{
	uint64_t begin_ns = perfctr_time_raw_ns(), updates = 0;

	while (!time_is_over(t, begin_ns) && (!t->updates || updates < t->updates)) {
		int got;

		if (wait_for_events(t, (int)(t->interval_ns / NS_PER_MS) + 1, false))
			break;
		got = take_samples(t);
		if (got < 0)
			return app_failed(t->app, got);
		if (!got)
			continue;
		if (updates)
			fputc('\n', t->app->out);
		print_view(t, terminal_columns(t->app->out, SNAPSHOT_COLUMNS));
		/* app_main() says why */
		if (ferror(t->app->out))
			break;
		updates += (uint64_t)got;
	}
	return EXIT_FINE;
}

/* --- on the screen -------------------------------------------------------------------- */

static const char *const sort_names[] = { "as selected", "by value", "by name" };

static const char *const key_texts[] = {
	"up down PgUp PgDn  move",
	"space, Enter       fold a block",
	"a                  fold all",
	"s                  sort: as selected, by value, by name",
	"c                  single blocks, or sums",
	"v, 1 to 5          views: overview, gpu, memory, pcie, links",
	"/                  only names with a text; Enter keeps it, Escape shows all",
	"+ -                longer, shorter interval",
	"p                  pause",
	"h                  this list; any key ends it",
	"q                  quit",
};

static short color_of(const struct top_item *item)
{
	double fill = top_item_fill(item);

	if (item->state != PERFCTR_VALUE_OK)
		return 3;
	return fill > 0.85 ? 3 : fill > 0.5 ? 2 : 1;
}

static void draw_line(const struct top_line *line, int y, int width, bool utf8, bool chosen)
{
	char text[LINE_BYTES];
	attr_t attributes = chosen ? A_REVERSE : A_NORMAL;

	top_format(line, (unsigned int)(width > MAX_COLUMNS ? MAX_COLUMNS : width), utf8, text,
		   sizeof(text));
	if (line->kind == TOP_LINE_GROUP)
		attributes |= A_BOLD;
	attr_set(attributes, line->kind == TOP_LINE_ITEM && !chosen ? color_of(line->item) : 0,
		 NULL);
	mvaddstr(y, 0, text);
	attr_set(A_NORMAL, 0, NULL);
}

/* Last line but one: what the selected counter counts if it is not as documented. */
/* What is to be said below the list. Return: a text that the caller frees, or NULL. */
static char *make_note(struct top *t, const struct top_line *lines, size_t count)
{
	const struct top_item *item = t->at < count ? lines[t->at].item : NULL;
	const struct row *row = NULL;
	char *note = NULL, busiest[BUSIEST_BYTES];
	size_t size;
	FILE *text;

	for (size_t n = 0; item && !row && n < t->counting.count; n++)
		row = rows_find(&t->devices[n].rows, item->event, item->order);
	text = open_memstream(&note, &size);
	if (!text)
		return NULL;
	if (*t->note)
		fprintf(text, "%s\n", t->note);
	else if (row && lines[t->at].kind == TOP_LINE_ITEM)
		verdicts_print_note(t->verdicts, text, item->counter, row->desc);
	for (size_t n = 0; !ftell(text) && n < t->counting.count; n++)
		if (t->devices[n].totals && *busiest_text(t->devices[n].totals, busiest))
			fprintf(text, "busiest: %s\n", busiest);
	fclose(text);
	if (size > 1) {
		note[size - 1] = '\0';
		return note;
	}
	free(note);
	return NULL;
}

static void draw(struct top *t, const struct top_line *lines, size_t count)
{
	int height = getmaxy(stdscr), width = getmaxx(stdscr);
	size_t room = height > 2 ? (size_t)height - 2 : 0;
	char text[1024], *note;
	size_t used = 0;

	if (t->at >= count)
		t->at = count ? count - 1 : 0;
	note = room > 1 ? make_note(t, lines, count) : NULL;
	room -= note != NULL;
	if (t->at < t->first)
		t->first = t->at;
	if (room && t->at >= t->first + room)
		t->first = t->at - room + 1;

	erase();
	for (size_t n = 0; n < t->counting.count && used < sizeof(text) / 2; n++) {
		device_status(t, n, text + used, sizeof(text) - used);
		used += strlen(text + used);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "  ");
	}
	snprintf(text + used, sizeof(text) - used, "%s", t->paused ? "PAUSED" : "");
	mvaddnstr(0, 0, text, width);
	for (size_t i = 0; i < room && t->first + i < count; i++)
		draw_line(&lines[t->first + i], (int)i + 1, width, t->utf8, t->first + i == t->at);
	if (note)
		mvaddnstr(height - 2, 0, note, width);
	free(note);
	for (size_t i = 0; t->help && i < ARRAY_SIZE(key_texts) && i < room; i++) {
		mvaddnstr((int)i + 1, 0, key_texts[i], width);
		clrtoeol();
	}
	attron(A_REVERSE);
	if (t->typing || *t->screen.filter)
		snprintf(text, sizeof(text), "/%s%s", t->screen.filter,
			 t->typing ? "_  Enter keep  Escape all" : "  q quit  h help  / change");
	else
		snprintf(text, sizeof(text),
			 "q quit  h help  v view: %s  +- every %g s  s sort: %s  c %s  "
			 "/ filter  p pause  space fold  a all",
			 top_views[t->view].name, (double)t->interval_ns * 1e-9,
			 sort_names[t->screen.sort], t->per_block ? "sums" : "blocks");
	mvaddnstr(height - 1, 0, text, width);
	attroff(A_REVERSE);
	refresh();
}

static void begin_anew(struct top *t)
{
	struct top_screen empty = { .sort = t->screen.sort };

	for (size_t n = 0; n < COUNTING_DEVICES; n++)
		t->devices[n].time = (struct top_time){ 0 };
	memcpy(empty.filter, t->screen.filter, sizeof(empty.filter));
	top_screen_free(&t->screen);
	t->screen = empty;
	t->at = 0;
}

static int select_view(struct top *t, size_t view)
{
	const char *const *events = top_views[view].events;
	int status = counting_select(t->app, &t->counting, events);

	if (status && events)
		app_error(t->app, "view %s: nothing of it can be counted here",
			  top_views[view].name);
	return status || events || !t->per_block ? status :
						   counting_select_per_cpu(t->app, &t->counting);
}

/* An error that becomes a note on the screen. */
struct captured {
	FILE *err;
	char *text;
	size_t length;
};

/* Return: whether errors are captured until release_errors(). */
static bool capture_errors(struct top *t, struct captured *c)
{
	FILE *to = open_memstream(&c->text, &c->length);

	c->err = t->app->err;
	if (to)
		t->app->err = to;
	return to;
}

static void release_errors(struct top *t, struct captured *c)
{
	const char *text;

	fclose(t->app->err);
	t->app->err = c->err;
	/* without the name of the program */
	text = strstr(c->text, ": ");
	text = text ? text + 2 : c->text;
	snprintf(t->note, sizeof(t->note), "%.*s", (int)strcspn(text, "\n"), text);
}

static void end_sessions(struct top *t)
{
	counting_stop(&t->counting);
	counting_end(&t->counting);
	for (size_t n = 0; n < COUNTING_DEVICES; n++) {
		rows_clear(&t->devices[n].rows);
		t->devices[n].totals = perfctr_totals_unref(t->devices[n].totals);
	}
}

/* A view is a session of its own, so only what is shown is counted. Return: 0 or an exit status. */
static int change_view(struct top *t, size_t view)
{
	struct captured errors = { 0 };
	int status = EXIT_FAILED;

	if (capture_errors(t, &errors)) {
		status = select_view(t, view);
		release_errors(t, &errors);
		free(errors.text);
	}
	if (status)
		return 0;
	end_sessions(t);
	t->view = view;
	begin_anew(t);
	return start(t);
}

/* Return: 0 or an exit status. */
static int change_interval(struct top *t, uint64_t interval_ns)
{
	const uint64_t before_ns = t->interval_ns;
	struct captured errors = { 0 };
	int status;

	if (interval_ns < MIN_INTERVAL_MS * NS_PER_MS ||
	    interval_ns > MAX_INTERVAL_MS * NS_PER_MS || !capture_errors(t, &errors))
		return 0;
	end_sessions(t);
	t->interval_ns = interval_ns;
	status = start(t);
	release_errors(t, &errors);
	free(errors.text);
	if (!status)
		return 0;
	/* the device permits no such period to this user */
	end_sessions(t);
	t->interval_ns = before_ns;
	return start(t);
}

/* A key while the filter is typed. */
static void type_filter(struct top *t, int key)
{
	char *filter = t->screen.filter;
	const size_t length = strlen(filter);

	if (key == '\n' || key == KEY_ENTER || key == ESCAPE)
		t->typing = false;
	if (key == ESCAPE)
		*filter = '\0';
	else if ((key == KEY_BACKSPACE || key == '\b' || key == DELETE) && length)
		filter[length - 1] = '\0';
	else if (key >= ' ' && key < DELETE)
		snprintf(filter + length, sizeof(t->screen.filter) - length, "%c", key);
	t->at = 0;
}

/* The next view that has something to show. */
static int next_set(struct top *t)
{
	size_t before = t->view;
	int status = 0;

	for (size_t i = 1; i < top_view_count && !status && t->view == before; i++)
		status = change_view(t, (before + i) % top_view_count);
	return status;
}

static void fold_all(struct top *t, const struct top_line *lines, size_t count)
{
	bool any_open = false;

	for (size_t i = 0; i < count; i++)
		any_open |= lines[i].kind == TOP_LINE_GROUP && !lines[i].folded;
	for (size_t i = 0; i < count; i++)
		if (lines[i].kind == TOP_LINE_GROUP && lines[i].folded != any_open)
			top_screen_fold(&t->screen, lines[i].item->group);
	t->at = 0;
}

/* Return: 0 or an exit status. */
static int take_key(struct top *t, int key, const struct top_line *lines, size_t count)
{
	size_t page = (size_t)(getmaxy(stdscr) > 3 ? getmaxy(stdscr) - 3 : 1);

	if (key != KEY_RESIZE && t->help) {
		t->help = false;
		return 0;
	}
	if (key != KEY_RESIZE && t->typing) {
		type_filter(t, key);
		return 0;
	}
	switch (key) {
	case 'q':
	case 'Q':
		t->quit = true;
		break;
	case KEY_UP:
	case 'k':
		t->at -= t->at > 0;
		break;
	case KEY_DOWN:
	case 'j':
		t->at += t->at + 1 < count;
		break;
	case KEY_PPAGE:
		t->at = t->at > page ? t->at - page : 0;
		break;
	case KEY_NPAGE:
		t->at = t->at + page < count ? t->at + page : count ? count - 1 : 0;
		break;
	case ' ':
	case '\n':
	case KEY_ENTER:
		if (t->at < count)
			top_screen_fold(&t->screen, lines[t->at].item->group);
		break;
	case 'a':
		fold_all(t, lines, count);
		break;
	case 's':
		t->screen.sort = (t->screen.sort + 1) % TOP_SORTS;
		break;
	case 'c':
		/* items of single blocks have other names */
		begin_anew(t);
		t->per_block = !t->per_block;
		break;
	case 'v':
		return next_set(t);
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
		return change_view(t, (size_t)(key - '1'));
	case 'p':
		t->paused = !t->paused;
		break;
	case 'h':
	case '?':
		t->help = true;
		break;
	case '/':
		t->screen.filter[0] = '\0';
		t->typing = true;
		break;
	case '+':
		return change_interval(t, 2 * t->interval_ns);
	case '-':
		return change_interval(t, t->interval_ns / 2);
	case KEY_RESIZE:
		endwin();
		refresh();
		break;
	default:
		break;
	}
	return 0;
}

/* Return: whether the terminal is known and can move its cursor. */
static bool begin_screen(void)
{
	SCREEN *screen = newterm(NULL, stdout, stdin);
	const char *move = screen ? tigetstr("cup") : NULL;

	if (move && move != (char *)-1)
		return true;
	if (screen) {
		endwin();
		delscreen(screen);
	}
	return false;
}

/* After begin_screen(). */
static int run_screen(struct top *t)
{
	uint64_t begin_ns = perfctr_time_raw_ns(), updates = 0;
	/* https://no-color.org: set and not empty */
	const char *no_color = getenv("NO_COLOR");
	int result = 0, status = 0;

	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	/* Escape is a key here, not only the beginning of one: as long as a slow line takes */
	set_escdelay(50);
	nodelay(stdscr, TRUE);
	if (has_colors() && !(no_color && *no_color)) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_GREEN, -1);
		init_pair(2, COLOR_YELLOW, -1);
		init_pair(3, COLOR_RED, -1);
	}

	while (!t->quit && !time_is_over(t, begin_ns) && (!t->updates || updates < t->updates)) {
		struct top_line *lines;
		size_t count;
		int key;

		result = top_screen_lines(&t->screen, &lines, &count);
		if (result)
			break;
		draw(t, lines, count);
		if (wait_for_events(t, (int)(t->interval_ns / NS_PER_MS) + 1, true))
			t->quit = true;
		while (!t->quit && !status && (key = getch()) != ERR) {
			status = take_key(t, key, lines, count);
			/* lines point into the view, which a key may have changed */
			free(lines);
			lines = NULL;
			result = top_screen_lines(&t->screen, &lines, &count);
			if (result)
				break;
		}
		free(lines);
		if (status)
			break;
		result = result ? result : take_samples(t);
		if (result < 0)
			break;
		updates += (uint64_t)result;
		result = 0;
	}
	endwin();
	if (status)
		return status;
	return result < 0 ? app_failed(t->app, result) : EXIT_FINE;
}

static bool wants_screen(const struct top *t)
{
	return !t->plain && !t->snapshot && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
}

/* The first view: what it lacks is said on the screen, which covers what is printed now. */
static int select_first(struct top *t)
{
	struct captured errors = { 0 };
	int status;

	if (!wants_screen(t) || !capture_errors(t, &errors))
		return select_view(t, t->view);
	status = select_view(t, t->view);
	release_errors(t, &errors);
	t->first_errors = errors.text;
	return status;
}

/* What the screen covered, or would have. */
static void print_first_errors(struct top *t)
{
	if (t->first_errors)
		fputs(t->first_errors, t->app->err);
	free(t->first_errors);
	t->first_errors = NULL;
}

static int run(struct top *t)
{
	const bool screen = wants_screen(t);
	int status = start(t);

	if (status)
		return status;
	if (t->snapshot)
		return run_snapshot(t);
	if (screen && begin_screen())
		return run_screen(t);
	print_first_errors(t);
	if (screen)
		app_error(t->app, "this terminal (TERM=%s) cannot move its cursor: as --plain",
			  getenv("TERM") ? getenv("TERM") : "");
	return run_plain(t);
}

int top_run(struct app *app, int argc, char **argv)
{
	struct top t = {
		.app = app,
		.interval_ns = DEFAULT_INTERVAL_MS * NS_PER_MS,
		.signals.fd = -1,
	};
	const int more_signals[] = { SIGWINCH, 0 };
	int status = parse_options(&t, argc, argv);

	if (status) {
		counting_close(&t.counting);
		return status < 0 ? EXIT_FINE : status;
	}
	t.utf8 = !t.ascii && !strcmp(nl_langinfo(CODESET), "UTF-8");

	t.verdicts = verdicts_load(app->err);
	/* of clients: the whole machine, not a process */
	t.counting.all_cpus = true;
	status = signals_catch(app, &t.signals, more_signals);
	if (!status)
		status = counting_open_devices(app, &t.counting);
	if (!status && !t.counting.events.count)
		device_note_others(app, t.counting.devices.count ? "" : NULL,
				   t.counting.counted[0].device);
	if (!status)
		status = select_first(&t);
	if (!status)
		status = run(&t);
	print_first_errors(&t);

	signals_release(&t.signals);
	verdicts_free(t.verdicts);
	top_screen_free(&t.screen);
	for (size_t n = 0; n < COUNTING_DEVICES; n++) {
		rows_free(&t.devices[n].rows);
		perfctr_totals_unref(t.devices[n].totals);
	}
	counting_close(&t.counting);
	return status;
}
