// SPDX-License-Identifier: MIT
/*
 * perfctr record: samples into a file, as they are in the ring.
 *
 * Nothing is decoded on the way. The file is valid at every moment: only its last record can be
 * incomplete, and a reader ignores such a record.
 */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "lib/capture_file.h"
#include "lib/output.h"
#include "common/number.h"

enum {
	DEFAULT_PERIOD_MS = 10,
	/* time that samples stay in the ring: a compromise between loss in a crash and wakeups */
	LATENCY_MS = 100,
	FLUSH_MS = 500,
	/* a flush is a frame of zstd: small ones are 1.1 to 1.4 times as large in all */
	FLUSH_PACKED_MS = 1000,
	/* between two anchors times are interpolated; a clock that is slewed changes its rate */
	ANCHOR_MS = 1000,
	PROGRESS_MS = 500,
};

static const char help[] =
	"usage: perfctr record [OPTION...] [[--] COMMAND [ARGUMENT...]]\n"
	"\n"
	"Records samples of counters into a file while COMMAND runs, without one until\n"
	"Ctrl-C. perfctr report, export and diff read it.\n"
	"\n"
	"  -o, --output FILE      write there (default: " CAPTURE_DEFAULT_FILE "); - is stdout;\n"
	"                         an older file becomes FILE.old\n"
	"  -e, --event EVENTS     as of perfctr stat: shader*/FRAG*,metric:l2_*,...\n"
	"  -M, --metrics NAMES    metrics, as -e metric:NAME\n"
	"  -p, --period TIME      sample that often, 500us (default: 10ms); 0: one sample\n"
	"                         for all of it\n"
	"      --in-stream        only the samples that jobs of COMMAND carry; it finds\n"
	"                         PERFCTR_FD and PERFCTR_SESSION in its environment\n"
	"  -F, --flight TIME      flight recorder: keep the last TIME in memory; SIGUSR1\n"
	"                         writes it to FILE.1, FILE.2, ..., the end to FILE\n"
	"      --switch-output SIZE|TIME  complete files of 100M or 5m each, or of what\n"
	"                         comes first: FILE.20261130T235959.999Z, in UTC\n"
	"      --switch-max-files N  remove the oldest: N stay, beside the one in work\n"
	"  -z, --compress[=LEVEL] compress with zstd, 1 to 19 (default: 3), also in a pipe\n"
	"      --timeout TIME     end after TIME, 500ms or 2s; a number is in ms\n"
	"  -a, --all-cpus         what all processes do, not only COMMAND and its children\n"
	"      --per-client       engine times of each process that uses a GPU, too (local)\n"
	"      --pid PID,...      on the local device: processes and their future children;\n"
	"  -t, --tid TID,...      threads; -C, --cpu 0-3,8: these CPUs;\n"
	"  -G, --cgroup NAME,...  of the events before it: one for all, or one each\n"
	"      --for-each-cgroup NAME,...   several, apart\n"
	"  -d, --device DEVICE    node (renderD128), driver or name; several, or all: each\n"
	"                         counts the events that it has, renderD128:EVENT\n"
	"      --via SOCKET       through the broker (perfctr serve) there\n"
	"      --set N            counter set 0, 1 or 2\n"
	"      --keep-awake       do not let the GPU power down while counting\n"
	"      --automatic        a sample also when the GPU's power changes\n"
	"      --progress         show progress also with a COMMAND; -q: not at all\n"
	"  -j, --json             what was recorded, as JSON on stdout\n"
	"\n"
	"COMMAND and its children can mark times: perfctr mark, perfctr_mark().\n"
	"Ctrl-C, SIGTERM and a full disk leave a valid file. Exit: the command's own status\n"
	"(128 + signal), without one 0; 1 error, 2 usage, 3 not permitted, 4 no device, 126\n"
	"and 127 the command cannot be run.\n";

/* --- options --------------------------------------------------------------- */

static int check_options(const struct app *app, struct record_options *o)
{
	struct counting *c = &o->counting;
	bool to_stdout = c->output && !strcmp(c->output, "-");
	bool switches = o->switching.bytes || o->switching.ns;

	if (o->in_stream && !c->command)
		return app_usage(app, "--in-stream records the samples of a COMMAND: give one");
	if (o->in_stream && c->has_period && c->period_ns)
		return app_usage(app, "--in-stream and a period -p do not go together");
	if (o->flight_ns && to_stdout)
		return app_usage(app, "-F writes several files: give a name with -o");
	if (switches && to_stdout)
		return app_usage(app, "--switch-output writes several files: give a name with -o");
	if (switches && o->flight_ns)
		return app_usage(app, "--switch-output writes all samples, -F the last ones when "
				      "SIGUSR1 comes: give one of them");
	if (switches && c->has_period && !c->period_ns)
		return app_usage(app, "-p 0 takes one sample for all of it: --switch-output wants "
				      "a period, such as -p 10ms");
	if (o->switching.most && !switches)
		return app_usage(app, "--switch-max-files is of the files of --switch-output: give "
				      "that, too, such as --switch-output 100M");
	if (c->json && to_stdout)
		return app_usage(app, "--json and -o - both want stdout");
	if (to_stdout && isatty(STDOUT_FILENO))
		return app_usage(app, "-o -: a capture is nothing for a terminal");
	if (!c->output)
		c->output = CAPTURE_DEFAULT_FILE;
	if (!c->has_period && !o->in_stream)
		c->period_ns = DEFAULT_PERIOD_MS * NS_PER_MS;
	return 0;
}

/* zstd's level, in the text of -z or none. */
static int take_level(const struct app *app, void *to, const char *text)
{
	uint64_t level = PACK_LEVEL;

	if (text && (number_parse_count(text, &level) || !level || level > PACK_LEVEL_MOST))
		return app_usage(app, "--compress=%s: give a level from 1 to %d", text,
				 PACK_LEVEL_MOST);
	*(int *)to = (int)level;
	return 0;
}

static int parse_options(struct app *app, int argc, char **argv, struct record_options *o)
{
	const struct option_spec options[] = {
		COUNTING_OPTIONS(app, &o->counting, TIME_OR_ZERO),
		OPTION('F', "flight", TIME, &o->flight_ns),
		OPTION(0, "switch-output", CALL, &o->switching, .call = record_take_switch),
		OPTION(0, "switch-max-files", NUMBER, &o->switching.most, .min = 1,
		       .max = INT32_MAX),
		OPTION('z', "compress", CALL_OPTIONAL, &o->level, .call = take_level),
		OPTION('z', "compression-level", CALL_OPTIONAL, &o->level, .call = take_level),
		OPTION(0, "in-stream", FLAG, &o->in_stream),
		OPTION(0, "automatic", FLAG, &o->automatic),
		OPTION(0, "progress", FLAG, &o->progress),
		OPTION('q', "quiet", FLAG, &app->quiet),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_COMMAND);

	if (status)
		return status;
	if (optind < argc)
		o->counting.command = argv + optind;
	return check_options(app, o);
}

/* --- recording --------------------------------------------------------------- */

/* Note whose an error is. Return: @error. */
static int wrote(struct record *r, int error)
{
	r->write_failed |= error != 0;
	return error;
}

static int keep(void *data, struct counted *counted, const struct perfctr_slot *slot)
{
	struct record *r = data;
	const unsigned int session = (unsigned int)(counted - r->options.counting.counted);
	uint32_t size;
	int error;

	if (!r->options.flight_ns) {
		error = perfctr_capture_writer_select(r->writer, session);
		if (!error)
			error = perfctr_capture_write_sample(r->writer, slot->bytes, slot->size);
		return wrote(r, error);
	}
	/* the first word of a sample is its size; it may be shorter than the slot */
	memcpy(&size, slot->bytes, sizeof(size));
	if (size > slot->size)
		return -EBADMSG;
	error = flight_add(&r->flight, session, slot->bytes, size, perfctr_time_raw_ns());
	r->flight_was_cut |= r->flight.cut_short != 0;
	return error;
}

static int drain(struct record *r)
{
	int error = counting_take(r->app, &r->options.counting, keep, r);

	return error ? error : record_take_marks(r, perfctr_time_raw_ns());
}

static int write_on_time(struct record *r, uint64_t now_ns)
{
	const uint64_t flush_ms = r->pack ? FLUSH_PACKED_MS : FLUSH_MS;
	int error = 0;

	if (!r->writer)
		return 0;
	if (now_ns - r->anchored_ns >= ANCHOR_MS * NS_PER_MS) {
		r->anchored_ns = now_ns;
		error = wrote(r, perfctr_capture_write_anchor(r->writer));
	}
	if (!error && now_ns - r->flushed_ns >= flush_ms * NS_PER_MS) {
		r->flushed_ns = now_ns;
		error = wrote(r, perfctr_capture_flush(r->writer));
	}
	return error;
}

static uint64_t bytes_so_far(const struct record *r)
{
	if (r->pack)
		return r->before.bytes + pack_bytes(r->pack);
	return r->writer ? r->before.bytes + perfctr_capture_bytes(r->writer) :
			   r->flight.count * r->flight.stride;
}

static void show_progress(struct record *r, uint64_t now_ns)
{
	char samples[32], size[40], text[256];
	struct drm_perfctr_status status;
	uint64_t bytes, count;

	if (!r->shows_progress || now_ns - r->shown_ns < PROGRESS_MS * NS_PER_MS)
		return;
	r->shown_ns = now_ns;
	bytes = bytes_so_far(r);
	counting_status(&r->options.counting);
	status = record_status(r);
	count = r->writer ? record_taken(r) : r->flight.count;
	snprintf(text, sizeof(text),
		 "%s %.1f s, %s sample%s, %s; %" PRIu64 " merged, %.3f s lost; %s",
		 r->options.flight_ns ? "keeping:" : "recording:",
		 (double)(now_ns - r->begin_ns) * 1e-9,
		 number_group(count, samples, sizeof(samples)), plural(count),
		 record_bytes_text(bytes, size, sizeof(size)), (uint64_t)status.merged_periods,
		 (double)status.lost_ns * 1e-9,
		 r->command.argv ? "until the command ends" : "Ctrl-C ends");
	/* a line that wraps could not be erased */
	fprintf(stderr, "\r\033[K%.*s", terminal_columns(stderr, (int)sizeof(text)) - 1, text);
	r->progress_on_screen = true;
}

static void clear_progress(struct record *r)
{
	if (r->progress_on_screen)
		fputs("\r\033[K", stderr);
	r->progress_on_screen = false;
}

/* Return: whether counting shall end. */
static bool take_signals(struct record *r)
{
	struct signalfd_siginfo info;
	bool ends = false;

	while (signals_next(&r->signals, &info)) {
		if (info.ssi_signo == SIGCHLD || info.ssi_signo == SIGPIPE)
			continue;
		if (info.ssi_signo == SIGUSR1) {
			clear_progress(r);
			/* the message was printed; the next file may work */
			record_dump_numbered(r);
			continue;
		}
		r->ended_by = (int)info.ssi_signo;
		ends = true;
		/* the terminal signals the workload too, kill(1) does not */
		if (info.ssi_code <= 0)
			command_kill(&r->command, r->ended_by);
	}
	return ends;
}

/* Longest time to sleep, in ms. */
static int patience_ms(const struct record *r, uint64_t now_ns, uint64_t told_ns)
{
	const struct counting *c = &r->options.counting;
	const uint64_t end_ns = r->begin_ns + c->timeout_ns;
	uint64_t left_ns = FLUSH_MS * NS_PER_MS;

	/* a watermark that is not reached does not wake the reader */
	if (!c->period_ns || c->period_ns < LATENCY_MS * NS_PER_MS)
		left_ns = 2 * LATENCY_MS * NS_PER_MS;
	if (c->timeout_ns && !told_ns && end_ns < now_ns + left_ns)
		left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
	return (int)(left_ns / NS_PER_MS) + 1;
}

/* Read samples until the workload ends, the time is over or a signal comes. */
static int collect(struct record *r)
{
	const uint64_t timeout_ns = r->options.counting.timeout_ns;
	uint64_t told_ns = 0;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = r->signals.fd, .events = POLLIN },
			{ .fd = r->command.watched_fd, .events = POLLIN },
		};
		uint64_t now_ns;
		int error;

		error = drain(r);
		now_ns = perfctr_time_raw_ns();
		if (!error)
			error = write_on_time(r, now_ns);
		if (!error && r->writer && record_switch_is_due(r, now_ns))
			error = wrote(r, record_switch_file(r));
		if (error)
			return error;
		show_progress(r, now_ns);
		if (command_has_ended(&r->command))
			return 0;
		if (told_ns && now_ns - told_ns >= COMMAND_GRACE_MS * NS_PER_MS)
			return 0;
		if (!told_ns && timeout_ns && now_ns - r->begin_ns >= timeout_ns) {
			if (!r->command.argv)
				return 0;
			command_kill(&r->command, SIGTERM);
			told_ns = now_ns;
			continue;
		}
		error = counting_wait(&r->options.counting, fds, ARRAY_SIZE(fds),
				      patience_ms(r, now_ns, told_ns));
		if (error)
			return error;
		if (take_signals(r)) {
			/* a second signal does not wait for the workload */
			if (!r->command.argv || told_ns)
				return 0;
			told_ns = now_ns;
		}
	}
}

/* --- running ------------------------------------------------------------------------ */

/* Print why recording failed. */
static void report_failure(struct record *r, int error)
{
	const char *part = r->switching.part;

	if (r->write_failed)
		record_file_failed(r, *part ? part : r->options.counting.output, error);
	else
		app_failed(r->app, error);
}

/* Stop, write what is left, close the file. Return: 0 or a negative errno. */
static int finish(struct record *r, bool write_more)
{
	int error = counting_stop(&r->options.counting), result;

	r->end_ns = perfctr_time_raw_ns();
	/* after a failed write nothing more is written */
	result = write_more ? drain(r) : 0;
	if (result == -ENODEV && record_take_marks(r, r->end_ns))
		result = -EIO;
	if (!error && result != -ENODEV)
		error = result;
	counting_status(&r->options.counting);
	if (r->writer) {
		if (write_more) {
			result = wrote(r, record_end_file(r, r->writer, false));
			error = error ? error : result;
		}
		record_end_writer(r, r->writer);
		r->writer = NULL;
		result = r->switching.part[0] && write_more && !error ? record_complete_part(r) :
									record_close_output(r);
		r->write_failed |= !error && result;
		error = error ? error : result;
	}
	return error;
}

static int run(struct record *r)
{
	int status, error;
	bool failed;

	r->begin_ns = perfctr_time_raw_ns();
	r->flushed_ns = r->begin_ns;
	r->anchored_ns = r->begin_ns;
	status = counting_start(r->app, &r->options.counting);
	if (status) {
		command_abandon(&r->command);
		return status;
	}
	status = command_go(r->app, &r->command);
	if (status) {
		finish(r, false);
		if (r->options.counting.json)
			record_print_json(r, status, false);
		return status;
	}
	error = r->options.flight_ns ? 0 : wrote(r, record_begin_file(r, r->file_fd, &r->writer));
	if (!error)
		error = collect(r);
	/* unplugged: keep what was recorded */
	r->device_is_gone = error == -ENODEV;
	if (r->device_is_gone)
		error = 0;
	failed = error != 0;
	clear_progress(r);
	if (failed) {
		report_failure(r, error);
		if (r->command.argv && !r->command.child.ended)
			app_error(r->app, "%s goes on without being recorded", r->command.argv[0]);
	}
	error = finish(r, !failed);
	if (!failed && error) {
		failed = true;
		report_failure(r, error);
	}
	if (r->options.flight_ns && record_dump(r, r->options.counting.output))
		failed = true;
	/* the message was printed when it happened */
	failed |= r->failed_dumps != 0 || r->switching.has_failed;
	if (!r->app->quiet)
		record_print_end(r, !failed);
	if (r->device_is_gone && r->command.argv)
		/* for the exit status; Ctrl-C of a terminal reaches the command directly */
		child_wait(&r->command.child);
	status = failed || (counting_has_lost(&r->options.counting) && !r->command.argv) ?
			 EXIT_FAILED :
			 command_status(&r->command, r->ended_by);
	if (r->options.counting.json)
		record_print_json(r, status, !failed);
	return status;
}

/* --- set-up ---------------------------------------------------------------------------- */

static int create_sessions(void *data)
{
	struct record *r = data;
	struct record_options *o = &r->options;
	struct counting *c = &o->counting;
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.period_ns = o->counting.period_ns,
		.flags = PERFCTR_SESSION_SKIP_UNSUPPORTED |
			 (o->counting.keep_awake ? DRM_PERFCTR_OPEN_KEEP_AWAKE : 0) |
			 (o->automatic ? DRM_PERFCTR_OPEN_AUTOMATIC : 0),
	};
	uint64_t samples = opts.period_ns ? LATENCY_MS * NS_PER_MS / opts.period_ns : 1;
	int status;

	opts.watermark = samples < UINT32_MAX ? (uint32_t)samples : UINT32_MAX;
	status = counting_create(r->app, c, &opts, o->in_stream);
	if (status)
		return status;
	r->flight.keep_ns = o->flight_ns;
	r->flight.limit_bytes = (size_t)RECORD_FLIGHT_LIMIT_MIB << 20;
	for (size_t n = 0; n < c->count; n++) {
		const size_t stride = perfctr_session_sizes(c->counted[n].session)->slot_stride;

		r->flight.stride = stride > r->flight.stride ? stride : r->flight.stride;
	}
	return o->in_stream ? command_share(r->app, &r->command, c->counted[0].device,
					    c->counted[0].session) :
			      0;
}

static int prepare(struct record *r)
{
	const struct counting *c = &r->options.counting;
	bool stdout_is_ours = c->json || !strcmp(c->output, "-");
	int status = record_open_marks(r);

	return status ? status :
			counting_prepare(r->app, c, &r->command,
					 stdout_is_ours ? STDERR_FILENO : -1, create_sessions, r);
}

int record_run(struct app *app, int argc, char **argv)
{
	struct record r = {
		.app = app,
		.file_fd = -1,
		.signals.fd = -1,
		.command = { .watched_fd = -1 },
		.marks.fds = { -1, -1 },
	};
	/* without SIGPIPE, write() to a closed pipe fails, which is reported at the end */
	int more_signals[] = { SIGCHLD, SIGPIPE, 0, 0 };
	int status;

	status = parse_options(app, argc, argv, &r.options);
	if (status) {
		counting_close(&r.options.counting);
		return status < 0 ? EXIT_FINE : status;
	}
	r.command.argv = r.options.counting.command;
	r.shows_progress = !app->quiet && isatty(STDERR_FILENO) &&
			   (r.options.progress || !r.command.argv);
	if (r.options.flight_ns)
		more_signals[2] = SIGUSR1;

	status = counting_open(app, &r.options.counting);
	if (!status && r.options.in_stream && r.options.counting.count > 1)
		status = app_usage(app, "--in-stream records jobs of one device: give one -d");
	if (!status)
		status = prepare(&r);
	if (!status) {
		status = record_open_output(&r);
		if (!status)
			status = signals_catch(app, &r.signals, more_signals);
		if (!status)
			status = run(&r);
		else
			command_abandon(&r.command);
	}

	if (r.file_fd >= 0)
		close(r.file_fd);
	if (r.written.bytes == r.before.bytes && !r.options.flight_ns)
		record_discard_output(&r);
	signals_release(&r.signals);
	command_close(&r.command);
	record_close_marks(&r);
	flight_free(&r.marks.flight);
	flight_free(&r.flight);
	record_end_writer(&r, r.writer);
	counting_close(&r.options.counting);
	return status;
}
