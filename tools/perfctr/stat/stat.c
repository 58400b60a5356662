// SPDX-License-Identifier: MIT
/* perfctr stat: count while a command runs, or until a signal. */
#include "stat.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "lib/command.h"
#include "lib/device.h"
#include "lib/output.h"
#include "lib/signals.h"

enum {
	/* without -I and -p: short enough for min and max, long enough to cost little */
	DEFAULT_PERIOD_MS = 100,
	MAX_REPEAT = 10000,
};

static const char help[] =
	"usage: perfctr stat [OPTION...] [[--] COMMAND [ARGUMENT...]]\n"
	"\n"
	"Counts events of the whole device while COMMAND runs, without one until Ctrl-C;\n"
	"on the local device those of COMMAND and its children, where the PMU can.\n"
	"\n"
	"  -e, --event EVENTS     e.g. shader*/FRAG*,memsys0/L2_READ,metric:l2_*,\n"
	"                         software/cpu-clock/,ucf0/mem_bytes_rd,src_loc_cpu=1/\n"
	"  -I, --interval TIME    print each interval; a number without unit is in ms\n"
	"  -p, --period TIME      sample that often (default: the interval, else 100ms)\n"
	"  -A, --per-core         a line for each block, and for each CPU that an event is\n"
	"                         counted on with -a (also --per-block, --no-aggr)\n"
	"      --per-context      by the tags of the samples that jobs of COMMAND carry; it\n"
	"                         finds PERFCTR_FD and PERFCTR_SESSION in its environment\n"
	"  -r, --repeat N         run the command N times, show mean and deviation\n"
	"      --timeout TIME     end after TIME, 500ms or 2s; a number is in ms\n"
	"  -x, --field-separator SEP   CSV; fields: [time or context,] value, unit,\n"
	"                         event, running ns, running %, rate, min, max\n"
	"  -j, --json             one JSON document; --jsonl: one object per line\n"
	"  -o, --output FILE      write there\n"
	"  -d, --device DEVICE    node (renderD128), driver or name\n"
	"      --via SOCKET       through the broker (perfctr serve) there\n"
	"      --set N            counter set 0, 1 or 2\n"
	"      --keep-awake       do not let the GPU power down while counting\n"
	"      --trusted-only     leave out what perfctr validate did not find trusted\n"
	"  -a, --all-cpus         what all processes do; other devices count nothing else\n"
	"      --per-client       engine times of each process that uses a GPU, too (local)\n"
	"      --pid PID          a process and its future children, on the local device\n"
	"\n"
	"A table goes to stderr if there is a COMMAND, as with perf; CSV and JSON go to\n"
	"stdout, and what the command prints then goes to stderr. Exit: the command's own\n"
	"status (128 + signal), without one 0; 1 error, 2 usage, 3 not permitted, 4 no\n"
	"device, 126 and 127 the command cannot be run.\n";

/* --- options --------------------------------------------------------------- */

static int take_separator(const struct app *app, void *options, const char *text)
{
	struct stat_options *o = options;

	if (!*text || strpbrk(text, "\"\n"))
		return app_usage(app, "-x '%s': give a separator that is no quote", text);
	/* as perf's */
	o->separator = strcmp(text, "\\t") ? text : "\t";
	return 0;
}

static int check_options(const struct app *app, struct stat_options *o)
{
	struct counting *c = &o->counting;

	if (o->repeat > 1 && !c->command)
		return app_usage(app, "-r repeats a command: give one");
	if (o->repeat > 1 && o->interval_ns)
		return app_usage(app, "-r and -I do not go together");
	if (!!o->separator + c->json + o->jsonl > 1)
		return app_usage(app, "-x, --json and --jsonl exclude each other");
	if (o->interval_ns && c->period_ns > o->interval_ns)
		return app_usage(app, "the period -p is longer than the interval -I");
	if (o->per_context && !c->command)
		return app_usage(app, "--per-context counts the jobs of a COMMAND apart: "
				      "give one");
	/* samples for other reasons inside a job belong to no context */
	if (o->per_context && (o->interval_ns || c->has_period || o->repeat > 1))
		return app_usage(app, "--per-context needs the jobs' own samples alone: without "
				      "-I, -p and -r");
	if (!c->has_period && !o->per_context)
		c->period_ns = o->interval_ns ? o->interval_ns : DEFAULT_PERIOD_MS * NS_PER_MS;
	return 0;
}

static int parse_options(struct app *app, int argc, char **argv, struct stat_options *o)
{
	const struct option_spec options[] = {
		COUNTING_OPTIONS(app, &o->counting, TIME),
		OPTION('I', "interval", TIME, &o->interval_ns),
		OPTION('I', "interval-print", TIME, &o->interval_ns),
		OPTION_PER_BLOCK(&o->per_block),
		OPTION(0, "per-context", FLAG, &o->per_context),
		OPTION('r', "repeat", NUMBER, &o->repeat, .min = 1, .max = MAX_REPEAT),
		OPTION('x', "field-separator", CALL, o, .call = take_separator),
		OPTION('j', "json-output", FLAG, &o->counting.json),
		OPTION(0, "jsonl", FLAG, &o->jsonl),
		OPTION(0, "trusted-only", FLAG, &o->trusted_only),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_COMMAND);

	if (status)
		return status;
	if (optind < argc)
		o->counting.command = argv + optind;
	return check_options(app, o);
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
	struct signals signals;
	struct command command;
	struct output output; /* a file that appears as a whole */
	bool prepared; /* the next run's workload waits to be executed */
};

/* 0: one interval covers the whole time */
static uint64_t interval_ns(const struct stat_options *o)
{
	return o->interval_ns ? o->interval_ns : o->counting.period_ns;
}

/* Row n of an interval belongs to row n of the run. */
static int end_interval(struct stat *s)
{
	const struct perfctr_span *span = perfctr_totals_span(s->interval);
	const uint64_t wanted_ns = interval_ns(&s->options);
	bool long_enough;
	int error;

	if (!span->samples)
		return 0;
	/* rates of any length are comparable, but the last interval may be almost empty */
	long_enough = wanted_ns && span->elapsed_ns >= wanted_ns / 2;
	error = rows_fill(&s->scratch, s->interval, s->report.selection, s->options.per_block);
	if (!error)
		error = stat_find_rows(&s->report, &s->scratch);
	if (error)
		return error;
	for (size_t i = 0; wanted_ns && i < s->scratch.count; i++) {
		const struct row *row = &s->scratch.rows[i];

		row_stat_add_interval(&s->report.stats[i], row, row->elapsed_ns, long_enough);
	}
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
 * Periods are aligned to a grid that all sessions share, so the first one is shorter. If it is much
 * shorter it belongs to the first interval.
 */
static bool interval_is_over(const struct stat *s)
{
	const struct perfctr_span *span = perfctr_totals_span(s->interval);
	const uint64_t wanted_ns = interval_ns(&s->options);

	if (!wanted_ns ||
	    span->samples + span->merged_periods < wanted_ns / s->options.counting.period_ns)
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
	if (!error && s->options.per_context)
		error = stat_contexts_add(&s->report.contexts, s->app->ctx, sample);
	if (error)
		return error;
	if (!s->report.start_ns)
		s->report.start_ns = sample->start_ns;
	if (interval_is_over(s))
		return end_interval(s);
	return 0;
}

/*
 * Take the samples published so far. Samples that arrive meanwhile wait, because a source that is
 * faster than the output would keep this loop running.
 */
static int drain(struct stat *s)
{
	uint32_t left = perfctr_cursor_lag(s->cursor);
	struct perfctr_sample sample;
	int result;

	/* at least once: it also reports that the device is gone */
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

/* time left of a duration that began at begin_ns */
static int64_t left_of(uint64_t duration_ns, uint64_t begin_ns, uint64_t now_ns)
{
	return now_ns - begin_ns >= duration_ns ? 0 : (int64_t)(duration_ns - (now_ns - begin_ns));
}

/* Read samples until the workload ends, the time is over or a signal comes. */
static int count(struct stat *s)
{
	const uint64_t begin_ns = perfctr_time_raw_ns();
	const uint64_t timeout_ns = s->options.counting.timeout_ns;
	struct drm_perfctr_status status;
	uint64_t told_ns = 0;
	int ready = 1;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = s->signals.fd, .events = POLLIN },
			{ .fd = s->report.device_gone ? -1 : perfctr_session_eventfd(s->session),
			  .events = POLLIN },
			{ .fd = s->command.watched_fd, .events = POLLIN },
		};
		uint64_t now_ns, counter;
		int64_t left_ns = -1;
		int ends_by, error;

		error = s->report.device_gone ? 0 : drain(s);
		/* the ring of a local session does not say that a broker was killed */
		if (!error && !ready && !s->report.device_gone)
			error = perfctr_session_status(s->session, &status, sizeof(status));
		if (error == -ENODEV) {
			/* show what was counted until then; the workload continues */
			s->report.device_gone = true;
			if (!s->command.argv)
				return 0;
			continue;
		}
		if (error)
			return error;
		now_ns = perfctr_time_raw_ns();
		if (told_ns)
			left_ns = left_of(COMMAND_GRACE_MS * NS_PER_MS, told_ns, now_ns);
		else if (timeout_ns)
			left_ns = left_of(timeout_ns, begin_ns, now_ns);
		if (command_has_ended(&s->command))
			return 0;
		if (!left_ns) {
			if (!s->command.argv || told_ns)
				return 0;
			command_kill(&s->command, SIGTERM);
			told_ns = now_ns;
			continue;
		}
		/* the eventfd signals new samples, and the end of the ring only once */
		if (!s->report.device_gone &&
		    (perfctr_cursor_lag(s->cursor) ||
		     perfctr_cursor_state(s->cursor) & DRM_PERFCTR_RING_DEAD))
			left_ns = 0;
		if (left_ns < 0 || left_ns > (int64_t)NS_PER_S)
			left_ns = NS_PER_S;
		ready = poll(fds, ARRAY_SIZE(fds), (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS));
		if (ready < 0 && errno != EINTR)
			return -errno;
		/* the eventfd's count is not needed */
		if (fds[1].revents && read(fds[1].fd, &counter, sizeof(counter)) < 0 &&
		    errno != EAGAIN)
			return -errno;
		ends_by = command_take_signals(&s->command, &s->signals);
		if (ends_by) {
			s->report.ended_by = ends_by;
			if (!s->command.argv)
				return 0;
			if (!told_ns)
				told_ns = now_ns;
		}
	}
}

static int create_session(void *data)
{
	struct stat *s = data;
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.period_ns = s->options.counting.period_ns,
		.flags = PERFCTR_SESSION_SKIP_UNSUPPORTED |
			 (s->options.counting.keep_awake ? DRM_PERFCTR_OPEN_KEEP_AWAKE : 0),
	};
	uint64_t samples = s->options.interval_ns ? s->options.interval_ns / opts.period_ns : 1;
	int error;

	s->cursor = perfctr_cursor_unref(s->cursor);
	s->session = perfctr_session_unref(s->session);
	/* wake once per interval, and before the ring of 16 slots is full */
	opts.watermark = samples < 1 ? 1 : samples > 8 ? 8 : (uint32_t)samples;
	if (!s->options.interval_ns && opts.period_ns < 10 * NS_PER_MS)
		opts.watermark = 8;
	error = s->options.per_context ?
			counting_in_stream_session(s->report.selection, &opts, &s->session) :
			perfctr_session_new(s->report.selection, &opts, &s->session);
	if (!error)
		error = perfctr_cursor_new(s->session, &s->cursor);
	if (!error && !s->all)
		error = rows_totals(s->app, s->report.selection, &s->all);
	if (!error && !s->run)
		error = rows_totals(s->app, s->report.selection, &s->run);
	if (!error && !s->interval)
		error = rows_totals(s->app, s->report.selection, &s->interval);
	if (error)
		return app_failed(s->app, error);
	return s->options.per_context ?
		       command_share(s->app, &s->command, s->report.device, s->session) :
		       0;
}

/* Prepare the next run: the workload, and a session unless the last one can count it, too. */
static int prepare(struct stat *s)
{
	const struct stat_options *o = &s->options;
	bool data_on_stdout = (o->counting.json || o->jsonl || o->separator) && !o->counting.output;
	int stdout_fd = data_on_stdout ? STDERR_FILENO : -1;
	int status;

	if (s->session && !o->counting.of_task)
		status = command_prepare(s->app, &s->command, stdout_fd);
	else
		status = counting_prepare(s->app, &o->counting, s->report.device, &s->command,
					  stdout_fd, create_session, s);
	s->prepared = !status;
	return status;
}

/* Add up what the sessions of the runs did. */
static void add_status(struct stat *s)
{
	struct drm_perfctr_status *sum = &s->report.status, one = { 0 };

	if (perfctr_session_status(s->session, &one, sizeof(one)))
		return;
	one.published += sum->published;
	one.merged_periods += sum->merged_periods;
	*sum = one;
}

/* Return: 0 or an exit status. */
static int run_once(struct stat *s)
{
	int status = s->prepared ? 0 : prepare(s), error, stop_error;

	if (status)
		return status;
	s->prepared = false;
	perfctr_totals_reset(s->run);
	perfctr_totals_reset(s->interval);
	error = perfctr_session_start(s->session, 0);
	if (error) {
		command_abandon(&s->command);
		return app_failed(s->app, error);
	}
	status = command_go(s->app, &s->command);
	error = status ? 0 : count(s);
	stop_error = perfctr_session_stop(s->session, 0);
	if (stop_error == -ENODEV)
		s->report.device_gone = true;
	else if (!error)
		error = stop_error;
	/* show what the ring holds even after an error, but nothing of a command that never ran */
	stop_error = status ? 0 : drain(s);
	if (!error && stop_error != -ENODEV)
		error = stop_error;
	if (!status && !error)
		error = end_interval(s);
	if (!status)
		s->report.exit_status = command_status(&s->command, s->report.ended_by);
	if (status)
		return status;
	if (error)
		return app_failed(s->app, error);

	error = rows_fill(&s->scratch, s->run, s->report.selection, s->options.per_block);
	if (!error)
		error = stat_find_rows(&s->report, &s->scratch);
	for (size_t i = 0; !error && i < s->report.stat_count; i++)
		row_stat_end_run(&s->report.stats[i]);
	for (size_t i = 0; !error && i < s->scratch.count; i++)
		row_stat_add_run(&s->report.stats[i], &s->scratch.rows[i]);
	s->report.runs++;
	if (s->options.counting.of_task)
		add_status(s);
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

	/* show the result so far and complete the document, even after an error */
	if (!s->options.counting.of_task)
		add_status(s);
	error = rows_fill(&report->rows, s->all, report->selection, s->options.per_block);
	if (!error)
		error = stat_contexts_fill(&report->contexts, &report->rows, report->selection,
					   s->options.per_block);
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

/* Without -o: keeps the table apart from the workload's output. */
static FILE *usual_output(const struct stat *s)
{
	bool data = s->options.counting.json || s->options.jsonl || s->options.separator;

	return data || !s->command.argv ? s->app->out : s->app->err;
}

/* Only who prints intervals has a reader that follows; another result appears as a whole. */
static bool is_live(const struct stat *s)
{
	return !s->options.counting.output || s->options.interval_ns || s->options.jsonl;
}

static int open_output(struct stat *s)
{
	int status;

	if (is_live(s))
		return output_open_live(s->app, s->options.counting.output, usual_output(s),
					&s->report.out);
	status = output_open(s->app, s->options.counting.output, &s->output);
	s->report.out = s->output.stream;
	return status;
}

static int close_output(struct stat *s, int status)
{
	int closed;

	if (is_live(s))
		return output_close_live(s->app, s->options.counting.output, s->report.out, status);
	if (!s->output.stream)
		return status;
	/* the status of a command that was counted is no failure of ours */
	closed = output_close(s->app, &s->output, s->report.runs ? 0 : status);
	return closed ? closed : status;
}

static const struct stat_format *choose_format(const struct stat_options *o)
{
	if (o->counting.json)
		return &stat_json;
	if (o->jsonl)
		return &stat_jsonl;
	return o->separator ? &stat_csv : &stat_text;
}

static int select_per_cpu(const struct app *app, const struct stat *s)
{
	struct perfctr_selection *selection = s->report.selection;
	const size_t before = perfctr_selection_request_count(selection);
	int status = device_select_per_cpu(app, selection);

	if (!status && s->options.counting.of_task &&
	    perfctr_selection_request_count(selection) == before)
		fputs("perfctr stat: -A changes nothing: events of a process have no CPU; -a "
		      "counts those of all\n",
		      stderr);
	return status;
}

int stat_run(struct app *app, int argc, char **argv)
{
	struct stat s = { .app = app, .signals.fd = -1, .command = { .watched_fd = -1 } };
	const int more_signals[] = { SIGCHLD, 0 };
	int status;

	s.report.options = &s.options;
	status = parse_options(app, argc, argv, &s.options);
	if (status) {
		option_words_free(&s.options.counting.events);
		return status < 0 ? EXIT_FINE : status;
	}
	s.command.argv = s.options.counting.command;
	s.format = choose_format(&s.options);
	s.report.verdicts = verdicts_load(app->err);
	s.scratch.verdicts = s.report.verdicts;
	s.scratch.ctx = app->ctx;
	s.scratch.trusted_only = s.options.trusted_only;
	s.report.rows.verdicts = s.report.verdicts;
	s.report.rows.ctx = app->ctx;
	s.report.rows.trusted_only = s.options.trusted_only;

	status = counting_open(app, &s.options.counting, &s.report.device, &s.report.selection);
	if (!status)
		s.report.has_broker = counting_excludes(&s.options.counting) &&
				      device_broker_accepts(app);
	if (!status && s.options.per_block)
		status = select_per_cpu(app, &s);
	if (!status)
		status = prepare(&s);
	if (!status)
		status = open_output(&s);
	if (!status)
		status = signals_catch(app, &s.signals, more_signals);
	if (!status)
		status = run_all(&s);
	status = close_output(&s, status);

	if (s.prepared)
		command_abandon(&s.command);
	signals_release(&s.signals);
	command_close(&s.command);
	stat_contexts_free(&s.report.contexts);
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
	option_words_free(&s.options.counting.events);
	return status;
}
