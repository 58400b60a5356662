// SPDX-License-Identifier: MIT
/*
 * perfctr interference: contention, measured on a virtual SoC.
 *
 * Each aggressor runs at several levels beside the task. A channel explains the slowdown if the
 * task uses it, if what it shows rises with the task's time over the levels (rank correlation),
 * and if that is long enough for a quarter of the time that the task takes longer.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "job/runner.h"
#include "lib/json.h"
#include "lib/option.h"
#include "lib/output.h"
#include "lib/page.h"
#include "lib/rows.h"
#include "steps.h"
#include "validate/builtin.h"
#include "validate/document.h"
#include "validate/report.h"

enum {
	MAX_CHANNELS = 24,
	MIN_LEVELS = 5, /* fewer rise with the time too often by chance */
	MAX_LEVELS = RANKS_MAX - 1,
	MAX_WORDS = 32,
	NOISE = 10, /* thousandths: closer values have no order */
	MAX_NOISE = 50, /* more is slower */
	QUEUED = 1000, /* jobs of an aggressor */
	SETTLE_MS = 20,
	READINGS = 32, /* of PMUs while the task runs, about */
	MIN_PERIOD_NS = 100000,
	MAX_TRIES = 20, /* a busy host reads PMUs late */
	TOO_SHORT = 1, /* PMUs were not read while the task ran */
	BEGIN = 1, /* tags of samples */
	END = 2,
};

enum kind {
	WAIT, /* cycles that a request waits or travels */
	HITS, /* of the cache, which the aggressor takes away */
	OTHERS, /* cycles of others' work between the task's */
};

static const char *const kinds[] = { "wait", "hits", "others" };

struct channel {
	const char *name;
	enum kind kind;
	/* events: (counts - minus) / per */
	const char *counts, *minus, *per;
	double ns; /* of a cycle, or of a lost hit */
	uint64_t window;
	unsigned int trust; /* the least of its events */
};

struct load {
	uint64_t level; /* 0: the task alone */
	uint64_t time_ns, max_time_ns; /* of the quickest run, of the slowest one */
	uint64_t shown[MAX_CHANNELS][2]; /* by channel; the denominator is 0 if it is not used */
};

struct correlation {
	int sign;
	uint64_t squared[2];
	bool explains;
	double growth; /* ns of a request, part of all hits, or ns */
	double added_ns; /* of the task's time */
};

struct aggressor {
	const char *name, *command;
	bool concurrent;
	struct load points[MAX_LEVELS + 1];
	const struct load *slowest;
	size_t count;
	struct correlation of[MAX_CHANNELS];
	long channel; /* -1: none */
};

struct run {
	struct app *app;
	struct arena arena;
	struct failure failure;
	const char *title, *task;
	uint64_t jobs, runs;
	struct channel channels[MAX_CHANNELS];
	size_t channel_count;
	struct aggressor *aggressors;
	size_t aggressor_count;
	struct perfctr_device *device;
	struct perfctr_selection *selection;
	struct measured measured; /* its configuration */
	struct steps steps;
	struct runner runner, *beside; /* an aggressor on the GPU: held while the task is not run */
};

static double ratio(const uint64_t value[2])
{
	return value[1] ? (double)value[0] / (double)value[1] : 0;
}

/* --- the file ------------------------------------------------------------------------ */

static int read_channel(struct run *r, struct document *d, struct json_object *o)
{
	static const char *const keys[] = { "name", "kind", "counts", "minus", "per",
					    "hz",   "ns",   "window", NULL };
	struct channel *c = &r->channels[r->channel_count];
	const char *kind = document_text(d, o, "kind", "wait");
	size_t n = 0;

	if (r->channel_count == MAX_CHANNELS)
		return document_fail(d, o, "at most %d channels", MAX_CHANNELS);
	c->name = document_text(d, o, "name", NULL);
	c->counts = document_text(d, o, "counts", NULL);
	c->minus = document_text(d, o, "minus", "");
	c->per = document_text(d, o, "per", "");
	while (kind && n < ARRAY_SIZE(kinds) && strcmp(kinds[n], kind) != 0)
		n++;
	if (n == ARRAY_SIZE(kinds))
		return document_fail(d, o, "kind '%s': wait, hits or others", kind);
	c->kind = (enum kind)n;
	c->window = document_u64(d, o, "window", UINT64_MAX, c->kind == OTHERS);
	c->ns = c->kind == HITS ? (double)document_u64(d, o, "ns", UINT64_MAX, 0) :
				  1e9 / (double)document_u64(d, o, "hz", UINT64_MAX, 1000000000);
	if (c->kind != OTHERS && c->per && !*c->per)
		return document_fail(d, o, "it needs 'per', the requests");
	if (!c->window || c->ns <= 0 || isinf(c->ns))
		return document_fail(d, o, "it needs 'window', and hits 'ns'");
	r->channel_count++;
	return document_only(d, o, keys);
}

static int read_aggressor(struct run *r, struct document *d, struct json_object *o)
{
	static const char *const keys[] = { "name", "command", "concurrent", "levels", NULL };
	struct json_object *levels = document_get(d, o, "levels", json_type_array, true);
	struct json_object *concurrent = document_get(d, o, "concurrent", json_type_boolean, false);
	struct aggressor *a;
	size_t count = levels ? json_object_array_length(levels) : 0;

	r->aggressors = arena_grow(&r->arena, r->aggressors, r->aggressor_count, sizeof(*a));
	a = &r->aggressors[r->aggressor_count++];
	a->name = document_text(d, o, "name", NULL);
	a->command = document_text(d, o, "command", NULL);
	a->concurrent = concurrent && json_object_get_boolean(concurrent);
	if (levels && (count < MIN_LEVELS || count > MAX_LEVELS))
		return document_fail(d, levels, "give %d to %d levels", MIN_LEVELS, MAX_LEVELS);
	for (size_t n = 0; n < count; n++)
		if (document_count(d, json_object_array_get_idx(levels, n), "a level", UINT64_MAX,
				   &a->points[n + 1].level) ||
		    (n && a->points[n + 1].level <= a->points[n].level))
			return document_fail(d, levels, "give ascending levels");
	a->count = count + 1;
	return document_only(d, o, keys);
}

static int read_file_of(struct run *r, const char *path)
{
	static const char *const keys[] = { "title",	"task",	      "jobs", "runs",
					    "channels", "aggressors", NULL };
	const struct builtin *builtin = path ? NULL : builtin_find("interference");
	struct document d = { .name = path ? path : "interference.json",
			      .arena = &r->arena,
			      .failure = &r->failure };
	struct json_object *channels, *aggressors;

	d.text = builtin ? builtin->text : read_file(&r->arena, path, &d.length, &r->failure);
	d.length = builtin ? (size_t)(builtin->end - builtin->text) - 1 : d.length;
	if (!d.text || document_parse(&d) < 0)
		return -1;
	r->title = document_text(&d, d.root, "title", "Interference");
	r->task = document_text(&d, d.root, "task", NULL);
	r->jobs = document_u64(&d, d.root, "jobs", QUEUED, 1);
	r->runs = document_u64(&d, d.root, "runs", 100, 3);
	channels = document_get(&d, d.root, "channels", json_type_array, true);
	aggressors = document_get(&d, d.root, "aggressors", json_type_array, true);
	for (size_t n = 0; channels && n < json_object_array_length(channels); n++)
		if (read_channel(r, &d, json_object_array_get_idx(channels, n)))
			break;
	for (size_t n = 0; aggressors && n < json_object_array_length(aggressors); n++)
		if (read_aggressor(r, &d, json_object_array_get_idx(aggressors, n)))
			break;
	document_only(&d, d.root, keys);
	document_free(&d);
	return *r->failure.text ? -1 : 0;
}

/* --- measuring ----------------------------------------------------------------------- */

static int add_event(struct run *r, struct channel *c, const struct verdicts *verdicts,
		     const char *event)
{
	char plain[128];
	unsigned int trust;

	if (!*event)
		return 0;
	if (perfctr_selection_add(r->selection, event) < 0)
		return fail(&r->failure, "channel %s: %s", c->name, perfctr_ctx_error(r->app->ctx));
	/* a filter selects some of what the event counts */
	snprintf(plain, sizeof(plain), "%.*s%s", (int)strcspn(event, ","), event,
		 strchr(event, ',') ? "/" : "");
	trust = verdicts_trust(verdicts, verdicts_counter(plain, 0));
	if (trust != PERFCTR_TRUST_TRUSTED && trust != PERFCTR_TRUST_EXPLAINED)
		c->trust = trust;
	return 0;
}

static void configure(struct run *r)
{
	struct arena *arena = &r->arena;
	char time[32];

	report_time(time, sizeof(time));
	measured_configure(arena, &r->measured, "device",
			   arena_printf(arena, "%s", perfctr_device_path(r->device)));
	measured_configure(arena, &r->measured, "driver",
			   arena_printf(arena, "%s", perfctr_device_driver(r->device)));
	study_configure(arena, &r->measured);
	measured_configure(arena, &r->measured, "date", arena_printf(arena, "%s", time));
	measured_configure(arena, &r->measured, "runs", arena_printf(arena, "%" PRIu64, r->runs));
}

static int open_all(struct run *r, const char *device)
{
	struct verdicts *verdicts = verdicts_load(r->app->err);
	int error = perfctr_device_open(r->app->ctx, device ? device : "vsoc", &r->device), ret = 0;

	r->runner.fd = -1;
	r->runner.timeout_ns = 60ull * NS_PER_S;
	if (!error)
		error = perfctr_selection_new(r->device, &r->selection);
	if (error)
		ret = fail(&r->failure, "%s", perfctr_ctx_error(r->app->ctx));
	else if (runner_open(&r->runner, NULL, perfctr_device_fd(r->device), 1, false))
		ret = fail(&r->failure, "%s", r->runner.error);
	for (size_t n = 0; n < r->channel_count && !ret; n++) {
		struct channel *c = &r->channels[n];

		c->trust = PERFCTR_TRUST_TRUSTED;
		ret = add_event(r, c, verdicts, c->counts);
		ret = ret ? ret : add_event(r, c, verdicts, c->minus);
		ret = ret ? ret : add_event(r, c, verdicts, c->per);
	}
	verdicts_free(verdicts);
	if (!ret)
		configure(r);
	return ret;
}

/* The job of a command; {LEVEL} is replaced. */
static int make_job(struct run *r, const char *command, uint64_t level, struct job *job)
{
	const char *at = strstr(command, "{LEVEL}"), *words[MAX_WORDS];
	char *text = at ? arena_printf(&r->arena, "%.*s%" PRIu64 "%s", (int)(at - command), command,
				       level, at + strlen("{LEVEL}")) :
			  arena_printf(&r->arena, "%s", command);
	char error[256] = "", *position;
	size_t count = 0;

	for (char *word = strtok_r(text, " ", &position); word && count < MAX_WORDS;
	     word = strtok_r(NULL, " ", &position))
		words[count++] = word;
	if (job_parse(job, words, count, error, sizeof(error)))
		return fail(&r->failure, "'%s': %s", command, error);
	return 0;
}

static int add_sample(struct run *r, struct perfctr_session *session, uint64_t tag, struct job *job)
{
	const struct drm_vsoc_command sample = {
		.type = DRM_VSOC_CMD_SAMPLE,
		.sample = { .user_data = tag, .session = perfctr_session_fd(session) },
	};

	return job_add(job, &sample) ? fail(&r->failure, "out of memory") : 0;
}

/* The task and an aggressor on the GPU start no job: there are no gaps, and enough are left. */
static int hold(struct run *r, bool held)
{
	struct drm_vsoc_ctx_hold args = { .ctx_id = DRM_VSOC_CTX_ALL, .hold = held };

	if ((r->beside && ioctl(r->beside->fd, DRM_IOCTL_VSOC_CTX_HOLD, &args)) ||
	    ioctl(r->runner.fd, DRM_IOCTL_VSOC_CTX_HOLD, &args))
		return fail(&r->failure, "holding jobs: %s", strerror(errno));
	return 0;
}

/* The task's jobs. The first one begins with a sample, the last one ends with another. */
static int run_task(struct run *r, struct perfctr_session *session)
{
	int ret = hold(r, true);

	for (uint64_t n = 0; n < r->jobs && !ret; n++) {
		struct job job = { 0 };

		if (session && !n)
			ret = add_sample(r, session, BEGIN, &job);
		if (!ret)
			ret = make_job(r, r->task, 0, &job);
		if (!ret && session && n + 1 == r->jobs)
			ret = add_sample(r, session, END, &job);
		if (!ret && runner_submit(&r->runner, &job))
			ret = fail(&r->failure, "the task: %s", r->runner.error);
		job_free(&job);
	}
	if (ret || hold(r, false))
		return -1;
	if (runner_wait(&r->runner, 0) || r->runner.timed_out || r->runner.cancelled)
		return fail(&r->failure, "the task: %s",
			    *r->runner.error ? r->runner.error : "a job was not done");
	return hold(r, true);
}

/* @others: channels of that kind; else all others */
static int take_point(struct run *r, struct perfctr_totals *totals, bool others, struct load *p)
{
	struct rows blocks = { 0 }, types = { 0 };
	int ret = 0;

	if (rows_fill(&blocks, totals, r->selection, true) ||
	    rows_fill(&types, totals, r->selection, false))
		ret = fail(&r->failure, "%s", perfctr_ctx_error(r->app->ctx));
	for (size_t n = 0; n < r->channel_count && !ret; n++) {
		const struct channel *c = &r->channels[n];

		if (others != (c->kind == OTHERS))
			continue;

		const char *const events[] = { c->counts, c->minus, c->per };
		uint64_t values[3] = { 0, 0, 1 };

		for (size_t i = 0; i < ARRAY_SIZE(events) && !ret; i++) {
			const struct row *row =
				*events[i] ? rows_find_counter(&types, &blocks, events[i]) : NULL;

			if (row && row->state == PERFCTR_VALUE_OK &&
			    !(row->flags & PERFCTR_VALUE_ESTIMATED))
				values[i] = row->value;
			else if (*events[i])
				ret = fail(&r->failure, "%s was not measured: fewer channels",
					   events[i]);
		}
		p->shown[n][0] = values[0] > values[1] ? values[0] - values[1] : 0;
		p->shown[n][1] = values[2];
	}
	rows_free(&blocks);
	rows_free(&types);
	return ret;
}

/* The end of a sample by the GPU's clock, if it has one: PMUs are read at other times. */
static uint64_t time_of(const struct run *r, const struct perfctr_sample *s)
{
	for (size_t n = 0; s->gpu_epoch && n < perfctr_device_clock_count(r->device); n++) {
		const struct drm_perfctr_clock_info *clock = perfctr_device_clock(r->device, n);

		if (clock->clock == DRM_PERFCTR_CLOCK_TIMESTAMP && clock->frequency_hz)
			return (uint64_t)((unsigned __int128)s->gpu_timestamp * NS_PER_S /
					  clock->frequency_hz);
	}
	return s->end_ns;
}

/* Whether a sample has counts of all perf PMUs, which began at that time or later. */
static bool pmus_began(const struct perfctr_totals *of_sample, uint64_t ns)
{
	for (size_t n = 0; n < perfctr_totals_block_count(of_sample); n++) {
		const struct perfctr_totals_block_info *info =
			perfctr_totals_block_info(perfctr_totals_block(of_sample, n));

		if (info->is_pmu && (info->start_ns < ns || info->start_ns == info->end_ns))
			return false;
	}
	return true;
}

/* totals of a session: of all samples, of the task's, of those whose PMUs counted the task only */
struct counts {
	struct perfctr_totals *all, *task, *pmus, *sample;
};

static int add_samples(struct run *r, struct perfctr_cursor *cursor, struct counts *c,
		       struct load *p)
{
	uint64_t begin_ns = 0, raw_ns = 0;
	struct perfctr_sample s;
	int error = 0;

	while (!error && perfctr_cursor_next(cursor, &s) > 0) {
		error = perfctr_totals_add(c->all, &s);
		if (!error && raw_ns && !p->time_ns)
			error = perfctr_totals_add(c->task, &s);
		perfctr_totals_reset(c->sample);
		if (!error)
			error = perfctr_totals_add(c->sample, &s);
		/* the PMUs' counts of a sample end before it does */
		if (!error && raw_ns && !p->time_ns && pmus_began(c->sample, raw_ns))
			error = perfctr_totals_add(c->pmus, &s);
		if (s.user_data == BEGIN) {
			begin_ns = time_of(r, &s);
			raw_ns = s.end_ns;
		}
		if (s.user_data == END)
			p->time_ns = time_of(r, &s) - begin_ns;
		perfctr_cursor_advance(cursor, 1);
	}
	return error;
}

/* Count while the task runs. PMUs are read meanwhile. Return: 0; -1 with a failure; TOO_SHORT. */
static int measure(struct run *r, bool beside, struct load *p)
{
	const uint64_t start_ns = perfctr_time_raw_ns();
	int ret = run_task(r, NULL), error = ret;
	struct perfctr_session_opts opts = {
		.size = sizeof(opts),
		.slots = 1024,
		.period_ns = (perfctr_time_raw_ns() - start_ns) / READINGS,
	};
	struct perfctr_session *session = NULL;
	struct perfctr_cursor *cursor = NULL;
	struct perfctr_totals *totals[4] = { NULL };
	struct counts c;

	if (opts.period_ns < MIN_PERIOD_NS)
		opts.period_ns = MIN_PERIOD_NS;
	for (size_t n = 0; n < ARRAY_SIZE(totals) && !error; n++)
		error = perfctr_totals_new(r->app->ctx, &totals[n]);
	c = (struct counts){ totals[0], totals[1], totals[2], totals[3] };
	if (!error)
		error = perfctr_session_new(r->selection, &opts, &session);
	if (!error)
		error = perfctr_cursor_new(session, &cursor);
	if (!error)
		error = perfctr_session_start(session, 0);
	if (!error) {
		ret = run_task(r, session);
		error = perfctr_session_stop(session, 0);
	}
	error = error ? error : add_samples(r, cursor, &c, p);
	if (error && !ret)
		ret = fail(&r->failure, "%s", perfctr_ctx_error(r->app->ctx));
	if (!ret && !p->time_ns)
		ret = fail(&r->failure, "the task's last job was not sampled");
	/* alone there is nothing else to count, and all requests of the task are needed */
	if (!ret && beside && !perfctr_totals_span(c.pmus)->samples)
		ret = TOO_SHORT;
	if (!ret)
		ret = take_point(r, beside ? c.pmus : c.all, false, p);
	if (!ret)
		ret = take_point(r, c.task, true, p);
	perfctr_cursor_unref(cursor);
	perfctr_session_unref(session);
	for (size_t n = 0; n < ARRAY_SIZE(totals); n++)
		perfctr_totals_unref(totals[n]);
	return ret;
}

static double slowdown(const struct aggressor *a, const struct load *p)
{
	return (double)p->time_ns / (double)a->points[0].time_ns;
}

static int measure_beside(struct run *r, const struct aggressor *a, struct load *p)
{
	const struct timespec settle = { .tv_nsec = SETTLE_MS * 1000000 };
	struct runner other = { .timeout_ns = NS_PER_S };
	struct job job = { 0 };
	int ret = make_job(r, a->command, p->level, &job);

	if (!ret && runner_open(&other, perfctr_device_path(r->device), -1, 1, a->concurrent))
		ret = fail(&r->failure, "%s: %s", a->name, other.error);
	r->beside = a->concurrent ? NULL : &other;
	ret = ret ? ret : hold(r, true);
	for (size_t n = 0; n < QUEUED && !ret; n++)
		if (runner_submit(&other, &job))
			ret = fail(&r->failure, "%s: %s", a->name, other.error);
	if (!ret) {
		nanosleep(&settle, NULL);
		ret = measure(r, true, p);
	}
	/* those that are not done time out */
	other.timeout_ns = 0;
	if (!ret && (runner_wait(&other, 0) || !other.timed_out))
		ret = fail(&r->failure, "%s, level %" PRIu64 ": its %d jobs ended before the task",
			   a->name, p->level, QUEUED);
	if (!ret && slowdown(a, p) < 0.95)
		ret = fail(&r->failure, "%s, level %" PRIu64 ": the task is quicker than alone",
			   a->name, p->level);
	r->beside = NULL;
	/* cancels its jobs */
	runner_close(&other);
	job_free(&job);
	return ret;
}

/*
 * The quickest run: what else happens on the machine only adds time. The aggressor begins anew for
 * each. @a: NULL: alone.
 */
static int measure_level(struct run *r, const struct aggressor *a, uint64_t runs, struct load *p)
{
	uint64_t max_time_ns = 0;
	int ret = 0;

	for (uint64_t n = 0; n < runs && !ret; n++) {
		struct load run;
		int tries = 0;

		do {
			run = (struct load){ .level = p->level };
			ret = a ? measure_beside(r, a, &run) : measure(r, false, &run);
		} while (ret == TOO_SHORT && ++tries < MAX_TRIES);
		if (ret == TOO_SHORT)
			ret = fail(&r->failure,
				   "no PMU was read while the task ran: make it longer");
		if (run.time_ns > max_time_ns)
			max_time_ns = run.time_ns;
		if (!n || run.time_ns < p->time_ns)
			*p = run;
	}
	p->max_time_ns = max_time_ns;
	return ret;
}

/* --- analysis ------------------------------------------------------------------------ */

static bool slower(const struct aggressor *a)
{
	return slowdown(a, a->slowest) > 1.05;
}

/* Thousandths by which times differ without a reason: those of the task alone, if that is more. */
static unsigned int noise_of(const struct load *alone)
{
	const double spread =
		(double)(alone->max_time_ns - alone->time_ns) / (double)alone->time_ns;

	return (unsigned int)fmin(fmax(1000 * spread, NOISE), MAX_NOISE);
}

static void correlate(const struct run *r, struct aggressor *a)
{
	uint64_t times[RANKS_MAX][2], shown[RANKS_MAX][2];
	const double added_ns = (double)(a->slowest->time_ns - a->points[0].time_ns);

	for (size_t n = 0; n < r->channel_count; n++) {
		const struct channel *c = &r->channels[n];
		const uint64_t *alone = a->points[0].shown[n];
		struct correlation *of = &a->of[n];

		for (size_t i = 0; i < a->count; i++) {
			const uint64_t *value = a->points[i].shown[n];

			times[i][0] = a->points[i].time_ns;
			times[i][1] = 1;
			shown[i][0] = value[0];
			shown[i][1] = value[1] ? value[1] : 1;
		}
		of->sign = rank_correlation(times, shown, a->count, noise_of(a->points), NOISE,
					    of->squared);
		of->growth = ratio(a->slowest->shown[n]) - ratio(alone);
		if (c->kind == HITS) {
			of->sign = -of->sign;
			of->growth = -of->growth;
		}
		/* the requests of a window wait at the same time */
		of->added_ns = of->growth * c->ns * (double)alone[1] / (double)c->window;
		if (c->kind != HITS)
			of->growth *= c->ns;
		/* 0.8 squared */
		of->explains = slower(a) && of->sign > 0 && ratio(of->squared) >= 0.64 &&
			       of->added_ns * 4 >= added_ns;
	}
}

/* Work of others on the GPU delays all of the task's, and lost hits make it wait elsewhere. */
static void name_channel(const struct run *r, struct aggressor *a)
{
	a->channel = -1;
	for (int kind = OTHERS; kind >= WAIT && a->channel < 0; kind--)
		for (size_t n = 0; n < r->channel_count; n++)
			if ((int)r->channels[n].kind == kind && a->of[n].explains &&
			    (a->channel < 0 || a->of[n].added_ns > a->of[a->channel].added_ns))
				a->channel = (long)n;
}

/* --- reports ------------------------------------------------------------------------- */

static double rho(const struct correlation *of)
{
	return of->sign * sqrt(ratio(of->squared));
}

/* What a channel shows at a load: of a request, part of all hits, or cycles. */
static double shown(const struct channel *c, const struct load *p, size_t n)
{
	return ratio(p->shown[n]) * (c->kind == WAIT ? c->ns : c->kind == HITS ? 100 : 1);
}

static const char *const shown_units[] = { "ns of a request", "% of accesses hit",
					   "cycles of others" };

static void write_text(const struct run *r, FILE *out)
{
	fprintf(out, "%s\ntask: %s, %" PRIu64 " jobs, alone %.3f us", r->title, r->task, r->jobs,
		(double)r->aggressors[0].points[0].time_ns / 1e3);
	report_print_configuration(out, &r->measured);
	fputc('\n', out);
	for (size_t i = 0; i < r->aggressor_count; i++) {
		const struct aggressor *a = &r->aggressors[i];

		fprintf(out, "\nbeside %s: %.2f times as long\n", a->name, slowdown(a, a->slowest));
		fputs("  level                 time  slowdown  slowest run\n", out);
		for (size_t n = 0; n < a->count; n++)
			fprintf(out, "  %-13" PRIu64 "%10.3f us %8.2f %+10.1f %%\n",
				a->points[n].level, (double)a->points[n].time_ns / 1e3,
				slowdown(a, &a->points[n]),
				100 * ((double)a->points[n].max_time_ns /
					       (double)a->points[n].time_ns -
				       1));
		for (size_t n = 0; n < r->channel_count && slower(a); n++)
			if (a->of[n].sign)
				fprintf(out,
					"  %s (%s): rank correlation %+.2f, adds %.3f us%s;"
					" %.1f %s, %.1f alone\n",
					r->channels[n].name,
					verdicts_trust_name(r->channels[n].trust), rho(&a->of[n]),
					a->of[n].added_ns / 1e3,
					a->of[n].explains ? "" : ": too little",
					shown(&r->channels[n], a->slowest, n),
					shown_units[r->channels[n].kind],
					shown(&r->channels[n], a->points, n));
		fprintf(out, "  interference channel: %s\n",
			a->channel < 0 ? slower(a) ? "unknown: no channel explains it" : "none" :
					 r->channels[a->channel].name);
	}
}

static void add_fraction(struct json_object *o, const char *name, const uint64_t value[2])
{
	struct json_object *pair = json_object_new_array();

	json_object_array_add(pair, json_object_new_uint64(value[0]));
	json_object_array_add(pair, json_object_new_uint64(value[1]));
	json_add(o, name, pair);
}

static void write_json(const struct run *r, FILE *out)
{
	struct json_object *root = json_object_new_object(), *list = json_object_new_array();

	json_add_text(root, "title", r->title);
	json_add_text(root, "task", r->task);
	json_add_u64(root, "jobs", r->jobs);
	report_add_configuration(root, &r->measured);
	json_add(root, "aggressors", list);
	for (size_t i = 0; i < r->aggressor_count; i++) {
		const struct aggressor *a = &r->aggressors[i];
		struct json_object *o = json_append(list), *points = json_object_new_array();
		struct json_object *channels = json_object_new_array();

		json_add_text(o, "name", a->name);
		json_add_text(o, "command", a->command);
		json_add_text(o, "channel", a->channel < 0 ? NULL : r->channels[a->channel].name);
		json_add_bool(o, "slower", slower(a));
		json_add_double(o, "slowdown", slowdown(a, a->slowest));
		json_add(o, "points", points);
		json_add(o, "channels", channels);
		for (size_t n = 0; n < a->count; n++) {
			struct json_object *p = json_append(points);
			struct json_object *shown = json_object_new_object();

			json_add_u64(p, "level", a->points[n].level);
			json_add_u64(p, "time_ns", a->points[n].time_ns);
			json_add_u64(p, "max_time_ns", a->points[n].max_time_ns);
			json_add(p, "shown", shown);
			for (size_t c = 0; c < r->channel_count; c++)
				add_fraction(shown, r->channels[c].name, a->points[n].shown[c]);
		}
		for (size_t n = 0; n < r->channel_count; n++) {
			struct json_object *c = json_append(channels);

			json_add_text(c, "name", r->channels[n].name);
			json_add_text(c, "trust", verdicts_trust_name(r->channels[n].trust));
			json_add_bool(c, "explains", a->of[n].explains);
			json_add_double(c, "rank_correlation", rho(&a->of[n]));
			add_fraction(c, "rank_correlation_squared", a->of[n].squared);
			json_add_double(c, "growth", a->of[n].growth);
			json_add_double(c, "added_ns", a->of[n].added_ns);
		}
	}
	json_write(out, root, true);
}

/* A value against the level. @channel: what it shows; -1: the task's time, and its slowest run. */
static double plotted(const struct run *r, const struct load *p, long channel, bool slowest)
{
	return channel >= 0 ? shown(&r->channels[channel], p, (size_t)channel) :
			      (double)(slowest ? p->max_time_ns : p->time_ns) / 1e3;
}

/* A point with a bar to the slowest run. */
static void write_point(FILE *out, double x, double y, double slowest)
{
	fputs("<circle", out);
	chart_class(out, "measured");
	fprintf(out, " cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\"/><path", x, y);
	chart_class(out, "axis");
	fprintf(out, " d=\"M%.1f %.1fV%.1f\"/>", x, y, slowest);
}

static void plot(const struct run *r, const struct aggressor *a, long channel, FILE *out)
{
	struct axes axes = { .x_max = (double)a->points[a->count - 1].level };
	double xs[MAX_LEVELS + 1];

	for (size_t n = 0; n < a->count; n++) {
		xs[n] = (double)a->points[n].level;
		axes.y_max = fmax(axes.y_max, 1.06 * plotted(r, &a->points[n], channel, true));
	}
	/* nobody uses the channel */
	if (axes.y_max <= 0)
		return;
	fputs("<figure><figcaption><b>", out);
	markup_text(out, channel < 0 ? "time of the task" : r->channels[channel].name);
	fprintf(out, "</b><span>%s%s</span></figcaption>",
		channel < 0 ? "us; bars: slowest run" : shown_units[r->channels[channel].kind],
		channel < 0		? "" :
		channel == a->channel	? ": the channel" :
		a->of[channel].explains ? ": explains it" :
					  "");
	axes_begin(&axes, out, xs, a->count, "level of the aggressor, 0: alone");
	fputs("<polyline", out);
	chart_class(out, channel >= 0 && channel == a->channel ? "i3" : "refined");
	fputs(" points=\"", out);
	for (size_t n = 0; n < a->count; n++)
		if (channel < 0 || a->points[n].shown[channel][1])
			fprintf(out, "%.1f,%.1f ", axes_x(&axes, xs[n]),
				axes_y(&axes, plotted(r, &a->points[n], channel, false)));
	fputs("\"/>", out);
	for (size_t n = 0; n < a->count; n++)
		if (channel < 0 || a->points[n].shown[channel][1])
			write_point(out, axes_x(&axes, xs[n]),
				    axes_y(&axes, plotted(r, &a->points[n], channel, false)),
				    axes_y(&axes, plotted(r, &a->points[n], channel, true)));
	fputs("</svg></figure>\n", out);
}

static void write_html(const struct run *r, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	report_page_begin(out, "interference", r->title);
	fputs("<main>", out);
	page_element(out, "h1", r->title);
	fputs("\n<dl>", out);
	page_fact(out, "task", r->task);
	for (size_t n = 0; n < r->measured.configuration_count; n++)
		page_fact(out, r->measured.configuration[2 * n],
			  r->measured.configuration[2 * n + 1]);
	fputs("</dl>\n", out);
	for (size_t i = 0; i < r->aggressor_count; i++) {
		fputs("<section>", out);
		page_element(out, "h2", r->aggressors[i].name);
		fputs("\n<p>", out);
		page_element(out, "code", r->aggressors[i].command);
		fputs("</p><div class=\"plots\">", out);
		for (long channel = -1; channel < (long)r->channel_count; channel++)
			plot(r, &r->aggressors[i], channel, out);
		fputs("</div></section>\n", out);
	}
	fputs("<h2>Numbers</h2><pre>", out);
	if (memory) {
		write_text(r, memory);
		fclose(memory);
		for (char *at = text, *line; (line = strsep(&at, "\n"));) {
			markup_text(out, line);
			fputc('\n', out);
		}
		free(text);
	}
	fputs("</pre></main></body></html>\n", out);
}

static int write_to(struct run *r, const char *path, void (*write)(const struct run *r, FILE *out))
{
	struct output output;
	int status = output_open(r->app, path, &output);

	if (status)
		return status;
	write(r, output.stream);
	return output_close(r->app, &output, 0);
}

static const char help[] =
	"usage: perfctr interference [OPTION...] [FILE]\n"
	"\n"
	"Measures contention on the virtual SoC: a task alone, then beside each aggressor at\n"
	"several levels; and which channel explains the task's time. FILE is JSON, see\n"
	"docs/validate.md; without it: the built-in one.\n"
	"\n"
	"  -d, --device DEVICE  node (/dev/dri/renderD128, renderD128), driver or name\n"
	"  -j, --json           as JSON\n"
	"  -o, --output FILE    write the report there instead of to stdout\n"
	"      --html FILE      a page with plots of time and latency against load besides\n"
	"\n"
	"Exit: 0 fine, 1 error, 2 usage, 3 not permitted, 4 no device.\n";

static int run_interference(struct app *app, int argc, char **argv)
{
	struct run r = { .app = app, .steps = STEPS_NONE, .runner = { .fd = -1 } };
	const char *device = NULL, *output = NULL, *html = NULL;
	bool json = false;
	const struct option_spec options[] = {
		OPTION('d', "device", TEXT, &device),
		OPTION('j', "json", FLAG, &json),
		OPTION('o', "output", TEXT, &output),
		OPTION(0, "html", TEXT, &html),
		OPTIONS_END,
	};
	struct load alone = { 0 };
	int ret, status = option_parse(app, argc, argv, help, options, THEN_WORDS);

	if (status)
		return status < 0 ? EXIT_FINE : status;
	if (argc - optind > 1)
		return app_usage(app, "give one FILE");
	ret = read_file_of(&r, argv[optind]);
	status = EXIT_USAGE;

	if (!ret && !r.aggressor_count)
		ret = fail(&r.failure, "the file has no aggressor");
	if (!ret) {
		status = EXIT_FAILED;
		ret = open_all(&r, device);
	}
	if (!ret)
		ret = steps_begin(&r.steps, &r.arena, r.device, &r.failure);
	if (!ret)
		measured_configure(&r.arena, &r.measured, "time",
				   r.steps.stepped >= 0 ? "stepped" : "real");
	if (!ret)
		/* all others are compared with it */
		ret = measure_level(&r, NULL, 3 * r.runs, &alone);
	for (size_t i = 0; i < r.aggressor_count && !ret; i++) {
		struct aggressor *a = &r.aggressors[i];

		a->points[0] = alone;
		a->slowest = a->points;
		for (size_t n = 1; n < a->count && !ret; n++) {
			ret = measure_level(&r, a, r.runs, &a->points[n]);
			if (a->points[n].time_ns > a->slowest->time_ns)
				a->slowest = &a->points[n];
		}
		if (!ret) {
			correlate(&r, a);
			name_channel(&r, a);
		}
	}
	if (steps_end(&r.steps) && !ret)
		ret = fail(&r.failure, "the process that steps time ended");
	if (ret)
		app_error(app, "%s", r.failure.text);
	else
		status = write_to(&r, output, json ? write_json : write_text);
	if (!ret && !status && html)
		status = write_to(&r, html, write_html);
	runner_close(&r.runner);
	perfctr_selection_unref(r.selection);
	perfctr_device_unref(r.device);
	arena_free(&r.arena);
	return status;
}

int main(int argc, char **argv)
{
	struct app app = { .name = "interference" };

	return app_main(&app, run_interference, argc, argv);
}
