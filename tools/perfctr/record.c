// SPDX-License-Identifier: MIT
/*
 * perfctr record: samples into a file, as they lie in the ring.
 *
 * Nothing is decoded on the way. The file is valid at every moment: records are
 * written whole but for the last one, which a reader leaves out if it was cut off.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <perfctr/capture.h>

#include "app.h"
#include "child.h"
#include "common/number.h"
#include "flight.h"
#include "json.h"

#define DEFAULT_FILE "perfctr.capture"

enum {
	DEFAULT_PERIOD_MS = 10,
	/* without a period the jobs' samples come when they come */
	IN_STREAM_SLOTS = 1024,
	/* samples lie in the ring that long before we look: short for a crash, long for the CPU */
	LATENCY_MS = 100,
	FLUSH_MS = 500,
	ANCHOR_MS = 5000,
	PROGRESS_MS = 500,
	/* how long a command that was told to end may take before counting ends */
	END_GRACE_MS = 3000,
	FLIGHT_LIMIT_MIB = 1024,
	PATH_BYTES = 4096,
};

/* a file of the flight recorder while it is written */
#define PART_FORMAT "%.4080s.part"

static const char help[] =
	"usage: perfctr record [OPTION...] [[--] COMMAND [ARGUMENT...]]\n"
	"\n"
	"Records samples of counters into a file while COMMAND runs, without one until\n"
	"Ctrl-C. perfctr report, export and diff read it.\n"
	"\n"
	"  -o, --output FILE      write there (default: " DEFAULT_FILE "); - is stdout\n"
	"  -e, --event EVENTS     as of perfctr stat: shader*/FRAG*,metric:l2_*,...\n"
	"  -p, --period TIME      sample that often (default: 10ms; a number without unit\n"
	"                         is in ms); 0: one sample for all of it\n"
	"      --in-stream        only the samples that jobs of COMMAND carry; it finds\n"
	"                         PERFCTR_FD and PERFCTR_SESSION in its environment\n"
	"  -F, --flight TIME      flight recorder: keep the last TIME in memory; SIGUSR1\n"
	"                         writes it to FILE.1, FILE.2, ..., the end to FILE\n"
	"      --timeout TIME     end after TIME\n"
	"  -d, --device DEVICE    node (renderD128), driver or name\n"
	"      --via SOCKET       through the broker (perfctr serve) there\n"
	"      --set N            counter set 0, 1 or 2\n"
	"      --keep-awake       do not let the GPU power down while counting\n"
	"      --automatic        a sample also when the GPU's power changes\n"
	"      --progress         show progress also with a COMMAND; -q: not at all\n"
	"  -j, --json             what was recorded, as JSON on stdout\n"
	"\n"
	"Ctrl-C, SIGTERM and a full disk leave a valid file. Exit: the command's own status\n"
	"(128 + signal), without one 0; 1 error, 2 usage, 3 not permitted, 4 no device, 126\n"
	"and 127 the command cannot be run.\n";

/* --- options --------------------------------------------------------------- */

struct record_options {
	const char *device;
	const char *via;
	const char **events;
	size_t event_count;
	const char *output;
	uint64_t period_ns;
	uint64_t timeout_ns;
	uint64_t flight_ns;
	unsigned int set;
	bool has_period;
	bool in_stream;
	bool keep_awake;
	bool automatic;
	bool progress;
	bool quiet;
	bool json;
	char **command;
};

enum long_option {
	OPT_IN_STREAM = 256,
	OPT_TIMEOUT,
	OPT_SET,
	OPT_KEEP_AWAKE,
	OPT_AUTOMATIC,
	OPT_PROGRESS,
	OPT_VIA,
};

static const struct option long_options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "event", required_argument, NULL, 'e' },
	{ "period", required_argument, NULL, 'p' },
	{ "in-stream", no_argument, NULL, OPT_IN_STREAM },
	{ "flight", required_argument, NULL, 'F' },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "device", required_argument, NULL, 'd' },
	{ "via", required_argument, NULL, OPT_VIA },
	{ "set", required_argument, NULL, OPT_SET },
	{ "keep-awake", no_argument, NULL, OPT_KEEP_AWAKE },
	{ "automatic", no_argument, NULL, OPT_AUTOMATIC },
	{ "progress", no_argument, NULL, OPT_PROGRESS },
	{ "quiet", no_argument, NULL, 'q' },
	{ "json", no_argument, NULL, 'j' },
	{ "all-cpus", no_argument, NULL, 'a' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int read_time(const struct app *app, const char *option, const char *text, bool or_zero,
		     uint64_t *ns)
{
	if (!number_parse_time(text, NS_PER_MS, ns) && (*ns || or_zero))
		return 0;
	return app_usage(app, "%s '%s': give a time such as 100 (ms), 500us or 2s", option, text);
}

static int add_event(const struct app *app, struct record_options *o, const char *event)
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

static int take_option(const struct app *app, struct record_options *o, int c)
{
	uint64_t value = 0;

	switch (c) {
	case 'o':
		o->output = optarg;
		return 0;
	case 'e':
		return add_event(app, o, optarg);
	case 'p':
		o->has_period = true;
		return read_time(app, "-p", optarg, true, &o->period_ns);
	case 'F':
		return read_time(app, "-F", optarg, false, &o->flight_ns);
	case OPT_VIA:
		o->via = optarg;
		return 0;
	case OPT_TIMEOUT:
		return read_time(app, "--timeout", optarg, false, &o->timeout_ns);
	case OPT_SET:
		if (number_parse_count(optarg, &value) || value > 2)
			return app_usage(app, "--set '%s': give 0, 1 or 2", optarg);
		o->set = (unsigned int)value;
		return 0;
	case OPT_IN_STREAM:
		o->in_stream = true;
		return 0;
	case OPT_KEEP_AWAKE:
		o->keep_awake = true;
		return 0;
	case OPT_AUTOMATIC:
		o->automatic = true;
		return 0;
	case OPT_PROGRESS:
		o->progress = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'd':
		o->device = optarg;
		return 0;
	case 'a':
		/* as with perf; counting is always system-wide */
		return 0;
	default:
		return app_bad_option(app);
	}
}

static int check_options(const struct app *app, struct record_options *o)
{
	bool to_stdout = o->output && !strcmp(o->output, "-");

	if (o->in_stream && !o->command)
		return app_usage(app, "--in-stream records the samples of a COMMAND: give one");
	if (o->in_stream && o->has_period && o->period_ns)
		return app_usage(app, "--in-stream and a period -p do not go together");
	if (o->flight_ns && to_stdout)
		return app_usage(app, "-F writes several files: give a name with -o");
	if (o->json && to_stdout)
		return app_usage(app, "--json and -o - both want stdout");
	if (to_stdout && isatty(STDOUT_FILENO))
		return app_usage(app, "-o -: a capture is nothing for a terminal");
	if (!o->output)
		o->output = DEFAULT_FILE;
	if (!o->has_period && !o->in_stream)
		o->period_ns = DEFAULT_PERIOD_MS * NS_PER_MS;
	return 0;
}

/* Return: 0; an exit status; -1 help was printed. */
static int parse_options(const struct app *app, int argc, char **argv, struct record_options *o)
{
	int c, ret;

	optind = 0;
	/* +: options after the command are the command's */
	while ((c = getopt_long(argc, argv, "+o:e:p:F:d:qjah", long_options, NULL)) != -1) {
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
	return check_options(app, o);
}

/* --- files ------------------------------------------------------------------ */

struct record {
	struct app *app;
	struct record_options options;
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
	/* NULL in flight mode until something is written */
	struct perfctr_capture_writer *writer;
	struct flight flight;
	struct child child;
	int file_fd;
	int signal_fd;
	/* the device's file as the command inherits it, -1 without --in-stream */
	int shared_fd;
	uint64_t samples;
	uint64_t bytes;
	uint64_t begin_ns, end_ns;
	uint64_t flushed_ns, anchored_ns, shown_ns;
	unsigned int dumps;
	int ended_by;
	bool shows_progress;
	bool progress_on_screen;
	bool flight_was_cut;
	bool device_is_gone;
	struct drm_perfctr_status status;
	bool has_status;
};

static int file_failed(struct record *r, const char *path, int error)
{
	app_error(r->app, "%s: %s", path, strerror(-error));
	return EXIT_FAILED;
}

static void add_command(char *text, size_t size, char **command)
{
	size_t used = 0;

	text[0] = '\0';
	for (char **word = command; *word && used < size; word++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 word == command ? "" : " ", *word);
}

/* What a reader wants to know besides the session. */
static int write_texts(struct record *r, struct perfctr_capture_writer *writer)
{
	struct utsname machine;
	char text[4096];
	int error;

	error = perfctr_capture_write_text(writer, "tool", "perfctr " PERFCTR_VERSION);
	if (!error && r->options.command) {
		add_command(text, sizeof(text), r->options.command);
		error = perfctr_capture_write_text(writer, "command", text);
	}
	if (!error && !uname(&machine)) {
		snprintf(text, sizeof(text), "%s %s", machine.sysname, machine.release);
		error = perfctr_capture_write_text(writer, "kernel", text);
		if (!error)
			error = perfctr_capture_write_text(writer, "machine", machine.machine);
		if (!error)
			error = perfctr_capture_write_text(writer, "host", machine.nodename);
	}
	if (!error && r->options.flight_ns) {
		snprintf(text, sizeof(text), "%" PRIu64, r->options.flight_ns);
		error = perfctr_capture_write_text(writer, "flight_ns", text);
	}
	return error;
}

static int begin_file(struct record *r, int fd, struct perfctr_capture_writer **writer)
{
	int error = perfctr_capture_writer_new(r->app->ctx, fd, writer);

	if (error)
		return error;
	error = perfctr_capture_write_session(*writer, r->session);
	if (!error)
		error = write_texts(r, *writer);
	if (!error)
		error = perfctr_capture_write_anchor(*writer);
	return error;
}

/* The kernel's totals and the time once more. A device that is gone has no totals. */
static int end_file(struct record *r, struct perfctr_capture_writer *writer)
{
	int error = perfctr_capture_write_anchor(writer);

	if (!error) {
		error = perfctr_capture_write_status(writer, r->session);
		if (error == -ENODEV)
			error = 0;
	}
	return error ? error : perfctr_capture_flush(writer);
}

/*
 * What the flight recorder keeps, into a file of its own. It gets its name when
 * it is whole: who waits for the file finds it complete.
 */
static int dump(struct record *r, const char *path)
{
	struct perfctr_capture_writer *writer = NULL;
	char hidden[PATH_BYTES];
	size_t size;
	int fd, error;

	snprintf(hidden, sizeof(hidden), PART_FORMAT, path);
	fd = open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return file_failed(r, hidden, -errno);
	error = begin_file(r, fd, &writer);
	for (size_t n = 0; !error && n < r->flight.count; n++) {
		const void *sample = flight_get(&r->flight, n, &size);

		error = perfctr_capture_write_sample(writer, sample, size);
	}
	if (!error)
		error = end_file(r, writer);
	if (!error) {
		r->bytes = perfctr_capture_bytes(writer);
		r->samples = r->flight.count;
	}
	perfctr_capture_writer_unref(writer);
	if (close(fd) && !error)
		error = -errno;
	if (!error && rename(hidden, path))
		error = -errno;
	if (error) {
		unlink(hidden);
		return file_failed(r, path, error);
	}
	return 0;
}

static int dump_numbered(struct record *r)
{
	char path[PATH_BYTES];
	int status;

	snprintf(path, sizeof(path), "%.4060s.%u", r->options.output, ++r->dumps);
	status = dump(r, path);
	if (!status && !r->options.quiet)
		app_error(r->app, "%s: the last %.3f s, %zu samples", path,
			  (double)r->options.flight_ns * 1e-9, r->flight.count);
	return status;
}

static int open_output(struct record *r)
{
	const char *path = r->options.output;
	char hidden[PATH_BYTES];

	if (!strcmp(path, "-")) {
		r->file_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else if (r->options.flight_ns) {
		/* now and not when it is too late: may it be written? */
		snprintf(hidden, sizeof(hidden), PART_FORMAT, path);
		r->file_fd = open(hidden, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		if (r->file_fd >= 0)
			unlink(hidden);
	} else {
		r->file_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	}
	return r->file_fd < 0 ? file_failed(r, path, -errno) : 0;
}

/* --- recording --------------------------------------------------------------- */

static int keep(struct record *r, const struct perfctr_slot *slot, uint64_t now_ns)
{
	uint32_t size;
	int error;

	if (!r->options.flight_ns)
		return perfctr_capture_write_sample(r->writer, slot->bytes, slot->size);
	/* the first word of a sample is its size; it may be shorter than the slot */
	memcpy(&size, slot->bytes, sizeof(size));
	if (size > slot->size)
		return -EBADMSG;
	error = flight_add(&r->flight, slot->bytes, size, now_ns);
	r->flight_was_cut |= r->flight.cut_short != 0;
	return error;
}

/* Take what is in the ring, in bursts: one store gives many slots back. */
static int drain(struct record *r)
{
	uint64_t now_ns = perfctr_time_raw_ns();
	struct perfctr_slot slot;
	uint32_t taken = 0;
	int result;

	while ((result = perfctr_cursor_peek(r->cursor, taken, &slot)) > 0) {
		int error = keep(r, &slot, now_ns);

		if (error) {
			perfctr_cursor_advance(r->cursor, taken);
			return error;
		}
		if (!r->options.flight_ns)
			r->samples++;
		/* half a ring at most, so that a fast source finds free slots meanwhile */
		if (++taken > perfctr_session_sizes(r->session)->slots / 2) {
			perfctr_cursor_advance(r->cursor, taken);
			taken = 0;
		}
	}
	perfctr_cursor_advance(r->cursor, taken);
	return result;
}

static int write_on_time(struct record *r, uint64_t now_ns)
{
	int error = 0;

	if (!r->writer)
		return 0;
	if (now_ns - r->anchored_ns >= ANCHOR_MS * NS_PER_MS) {
		r->anchored_ns = now_ns;
		error = perfctr_capture_write_anchor(r->writer);
	}
	if (!error && now_ns - r->flushed_ns >= FLUSH_MS * NS_PER_MS) {
		r->flushed_ns = now_ns;
		error = perfctr_capture_flush(r->writer);
	}
	return error;
}

static void bytes_text(uint64_t bytes, char *text, size_t size)
{
	char number[32];

	snprintf(text, size, "%sB", number_short((double)bytes, number, sizeof(number)));
}

static void show_progress(struct record *r, uint64_t now_ns)
{
	char samples[32], size[40];
	uint64_t bytes, count;

	if (!r->shows_progress || now_ns - r->shown_ns < PROGRESS_MS * NS_PER_MS)
		return;
	r->shown_ns = now_ns;
	bytes = r->writer ? perfctr_capture_bytes(r->writer) : r->flight.count * r->flight.stride;
	count = r->writer ? r->samples : r->flight.count;
	bytes_text(bytes, size, sizeof(size));
	fprintf(r->app->err,
		"\r\033[K%s %.1f s, %s samples, %s; %" PRIu64 " merged, %.3f s lost; %s",
		r->options.flight_ns ? "keeping:" : "recording:",
		(double)(now_ns - r->begin_ns) * 1e-9,
		number_group(count, samples, sizeof(samples)), size,
		perfctr_cursor_merged(r->cursor), (double)perfctr_cursor_lost_ns(r->cursor) * 1e-9,
		r->options.command ? "until the command ends" : "Ctrl-C ends");
	fflush(r->app->err);
	r->progress_on_screen = true;
}

static void clear_progress(struct record *r)
{
	if (r->progress_on_screen)
		fputs("\r\033[K", r->app->err);
	r->progress_on_screen = false;
}

/* Return: 1 counting shall end; 0 or a negative errno. */
static int take_signals(struct record *r)
{
	struct signalfd_siginfo info;
	int ends = 0;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD || info.ssi_signo == SIGPIPE)
			continue;
		if (info.ssi_signo == SIGUSR1) {
			clear_progress(r);
			/* that one file failed was told; the next one may not */
			dump_numbered(r);
			continue;
		}
		r->ended_by = (int)info.ssi_signo;
		ends = 1;
		/* the terminal tells the command by itself, kill(1) does not */
		if (r->options.command && info.ssi_code <= 0)
			kill(r->child.pid, r->ended_by);
	}
	return ends;
}

static uint64_t time_left_ns(uint64_t deadline_ns, uint64_t now_ns)
{
	return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

/* When to look again, whatever happens, in ms. */
static int patience_ms(const struct record *r, uint64_t now_ns, uint64_t told_ns)
{
	uint64_t left_ns = FLUSH_MS * NS_PER_MS, other_ns;

	/* a watermark that is not reached wakes nobody */
	if (!r->options.period_ns || r->options.period_ns < LATENCY_MS * NS_PER_MS)
		left_ns = 2 * LATENCY_MS * NS_PER_MS;
	if (r->options.timeout_ns && !told_ns) {
		other_ns = time_left_ns(r->begin_ns + r->options.timeout_ns, now_ns);
		left_ns = other_ns < left_ns ? other_ns : left_ns;
	}
	return (int)(left_ns / NS_PER_MS) + 1;
}

/* Read samples until the command ends, the time is over or a signal says so. */
static int collect(struct record *r)
{
	uint64_t told_ns = 0;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = r->signal_fd, .events = POLLIN },
			{ .fd = perfctr_session_eventfd(r->session), .events = POLLIN },
		};
		uint64_t now_ns, counter;
		int error;

		error = drain(r);
		now_ns = perfctr_time_raw_ns();
		if (!error)
			error = write_on_time(r, now_ns);
		if (error)
			return error;
		show_progress(r, now_ns);
		if (r->options.command && child_poll(&r->child))
			return 0;
		if (told_ns && now_ns - told_ns >= END_GRACE_MS * NS_PER_MS)
			return 0;
		if (!told_ns && r->options.timeout_ns &&
		    now_ns - r->begin_ns >= r->options.timeout_ns) {
			if (!r->options.command)
				return 0;
			kill(r->child.pid, SIGTERM);
			told_ns = now_ns;
			continue;
		}
		if (poll(fds, ARRAY_SIZE(fds), patience_ms(r, now_ns, told_ns)) < 0 &&
		    errno != EINTR)
			return -errno;
		/* the count says nothing that the ring does not */
		if (fds[1].revents && read(fds[1].fd, &counter, sizeof(counter)) < 0 &&
		    errno != EAGAIN)
			return -errno;
		if (take_signals(r)) {
			/* the second time means it */
			if (!r->options.command || told_ns)
				return 0;
			told_ns = now_ns;
		}
	}
}

/* --- the command ---------------------------------------------------------------- */

/* What a command needs to put samples of our session into its jobs. */
static int share_session(struct record *r)
{
	char number[16];

	if (!r->options.in_stream)
		return 0;
	if (perfctr_device_fd(r->device) < 0) {
		app_error(r->app,
			  "--in-stream shares the open device: through a broker there is none");
		return -EACCES;
	}
	/* without FD_CLOEXEC, unlike the library's own */
	r->shared_fd = dup(perfctr_device_fd(r->device));
	if (r->shared_fd < 0)
		return -errno;
	snprintf(number, sizeof(number), "%d", r->shared_fd);
	setenv("PERFCTR_FD", number, 1);
	snprintf(number, sizeof(number), "%u", perfctr_session_handle(r->session));
	setenv("PERFCTR_SESSION", number, 1);
	return 0;
}

static int launch(struct record *r)
{
	bool stdout_is_ours = r->options.json || !strcmp(r->options.output, "-");
	int error;

	if (!r->options.command)
		return 0;
	error = share_session(r);
	if (!error)
		error = child_prepare(&r->child, r->options.command,
				      stdout_is_ours ? STDERR_FILENO : -1);
	if (!error)
		return 0;
	app_error(r->app, "%s: %s", r->options.command[0], strerror(-error));
	return EXIT_CANNOT_RUN;
}

/* Let the command go once counting has begun. Return: 0 or an exit status. */
static int let_go(struct record *r)
{
	int error;

	if (!r->options.command)
		return 0;
	error = child_go(&r->child);
	if (!error)
		return 0;
	app_error(r->app, "%s: %s", r->options.command[0], strerror(-error));
	return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

static int command_status(const struct record *r)
{
	if (!r->options.command)
		return 0;
	if (r->child.ended)
		return child_exit_status(&r->child);
	/* one that outlived its grace is left to run: it is not ours to kill hard */
	return EXIT_SIGNAL_BASE + (r->ended_by ? r->ended_by : SIGTERM);
}

/* --- the end line ----------------------------------------------------------------- */

static void print_end(const struct record *r, bool whole)
{
	const struct drm_perfctr_status *st = &r->status;
	double seconds = (double)(r->end_ns - r->begin_ns) * 1e-9;
	char samples[32], merged[32], size[40];
	FILE *err = r->app->err;

	bytes_text(r->bytes, size, sizeof(size));
	fprintf(err, "perfctr record: %s: %s samples, %s, %.3f s; ", r->options.output,
		number_group(r->samples, samples, sizeof(samples)), size, seconds);
	if (!r->has_status) {
		fputs("the device is gone, its totals with it\n", err);
		return;
	}
	if (st->merged_periods)
		fprintf(err, "%s periods merged into longer samples, ",
			number_group(st->merged_periods, merged, sizeof(merged)));
	else
		fputs("nothing merged, ", err);
	if (st->lost_ns)
		fprintf(err, "counts of up to %.6f s LOST by the hardware",
			(double)st->lost_ns * 1e-9);
	else
		fputs("no counts lost", err);
	if (st->errors || st->overflows || st->resets)
		fprintf(err,
			"; samples with errors %" PRIu64 ", overflows %" PRIu64 ", resets %" PRIu64,
			(uint64_t)st->errors, (uint64_t)st->overflows, (uint64_t)st->resets);
	if (r->options.flight_ns)
		fprintf(err, "; the last %.3f s of %s samples", (double)r->options.flight_ns * 1e-9,
			number_group(st->insert_idx, merged, sizeof(merged)));
	else if (st->insert_idx != r->samples)
		fprintf(err, "; %" PRIu64 " samples are NOT in the file",
			(uint64_t)st->insert_idx - r->samples);
	if (r->flight_was_cut)
		fprintf(err, "; %d MiB of memory were not enough for all of it", FLIGHT_LIMIT_MIB);
	/* its last totals may still have been had */
	if (r->device_is_gone)
		fputs("; the device is gone", err);
	if (!whole)
		fputs("; recording ended early", err);
	fputc('\n', err);
}

static void print_json(const struct record *r, int exit_status, bool whole)
{
	struct json_object *root = json_object_new_object();
	const struct drm_perfctr_status *st = &r->status;

	json_add_u64(root, "version", 1);
	json_add_text(root, "file", r->options.output);
	json_add_u64(root, "bytes", r->bytes);
	json_add_u64(root, "samples", r->samples);
	json_add_u64(root, "duration_ns", r->end_ns - r->begin_ns);
	json_add_u64(root, "period_ns", r->options.period_ns);
	json_add_bool(root, "whole", whole);
	json_add_u64(root, "flight_dumps", r->dumps);
	if (r->has_status) {
		struct json_object *kernel = json_object_new_object();

		json_add_u64(kernel, "samples", st->insert_idx);
		json_add_u64(kernel, "merged_periods", st->merged_periods);
		json_add_u64(kernel, "lost_ns", st->lost_ns);
		json_add_u64(kernel, "errors", st->errors);
		json_add_u64(kernel, "overflows", st->overflows);
		json_add_u64(kernel, "resets", st->resets);
		json_add(root, "kernel", kernel);
	} else {
		json_add(root, "kernel", NULL);
	}
	json_add_text(root, "ended_by", r->ended_by ? sigabbrev_np(r->ended_by) : NULL);
	json_add(root, "exit_status", json_object_new_int(exit_status));
	json_write(r->app->out, root, true);
	fputc('\n', r->app->out);
}

/* --- running ------------------------------------------------------------------------ */

/* Stop, write what is left, close the file. Return: 0 or a negative errno. */
static int finish(struct record *r, bool write_more)
{
	int error = perfctr_session_stop(r->session, 0), result;

	r->end_ns = perfctr_time_raw_ns();
	if (error == -ENODEV)
		error = 0;
	/* after a full disk nothing more fits, but what the ring has costs nothing to try */
	result = write_more ? drain(r) : 0;
	if (!error && result != -ENODEV)
		error = result;
	r->has_status = !perfctr_session_status(r->session, &r->status, sizeof(r->status));
	if (r->writer) {
		if (write_more) {
			result = end_file(r, r->writer);
			error = error ? error : result;
		}
		r->bytes = perfctr_capture_bytes(r->writer);
	}
	return error;
}

static int run(struct record *r)
{
	int status = launch(r), error;
	bool failed;

	if (status)
		return status;
	if (!r->options.flight_ns) {
		error = begin_file(r, r->file_fd, &r->writer);
		if (error) {
			child_abandon(&r->child);
			return app_failed(r->app, error);
		}
	}
	r->begin_ns = perfctr_time_raw_ns();
	r->flushed_ns = r->begin_ns;
	r->anchored_ns = r->begin_ns;
	error = perfctr_session_start(r->session, 0);
	if (error) {
		child_abandon(&r->child);
		return app_failed(r->app, error);
	}
	status = let_go(r);
	error = status ? 0 : collect(r);
	/* unplugged: what was recorded until then is worth keeping */
	r->device_is_gone = error == -ENODEV;
	if (r->device_is_gone)
		error = 0;
	failed = error != 0;
	clear_progress(r);
	if (failed) {
		app_failed(r->app, error);
		if (r->options.command && !r->child.ended)
			app_error(r->app, "%s goes on without being recorded",
				  r->options.command[0]);
	}
	error = finish(r, !failed);
	if (!failed && error) {
		failed = true;
		app_failed(r->app, error);
	}
	if (r->options.flight_ns && dump(r, r->options.output))
		failed = true;
	if (!r->options.quiet)
		print_end(r, !failed);
	if (r->device_is_gone && r->options.command)
		/* its status is still wanted; a terminal's Ctrl-C reaches it without us */
		child_wait(&r->child);
	if (!status)
		status = failed || (r->device_is_gone && !r->options.command) ? EXIT_FAILED :
										command_status(r);
	if (r->options.json)
		print_json(r, status, !failed);
	return status;
}

/* --- set-up ---------------------------------------------------------------------------- */

static int create_session(struct record *r)
{
	const struct record_options *o = &r->options;
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.period_ns = o->period_ns,
		.flags = (o->keep_awake ? DRM_PERFCTR_SETUP_KEEP_AWAKE : 0) |
			 (o->automatic ? DRM_PERFCTR_SETUP_AUTOMATIC : 0),
		.slots = o->in_stream ? IN_STREAM_SLOTS : 0,
	};
	uint64_t samples = o->period_ns ? LATENCY_MS * NS_PER_MS / o->period_ns : 1;
	const uint64_t most = perfctr_device_info(r->device)->max_slots / 8;
	int error;

	/* far below what the library's ring of a quarter of a second holds */
	samples = samples > most ? most : samples;
	opts.watermark = samples ? (uint32_t)samples : 1;
	if (o->in_stream)
		opts.watermark = IN_STREAM_SLOTS / 8;
	error = perfctr_session_new(r->selection, &opts, &r->session);
	if (error == -ERANGE && o->in_stream) {
		opts.slots = 0;
		opts.watermark = 1;
		error = perfctr_session_new(r->selection, &opts, &r->session);
	}
	if (!error)
		error = perfctr_cursor_new(r->session, &r->cursor);
	if (error)
		return app_failed(r->app, error);
	r->flight.keep_ns = o->flight_ns;
	r->flight.stride = perfctr_session_sizes(r->session)->slot_stride;
	r->flight.limit_bytes = (size_t)FLIGHT_LIMIT_MIB << 20;
	return 0;
}

static int select_events(struct record *r)
{
	int error = perfctr_selection_new(r->device, &r->selection);

	if (!error && r->options.set)
		error = perfctr_selection_set_counter_set(r->selection, r->options.set);
	if (error)
		return app_failed(r->app, error);
	return app_select(r->app, r->selection, r->options.events, r->options.event_count);
}

/* Signals become readable, so that none is missed and none interrupts. */
static int catch_signals(struct record *r, sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	/* a reader of our pipe that is gone is an error of write(), the end line is still told */
	sigaddset(&set, SIGPIPE);
	if (r->options.flight_ns)
		sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, before);
	r->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (r->signal_fd >= 0)
		return 0;
	app_error(r->app, "signalfd: %s", strerror(errno));
	return EXIT_FAILED;
}

/* What came too late to matter would come again when signals are unblocked. */
static void drop_signals(int signal_fd)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info))
		;
}

int record_run(struct app *app, int argc, char **argv)
{
	struct record r = { .app = app, .file_fd = -1, .signal_fd = -1, .shared_fd = -1 };
	sigset_t before;
	int status;

	status = parse_options(app, argc, argv, &r.options);
	if (status) {
		free(r.options.events);
		return status < 0 ? EXIT_FINE : status;
	}
	r.shows_progress = !r.options.quiet && isatty(STDERR_FILENO) &&
			   (r.options.progress || !r.options.command);
	sigprocmask(SIG_SETMASK, NULL, &before);

	app->via = r.options.via;
	status = app_open_device(app, r.options.device, &r.device);
	if (!status)
		status = select_events(&r);
	if (!status)
		status = create_session(&r);
	if (!status)
		status = open_output(&r);
	if (!status)
		status = catch_signals(&r, &before);
	if (!status)
		status = run(&r);

	if (r.file_fd >= 0 && close(r.file_fd) && !status)
		status = file_failed(&r, r.options.output, -errno);
	if (r.signal_fd >= 0) {
		drop_signals(r.signal_fd);
		close(r.signal_fd);
	}
	if (r.shared_fd >= 0)
		close(r.shared_fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	flight_free(&r.flight);
	perfctr_capture_writer_unref(r.writer);
	perfctr_cursor_unref(r.cursor);
	perfctr_session_unref(r.session);
	perfctr_selection_unref(r.selection);
	perfctr_device_unref(r.device);
	free(r.options.events);
	return status;
}
