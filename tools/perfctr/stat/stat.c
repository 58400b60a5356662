// SPDX-License-Identifier: MIT
/* perfctr stat: count while a command runs, or until a signal. */
#include "stat.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/number.h"
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
	"  -M, --metrics NAMES    metrics, as -e metric:NAME\n"
	"  -I, --interval TIME    print each interval; a number without unit is in ms\n"
	"  -p, --period TIME      sample that often (default: the interval, else 100ms)\n"
	"  -A, --per-core         a line for each block, and for each CPU that an event is\n"
	"                         counted on with -a (also --per-block, --no-aggr)\n"
	"      --per-context      by the tags of the samples that jobs of COMMAND carry; it\n"
	"                         finds PERFCTR_FD and PERFCTR_SESSION in its environment\n"
	"  -r, --repeat N         run the command N times, show mean and deviation\n"
	"      --timeout TIME     end after TIME, 500ms or 2s; a number is in ms\n"
	"  -D, --delay MS         count from MS later than the command starts; -1: from when\n"
	"                         --control enables it\n"
	"      --control fd:N[,M] commands enable, disable, evlist, ping come from the open\n"
	"                         file N, answers go to M; or fifo:PATH[,PATH]\n"
	"  -x, --field-separator SEP   CSV as perf's: [time or context,] [CPU,] value, unit,\n"
	"                         event, [cgroup,] [deviation,] ns that it ran, part in %,\n"
	"                         rate, its unit; behind them min, max, [runs]\n"
	"  -j, --json             one JSON document; --jsonl: one object per line\n"
	"  -o, --output FILE      write there; --append: behind what it has\n"
	"  -d, --device DEVICE    node (renderD128), driver or name; several, or all: each\n"
	"                         counts the events that it has, renderD128:EVENT\n"
	"      --via SOCKET       through the broker (perfctr serve) there\n"
	"      --set N            counter set 0, 1 or 2\n"
	"      --keep-awake       do not let the GPU power down while counting\n"
	"      --trusted-only     leave out what perfctr validate did not find trusted\n"
	"  -a, --all-cpus         what all processes do; other devices count nothing else\n"
	"      --per-client       engine times of each process that uses a GPU, too (local)\n"
	"      --pid PID,...      on the local device: processes and their future children;\n"
	"  -t, --tid TID,...      threads; -C, --cpu 0-3,8: these CPUs;\n"
	"  -G, --cgroup NAME,...  of the events before it: one for all, or one each\n"
	"      --for-each-cgroup NAME,...   several, apart\n"
	"  -v, --verbose          what is asked of the kernel, on stderr\n"
	"      --no-big-num       no commas between the digits of a table (-B, --big-num: as\n"
	"                         usual)\n"
	"\n"
	"CSV goes to stderr, as does a table if there is a COMMAND, both as with perf; JSON\n"
	"goes to stdout, and what the command prints then to stderr. Exit: the command's own\n"
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

static int take_delay(const struct app *app, void *options, const char *text)
{
	struct stat_options *o = options;

	o->starts_off = !strcmp(text, "-1");
	if (o->starts_off || !number_parse_time(text, NS_PER_MS, &o->delay_ns))
		return 0;
	return app_usage(app, "-D '%s': give a time such as 500 (ms) or 2s, or -1", text);
}

static int take_big_numbers(const struct app *app, void *to, const char *text)
{
	*(bool *)to = false;
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
	if (o->per_context && (o->delay_ns || o->starts_off || o->control.text))
		return app_usage(app, "--per-context counts from the start: without -D and "
				      "--control");
	if (o->repeat > 1 && o->control.text)
		return app_usage(app, "-r and --control do not go together");
	if (o->starts_off && !o->control.text)
		return app_usage(app, "-D -1 needs a --control that enables counting");
	if (o->append && !c->output)
		return app_usage(app, "--append is of the file of -o: give one");
	c->is_late = o->delay_ns || o->starts_off;
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
		OPTION('D', "delay", CALL, o, .call = take_delay),
		OPTION(0, "control", TEXT, &o->control.text),
		OPTION(0, "append", FLAG, &o->append),
		OPTION('v', "verbose", FLAG, &o->verbose),
		OPTION('B', "big-num", CALL_PLAIN, &o->no_big_numbers, .call = take_big_numbers),
		OPTION(0, "no-big-num", FLAG, &o->no_big_numbers),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_COMMAND);

	if (status)
		return status;
	if (optind < argc)
		o->counting.command = argv + optind;
	/* as perf: where it is without -o */
	if (o->counting.output && !strcmp(o->counting.output, "-"))
		o->counting.output = NULL;
	return check_options(app, o);
}

/* --- counting --------------------------------------------------------------- */

struct stat {
	struct app *app;
	struct stat_options options;
	const struct stat_format *format;
	struct stat_report report;
	struct signals signals;
	struct command command;
	struct output output; /* a file that appears as a whole */
	bool prepared; /* the next run's workload waits to be executed */
	bool on; /* it counts */
	bool learns; /* samples are for their names alone */
};

/* 0: one interval covers the whole time */
static uint64_t interval_ns(const struct stat_options *o)
{
	return o->interval_ns ? o->interval_ns : o->counting.period_ns;
}

/* Whether perf prints what is not counted, as its rows, while others print nothing. */
static bool shows_uncounted(const struct stat *s)
{
	return s->options.separator &&
	       (s->options.counting.is_late || s->options.control.text != NULL);
}

/* Devices end an interval a moment apart, and share the time of the first: rows can be grouped. */
static void stamp(struct stat *s, struct stat_device *d, uint64_t end_ns)
{
	struct stat_report *r = &s->report;
	const uint64_t apart_ns = end_ns > r->stamp_ns ? end_ns - r->stamp_ns : 0;

	if (d->stamp_ns == r->stamp_ns || apart_ns >= interval_ns(&s->options) / 2)
		r->stamp_ns = end_ns;
	d->stamp_ns = r->stamp_ns;
}

static void print_interval(struct stat *s, struct stat_device *d, uint64_t end_ns)
{
	stamp(s, d, end_ns);
	s->format->interval(&s->report, d);
	s->report.has_intervals = true;
	fflush(s->report.out);
}

/* Print the intervals that ended. */
static void print_due(struct stat *s)
{
	for (size_t n = 0; n < s->report.count; n++) {
		struct stat_device *d = &s->report.devices[n];

		if (d->is_due)
			print_interval(s, d, d->last_end_ns);
		d->is_due = false;
	}
}

/* Whether no device that counts is still in the interval that others ended. */
static bool are_all_due(const struct stat *s)
{
	for (size_t n = 0; n < s->report.count; n++) {
		const struct stat_device *d = &s->report.devices[n];

		if (!d->is_due && d->counted->session && !d->counted->is_gone)
			return false;
	}
	return true;
}

/* Row n of an interval belongs to row n of the run. */
static int end_interval(struct stat *s, struct stat_device *d)
{
	const struct perfctr_span *span = perfctr_totals_span(d->interval);
	const uint64_t wanted_ns = interval_ns(&s->options);
	struct perfctr_totals *before = d->last;
	bool long_enough;
	int error;

	if (!span->samples)
		return 0;
	/* one of the devices is late, by a whole interval */
	if (d->is_due)
		print_due(s);
	/* rates of any length are comparable, but the last interval may be almost empty */
	long_enough = wanted_ns && span->elapsed_ns >= wanted_ns / 2;
	error = rows_fill(&d->scratch, d->interval, d->counted->selection, s->options.per_block);
	if (!error)
		error = stat_find_rows(d, &d->scratch);
	if (error)
		return error;
	for (size_t i = 0; wanted_ns && i < d->scratch.count; i++) {
		const struct row *row = &d->scratch.rows[i];

		row_stat_add_interval(&d->stats[i], row, row->elapsed_ns, long_enough);
	}
	d->interval_count++;
	d->last_end_ns = span->end_ns;
	d->last = d->interval;
	d->interval = before;
	perfctr_totals_reset(d->interval);
	d->is_due = s->options.interval_ns;
	if (d->is_due && are_all_due(s))
		print_due(s);
	return 0;
}

/* End the interval of each device, however short. */
static int end_intervals(struct stat *s)
{
	int error = 0;

	for (size_t n = 0; !error && n < s->report.count; n++)
		error = end_interval(s, &s->report.devices[n]);
	print_due(s);
	return error;
}

/* The rows of what is not counted now. Return: 0 or a negative errno. */
static int print_idle(struct stat *s, uint64_t now_ns)
{
	int error = 0;

	for (size_t n = 0; !error && n < s->report.count; n++) {
		struct stat_device *d = &s->report.devices[n];

		error = rows_fill(&d->scratch, d->names, d->counted->selection,
				  s->options.per_block);
		if (error)
			break;
		d->is_uncounted = true;
		print_interval(s, d, now_ns);
		d->is_uncounted = false;
	}
	return error;
}

/*
 * Periods are aligned to a grid that all sessions share, so the first one is shorter. If it is much
 * shorter it belongs to the first interval.
 */
static bool interval_is_over(const struct stat *s, const struct stat_device *d)
{
	const struct perfctr_span *span = perfctr_totals_span(d->interval);
	const uint64_t wanted_ns = interval_ns(&s->options);

	if (!wanted_ns ||
	    span->samples + span->merged_periods < wanted_ns / s->options.counting.period_ns)
		return false;
	return d->interval_count || span->elapsed_ns >= wanted_ns / 2;
}

static int take_sample(void *data, struct counted *counted, const struct perfctr_slot *slot)
{
	struct stat *s = data;
	struct stat_device *d = &s->report.devices[counted - s->options.counting.counted];
	struct perfctr_sample sample;
	int error = perfctr_decode_sample(slot->bytes, slot->size, &sample);

	if (error <= 0)
		return error ? error : -EBADMSG;
	if (s->learns)
		return perfctr_totals_add(d->names, &sample);
	error = perfctr_totals_add(d->run, &sample);
	if (!error)
		error = perfctr_totals_add(d->interval, &sample);
	if (!error)
		error = perfctr_totals_add(d->all, &sample);
	if (!error && s->options.per_context)
		error = stat_contexts_add(&d->contexts, s->app->ctx, &sample);
	if (error)
		return error;
	if (!s->report.start_ns)
		s->report.start_ns = sample.start_ns;
	return interval_is_over(s, d) ? end_interval(s, d) : 0;
}

static int drain(struct stat *s)
{
	return counting_take(s->app, &s->options.counting, take_sample, s);
}

/* time left of a duration that began at begin_ns */
static int64_t left_of(uint64_t duration_ns, uint64_t begin_ns, uint64_t now_ns)
{
	return now_ns - begin_ns >= duration_ns ? 0 : (int64_t)(duration_ns - (now_ns - begin_ns));
}

/* Begin or end counting; samples that are there are taken. Return: 0 or an exit status. */
static int turn(struct stat *s, bool on)
{
	int status = 0, error = 0;

	if (on == s->on)
		return 0;
	if (on)
		status = counting_start(s->app, &s->options.counting);
	else
		error = counting_stop(&s->options.counting);
	s->on = on && !status;
	/* what follows is an interval without counts */
	if (!on && !error && shows_uncounted(s) && s->options.interval_ns)
		error = drain(s);
	if (!on && !error && shows_uncounted(s))
		error = end_intervals(s);
	return error ? app_failed(s->app, error) : status;
}

/*
 * A sample of a moment before anything is to be counted has the names of what is not counted.
 * Return: 0 or an exit status.
 */
static int learn_names(struct stat *s)
{
	int status, error;

	s->learns = true;
	status = counting_start(s->app, &s->options.counting);
	error = status ? 0 : counting_stop(&s->options.counting);
	if (!status && !error)
		error = drain(s);
	s->learns = false;
	return error && error != -ENODEV ? app_failed(s->app, error) : status;
}

/* -v: the requests, as they are asked for. */
static void print_requests(const struct stat *s)
{
	const struct counting *c = &s->options.counting;

	for (size_t n = 0; n < c->count; n++) {
		const struct perfctr_selection *selection = c->counted[n].selection;
		const size_t count = selection ? perfctr_selection_request_count(selection) : 0;

		for (size_t i = 0; i < count; i++) {
			const struct drm_perfctr_block_request *r =
				perfctr_selection_request(selection, i);

			if (r->flags & DRM_PERFCTR_REQUEST_PMU)
				app_error(s->app,
					  "%s: perf type %u, config 0x%llx 0x%llx 0x%llx, CPU %d",
					  c->counted[n].name, r->pmu_type,
					  (unsigned long long)r->config,
					  (unsigned long long)r->config1,
					  (unsigned long long)r->config2, r->cpu);
			else
				app_error(s->app, "%s: %s%u, section %u, counters 0x%llx",
					  c->counted[n].name, perfctr_block_type_name(r->type),
					  r->index, r->section, (unsigned long long)r->mask);
		}
	}
}

/* Names of what is counted, on stderr as perf's; of the defaults, what the kernel is asked. */
static void print_names(struct stat *s)
{
	struct counting *c = &s->options.counting;
	struct counting_walk walk = { 0 };
	struct counted *only;
	char *event;

	while ((event = counting_next_event(c, &walk, &only))) {
		fprintf(s->app->err, "%s\n", event);
		free(event);
	}
	for (size_t n = 0; n < c->metrics.count; n++)
		fprintf(s->app->err, "%s\n", c->metrics.words[n]);
	if (!c->events.count && !c->metrics.count)
		print_requests(s);
}

/* Do what --control says. Return: 0 or an exit status. */
static int obey(struct stat *s)
{
	struct control *control = &s->options.control;
	const enum control_command command = control_take(s->app, control);
	int status = 0;

	if (command == CONTROL_ENABLE || command == CONTROL_DISABLE)
		status = turn(s, command == CONTROL_ENABLE);
	if (command == CONTROL_EVLIST)
		print_names(s);
	if (command != CONTROL_NONE && command != CONTROL_SNAPSHOT && !status)
		control_answer(control);
	return status;
}

/*
 * Read samples until the workload ends, the time is over or a signal comes.
 * @status: an exit status, its message was printed. Return: 0 or a negative errno.
 */
static int count(struct stat *s, int *status)
{
	const uint64_t begin_ns = perfctr_time_raw_ns();
	const uint64_t timeout_ns = s->options.counting.timeout_ns;
	const uint64_t idle_interval_ns = shows_uncounted(s) ? s->options.interval_ns : 0;
	uint64_t told_ns = 0, delay_ns = s->options.delay_ns, idle_ns = begin_ns;

	if (idle_interval_ns && !s->report.start_ns)
		s->report.start_ns = begin_ns;
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = s->signals.fd, .events = POLLIN },
			{ .fd = s->command.watched_fd, .events = POLLIN },
			{ .fd = s->options.control.fd, .events = POLLIN },
		};
		int64_t left_ns = -1;
		uint64_t now_ns;
		int ends_by, error;

		error = s->report.device_gone ? 0 : drain(s);
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
		if (delay_ns && !left_of(delay_ns, begin_ns, now_ns)) {
			delay_ns = 0;
			*status = turn(s, true);
			if (*status)
				return 0;
		}
		if (!left_ns) {
			if (!s->command.argv || told_ns)
				return 0;
			command_kill(&s->command, SIGTERM);
			told_ns = now_ns;
			continue;
		}
		idle_ns = s->on ? now_ns : idle_ns;
		if (idle_interval_ns && !left_of(idle_interval_ns, idle_ns, now_ns)) {
			error = print_idle(s, now_ns);
			idle_ns += idle_interval_ns;
			if (error)
				return error;
		}
		if (left_ns < 0 || left_ns > (int64_t)NS_PER_S)
			left_ns = NS_PER_S;
		if (idle_interval_ns && !s->on &&
		    left_of(idle_interval_ns, idle_ns, now_ns) < left_ns)
			left_ns = left_of(idle_interval_ns, idle_ns, now_ns);
		if (delay_ns && left_of(delay_ns, begin_ns, now_ns) < left_ns)
			left_ns = left_of(delay_ns, begin_ns, now_ns);
		error = counting_wait(&s->options.counting, fds, ARRAY_SIZE(fds),
				      (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS));
		if (error)
			return error;
		*status = fds[2].revents ? obey(s) : 0;
		if (*status)
			return 0;
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

static int new_totals(const struct stat *s, struct stat_device *d)
{
	struct perfctr_totals **const totals[] = { &d->all, &d->run, &d->interval, &d->last };
	int error = 0;

	for (size_t n = 0; !error && n < ARRAY_SIZE(totals); n++)
		if (!*totals[n])
			error = rows_totals(s->app, d->counted->selection, totals[n]);
	if (!error && shows_uncounted(s) && !d->names)
		error = rows_totals(s->app, d->counted->selection, &d->names);
	return error;
}

static int create_sessions(void *data)
{
	struct stat *s = data;
	struct counting *c = &s->options.counting;
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.period_ns = c->period_ns,
		.flags = PERFCTR_SESSION_SKIP_UNSUPPORTED |
			 (c->keep_awake ? DRM_PERFCTR_OPEN_KEEP_AWAKE : 0),
	};
	uint64_t samples = s->options.interval_ns ? s->options.interval_ns / opts.period_ns : 1;
	int error = 0, status;

	/* wake once per interval, and before the ring of 16 slots is full */
	opts.watermark = samples < 1 ? 1 : samples > 8 ? 8 : (uint32_t)samples;
	if (!s->options.interval_ns && opts.period_ns < 10 * NS_PER_MS)
		opts.watermark = 8;
	status = counting_create(s->app, c, &opts, s->options.per_context);
	if (status)
		return status;
	s->report.count = c->count;
	for (size_t n = 0; !error && n < c->count; n++) {
		struct stat_device *d = &s->report.devices[n];

		d->counted = &c->counted[n];
		for (size_t i = 0; i < 2; i++) {
			struct rows *rows = i ? &d->scratch : &d->rows;

			rows->verdicts = s->report.verdicts;
			rows->ctx = s->app->ctx;
			rows->trusted_only = s->options.trusted_only;
			rows->device = counting_name(c, d->counted);
		}
		error = new_totals(s, d);
	}
	if (error)
		return app_failed(s->app, error);
	return s->options.per_context ? command_share(s->app, &s->command, c->counted[0].device,
						      c->counted[0].session) :
					0;
}

/* Prepare the next run: the workload, and a session unless the last one can count it, too. */
static int prepare(struct stat *s)
{
	struct stat_options *o = &s->options;
	bool data_on_stdout = (o->counting.json || o->jsonl) && !o->counting.output;
	int stdout_fd = data_on_stdout ? STDERR_FILENO : -1;
	int status;

	if (s->report.count && !counting_of_task(&o->counting))
		status = command_prepare(s->app, &s->command, stdout_fd);
	else
		status = counting_prepare(s->app, &o->counting, &s->command, stdout_fd,
					  create_sessions, s);
	s->prepared = !status;
	return status;
}

/* Add up what the sessions of the runs did. */
static void add_status(struct stat *s)
{
	counting_status(&s->options.counting);
	for (size_t n = 0; n < s->report.count; n++) {
		struct drm_perfctr_status *sum = &s->report.devices[n].status;
		struct drm_perfctr_status one = s->report.devices[n].counted->status;

		if (!s->report.devices[n].counted->has_status)
			continue;
		one.published += sum->published;
		one.merged_periods += sum->merged_periods;
		*sum = one;
	}
}

static int end_run(const struct stat *s, struct stat_device *d)
{
	int error = rows_fill(&d->scratch, d->run, d->counted->selection, s->options.per_block);

	if (!error)
		error = stat_find_rows(d, &d->scratch);
	for (size_t i = 0; !error && i < d->stat_count; i++)
		row_stat_end_run(&d->stats[i]);
	for (size_t i = 0; !error && i < d->scratch.count; i++)
		row_stat_add_run(&d->stats[i], &d->scratch.rows[i]);
	return error;
}

/* Return: 0 or an exit status. */
static int run_once(struct stat *s)
{
	int status = s->prepared ? 0 : prepare(s), error, stop_error;
	bool was_on;

	if (status)
		return status;
	s->prepared = false;
	for (size_t n = 0; n < s->report.count; n++) {
		perfctr_totals_reset(s->report.devices[n].run);
		perfctr_totals_reset(s->report.devices[n].interval);
	}
	status = shows_uncounted(s) && !s->report.runs ? learn_names(s) : 0;
	status = status || s->options.counting.is_late ? status : turn(s, true);
	if (status) {
		command_abandon(&s->command);
		return status;
	}
	status = command_go(s->app, &s->command);
	error = status ? 0 : count(s, &status);
	was_on = s->on;
	stop_error = s->on ? counting_stop(&s->options.counting) : 0;
	s->on = false;
	error = error ? error : stop_error;
	/* show what the ring holds even after an error, but nothing of a command that never ran */
	stop_error = status ? 0 : drain(s);
	if (stop_error == -ENODEV)
		s->report.device_gone = true;
	else if (!error)
		error = stop_error;
	if (!status && !error)
		error = end_intervals(s);
	if (!status && !error && !was_on && shows_uncounted(s) && s->options.interval_ns)
		error = print_idle(s, perfctr_time_raw_ns());
	if (!status)
		s->report.exit_status = command_status(&s->command, s->report.ended_by);
	if (status)
		return status;
	if (error)
		return app_failed(s->app, error);

	for (size_t n = 0; !error && n < s->report.count; n++)
		error = end_run(s, &s->report.devices[n]);
	s->report.runs++;
	if (counting_of_task(&s->options.counting))
		add_status(s);
	return error ? app_failed(s->app, error) : 0;
}

static int run_all(struct stat *s)
{
	struct stat_report *report = &s->report;
	uint32_t runs = s->options.repeat ? s->options.repeat : 1;
	int status = 0, error = 0;

	if (s->format->begin)
		s->format->begin(report);
	while (!status && runs-- && !report->ended_by && !report->device_gone)
		status = run_once(s);

	/* show the result so far and complete the document, even after an error */
	if (!counting_of_task(&s->options.counting))
		add_status(s);
	for (size_t n = 0; !error && n < report->count; n++) {
		struct stat_device *d = &report->devices[n];

		d->is_uncounted = d->names && !perfctr_totals_span(d->all)->samples;
		error = rows_fill(&d->rows, d->is_uncounted ? d->names : d->all,
				  d->counted->selection, s->options.per_block);
		if (!error)
			error = stat_contexts_fill(&d->contexts, &d->rows, d->counted->selection,
						   s->options.per_block);
		if (!error && !status && d->counted->is_gone)
			app_error(s->app,
				  "%s is gone: what follows was counted in the %.3f s before",
				  d->rows.device ? d->rows.device : "the device",
				  (double)d->rows.span.elapsed_ns * 1e-9);
	}
	if (error && !status)
		status = app_failed(s->app, error);
	if (status && !report->exit_status)
		report->exit_status = status;
	s->format->end(report);
	if (status)
		return status;
	return counting_has_lost(&s->options.counting) && !report->exit_status ?
		       EXIT_NO_DEVICE :
		       report->exit_status;
}

/* --- set-up ------------------------------------------------------------------ */

/* Without -o: keeps table and CSV apart from the workload's output, as perf, whose CSV it is. */
static FILE *usual_output(const struct stat *s)
{
	bool is_json = s->options.counting.json || s->options.jsonl;

	return is_json || (!s->options.separator && !s->command.argv) ? s->app->out : s->app->err;
}

/* Only who prints intervals has a reader that follows; another result appears as a whole. */
static bool is_live(const struct stat *s)
{
	return !s->options.counting.output || s->options.interval_ns || s->options.jsonl ||
	       s->options.append;
}

static int open_output(struct stat *s)
{
	int status;

	if (is_live(s))
		return output_open_live(s->app, s->options.counting.output, usual_output(s),
					s->options.append, &s->report.out);
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

static size_t count_requests(const struct counting *c)
{
	size_t count = 0;

	for (size_t n = 0; n < c->count; n++)
		count += perfctr_selection_request_count(c->counted[n].selection);
	return count;
}

static int select_per_cpu(const struct app *app, struct counting *c)
{
	const size_t before = count_requests(c);
	int status = counting_select_per_cpu(app, c);

	if (!status && counting_of_task(c) && count_requests(c) == before)
		fputs("perfctr stat: -A changes nothing: events of a process have no CPU; -a "
		      "counts those of all\n",
		      stderr);
	return status;
}

static void free_device(struct stat_device *d)
{
	stat_contexts_free(&d->contexts);
	rows_free(&d->scratch);
	rows_free(&d->rows);
	free(d->stats);
	perfctr_totals_unref(d->all);
	perfctr_totals_unref(d->run);
	perfctr_totals_unref(d->interval);
	perfctr_totals_unref(d->last);
	perfctr_totals_unref(d->names);
}

int stat_run(struct app *app, int argc, char **argv)
{
	struct stat s = { .app = app, .signals.fd = -1, .command = { .watched_fd = -1 } };
	const int more_signals[] = { SIGCHLD, 0 };
	int status;

	s.report.options = &s.options;
	status = parse_options(app, argc, argv, &s.options);
	if (status) {
		counting_close(&s.options.counting);
		return status < 0 ? EXIT_FINE : status;
	}
	s.command.argv = s.options.counting.command;
	s.options.counting.in_order = s.options.separator;
	/* a hint would be one of the rows */
	app->quiet = s.options.separator && !s.options.counting.output;
	s.format = choose_format(&s.options);
	s.report.verdicts = verdicts_load(app->err);
	status = counting_open(app, &s.options.counting);
	if (!status && s.options.per_context && s.options.counting.count > 1)
		status = app_usage(app, "--per-context counts jobs of one device: give one -d");
	if (!status)
		s.report.has_broker = counting_excludes(&s.options.counting) &&
				      device_broker_accepts(app);
	if (!status && s.options.per_block)
		status = select_per_cpu(app, &s.options.counting);
	if (!status && s.options.separator &&
	    stat_written_note(&s.report.written, &s.options.counting))
		status = app_failed(app, -ENOMEM);
	if (!status && s.options.verbose)
		print_requests(&s);
	if (!status)
		status = control_open(app, &s.options.control);
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
	control_close(&s.options.control);
	for (size_t n = 0; n < COUNTING_DEVICES; n++)
		free_device(&s.report.devices[n]);
	stat_written_free(&s.report.written);
	counting_close(&s.options.counting);
	verdicts_free(s.report.verdicts);
	return status;
}
