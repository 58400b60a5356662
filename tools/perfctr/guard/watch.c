// SPDX-License-Identifier: MIT
/* The watcher: counts, adds up windows, applies the actions, and writes the log. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/number.h"
#include "guard.h"
#include "holder.h"
#include "lib/device.h"
#include "lib/json.h"
#include "lib/rows.h"
#include "lib/stream.h"

enum { RETRY_MS = 1000 };

/* user_data of the guard's own samples between those in jobs */
static const uint64_t own_sample = UINT64_MAX;

/* what makes the counts of a sample incomplete */
static const uint32_t lossy_flags = DRM_PERFCTR_SAMPLE_OVERFLOW | DRM_PERFCTR_SAMPLE_ERROR |
				    DRM_PERFCTR_SAMPLE_RESET | DRM_PERFCTR_SAMPLE_UNPLUGGED |
				    DRM_PERFCTR_SAMPLE_MULTIPLEXED;

/* --- the log: both processes append to it ------------------------------------------------ */

struct json_object *log_record(const struct guard *guard, const char *kind,
			       const struct budget *budget)
{
	struct json_object *o = json_object_new_object();
	struct timespec now;
	struct tm utc;
	char text[40];
	size_t length;

	clock_gettime(CLOCK_REALTIME, &now);
	length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
	snprintf(text + length, sizeof(text) - length, ".%06ldZ", now.tv_nsec / 1000);
	json_add_text(o, "record", kind);
	json_add_text(o, "time", text);
	json_add_u64(o, "raw_ns", perfctr_time_raw_ns());
	json_add_text(o, "budget", budget->name);
	json_add_u64(o, "guard", (uint64_t)guard->pid);
	json_add_u64(o, "sequence", __atomic_add_fetch(guard->sequence, 1, __ATOMIC_RELAXED));
	return o;
}

/* Whether a line can be written without waiting for a reader. */
static bool is_ready(FILE *file)
{
	struct pollfd out = { .fd = stream_fd(file), .events = POLLOUT };

	return poll(&out, 1, 0) == 1 && out.revents & (POLLOUT | POLLERR);
}

void log_write(struct guard *guard, const struct budget *budget, struct json_object *record,
	       const char *format, ...)
{
	int error = -EAGAIN;
	va_list args;

	if (format && !guard->quiet && is_ready(guard->app->err)) {
		fprintf(guard->app->err, "perfctr guard: %s: ", budget->name);
		va_start(args, format);
		vfprintf(guard->app->err, format, args);
		va_end(args);
		fputc('\n', guard->app->err);
	}
	if (!guard->log) {
		json_object_put(record);
		return;
	}
	if (is_ready(guard->log)) {
		/* a part of a line may be there */
		if (guard->log_is_torn)
			fputc('\n', guard->log);
		json_write(guard->log, record, false);
		/* a line that was written survives the process */
		error = app_flush(guard->log);
		guard->log_is_torn = error;
		if (!error)
			return;
	} else {
		json_object_put(record);
	}
	if (!guard->log_failed && is_ready(guard->app->err))
		app_error(guard->app, "%s: the log is incomplete: %s",
			  guard->output ? guard->output : "standard output", app_reason(-error));
	guard->log_failed = true;
}

/* --- hold and release -------------------------------------------------------------------- */

static void beat(struct guard *g)
{
	if (perfctr_time_raw_ns() - g->beat_ns < GUARD_BEAT_MS * NS_PER_MS)
		return;
	send(g->supervisor, "H", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	g->beat_ns = perfctr_time_raw_ns();
}

static bool another_holds(const struct guard *g, const struct budget *b)
{
	for (size_t n = 0; n < g->count; n++)
		if (&g->budgets[n] != b && g->budgets[n].wanted &&
		    target_overlaps(&g->budgets[n].target, &b->target))
			return true;
	return false;
}

/* Hold or release. What another budget holds as well, its own release releases. */
void target_apply(struct guard *g, struct budget *b, bool hold, uint64_t ns)
{
	const int before = b->error;
	const bool was_held = b->held;
	struct json_object *o;

	if (hold && !b->wanted)
		b->peak = b->held_ns = 0;
	b->wanted = hold;
	b->error = hold || !another_holds(g, b) ? target_set(&b->target, hold) : 0;
	b->held = hold && !b->error && b->target.action != TARGET_REPORT;
	if (b->held && !was_held)
		b->held_since_ns = ns;
	if (b->held && b->wanted_since_ns) {
		const uint64_t reaction_ns = perfctr_time_raw_ns() - b->wanted_since_ns;

		b->wanted_since_ns = 0;
		b->sums.reactions++;
		b->sums.reaction_ns += reaction_ns;
		if (reaction_ns > b->sums.max_reaction_ns)
			b->sums.max_reaction_ns = reaction_ns;
	}
	if (!b->held && was_held && ns > b->held_since_ns) {
		b->held_ns += ns - b->held_since_ns;
		b->sums.held_ns += ns - b->held_since_ns;
	}
	beat(g);
	/* nothing is there that could be held */
	if (b->error == -ESRCH || (b->error == -ENOENT && !hold))
		b->error = 0;
	/* the supervisor logs it with the loss, after all are held */
	if (!b->error || b->error == before || g->supervisor < 0)
		return;
	o = log_record(g, "failure", b);
	b->sums.failures++;
	json_add_text(o, "error", strerror(-b->error));
	log_write(g, b, o, "%s: %s", hold ? "cannot hold it" : "cannot release it",
		  b->error == -ENOENT ? "no such context" : strerror(-b->error));
}

void loss_log(struct guard *guard, struct budget *b, const char *reason)
{
	struct json_object *o = log_record(guard, "loss", b);
	char text[4200];

	json_add_text(o, "reason", reason);
	json_add_text(o, "on_loss", b->freeze_on_loss ? "freeze" : "release");
	json_add_text(o, "action", target_action_name(b->target.action));
	json_add_bool(o, "held", b->held);
	json_add_text(o, "error", b->error ? strerror(-b->error) : NULL);
	b->sums.losses++;
	log_write(guard, b, o, "counts are lost: %s; %s: %s", reason,
		  target_text(&b->target, text, sizeof(text)),
		  b->held   ? "held" :
		  b->error  ? "not held, or not released" :
		  b->wanted ? "not held" :
			      "released");
}

/* --- sessions ------------------------------------------------------------------------ */

static void close_session(struct budget *b)
{
	b->totals = perfctr_totals_unref(b->totals);
	b->cursor = perfctr_cursor_unref(b->cursor);
	b->session = perfctr_session_unref(b->session);
	b->selection = perfctr_selection_unref(b->selection);
	b->counts_on = perfctr_device_unref(b->counts_on);
}

/* The device may have another node now, and another one has its former node. */
static bool find_device(struct budget *b)
{
	if (!b->place)
		return true;
	if (!device_at(b->place, b->node, sizeof(b->node)))
		return false;
	snprintf(b->target.node, sizeof(b->target.node), "/dev/dri/%s", b->node);
	return true;
}

/* perf may count in another hierarchy, where other processes can be. Return: 0 or a status. */
static int count_cgroup(const struct guard *g, struct budget *b)
{
	const struct target *t = &b->target;
	struct members held, counted;
	pid_t missing = 0;
	int error;

	if (!t->counted_in) {
		app_error(g->app, "budget %s: perf counts no cgroups: its hierarchy is not mounted",
			  b->name);
		return EXIT_FAILED;
	}
	members_read(&held, t->cgroup);
	members_read(&counted, t->counted_in);
	for (size_t n = 0; n < held.count; n++)
		if (!members_have(&counted, held.list[n].pid) && process_runs(held.list[n].pid))
			missing = held.list[n].pid;
	members_free(&held);
	members_free(&counted);
	if (missing) {
		app_error(g->app,
			  "budget %s: process %d is in %s, and not in %s, where perf counts: move "
			  "it there, too",
			  b->name, (int)missing, t->cgroup, t->counted_in);
		return EXIT_FAILED;
	}
	error = perfctr_device_count_cgroup(b->counts_on, t->counted_in);
	return error ? app_failed(g->app, error) : 0;
}

/* The local device counts the target; others count everybody. Return: 0, errno or a status. */
static int choose_target(const struct guard *g, struct budget *b)
{
	const struct target *t = &b->target;

	if (!device_is_local(b->counts_on))
		return 0;
	if (t->cgroup)
		return count_cgroup(g, b);
	if (t->pid && (!g->command.argv || t->pid != g->command.child.pid))
		return perfctr_device_count_task(b->counts_on, t->pid);
	return g->command.argv ? perfctr_device_count_task(b->counts_on, -g->command.child.pid) : 0;
}

static int open_session(struct guard *g, struct budget *b)
{
	struct perfctr_session_opts opts = { .size = sizeof(opts),
					     .period_ns = g->in_stream ? 0 : b->period_ns };
	const char *which = *b->node ? b->node : b->device;
	int error, status = device_open(g->app, which, false, &b->counts_on);

	if (status)
		return status;
	error = choose_target(g, b);
	if (error > 0)
		return error;
	if (!error)
		error = perfctr_selection_new(b->counts_on, &b->selection);
	if (!error)
		status = device_select(g->app, b->counts_on, b->selection,
				       (const char *const[]){ b->event }, 1);
	if (status)
		return status;
	if (!error)
		error = g->in_stream ?
				counting_in_stream_session(b->selection, &opts, &b->session) :
				perfctr_session_new(b->selection, &opts, &b->session);
	return error ? app_failed(g->app, error) : 0;
}

/* Counts per second that are 100 %; 0: unknown. */
static uint64_t full_rate(const struct budget *b, const struct perfctr_counter_desc *desc)
{
	if (desc && desc->kind == PERFCTR_KIND_TIME)
		return NS_PER_S;
	for (size_t n = 0; desc && desc->kind == PERFCTR_KIND_CYCLES &&
			   n < perfctr_device_clock_count(b->counts_on);
	     n++)
		if (perfctr_device_clock(b->counts_on, n)->clock == desc->clock)
			return perfctr_device_clock(b->counts_on, n)->max_frequency_hz;
	return 0;
}

static const char *refuse(const struct budget *b, const struct verdicts *verdicts,
			  const struct perfctr_counter_desc *desc)
{
	const unsigned int trust = verdicts_trust(verdicts, desc);

	if (desc && desc->kind == PERFCTR_KIND_LEVEL)
		return "is a level, which no window adds up";
	if (b->allow_untrusted)
		return NULL;
	/* campaigns validate whole events */
	if (strchr(b->event, ','))
		return "has a filter, which was not validated; --allow-untrusted uses it";
	if (trust == PERFCTR_TRUST_TRUSTED ||
	    (trust == PERFCTR_TRUST_EXPLAINED && b->allow_explained))
		return NULL;
	return trust == PERFCTR_TRUST_EXPLAINED ?
		       "counts something else than documented; --allow-explained uses it" :
	       trust == PERFCTR_TRUST_UNVALIDATED ?
		       "was not validated: perfctr validate --save, or --allow-untrusted" :
	       trust == PERFCTR_TRUST_QUARANTINED ?
		       "is quarantined by perfctr validate; --allow-untrusted uses it" :
		       "is untrusted by perfctr validate; --allow-untrusted uses it";
}

/* The configuration of a budget, for the record "begin". */
static void add_configuration(const struct guard *g, const struct budget *b, struct json_object *o)
{
	const struct target *t = &b->target;
	struct utsname kernel = { 0 };

	uname(&kernel);
	json_add_text(o, "event", b->event);
	json_add_text(o, "device", perfctr_device_driver(b->counts_on));
	json_add_text(o, "node", *b->node ? b->node : NULL);
	json_add_text(o, "limit_text", b->limit_text);
	json_add_u64(o, "limit", b->limit);
	json_add_u64(o, "window_ns", b->window.length_ns);
	json_add_u64(o, "period_ns", g->in_stream ? 0 : b->period_ns);
	json_add_text(o, "cgroup", t->cgroup);
	json_add_text(o, "counted_in", t->counted_in);
	json_add_known(o, "pid", t->pid, (uint64_t)t->pid);
	json_add_known(o, "context", t->has_context && t->context != HOLDER_ALL_CONTEXTS,
		       t->context);
	json_add_text(o, "command", g->command.argv ? g->command.argv[0] : NULL);
	json_add_text(o, "action", target_action_name(t->action));
	json_add_known(o, "cpu_percent", t->action == TARGET_CPU_MAX, t->cpu_percent);
	json_add_text(o, "on_loss", b->freeze_on_loss ? "freeze" : "release");
	json_add_text(o, "scheduler", sched_getscheduler(0) == SCHED_FIFO ? "fifo" : "normal");
	json_add_text(o, "kernel", kernel.release);
	json_add_text(o, "host", kernel.nodename);
	json_add_text(o, "perfctr", PERFCTR_VERSION);
}

/* A counter as a member of the log. Return: NULL, or why it is refused. */
static const char *add_counter(const struct guard *g, struct json_object *counters,
			       const struct budget *b, const struct verdicts *verdicts,
			       const struct perfctr_counter_desc *desc, const char *name)
{
	struct json_object *o = json_append(counters);
	struct verdict_note note = { 0 };

	json_add_text(o, "counter", name);
	json_add_text(o, "trust", verdicts_trust_name(verdicts_trust(verdicts, desc)));
	verdicts_find(verdicts, desc, &note);
	json_add_text(o, "definition", note.definition);
	json_add_text(o, "campaign", note.campaign);
	json_add_text(o, "validated", note.time);
	if (verdicts_trust(verdicts, desc) == PERFCTR_TRUST_EXPLAINED)
		app_error(g->app, "budget %s: note: %s counts %s", b->name, name,
			  note.definition ? note.definition : "what its verdict does not say");
	return refuse(b, verdicts, desc);
}

/* Say what a limit of counts means of an event whose counts are no whole units. */
static void note_scale(const struct guard *g, const struct budget *b, const char *name,
		       const char *unit, double scale)
{
	if (scale != 1 && !strchr(b->limit_text, '%'))
		app_error(g->app,
			  "budget %s: note: limit %s is of counts of %s, each of which is %.10g %s",
			  b->name, b->limit_text, name, scale, unit);
}

/* The counters in the first sample: whether they can be trusted; they make the limit a count. */
static int check_counters(struct guard *g, struct budget *b)
{
	struct verdicts *verdicts = verdicts_load(g->app->err);
	struct json_object *counters = json_object_new_array(), *o;
	uint64_t full_hz = 0;
	int error, status = 0;

	for (size_t n = 0; !status && n < perfctr_totals_block_count(b->totals); n++) {
		const struct perfctr_totals_block *block = perfctr_totals_block(b->totals, n);

		for (size_t i = 0; !status && i < perfctr_totals_counter_count(block); i++) {
			const struct perfctr_total *c = perfctr_totals_counter(block, i);
			char name[384], text[512], unit[64];
			const char *wrong;
			double scale;

			perfctr_totals_label(b->selection, block, i, name, sizeof(name));
			snprintf(text, sizeof(text), "%s/%s",
				 perfctr_totals_block_info(block)->label, name);
			wrong = add_counter(g, counters, b, verdicts, c->desc, text);
			perfctr_totals_unit(b->selection, block, i, unit, sizeof(unit), &scale);
			note_scale(g, b, text, unit, scale);
			full_hz += full_rate(b, c->desc);
			if (!wrong)
				continue;
			app_error(g->app, "budget %s: %s %s", b->name, text, wrong);
			status = EXIT_FAILED;
		}
	}
	verdicts_free(verdicts);
	error = window_limit(b->limit_text, b->window.length_ns, full_hz, &b->limit);
	if (error && !status)
		status = app_usage(g->app, "budget %s: limit %s: %s", b->name, b->limit_text,
				   error == -EDOM ? "the event has no rate that is 100%" :
						    "beyond 64 bits");
	if (status) {
		json_object_put(counters);
		return status;
	}
	o = log_record(g, "begin", b);
	json_add(o, "counters", counters);
	add_configuration(g, b, o);
	log_write(g, b, o, NULL);
	return 0;
}

/* Return: 0 or an exit status, the message was printed. */
static int begin_session(struct guard *g, struct budget *b)
{
	struct perfctr_sample sample;
	int error, status = b->session ? 0 : open_session(g, b);

	if (status)
		return status;
	error = perfctr_cursor_new(b->session, &b->cursor);
	if (!error)
		error = rows_totals(g->app, b->selection, &b->totals);
	if (!error)
		error = perfctr_session_start(b->session, 0);
	if (!error)
		error = perfctr_session_sample(b->session, 0);
	if (!error && perfctr_cursor_next(b->cursor, &sample) <= 0)
		error = -EIO;
	if (!error)
		error = perfctr_totals_add(b->totals, &sample);
	if (error)
		return app_failed(g->app, error);
	b->silent_ns = 0;
	b->is_silent = false;
	/* the sample is read again, as the first one of the window */
	return check_counters(g, b);
}

int watch_find_devices(struct guard *g)
{
	bool noted = false;
	int status = 0;

	for (size_t n = 0; n < g->count && !status; n++) {
		struct budget *b = &g->budgets[n];

		status = device_open(g->app, b->device, false, &b->counts_on);
		if (status)
			break;
		if (!b->device && !noted)
			device_note_others(g->app, b->device, b->counts_on);
		noted |= !b->device;
		b->target.holder = holder_of(perfctr_device_driver(b->counts_on));
		if (b->target.action == TARGET_HOLD && !b->target.holder)
			status = app_usage(g->app,
					   "budget %s: the driver %s cannot hold contexts: use "
					   "action=freeze with a cgroup, or action=report",
					   b->name, perfctr_device_driver(b->counts_on));
		b->place = device_place(b->counts_on);
		if (!status && b->place && !find_device(b))
			status = EXIT_NO_DEVICE;
		close_session(b);
	}
	return status;
}

int watch_open(struct guard *g)
{
	int status = g->in_stream ? open_session(g, &g->budgets[0]) : 0;

	return status || !g->in_stream ? status :
					 command_share(g->app, &g->command, g->budgets[0].counts_on,
						       g->budgets[0].session);
}

void watch_close(struct guard *g)
{
	for (size_t n = 0; n < g->count; n++)
		close_session(&g->budgets[n]);
}

/* --- decisions ----------------------------------------------------------------------- */

static void add_sample(struct json_object *o, const struct budget *b,
		       const struct perfctr_sample *s)
{
	json_add_u64(o, "start_ns", s->start_ns);
	json_add_u64(o, "end_ns", s->end_ns);
	json_add_u64(o, "counted", b->window.counted);
	json_add_u64(o, "limit", b->limit);
	json_add_u64(o, "window_ns", b->window.length_ns);
}

static void log_violation(struct guard *g, struct budget *b, const struct perfctr_sample *s,
			  uint64_t reaction_ns)
{
	struct json_object *o = log_record(g, "violation", b);

	b->sums.violations++;
	add_sample(o, b, s);
	json_add_u64(o, "overshoot", b->window.counted - b->limit);
	json_add_text(o, "action", target_action_name(b->target.action));
	json_add_bool(o, "held", b->held);
	json_add_text(o, "error", b->error ? strerror(-b->error) : NULL);
	json_add_known(o, "reaction_ns", b->held, reaction_ns);
	log_write(g, b, o, "%" PRIu64 " in the window, limit %" PRIu64 ": %s", b->window.counted,
		  b->limit,
		  b->error ? strerror(-b->error) :
		  b->held || b->target.action == TARGET_REPORT ?
			     target_action_name(b->target.action) :
			     "nothing to hold");
}

static void log_release(struct guard *g, struct budget *b, const struct perfctr_sample *s)
{
	struct json_object *o = log_record(g, "release", b);

	add_sample(o, b, s);
	json_add_u64(o, "held_ns", b->held_ns);
	json_add_u64(o, "peak", b->peak);
	json_add_u64(o, "overshoot", b->peak > b->limit ? b->peak - b->limit : 0);
	log_write(g, b, o, "within its limit; it was held for %" PRIu64 " ms",
		  b->held_ns / 1000000);
}

/* Why the counts of a sample are incomplete or late; NULL: they are not. */
static const char *loss_of(const struct budget *b, const struct perfctr_sample *s, char *text,
			   size_t size)
{
	if (s->flags & lossy_flags || s->lost_ns) {
		perfctr_flag_text(s->flags & lossy_flags, text, size);
		return *text ? text : "counts were lost";
	}
	if (s->end_ns - s->start_ns > b->window.length_ns &&
	    s->flags & DRM_PERFCTR_SAMPLE_STRETCHED)
		return "a sample is longer than the window: the ring was full, or the sampler late";
	for (size_t n = 0; n < perfctr_totals_block_count(b->totals); n++) {
		const struct perfctr_totals_block *block = perfctr_totals_block(b->totals, n);

		for (size_t i = 0; i < perfctr_totals_counter_count(block); i++)
			if (!perfctr_totals_counter(block, i)->measured)
				return "a counter was not measured";
	}
	return NULL;
}

static uint64_t counts_of(const struct guard *g, struct budget *b, const struct perfctr_sample *s)
{
	uint64_t sum = b->carried;

	for (size_t n = 0; n < perfctr_totals_block_count(b->totals); n++) {
		const struct perfctr_totals_block *block = perfctr_totals_block(b->totals, n);

		for (size_t i = 0; i < perfctr_totals_counter_count(block); i++) {
			const struct perfctr_total *c = perfctr_totals_counter(block, i);

			sum = c->sum > UINT64_MAX - sum ? UINT64_MAX : sum + c->sum;
		}
	}
	/* whose counts these are, the next sample in a job says */
	b->carried = g->in_stream && s->user_data == own_sample ? sum : 0;
	/* samples in jobs have 1 + the number of their context */
	if (b->carried ||
	    (g->in_stream && b->target.has_context && b->target.context != HOLDER_ALL_CONTEXTS &&
	     s->user_data != 1 + (uint64_t)b->target.context))
		return 0;
	return sum;
}

/* What was decided about counts from @start_ns on is done now. */
static void note_reaction(struct budget *b, uint64_t start_ns)
{
	const uint64_t ns = perfctr_time_raw_ns() - start_ns;

	if (ns > b->sums.worst_reaction_ns)
		b->sums.worst_reaction_ns = ns;
}

static void take_sample(struct guard *g, struct budget *b, const struct perfctr_sample *s)
{
	const uint64_t counts = counts_of(g, b, s);
	const bool was_over = b->window.counted > b->limit, was_wanted = b->wanted;
	const bool was_lost = b->lost_ns;
	char text[128] = "";
	const char *loss = loss_of(b, s, text, sizeof(text));
	struct json_object *o;
	uint64_t reaction_ns;
	bool over, hold;

	over = window_add(&b->window, s->start_ns, s->end_ns, counts) > b->limit;
	b->sums.samples++;
	b->sums.counted += counts;
	if (loss)
		b->lost_ns = s->end_ns;
	else if (b->lost_ns && s->end_ns >= b->lost_ns + b->window.length_ns)
		b->lost_ns = 0;
	hold = over || (b->lost_ns && b->freeze_on_loss);
	if (hold != b->wanted) {
		b->wanted_since_ns = hold ? s->end_ns : 0;
		b->wanted_from_ns = s->start_ns;
		target_apply(g, b, hold, s->end_ns);
	}
	reaction_ns = perfctr_time_raw_ns() - s->end_ns;
	if (b->sums.samples > 1)
		note_reaction(b, s->start_ns);
	if (loss && !was_lost)
		loss_log(g, b, loss);
	if (b->window.counted > b->peak)
		b->peak = b->window.counted;
	if (over && b->window.counted - b->limit > b->sums.max_overshoot)
		b->sums.max_overshoot = b->window.counted - b->limit;
	if (over && !was_over)
		log_violation(g, b, s, reaction_ns);
	if (was_wanted && !b->wanted)
		log_release(g, b, s);
	if (was_lost && !b->lost_ns)
		log_write(g, b, log_record(g, "recovered", b), "counts are complete again");
	if (!g->verbose)
		return;
	o = log_record(g, "sample", b);
	add_sample(o, b, s);
	json_add_u64(o, "counts", counts);
	json_add_bool(o, "held", b->held);
	log_write(g, b, o, NULL);
}

/* --- the loop ------------------------------------------------------------------------ */

static void lose_session(struct guard *g, struct budget *b, const char *reason)
{
	b->lost_ns = perfctr_time_raw_ns();
	target_apply(g, b, b->freeze_on_loss, b->lost_ns);
	loss_log(g, b, reason);
	close_session(b);
	b->retry_ns = b->lost_ns + RETRY_MS * NS_PER_MS;
}

static void retry(struct guard *g, struct budget *b)
{
	FILE *err = g->app->err;
	int status;

	/* the command's jobs sample a session that cannot be replaced */
	if (g->in_stream || perfctr_time_raw_ns() < b->retry_ns)
		return;
	/* one message per loss is enough */
	g->app->err = fopen("/dev/null", "we");
	status = g->app->err && find_device(b) ? begin_session(g, b) : EXIT_FAILED;
	if (g->app->err)
		fclose(g->app->err);
	g->app->err = err;
	b->lost_ns = perfctr_time_raw_ns();
	b->retry_ns = b->lost_ns + RETRY_MS * NS_PER_MS;
	if (status)
		close_session(b);
}

static void hold_again(struct guard *g, struct budget *b)
{
	const uint64_t since_ns = b->wanted_since_ns;
	const bool had_failed = b->error;
	struct json_object *o;

	target_apply(g, b, b->wanted, perfctr_time_raw_ns());
	/* meanwhile the target counted on, unless there was none */
	if (since_ns && had_failed && b->wanted)
		note_reaction(b, b->wanted_from_ns);
	if (!since_ns || !b->held)
		return;
	o = log_record(g, "held", b);
	json_add_u64(o, "reaction_ns", perfctr_time_raw_ns() - since_ns);
	log_write(g, b, o, "now it is held");
}

/* A sample takes its period, and is read within the next one; longer than that is too long. */
static uint64_t longest_silence(const struct budget *b)
{
	return b->window.length_ns + 2 * b->period_ns;
}

/*
 * Nobody knows what a target counts while no sample comes: the sampler stands still or starves. The
 * time for which this process waited is what counts: when it was busy, samples may be unread.
 */
static void note_silence(struct guard *g, struct budget *b)
{
	const uint64_t now_ns = perfctr_time_raw_ns();
	char text[128];

	if (b->silent_ns <= longest_silence(b))
		return;
	b->lost_ns = now_ns;
	if (b->wanted != b->freeze_on_loss) {
		b->wanted_since_ns = b->wanted_from_ns = b->freeze_on_loss ? now_ns : 0;
		target_apply(g, b, b->freeze_on_loss, now_ns);
	}
	if (b->is_silent)
		return;
	b->is_silent = true;
	b->sums.silences++;
	snprintf(text, sizeof(text), "no sample for %" PRIu64 " ms, the sampler stands still",
		 (uint64_t)(b->silent_ns / NS_PER_MS));
	loss_log(g, b, text);
}

static void take_samples(struct guard *g, struct budget *b)
{
	struct perfctr_sample sample;
	int result;

	if (target_was_replaced(&b->target))
		lose_session(g, b, "the cgroup was removed and made again");
	/* the last one failed, there are new files, or somebody has released it */
	else if (b->error || b->wanted)
		hold_again(g, b);
	if (!b->session) {
		retry(g, b);
		return;
	}
	/* a context that is held takes no samples; without one it would never be released */
	if (g->in_stream && b->wanted && perfctr_time_raw_ns() - b->seen_ns >= b->window.length_ns)
		perfctr_session_sample(b->session, own_sample);
	while ((result = perfctr_cursor_next(b->cursor, &sample)) > 0) {
		perfctr_totals_reset(b->totals);
		result = perfctr_totals_add(b->totals, &sample);
		b->seen_ns = perfctr_time_raw_ns();
		b->silent_ns = 0;
		b->is_silent = false;
		if (!result)
			take_sample(g, b, &sample);
		/* after the decision: whose slot is free again is dealt with */
		if (!result)
			result = perfctr_cursor_advance(b->cursor, 1);
		if (result)
			break;
	}
	if (result < 0)
		lose_session(g, b,
			     result == -ENODEV ? "the device or the session is gone" :
						 perfctr_ctx_error(g->app->ctx));
	else if (!g->in_stream)
		note_silence(g, b);
}

/* --- the targets --------------------------------------------------------------------- */

static void log_left(struct guard *g, struct budget *b, pid_t pid)
{
	struct json_object *o = log_record(g, "left", b);

	json_add_u64(o, "pid", (uint64_t)pid);
	json_add_text(o, "cgroup", b->target.cgroup);
	log_write(g, b, o, "process %d left %s: it is neither counted nor held any more", (int)pid,
		  b->target.cgroup);
}

static void log_ended(struct guard *g, struct budget *b)
{
	struct json_object *o = log_record(g, "ended", b);
	char text[4200];

	json_add_text(o, "cgroup", b->target.cgroup);
	json_add_known(o, "pid", !b->target.cgroup, (uint64_t)b->target.tree);
	log_write(g, b, o, "%s has no process any more: nothing is held",
		  target_text(&b->target, text, sizeof(text)));
}

/* Whether its processes are still there, and where they were. */
static void look_at_target(struct guard *g, struct budget *b)
{
	struct target *t = &b->target;
	bool runs;
	pid_t pid;

	if (t->cgroup) {
		while ((pid = members_update(&b->members, t->cgroup)))
			log_left(g, b, pid);
		t->is_inside = members_have(&b->members, g->pid) ||
			       members_have(&b->members, getpid());
		runs = b->members.count;
	} else if (t->pid && t->pid != g->command.child.pid) {
		runs = process_runs(t->pid);
	} else {
		return;
	}
	b->had_target |= runs;
	if (!runs && b->had_target && !b->has_ended)
		log_ended(g, b);
	b->has_ended = !runs;
}

static void look_at_targets(struct guard *g)
{
	if (perfctr_time_raw_ns() - g->look_ns < GUARD_BEAT_MS * NS_PER_MS)
		return;
	for (size_t n = 0; n < g->count; n++)
		look_at_target(g, &g->budgets[n]);
	g->look_ns = perfctr_time_raw_ns();
}

/* Release all, and log what was seen. */
static void end(struct guard *g, const char *reason)
{
	for (size_t n = 0; n < g->count; n++) {
		struct budget *b = &g->budgets[n];
		struct json_object *o;

		if (!reason && b->session && !perfctr_session_stop(b->session, 0))
			take_samples(g, b);
		if (reason) {
			target_apply(g, b, b->freeze_on_loss, perfctr_time_raw_ns());
			loss_log(g, b, reason);
		} else {
			target_apply(g, b, false, perfctr_time_raw_ns());
		}
		o = log_record(g, "end", b);
		json_add_u64(o, "samples", b->sums.samples);
		json_add_u64(o, "counted", b->sums.counted);
		json_add_u64(o, "violations", b->sums.violations);
		json_add_u64(o, "losses", b->sums.losses);
		json_add_u64(o, "silences", b->sums.silences);
		json_add_u64(o, "failures", b->sums.failures);
		json_add_u64(o, "held_ns", b->sums.held_ns);
		json_add_u64(o, "max_overshoot", b->sums.max_overshoot);
		json_add_u64(o, "max_reaction_ns", b->sums.max_reaction_ns);
		json_add_u64(o, "worst_reaction_ns", b->sums.worst_reaction_ns);
		json_add_known(o, "mean_reaction_ns", b->sums.reactions,
			       b->sums.reactions ? b->sums.reaction_ns / b->sums.reactions : 0);
		log_write(g, b, o,
			  "%" PRIu64 " violation%s, %" PRIu64 " loss%s in %" PRIu64 " sample%s; "
			  "at most %.1f ms from a count to its decision",
			  b->sums.violations, plural(b->sums.violations), b->sums.losses,
			  b->sums.losses == 1 ? "" : "es", b->sums.samples, plural(b->sums.samples),
			  (double)b->sums.worst_reaction_ns / 1e6);
	}
}

/* How long to wait for a budget's samples at most. */
static uint64_t longest_wait(const struct guard *g, const struct budget *b)
{
	if (g->in_stream)
		return b->wanted ? b->window.length_ns : UINT64_MAX;
	return !b->session || b->is_silent ? UINT64_MAX : longest_silence(b) - b->silent_ns;
}

/* Return: false when the watcher shall end; @reason: set if the supervisor is gone. */
static bool wait_for_samples(struct guard *g, const struct signals *signals, int supervisor,
			     const char **reason)
{
	struct pollfd *fds = g->fds;
	struct signalfd_siginfo info;
	uint64_t wakes, begin_ns, waited_ns, timeout_ms, timeout_ns = GUARD_BEAT_MS * NS_PER_MS;

	fds[0] = (struct pollfd){ .fd = signals->fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = supervisor, .events = POLLIN };
	for (size_t n = 0; n < g->count; n++) {
		const struct budget *b = &g->budgets[n];

		fds[2 + n] = (struct pollfd){
			.fd = b->session ? perfctr_session_eventfd(b->session) : -1,
			.events = POLLIN,
		};
		if (longest_wait(g, b) < timeout_ns)
			timeout_ns = longest_wait(g, b);
	}
	timeout_ms = timeout_ns / NS_PER_MS + 1;
	begin_ns = perfctr_time_raw_ns();
	poll(fds, 2 + g->count, (int)timeout_ms);
	waited_ns = perfctr_time_raw_ns() - begin_ns;
	/* if it was stopped meanwhile, it did not wait */
	if (waited_ns > timeout_ms * NS_PER_MS)
		waited_ns = timeout_ms * NS_PER_MS;
	for (size_t n = 0; n < g->count; n++)
		g->budgets[n].silent_ns += waited_ns;
	for (size_t n = 2; n < 2 + g->count; n++)
		if (fds[n].revents & POLLIN && read(fds[n].fd, &wakes, sizeof(wakes)) < 0)
			continue;
	if (fds[1].revents)
		*reason = "the supervising process died";
	/* Ctrl-C reaches both processes: the supervisor decides */
	while (!*reason && signals_next(signals, &info))
		if (info.ssi_signo == SIGTERM)
			return false;
	return !*reason;
}

int watch_run(struct guard *g, const struct signals *signals, int supervisor)
{
	const struct sched_param priority = { .sched_priority = 1 };
	const char *reason = NULL;
	int status = 0;

	g->supervisor = supervisor;
	g->fds = calloc(2 + g->count, sizeof(*g->fds));
	if (!g->fds)
		return app_failed(g->app, -ENOMEM);
	/* what it guards against must not delay it; the local device's thread inherits this */
	sched_setscheduler(0, SCHED_FIFO, &priority);
	for (size_t n = 0; n < g->count && !status; n++)
		status = begin_session(g, &g->budgets[n]);
	if (status)
		return status;
	send(supervisor, "R", 1, MSG_NOSIGNAL);
	do {
		for (size_t n = 0; n < g->count; n++)
			take_samples(g, &g->budgets[n]);
		look_at_targets(g);
		beat(g);
	} while (wait_for_samples(g, signals, supervisor, &reason));
	end(g, reason);
	for (size_t n = 0; n < g->count; n++) {
		status |= g->budgets[n].sums.failures ? GUARD_NOT_HELD : 0;
		status |= g->budgets[n].sums.silences ? GUARD_SILENT : 0;
	}
	free(g->fds);
	return status | (g->log_failed ? GUARD_NO_LOG : 0);
}
