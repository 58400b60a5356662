// SPDX-License-Identifier: MIT
/* perfctr stat: count while a command runs, or until told to stop. */
#include "stat.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "child.h"
#include "common/number.h"

enum {
	/* without -I and -p: short enough for min and max, long enough to cost nothing */
	DEFAULT_PERIOD_MS = 100,
	MAX_REPEAT = 10000,
	/* how long a command that was told to end may take before counting ends */
	END_GRACE_MS = 3000,
};

static const char help[] =
	"usage: perfctr stat [OPTION...] [[--] COMMAND [ARGUMENT...]]\n"
	"\n"
	"Counts events of the whole device while COMMAND runs, without one until Ctrl-C.\n"
	"\n"
	"  -e, --event EVENTS     e.g. shader*/FRAG*,memsys0/L2_READ,metric:l2_*,\n"
	"                         software/cpu-clock/,ucf0/mem_bytes_rd,src_loc_cpu=1/\n"
	"  -I, --interval TIME    print each interval; a number without unit is in ms\n"
	"  -p, --period TIME      sample that often (default: the interval, else 100ms)\n"
	"  -A, --per-core         a line for each block (also --per-block, --no-aggr)\n"
	"  -r, --repeat N         run the command N times, show mean and deviation\n"
	"      --timeout TIME     end after TIME\n"
	"  -x, --field-separator SEP   CSV; fields: [time,] value, unit, event, running\n"
	"                         ns, running %, rate, min, max (per interval)\n"
	"  -j, --json             one JSON document; --jsonl: one object per line\n"
	"  -o, --output FILE      write there\n"
	"  -d, --device DEVICE    node (renderD128), driver or name\n"
	"      --via SOCKET       through the broker (perfctr serve) there\n"
	"      --set N            counter set 0, 1 or 2\n"
	"      --keep-awake       do not let the GPU power down while counting\n"
	"      --trusted-only     leave out what perfctr validate did not find trusted\n"
	"  -a, --all-cpus         accepted: counting is always system-wide\n"
	"\n"
	"A table goes to stderr if there is a COMMAND, as with perf; CSV and JSON go to\n"
	"stdout, and what the command prints then goes to stderr. Exit: the command's own\n"
	"status (128 + signal), without one 0; 1 error, 2 usage, 3 not permitted, 4 no\n"
	"device, 126 and 127 the command cannot be run.\n";

/* --- options --------------------------------------------------------------- */

enum long_option {
	OPT_TIMEOUT = 256,
	OPT_JSONL,
	OPT_SET,
	OPT_KEEP_AWAKE,
	OPT_PER_CONTEXT,
	OPT_VIA,
	OPT_TRUSTED_ONLY,
};

static const struct option long_options[] = {
	{ "event", required_argument, NULL, 'e' },
	{ "interval", required_argument, NULL, 'I' },
	{ "interval-print", required_argument, NULL, 'I' },
	{ "period", required_argument, NULL, 'p' },
	{ "per-core", no_argument, NULL, 'A' },
	{ "per-block", no_argument, NULL, 'A' },
	{ "no-aggr", no_argument, NULL, 'A' },
	{ "per-context", no_argument, NULL, OPT_PER_CONTEXT },
	{ "repeat", required_argument, NULL, 'r' },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "field-separator", required_argument, NULL, 'x' },
	{ "json", no_argument, NULL, 'j' },
	{ "json-output", no_argument, NULL, 'j' },
	{ "jsonl", no_argument, NULL, OPT_JSONL },
	{ "output", required_argument, NULL, 'o' },
	{ "device", required_argument, NULL, 'd' },
	{ "via", required_argument, NULL, OPT_VIA },
	{ "set", required_argument, NULL, OPT_SET },
	{ "keep-awake", no_argument, NULL, OPT_KEEP_AWAKE },
	{ "trusted-only", no_argument, NULL, OPT_TRUSTED_ONLY },
	{ "all-cpus", no_argument, NULL, 'a' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int read_time(const struct app *app, const char *option, const char *text, uint64_t *ns)
{
	if (!number_parse_time(text, NS_PER_MS, ns) && *ns)
		return 0;
	return app_usage(app, "%s '%s': give a time such as 100 (ms), 500us or 2s", option, text);
}

static int read_number(const struct app *app, const char *option, const char *text, uint64_t min,
		       uint64_t max, uint64_t *value)
{
	if (!number_parse_count(text, value) && *value >= min && *value <= max)
		return 0;
	return app_usage(app, "%s '%s': give a number from %llu to %llu", option, text,
			 (unsigned long long)min, (unsigned long long)max);
}

static int add_event(const struct app *app, struct stat_options *o, const char *event)
{
	const char **events = realloc(o->events, (o->event_count + 1) * sizeof(*events));

	if (!events) {
		app_error(app, "out of memory");
		return EXIT_FAILED;
	}
	o->events = events;
	o->events[o->event_count++] = event;
	return 0;
}

static int take_option(const struct app *app, struct stat_options *o, int c)
{
	uint64_t value = 0;
	int ret = 0;

	switch (c) {
	case 'e':
		return add_event(app, o, optarg);
	case 'I':
		return read_time(app, "-I", optarg, &o->interval_ns);
	case 'p':
		return read_time(app, "-p", optarg, &o->period_ns);
	case OPT_TIMEOUT:
		return read_time(app, "--timeout", optarg, &o->timeout_ns);
	case 'A':
		o->per_block = true;
		return 0;
	case 'r':
		ret = read_number(app, "-r", optarg, 1, MAX_REPEAT, &value);
		o->repeat = (uint32_t)value;
		return ret;
	case OPT_SET:
		ret = read_number(app, "--set", optarg, 0, 2, &value);
		o->set = (unsigned int)value;
		return ret;
	case 'x':
		if (!*optarg || strpbrk(optarg, "\"\n"))
			return app_usage(app, "-x '%s': give a separator that is no quote", optarg);
		o->separator = optarg;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case OPT_JSONL:
		o->jsonl = true;
		return 0;
	case 'o':
		o->output = optarg;
		return 0;
	case 'd':
		o->device = optarg;
		return 0;
	case OPT_VIA:
		o->via = optarg;
		return 0;
	case OPT_KEEP_AWAKE:
		o->keep_awake = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPT_TRUSTED_ONLY:
		o->trusted_only = true;
		return 0;
	case 'a':
		return 0;
	case OPT_PER_CONTEXT:
		return app_usage(app, "--per-context: this interface counts system-wide; a job "
				      "can carry samples of its own instead");
	default:
		return app_bad_option(app);
	}
}

/* Return: 0; an exit status; -1 help was printed. */
static int parse_options(const struct app *app, int argc, char **argv, struct stat_options *o)
{
	int c;

	optind = 0;
	/* +: options after the command are the command's */
	while ((c = getopt_long(argc, argv, "+e:I:p:Ar:x:jo:d:avh", long_options, NULL)) != -1) {
		int ret;

		if (c == 'h') {
			fputs(help, app->out);
			return -1;
		}
		ret = take_option(app, o, c);
		if (ret)
			return ret;
	}
	if (optind < argc)
		o->command = argv + optind;
	if (o->repeat > 1 && !o->command)
		return app_usage(app, "-r repeats a command: give one");
	if (o->repeat > 1 && o->interval_ns)
		return app_usage(app, "-r and -I do not go together");
	if (!!o->separator + o->json + o->jsonl > 1)
		return app_usage(app, "-x, --json and --jsonl exclude each other");
	if (o->interval_ns && o->period_ns > o->interval_ns)
		return app_usage(app, "the period -p is longer than the interval -I");
	if (!o->period_ns)
		o->period_ns = o->interval_ns ? o->interval_ns : DEFAULT_PERIOD_MS * NS_PER_MS;
	return 0;
}

/* --- counting --------------------------------------------------------------- */

struct stat {
	struct app *app;
	struct stat_options options;
	const struct stat_format *format;
	struct stat_report report;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	struct perfctr_totals *all;
	struct perfctr_totals *run;
	struct perfctr_totals *interval;
	struct rows scratch;
	int signal_fd;
	struct child child;
};

static uint64_t interval_ns(const struct stat_options *o)
{
	return o->interval_ns ? o->interval_ns : o->period_ns;
}

static int find_stats(struct stat_report *report, const struct rows *rows)
{
	struct row_stat *stats;

	if (report->stat_count >= rows->count)
		return 0;
	stats = realloc(report->stats, rows->count * sizeof(*stats));
	if (!stats)
		return -ENOMEM;
	report->stats = stats;
	for (size_t i = report->stat_count; i < rows->count; i++) {
		stats[i] = (struct row_stat){ 0 };
		memcpy(stats[i].event, rows->rows[i].event, sizeof(stats[i].event));
	}
	report->stat_count = rows->count;
	return 0;
}

static void add_interval(struct row_stat *stat, const struct row *row, uint64_t elapsed_ns)
{
	double number = isfinite(row->rate) ? row->rate : row->number;

	if (row->state != PERFCTR_VALUE_OK || row->missed)
		return;
	if (!stat->intervals || number < stat->min)
		stat->min = number;
	if (!stat->intervals || number > stat->max)
		stat->max = number;
	stat->weighted_sum += number * (double)elapsed_ns * 1e-9;
	stat->elapsed_ns += elapsed_ns;
	stat->intervals++;
}

double row_stat_mean(const struct row_stat *stat)
{
	return stat->weighted_sum / ((double)stat->elapsed_ns * 1e-9);
}

bool row_stat_has_range(const struct stat_report *report, const struct row_stat *stat)
{
	return stat && stat->intervals && stat->elapsed_ns >= report->rows.span.elapsed_ns / 2;
}

/* Welford's method: stable for many runs of large counts */
static void add_run(struct row_stat *stat, const struct row *row)
{
	double delta;

	if (row->state != PERFCTR_VALUE_OK)
		return;
	stat->runs++;
	delta = row->number - stat->run_mean;
	stat->run_mean += delta / (double)stat->runs;
	stat->run_m2 += delta * (row->number - stat->run_mean);
}

double row_stat_stddev_percent(const struct row_stat *stat)
{
	double variance;

	if (stat->runs < 2 || stat->run_mean == 0)
		return 0;
	variance = stat->run_m2 / (double)(stat->runs - 1);
	/* deviation of the mean, as perf stat -r shows it */
	return 100 * sqrt(variance / (double)stat->runs) / fabs(stat->run_mean);
}

const struct row_stat *stat_of_row(const struct stat_report *report, size_t n)
{
	return n < report->stat_count ? &report->stats[n] : NULL;
}

/* The rows of an interval belong to those of the run by their place. */
static int end_interval(struct stat *s)
{
	const struct perfctr_span *span = perfctr_totals_span(s->interval);
	const uint64_t wanted_ns = interval_ns(&s->options);
	bool long_enough;
	int error;

	if (!span->samples)
		return 0;
	/* rates compare whatever the length, but the rest before the end may be of no length */
	long_enough = span->elapsed_ns >= wanted_ns / 2;
	error = rows_fill(&s->scratch, s->interval, s->report.selection, s->options.per_block);
	if (!error)
		error = find_stats(&s->report, &s->scratch);
	if (error)
		return error;
	for (size_t i = 0; long_enough && i < s->scratch.count; i++)
		add_interval(&s->report.stats[i], &s->scratch.rows[i], span->elapsed_ns);
	s->report.interval_count++;
	if (s->options.interval_ns) {
		s->format->interval(&s->report, &s->scratch);
		s->report.has_intervals = true;
		fflush(s->report.out);
	}
	perfctr_totals_reset(s->interval);
	return 0;
}

/*
 * Periods are aligned to a grid that all sessions share, so the first one is
 * shorter; if it is much shorter it belongs to the first interval.
 */
static bool interval_is_over(const struct stat *s)
{
	const struct perfctr_span *span = perfctr_totals_span(s->interval);
	const uint64_t wanted_ns = interval_ns(&s->options);

	if (span->samples + span->merged_periods < wanted_ns / s->options.period_ns)
		return false;
	return s->report.interval_count || span->elapsed_ns >= wanted_ns / 2;
}

static int take_sample(struct stat *s, struct perfctr_sample *sample)
{
	int error = perfctr_totals_add(s->run, sample);

	if (!error)
		error = perfctr_totals_add(s->interval, sample);
	if (!error)
		error = perfctr_totals_add(s->all, sample);
	if (error)
		return error;
	if (!s->report.start_ns)
		s->report.start_ns = sample->start_ns;
	if (interval_is_over(s))
		return end_interval(s);
	return 0;
}

/*
 * Take in what has been published so far, not what comes meanwhile: where samples come faster
 * than they can be shown there is no end.
 */
static int drain(struct stat *s)
{
	uint32_t left = perfctr_cursor_lag(s->cursor);
	struct perfctr_sample sample;
	int result;

	/* at least once: it also tells that the device is gone */
	do {
		result = perfctr_cursor_next(s->cursor, &sample);
		if (result <= 0)
			return result;
		result = take_sample(s, &sample);
		if (!result)
			result = perfctr_cursor_advance(s->cursor, 1);
	} while (!result && left-- > 1);
	return result;
}

/* Return: signal that shall end counting, 0 if none came. */
static int take_signals(struct stat *s)
{
	struct signalfd_siginfo info;
	int ends_by = 0;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		ends_by = (int)info.ssi_signo;
		/* the terminal tells the command by itself, kill(1) does not */
		if (s->options.command && info.ssi_code <= 0)
			kill(s->child.pid, ends_by);
	}
	return ends_by;
}

static int64_t earliest(int64_t a_ns, int64_t b_ns)
{
	if (a_ns < 0)
		return b_ns;
	return b_ns < 0 || a_ns < b_ns ? a_ns : b_ns;
}

/* Read samples until the command ends, the time is over or a signal says so. */
static int count(struct stat *s)
{
	const uint64_t begin_ns = perfctr_time_raw_ns();
	uint64_t told_ns = 0;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = s->signal_fd, .events = POLLIN },
			{ .fd = s->report.device_gone ? -1 : perfctr_session_eventfd(s->session),
			  .events = POLLIN },
		};
		uint64_t now_ns, counter;
		int64_t left_ns = -1;
		int ends_by, error;

		error = s->report.device_gone ? 0 : drain(s);
		if (error == -ENODEV) {
			/* what was counted until then is worth showing, and the command goes on */
			s->report.device_gone = true;
			if (!s->options.command)
				return 0;
			continue;
		}
		if (error)
			return error;
		now_ns = perfctr_time_raw_ns();
		if (s->options.timeout_ns && !told_ns)
			left_ns = now_ns - begin_ns >= s->options.timeout_ns ?
					  0 :
					  (int64_t)(s->options.timeout_ns - (now_ns - begin_ns));
		if (told_ns)
			left_ns = earliest(left_ns, now_ns - told_ns >= END_GRACE_MS * NS_PER_MS ?
							    0 :
							    (int64_t)(END_GRACE_MS * NS_PER_MS -
								      (now_ns - told_ns)));
		if (s->options.command && child_poll(&s->child))
			return 0;
		if (!left_ns) {
			if (!s->options.command || told_ns)
				return 0;
			kill(s->child.pid, SIGTERM);
			told_ns = now_ns;
			continue;
		}
		/* the eventfd tells of news only, and of the end of the ring once */
		if (!s->report.device_gone &&
		    (perfctr_cursor_lag(s->cursor) ||
		     perfctr_cursor_state(s->cursor) & DRM_PERFCTR_RING_DEAD))
			left_ns = 0;
		if (poll(fds, ARRAY_SIZE(fds),
			 left_ns < 0 ? -1 : (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS)) < 0 &&
		    errno != EINTR)
			return -errno;
		/* the count says nothing that the ring does not */
		if (fds[1].revents && read(fds[1].fd, &counter, sizeof(counter)) < 0 &&
		    errno != EAGAIN)
			return -errno;
		ends_by = take_signals(s);
		if (ends_by) {
			s->report.ended_by = ends_by;
			if (!s->options.command)
				return 0;
			if (!told_ns)
				told_ns = now_ns;
		}
	}
}

static int launch(struct stat *s)
{
	bool data_on_stdout = (s->options.json || s->options.jsonl || s->options.separator) &&
			      !s->options.output;
	int error;

	if (!s->options.command)
		return 0;
	error = child_prepare(&s->child, s->options.command, data_on_stdout ? STDERR_FILENO : -1);
	if (error) {
		app_error(s->app, "%s: %s", s->options.command[0], strerror(-error));
		return EXIT_CANNOT_RUN;
	}
	return 0;
}

/* Let the command go once counting has begun. Return: 0 or an exit status. */
static int let_go(struct stat *s)
{
	int error;

	if (!s->options.command)
		return 0;
	error = child_go(&s->child);
	if (!error)
		return 0;
	app_error(s->app, "%s: %s", s->options.command[0], strerror(-error));
	return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

/* A command that outlived its grace is left to run: it is not ours to kill hard. */
static void finish_child(struct stat *s)
{
	if (!s->options.command)
		return;
	if (s->child.ended)
		s->report.exit_status = child_exit_status(&s->child);
	else
		s->report.exit_status =
			EXIT_SIGNAL_BASE + (s->report.ended_by ? s->report.ended_by : SIGTERM);
}

/* Return: 0 or an exit status. */
static int run_once(struct stat *s)
{
	int status, error, stop_error;

	status = launch(s);
	if (status)
		return status;
	perfctr_totals_reset(s->run);
	perfctr_totals_reset(s->interval);
	error = perfctr_session_start(s->session, 0);
	if (error) {
		child_abandon(&s->child);
		return app_failed(s->app, error);
	}
	status = let_go(s);
	error = status ? 0 : count(s);
	stop_error = perfctr_session_stop(s->session, 0);
	if (stop_error == -ENODEV)
		s->report.device_gone = true;
	else if (!error)
		error = stop_error;
	/* what is in the ring is worth showing after an error too */
	stop_error = drain(s);
	if (!error && stop_error != -ENODEV)
		error = stop_error;
	if (!status && !error)
		error = end_interval(s);
	finish_child(s);
	if (status)
		return status;
	if (error)
		return app_failed(s->app, error);

	error = rows_fill(&s->scratch, s->run, s->report.selection, s->options.per_block);
	if (!error)
		error = find_stats(&s->report, &s->scratch);
	for (size_t i = 0; !error && i < s->scratch.count; i++)
		add_run(&s->report.stats[i], &s->scratch.rows[i]);
	s->report.runs++;
	return error ? app_failed(s->app, error) : 0;
}

static int run_all(struct stat *s)
{
	struct stat_report *report = &s->report;
	uint32_t runs = s->options.repeat ? s->options.repeat : 1;
	int status = 0, error;

	s->format->begin(report);
	while (!status && runs-- && !report->ended_by && !report->device_gone)
		status = run_once(s);

	/* whatever happened: the result so far is shown and the document is whole */
	error = perfctr_session_status(s->session, &report->status, sizeof(report->status));
	if (error)
		report->status = (struct drm_perfctr_status){ 0 };
	error = rows_fill(&report->rows, s->all, report->selection, s->options.per_block);
	if (error && !status)
		status = app_failed(s->app, error);
	if (!status && report->device_gone) {
		app_error(s->app,
			  "the device is gone: what follows was counted in the %.3f s before",
			  (double)report->rows.span.elapsed_ns * 1e-9);
	}
	if (status && !report->exit_status)
		report->exit_status = status;
	s->format->end(report);
	if (status)
		return status;
	return report->device_gone && !report->exit_status ? EXIT_NO_DEVICE : report->exit_status;
}

/* --- set-up ------------------------------------------------------------------ */

static int create_session(struct stat *s)
{
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.period_ns = s->options.period_ns,
		.flags = s->options.keep_awake ? DRM_PERFCTR_SETUP_KEEP_AWAKE : 0,
	};
	uint64_t samples = s->options.interval_ns ? s->options.interval_ns / opts.period_ns : 1;
	int error;

	/* wake once per interval, and in time before the ring of 16 slots is full */
	opts.watermark = samples < 1 ? 1 : samples > 8 ? 8 : (uint32_t)samples;
	if (!s->options.interval_ns && opts.period_ns < 10 * NS_PER_MS)
		opts.watermark = 8;
	error = perfctr_session_new(s->report.selection, &opts, &s->session);
	if (!error)
		error = perfctr_cursor_new(s->session, &s->cursor);
	if (!error)
		error = perfctr_totals_new(s->app->ctx, &s->all);
	if (!error)
		error = perfctr_totals_new(s->app->ctx, &s->run);
	if (!error)
		error = perfctr_totals_new(s->app->ctx, &s->interval);
	return error ? app_failed(s->app, error) : 0;
}

static int select_events(struct stat *s)
{
	struct perfctr_selection *selection;
	int error = perfctr_selection_new(s->report.device, &selection);

	if (error)
		return app_failed(s->app, error);
	s->report.selection = selection;
	if (s->options.set) {
		error = perfctr_selection_set_counter_set(selection, s->options.set);
		if (error)
			return app_failed(s->app, error);
	}
	return app_select(s->app, selection, s->options.events, s->options.event_count);
}

static int open_output(struct stat *s)
{
	bool data = s->options.json || s->options.jsonl || s->options.separator;

	if (!s->options.output) {
		s->report.out = data || !s->options.command ? s->app->out : s->app->err;
		return 0;
	}
	s->report.out = fopen(s->options.output, "we");
	if (s->report.out)
		return 0;
	app_error(s->app, "%s: %s", s->options.output, strerror(errno));
	return EXIT_FAILED;
}

static int close_output(struct stat *s, int status)
{
	int error;

	if (!s->report.out)
		return status;
	error = app_flush(s->report.out);
	if (s->options.output && fclose(s->report.out) && !error)
		error = -errno;
	if (!error)
		return status;
	app_error(s->app, "writing the result: %s", strerror(-error));
	return EXIT_FAILED;
}

/* Signals become readable, so that none is missed and none interrupts. */
static int catch_signals(struct stat *s, sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, before);
	s->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->signal_fd >= 0)
		return 0;
	app_error(s->app, "signalfd: %s", strerror(errno));
	return EXIT_FAILED;
}

static const struct stat_format *choose_format(const struct stat_options *o)
{
	if (o->json)
		return &stat_json;
	if (o->jsonl)
		return &stat_jsonl;
	return o->separator ? &stat_csv : &stat_text;
}

int stat_run(struct app *app, int argc, char **argv)
{
	struct stat s = { .app = app, .signal_fd = -1 };
	sigset_t before;
	int status;

	s.report.options = &s.options;
	status = parse_options(app, argc, argv, &s.options);
	if (status) {
		free(s.options.events);
		return status < 0 ? EXIT_FINE : status;
	}
	app->via = s.options.via;
	s.format = choose_format(&s.options);
	s.report.verdicts = verdicts_load(app->err);
	s.scratch.verdicts = s.report.verdicts;
	s.scratch.ctx = app->ctx;
	s.scratch.trusted_only = s.options.trusted_only;
	s.report.rows.verdicts = s.report.verdicts;
	s.report.rows.ctx = app->ctx;
	s.report.rows.trusted_only = s.options.trusted_only;
	sigprocmask(SIG_SETMASK, NULL, &before);

	status = app_open_device(app, s.options.device, &s.report.device);
	if (!status)
		status = select_events(&s);
	if (!status)
		status = create_session(&s);
	if (!status)
		status = open_output(&s);
	if (!status)
		status = catch_signals(&s, &before);
	if (!status)
		status = run_all(&s);
	status = close_output(&s, status);

	if (s.signal_fd >= 0)
		close(s.signal_fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	verdicts_free(s.report.verdicts);
	rows_free(&s.scratch);
	rows_free(&s.report.rows);
	free(s.report.stats);
	perfctr_totals_unref(s.all);
	perfctr_totals_unref(s.run);
	perfctr_totals_unref(s.interval);
	perfctr_cursor_unref(s.cursor);
	perfctr_session_unref(s.session);
	perfctr_selection_unref(s.report.selection);
	perfctr_device_unref(s.report.device);
	free(s.options.events);
	return status;
}
