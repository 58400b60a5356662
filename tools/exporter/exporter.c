// SPDX-License-Identifier: MIT
/* perfctr exporter, a program of its own: counters for Prometheus. */
#include <errno.h>
#include <fnmatch.h>
#include <ini.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/config.h"
#include "exporter.h"
#include "lib/command.h"
#include "lib/device.h"
#include "lib/json.h"
#include "lib/output.h"

static const char help[] =
	"usage: perfctr exporter [OPTION...]\n"
	"\n"
	"Counts until it is ended, and gives the totals to Prometheus: over HTTP at /metrics,\n"
	"or in a file for the textfile collector of node_exporter.\n"
	"\n"
	"      --listen ADDRESS  HOST:PORT, [ADDRESS]:PORT or :PORT (default: 127.0.0.1:9738);\n"
	"                        who can connect sees what all users of the machine do\n"
	"      --host-name NAME  answer requests for this name, too (default: addresses,\n"
	"                        localhost, the machine's own name and HOST); may be repeated\n"
	"      --textfile PATH   write PATH, a *.prom, at each sample, whole or not at all;\n"
	"                        it is removed at the end. Its folder must be there\n"
	"      --once            one reading of a period, to the textfile or stdout; it does not\n"
	"                        listen\n"
	"      --config FILE     a file with lines such as: period = 10s\n"
	"  -p, --period TIME     time between samples; a number without unit is in ms (5s)\n"
	"  -j, --json            with --once: as JSON\n"
	"      --via SOCKET      through the broker (perfctr serve) there\n"
	"  -d, --device DEVICE   node (renderD128), driver or name; local: perf PMUs; all: all\n"
	"                        that can be counted, those of the events that each has. Each\n"
	"                        -d begins a device, with the events that follow\n"
	"  -e, --event EVENTS    what to count, as in perfctr stat (default: the main ones)\n"
	"  -A, --per-core        a series for each block (also --per-block)\n"
	"      --per-client      also engine times by pod, container, unit and command, of the\n"
	"                        processes that this user may inspect (CAP_SYS_PTRACE: all)\n"
	"      --client-series N at most so many series of these (1000); others are one\n"
	"      --show-clients-to WHO  who may scrape them: a user of this machine, or an ADDRESS\n"
	"                        or ADDRESS/BITS of others; may be repeated (default: root and\n"
	"                        the exporter's own user)\n"
	"\n"
	"Exit: 0 ended by a signal, 1 error, also if PATH could not be written at last, 2 usage,\n"
	"3 not permitted, 4 no device.\n";

static int take_device(const struct app *app, void *exporter, const char *text)
{
	struct exporter *e = exporter;

	if (e->count == MAX_DEVICES)
		return app_usage(app, "at most %d devices", MAX_DEVICES);
	e->devices[e->count++].which = text;
	return 0;
}

/* The device that an option without one is about. */
static struct exported *current(struct exporter *e)
{
	e->count += !e->count;
	return &e->devices[e->count - 1];
}

static int take_event(const struct app *app, void *exporter, const char *text)
{
	return option_words_add(app, &current(exporter)->events, text);
}

static int take_per_block(const struct app *app, void *exporter, const char *text)
{
	if (text && strcmp(text, "yes"))
		return app_usage(app, "--per-core: yes, or no such line");
	current(exporter)->per_block = true;
	return 0;
}

static int take_per_client(const struct app *app, void *exporter, const char *text)
{
	struct exporter *e = exporter;

	if (text && strcmp(text, "yes"))
		return app_usage(app, "--per-client: yes, or no such line");
	e->per_client = true;
	return 0;
}

/* Return: 1 to continue, 0 to stop with the line's number. The texts live with the process. */
static int take_line(void *data, const char *section, const char *key, const char *value)
{
	struct exporter *e = data;
	char *text = strdup(value);

	return text && !*section && strcmp(key, "config") &&
	       !option_take(e->app, e->options, key, text);
}

static int take_config(const struct app *app, void *exporter, const char *path)
{
	struct config_file c = { .file = fopen(path, "re"), .instead = "repeat event =" };
	int line = c.file ? ini_parse_stream(config_line, &c, take_line, exporter) : -1;

	/* a folder can be opened and not read */
	if (!c.file || (!line && ferror(c.file)))
		line = -1;
	if (line < 0)
		app_usage(app, "--config %s: %s", path, strerror(errno));
	if (c.file)
		fclose(c.file);
	if (c.wrong && (!line || c.wrong <= line))
		return app_usage(app, "%s:%d: %s", path, c.wrong, c.reason);
	if (line > 0)
		app_error(app, "%s:%d: no valid OPTION = VALUE", path, line);
	return line ? EXIT_USAGE : 0;
}

static int parse_options(struct exporter *e, int argc, char **argv)
{
	const struct option_spec options[] = {
		OPTION(0, "listen", TEXT, &e->listen),
		OPTION(0, "host-name", WORDS, &e->host_names),
		OPTION(0, "textfile", TEXT, &e->textfile),
		OPTION(0, "once", FLAG, &e->once),
		OPTION(0, "config", CALL, e, .call = take_config),
		OPTION('p', "period", TIME, &e->period_ns),
		OPTION('j', "json", FLAG, &e->json),
		OPTION(0, "via", TEXT, &e->app->via),
		OPTION('d', "device", CALL, e, .call = take_device),
		OPTION('e', "event", CALL, e, .call = take_event),
		OPTION('A', "per-core", CALL_PLAIN, e, .call = take_per_block),
		OPTION('A', "per-block", CALL_PLAIN, e, .call = take_per_block),
		OPTION(0, "per-client", CALL_PLAIN, e, .call = take_per_client),
		OPTION(0, "client-series", NUMBER, &e->uses.limit, .min = 1, .max = 100000),
		OPTION(0, "show-clients-to", WORDS, &e->viewers),
		OPTIONS_END,
	};
	int status;

	e->options = options;
	status = option_parse(e->app, argc, argv, help, options, THEN_NOTHING);
	if (status)
		return status;
	if (e->json && !e->once)
		return app_usage(e->app, "--json needs --once");
	if (e->json && e->per_client)
		return app_usage(e->app, "--json has no clients: leave out --per-client");
	if (e->textfile && fnmatch("*.prom", e->textfile, 0))
		return app_usage(e->app, "--textfile %s: node_exporter reads only *.prom",
				 e->textfile);
	if (!e->listen && !e->textfile && !e->once)
		e->listen = "127.0.0.1:9738";
	current(e);
	return 0;
}

/* Add a device of -d all, with its events. @path: lives with the process. */
static int add_device(struct exporter *e, const struct exported *all, const char *path)
{
	struct exported *d = &e->devices[e->count];
	int status = take_device(e->app, e, path);

	d->is_of_all = true;
	d->per_block = all->per_block;
	for (size_t n = 0; !status && n < all->events.count; n++)
		status = option_words_add(e->app, &d->events, all->events.words[n]);
	return status;
}

/* Put the machine's devices in the place of -d all. */
static int expand(struct exporter *e, size_t at)
{
	struct exported all = e->devices[at];
	struct perfctr_device_list *list;
	int status, error = perfctr_device_list_new(e->app->ctx, &list);

	if (error)
		return app_failed(e->app, error);
	e->count--;
	memmove(&e->devices[at], &e->devices[at + 1], (e->count - at) * sizeof(all));
	e->devices[e->count] = (struct exported){ 0 };
	status = add_device(e, &all, PERFCTR_DEVICE_LOCAL);
	for (size_t n = 0; !status && n < perfctr_device_list_count(list); n++) {
		const struct perfctr_device_entry *entry = perfctr_device_list_get(list, n);

		if (entry->error != -ENOTTY && entry->error != -EINVAL &&
		    !device_note_entry(e->app, entry))
			status = add_device(e, &all, strdup(entry->path));
	}
	perfctr_device_list_unref(list);
	option_words_free(&all.events);
	return status;
}

static bool is_there(const struct exporter *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (exported_is_same(&e->devices[i], &e->devices[n]))
			return true;
	return false;
}

/* Two words may be of the same device, whose series would be there twice. */
static int open_devices(struct exporter *e)
{
	int status = 0;

	for (size_t n = 0; !status && n < e->count; n++)
		if (e->devices[n].which && !strcmp(e->devices[n].which, DEVICE_ALL))
			status = expand(e, n--);
	for (size_t n = 0; !status && n < e->count;) {
		struct exported *d = &e->devices[n];

		status = exported_open(e, d);
		if (!status && !is_there(e, n)) {
			n++;
		} else if (!d->is_of_all) {
			status = status ? status :
					  app_usage(e->app, "device %s is there twice", d->name);
		} else if (!status || e->count > 1) {
			/* the reason was printed, if it is not there twice */
			exported_free(d);
			e->count--;
			memmove(d, d + 1, (e->count - n) * sizeof(*d));
			e->devices[e->count] = (struct exported){ 0 };
			status = 0;
		}
	}
	return status;
}

static int write_json(struct exporter *e, FILE *out)
{
	struct json_object *root = json_object_new_object(), *devices = json_object_new_array();
	int error = 0;

	for (size_t n = 0; n < e->count && !error; n++) {
		struct exported *d = &e->devices[n];
		struct json_object *o = json_append(devices);
		struct json_object *counters = json_object_new_array();
		struct json_object *metrics = json_object_new_array();

		error = exported_rows(d);
		json_add_text(o, "device", d->name);
		json_add_text(o, "driver", d->device ? perfctr_device_driver(d->device) : NULL);
		json_add_text(o, "name", d->device ? perfctr_device_info(d->device)->name : NULL);
		rows_json_add_span(o, &d->sums.span);
		for (size_t i = 0; i < d->sums.count; i++) {
			const struct row *row = &d->sums.rows[i];

			json_object_array_add(row->metric ? metrics : counters,
					      row->metric ? rows_json_metric(row) :
							    rows_json_counter(row));
		}
		json_add(o, "counters", counters);
		json_add(o, "metrics", metrics);
	}
	json_add(root, "devices", devices);
	json_write(out, root, true);
	return error;
}

/* Return: 0 or an exit status, the message was printed. */
static int write_file(struct exporter *e)
{
	struct output output;
	int error, status = output_open(e->app, e->textfile, &output);

	if (status)
		return status;
	error = e->json ? write_json(e, output.stream) : text_write(output.stream, e, false, true);
	return output_close(e->app, &output, error ? app_failed(e->app, error) : 0);
}

/* Wait for a signal, a sample or a scraper. Return: whether a signal came. */
static bool wait_for_events(struct exporter *e, int timeout_ms)
{
	struct pollfd fds[2 + MAX_DEVICES] = { { .fd = e->signals.fd, .events = POLLIN },
					       { .fd = http_fd(e->http), .events = POLLIN } };
	struct signalfd_siginfo info;
	uint64_t wakes;

	for (size_t n = 0; n < e->count; n++) {
		struct perfctr_session *session = e->devices[n].session;

		fds[2 + n] = (struct pollfd){ .fd = session ? perfctr_session_eventfd(session) : -1,
					      .events = POLLIN };
	}
	if (poll(fds, 2 + e->count, timeout_ms) < 0 && errno != EINTR)
		return true;
	for (size_t n = 2; n < 2 + e->count; n++)
		if (fds[n].revents & POLLIN && read(fds[n].fd, &wakes, sizeof(wakes)) < 0 &&
		    errno != EAGAIN)
			return true;
	return signals_next(&e->signals, &info);
}

/* Read the clients if it is time. Return: whether they were. */
static bool take_clients(struct exporter *e)
{
	const uint64_t now_ns = perfctr_time_raw_ns();

	if (!e->uses.clients || now_ns < e->uses_ns)
		return false;
	e->uses_ns = now_ns + e->period_ns;
	if (uses_read(&e->uses))
		app_error(e->app, "no memory for all clients");
	return true;
}

/* The time until the clients are to be read, at most @wait_ms. */
static int wait_for_clients(const struct exporter *e, int wait_ms)
{
	const uint64_t now_ns = perfctr_time_raw_ns();

	if (!e->uses.clients || e->uses_ns >= now_ns + (uint64_t)wait_ms * NS_PER_MS)
		return wait_ms;
	return e->uses_ns > now_ns ? (int)((e->uses_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

static int run_once(struct exporter *e)
{
	if (wait_for_events(e, (int)(e->period_ns / NS_PER_MS)))
		return EXIT_FINE;
	for (size_t n = 0; n < e->count; n++) {
		int error = perfctr_session_stop(e->devices[n].session, 0);

		if (error)
			return app_failed(e->app, error);
		exported_take(e, &e->devices[n]);
	}
	take_clients(e);
	return write_file(e);
}

/* A failure is printed once until a write succeeds; the next sample tries again. */
static void write_sample(struct exporter *e)
{
	const bool failed = e->write_failed;
	FILE *err = e->app->err;

	if (failed)
		e->app->err = e->null;
	e->write_failed = write_file(e);
	e->app->err = err;
	if (failed && !e->write_failed)
		app_error(e->app, "%s: is written again", e->textfile);
}

static void run(struct exporter *e)
{
	int timeout_ms = 0;

	while (!wait_for_events(e, timeout_ms)) {
		bool changed = take_clients(e);

		for (size_t n = 0; n < e->count; n++)
			changed |= exported_take(e, &e->devices[n]);
		if (changed && e->textfile)
			write_sample(e);
		if (changed && e->http)
			http_refresh(e->http);
		/* each second a lost device is tried again, and a silent one asked */
		timeout_ms = wait_for_clients(e, e->http ? http_run(e->http) : 1000);
	}
}

/* Return: 0 or an exit status, the message was printed. */
static int open_clients(struct exporter *e)
{
	const int error = uses_open(e->app, &e->uses);

	/* --once reads at its end */
	e->uses_ns = e->once ? 0 : perfctr_time_raw_ns() + e->period_ns;
	return error ? app_failed(e->app, error) : 0;
}

static int exporter_run(struct app *app, int argc, char **argv)
{
	struct exporter e = { .app = app,
			      .period_ns = 5 * NS_PER_S,
			      .uses.limit = DEFAULT_SERIES,
			      .signals.fd = -1 };
	int status = parse_options(&e, argc, argv);

	if (!status)
		status = viewers_check(&e);
	e.null = fopen("/dev/null", "we");
	if (!status && !e.null)
		status = app_failed(app, -errno);
	if (!status)
		status = signals_catch(app, &e.signals, (const int[]){ 0 });
	if (!status && e.textfile)
		status = output_check_folder(app, e.textfile);
	if (!status && !e.once && e.listen)
		status = http_open(&e);
	if (!status)
		status = open_devices(&e);
	if (!status && e.per_client)
		status = open_clients(&e);
	if (!status && e.once)
		status = run_once(&e);
	else if (!status)
		run(&e);
	/* node_exporter would show the last values for ever */
	if (!status && !e.once && e.textfile)
		unlink(e.textfile);
	/* the message was printed when it began */
	if (!status && e.write_failed)
		status = EXIT_FAILED;
	http_free(e.http);
	option_words_free(&e.host_names);
	option_words_free(&e.viewers);
	uses_free(&e.uses);
	signals_release(&e.signals);
	if (e.null)
		fclose(e.null);
	for (size_t n = 0; n < e.count; n++)
		exported_free(&e.devices[n]);
	return status < 0 ? EXIT_FINE : status;
}

int main(int argc, char **argv)
{
	struct app app = { .name = "exporter" };

	/* an event takes a file on each CPU */
	child_raise_files();
	return app_main(&app, exporter_run, argc, argv);
}
