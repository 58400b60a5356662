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
#include "lib/device.h"
#include "common/number.h"
#include "lib/json.h"
#include "lib/option.h"
#include "lib/signals.h"
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
	"  -d, --device DEVICE  node (renderD128), driver or name\n"
	"      --via SOCKET     through the broker (perfctr serve) there\n"
	"\n"
	"Keys: up down PgUp PgDn move, space or Enter folds a block, a folds all, s sorts\n"
	"(as selected, by value, by name), c single blocks or sums, v next view, 1-5 views,\n"
	"/ shows only names with a text, + and - change the interval, p pauses, h lists the\n"
	"keys, q ends.\n"
	"Exit: 0 fine, 1 error, 2 usage, 3 not permitted, 4 no device.\n";

struct top {
	struct app *app;
	const char *which;
	struct option_words events;
	uint64_t interval_ns;
	uint64_t timeout_ns;
	uint64_t updates;
	bool per_block;
	bool per_client;
	bool snapshot;
	bool plain;
	bool ascii;
	bool json;
	bool utf8;
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	struct perfctr_totals *totals;
	struct rows rows;
	struct verdicts *verdicts;
	struct top_screen screen;
	struct signals signals;
	/* index into top_views, and the error of the last attempt to switch */
	size_t view;
	char note[128];
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
		OPTION('e', "event", WORDS, &t->events),
		OPTION('I', "interval", TIME, &t->interval_ns),
		OPTION_PER_BLOCK(&t->per_block),
		OPTION(0, "per-client", FLAG, &t->per_client),
		OPTION('n', "count", NUMBER, &t->updates, .min = 1, .max = UINT64_MAX),
		OPTION(0, "timeout", TIME, &t->timeout_ns),
		OPTION(0, "snapshot", FLAG, &t->snapshot),
		OPTION(0, "plain", FLAG, &t->plain),
		OPTION(0, "ascii", FLAG, &t->ascii),
		OPTION(0, "trusted-only", FLAG, &t->rows.trusted_only),
		OPTION('j', "json", FLAG, &t->json),
		OPTION('d', "device", TEXT, &t->which),
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

/* Take in the samples of the ring. Return: intervals that ended, or a negative errno. */
static int take_samples(struct top *t)
{
	/* not what arrives meanwhile, so that keys are read even if samples come fast */
	uint32_t left = perfctr_cursor_lag(t->cursor);
	struct perfctr_sample sample;
	int result, updates = 0;

	do {
		int error;

		/* at least once: it also reports that the device is gone */
		result = perfctr_cursor_next(t->cursor, &sample);
		if (result <= 0)
			break;
		perfctr_totals_reset(t->totals);
		error = perfctr_totals_add(t->totals, &sample);
		if (!error)
			error = perfctr_cursor_advance(t->cursor, 1);
		if (!error)
			error = rows_fill(&t->rows, t->totals, t->selection, t->per_block);
		if (!error && top_views[t->view].events)
			keep_results(&t->rows);
		/* the first period is shorter: periods lie on a grid */
		if (!error &&
		    (t->screen.samples || t->snapshot ||
		     sample.end_ns - sample.start_ns >= t->interval_ns / 2) &&
		    !t->paused) {
			error = top_screen_update(&t->screen, &t->rows);
			updates++;
		}
		if (error)
			return error;
	} while (left-- > 1);
	return result < 0 ? result : updates;
}

static int start(struct top *t)
{
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.flags = PERFCTR_SESSION_SKIP_UNSUPPORTED,
		/* a snapshot takes exactly one interval, not the rest of a period */
		.period_ns = t->snapshot ? 0 : t->interval_ns,
	};
	int error = perfctr_session_new(t->selection, &opts, &t->session);

	if (!error)
		error = perfctr_cursor_new(t->session, &t->cursor);
	if (!error)
		error = rows_totals(t->app, t->selection, &t->totals);
	if (!error)
		error = perfctr_session_start(t->session, 0);
	return error ? app_failed(t->app, error) : 0;
}

/* Sleep until a signal, a sample or a key. Return: whether to exit. */
static bool wait_for_events(struct top *t, int timeout_ms, bool keys)
{
	struct pollfd fds[] = {
		{ .fd = t->signals.fd, .events = POLLIN },
		{ .fd = perfctr_session_eventfd(t->session), .events = POLLIN },
		{ .fd = keys ? STDIN_FILENO : -1, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	uint64_t counter;
	bool end = false;

	/* the eventfd signals new samples, and the end of the ring only once */
	if (perfctr_cursor_lag(t->cursor) ||
	    perfctr_cursor_state(t->cursor) & DRM_PERFCTR_RING_DEAD)
		timeout_ms = 0;
	if (poll(fds, ARRAY_SIZE(fds), timeout_ms) < 0 && errno != EINTR)
		return true;
	if (fds[1].revents & POLLIN && read(fds[1].fd, &counter, sizeof(counter)) < 0)
		end = errno != EAGAIN;
	while (signals_next(&t->signals, &info)) {
		if (info.ssi_signo == SIGWINCH)
			/* curses reads it there if its own handler cannot run */
			ungetch(KEY_RESIZE);
		else
			end = true;
	}
	/* a closed terminal reads as end of file for ever */
	return end || fds[2].revents & (POLLHUP | POLLERR | POLLNVAL);
}

/* --- without a screen ------------------------------------------------------------- */

static void print_view(struct top *t, unsigned int width)
{
	char text[LINE_BYTES];
	struct top_line *lines;
	size_t count;

	if (top_screen_lines(&t->screen, &lines, &count))
		return;
	top_status(&t->screen, text, sizeof(text));
	fprintf(t->app->out, "%s: %s\n", perfctr_device_info(t->device)->name, text);
	for (size_t i = 0; i < count; i++) {
		top_format(&lines[i], width, t->utf8, text, sizeof(text));
		fprintf(t->app->out, "%s\n", text);
	}
	for (size_t i = 0; i < t->rows.count; i++)
		verdicts_print_note(t->verdicts, t->app->out, t->rows.rows[i].event,
				    t->rows.rows[i].desc);
	fflush(t->app->out);
	free(lines);
}

static void print_json(struct top *t)
{
	struct json_object *root = json_object_new_object();
	struct json_object *items = json_object_new_array();

	json_add_u64(root, "version", 1);
	json_add_text(root, "device", perfctr_device_info(t->device)->name);
	json_add_u64(root, "elapsed_ns", t->screen.span.elapsed_ns);
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
	error = perfctr_session_stop(t->session, 0);
	if (!error)
		error = take_samples(t);
	if (error < 0)
		return app_failed(t->app, error);
	if (t->json)
		print_json(t);
	else
		print_view(t, app_columns(t->app->out, SNAPSHOT_COLUMNS));
	return EXIT_FINE;
}

static bool time_is_over(const struct top *t, uint64_t begin_ns)
{
	return t->timeout_ns && perfctr_time_raw_ns() - begin_ns >= t->timeout_ns;
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
		print_view(t, app_columns(t->app->out, SNAPSHOT_COLUMNS));
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
static void draw_note(struct top *t, const struct top_line *lines, size_t count, int height)
{
	const struct top_item *item = t->at < count ? lines[t->at].item : NULL;
	const struct row *row = item ? rows_find(&t->rows, item->event, item->order) : NULL;
	char *note = NULL;
	size_t size;
	FILE *text;

	if (!row || lines[t->at].kind != TOP_LINE_ITEM || height < 4)
		return;
	text = open_memstream(&note, &size);
	if (!text)
		return;
	verdicts_print_note(t->verdicts, text, item->counter, row->desc);
	fclose(text);
	if (size > 1) {
		note[size - 1] = '\0';
		mvaddnstr(height - 2, 0, note, getmaxx(stdscr));
		clrtoeol();
	}
	free(note);
}

static void draw(struct top *t, const struct top_line *lines, size_t count)
{
	int height = getmaxy(stdscr), width = getmaxx(stdscr);
	size_t room = height > 2 ? (size_t)height - 2 : 0;
	char status[256], text[512];

	if (t->at >= count)
		t->at = count ? count - 1 : 0;
	if (t->at < t->first)
		t->first = t->at;
	if (room && t->at >= t->first + room)
		t->first = t->at - room + 1;

	erase();
	top_status(&t->screen, status, sizeof(status));
	snprintf(text, sizeof(text), "%.40s: %.120s%s%s%s", perfctr_device_info(t->device)->name,
		 status, t->paused ? "  PAUSED" : "", *t->note ? "  " : "", t->note);
	mvaddnstr(0, 0, text, width);
	for (size_t i = 0; i < room && t->first + i < count; i++)
		draw_line(&lines[t->first + i], (int)i + 1, width, t->utf8, t->first + i == t->at);
	draw_note(t, lines, count, height);
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
			 "q quit  h help  space fold  a all  s sort: %s  c %s  v view: %s  "
			 "/ filter  +- every %g s  p pause",
			 sort_names[t->screen.sort], t->per_block ? "sums" : "blocks",
			 top_views[t->view].name, (double)t->interval_ns * 1e-9);
	mvaddnstr(height - 1, 0, text, width);
	attroff(A_REVERSE);
	refresh();
}

static void begin_anew(struct top *t)
{
	struct top_screen empty = { .sort = t->screen.sort };

	memcpy(empty.filter, t->screen.filter, sizeof(empty.filter));
	top_screen_free(&t->screen);
	t->screen = empty;
	t->at = 0;
}

static int select_view(struct top *t, size_t view, struct perfctr_selection **selection)
{
	int error = perfctr_selection_new(t->device, selection);

	if (error)
		return app_failed(t->app, error);
	if (!top_views[view].events) {
		int status = device_select(t->app, t->device, *selection, t->events.words,
					   t->events.count);

		if (!status && t->per_client)
			status = device_select_clients(t->app, *selection);
		if (!status && t->per_block)
			status = device_select_per_cpu(t->app, *selection);
		return status;
	}
	error = top_view_select(&top_views[view], *selection);
	if (error > 0)
		return 0;
	if (error < 0)
		return app_failed(t->app, error);
	app_error(t->app, "view %s: nothing of it can be counted here", top_views[view].name);
	return EXIT_FAILED;
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
	fclose(t->app->err);
	t->app->err = c->err;
	snprintf(t->note, sizeof(t->note), "%.*s", (int)strcspn(c->text, "\n"), c->text);
	free(c->text);
}

static void end_session(struct top *t)
{
	if (t->session)
		perfctr_session_stop(t->session, 0);
	rows_clear(&t->rows);
	t->totals = perfctr_totals_unref(t->totals);
	t->cursor = perfctr_cursor_unref(t->cursor);
	t->session = perfctr_session_unref(t->session);
}

/* A view is a session of its own, so only what is shown is counted. Return: 0 or an exit status. */
static int change_view(struct top *t, size_t view)
{
	struct perfctr_selection *selection = NULL;
	struct captured errors = { 0 };
	int status = EXIT_FAILED;

	if (capture_errors(t, &errors)) {
		status = select_view(t, view, &selection);
		release_errors(t, &errors);
	}
	if (status) {
		perfctr_selection_unref(selection);
		return 0;
	}
	end_session(t);
	perfctr_selection_unref(t->selection);
	t->selection = selection;
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
	end_session(t);
	t->interval_ns = interval_ns;
	status = start(t);
	release_errors(t, &errors);
	if (!status)
		return 0;
	/* the device permits no such period to this user */
	end_session(t);
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

static int run(struct top *t)
{
	bool screen = !t->plain && !t->snapshot && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
	int status = start(t);

	if (status)
		return status;
	if (t->snapshot)
		return run_snapshot(t);
	if (screen && begin_screen())
		return run_screen(t);
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
		option_words_free(&t.events);
		return status < 0 ? EXIT_FINE : status;
	}
	t.utf8 = !t.ascii && !strcmp(nl_langinfo(CODESET), "UTF-8");

	t.verdicts = verdicts_load(app->err);
	t.rows.verdicts = t.verdicts;
	t.rows.ctx = app->ctx;
	status = signals_catch(app, &t.signals, more_signals);
	if (!status)
		status = device_open(app, t.which, !t.events.count, &t.device);
	if (!status && !t.events.count)
		device_note_others(app, t.which, t.device);
	if (!status)
		status = select_view(&t, t.view, &t.selection);
	if (!status)
		status = run(&t);

	signals_release(&t.signals);
	verdicts_free(t.verdicts);
	rows_free(&t.rows);
	top_screen_free(&t.screen);
	perfctr_totals_unref(t.totals);
	perfctr_cursor_unref(t.cursor);
	perfctr_session_unref(t.session);
	perfctr_selection_unref(t.selection);
	perfctr_device_unref(t.device);
	option_words_free(&t.events);
	return status;
}
