// SPDX-License-Identifier: MIT
/*
 * Sources in user space: what the kernel's core does for one, as far as a driver's own interface
 * needs it. kernel/perfctr/perfctr_collect.c explains how lost time is accounted for.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host.h"
#include "block_views.h"
#include "kernel.h"
#include "turns.h"

/* interval of attempts to start hardware that failed to start */
#define RESTART_NS NS_PER_S
/* the clocks that show it are not read at once */
#define SLEEP_NS 1000000

int host_find_sysfs(const struct host *host, char *path, size_t size)
{
	const struct perfctr_sys *sys = host->ctx->sys;
	unsigned int major, minor;
	char node[64];
	int error;

	snprintf(node, sizeof(node), "/proc/self/fd/%d", host->fd);
	error = sys->node_number(sys->data, node, &major, &minor);
	if (error)
		return perfctr_fail(host->ctx, error, "%s: no number of the node: %s", host->path,
				    strerror(-error));
	snprintf(path, size, "/sys/dev/char/%u:%u", major, minor);
	return 0;
}

void host_watch_node(struct host *host, const char *sysfs)
{
	const struct perfctr_sys *sys = host->ctx->sys;
	char path[PATH_BYTES], text[16];

	snprintf(path, sizeof(path), "%s/dev", sysfs);
	host->attribute = sys->open(sys->data, path, O_RDONLY);
	if (host->attribute >= 0)
		sys->read(sys->data, host->attribute, text, sizeof(text));
}

bool host_is_there(const struct host *host)
{
	const struct perfctr_sys *sys = host->ctx->sys;

	return host->attribute >= 0 && !sys->is_removed(sys->data, host->attribute);
}

/* --- blocks ----------------------------------------------------------------------- */

static int copy_block(struct host_source *hs, unsigned int n)
{
	const struct drm_perfctr_block_desc *desc = &hs->source.descs[n];
	const bool has_times = hs->limits || desc->format & DRM_PERFCTR_FORMAT_RUNNING_TIMES;
	struct drm_perfctr_block *b = &hs->source.blocks[n];

	b->desc = *desc;
	b->source = &hs->source;
	b->totals = calloc(desc->counters, sizeof(*b->totals));
	b->valid = calloc(PERFCTR_SECTIONS_MAX, sizeof(*b->valid));
	if (has_times)
		b->running = calloc(desc->counters, sizeof(*b->running));
	return b->totals && b->valid && (b->running || !has_times) ? 0 : -ENOMEM;
}

int host_add_source(struct host *host, struct host_source *hs)
{
	struct drm_perfctr_source *s = &hs->source;
	int error = 0;

	hs->host = host;
	s->id = host->source_count;
	s->state = &hs->state;
	s->blocks = calloc(s->block_count, sizeof(*s->blocks));
	hs->state.block_lost_ns = calloc(s->block_count, sizeof(*hs->state.block_lost_ns));
	if (!s->blocks || !hs->state.block_lost_ns || host_turns_init(hs) ||
	    host->source_count == HOST_MAX_SOURCES)
		error = -ENOMEM;
	for (unsigned int n = 0; !error && n < s->block_count; n++)
		error = copy_block(hs, n);
	/* also after a failure: host_free_sources() frees it */
	if (host->source_count < HOST_MAX_SOURCES)
		host->sources[host->source_count++] = hs;
	host->block_count += s->block_count;
	return error;
}

void host_free_sources(struct host *host)
{
	for (unsigned int i = 0; i < host->source_count; i++) {
		struct drm_perfctr_source *s = &host->sources[i]->source;

		for (unsigned int n = 0; s->blocks && n < s->block_count; n++) {
			free(s->blocks[n].totals);
			free(s->blocks[n].running);
			free(s->blocks[n].valid);
		}
		free(s->blocks);
		free(host->sources[i]->state.block_lost_ns);
		host_turns_free(host->sources[i]);
	}
	host->source_count = host->block_count = 0;
}

struct drm_perfctr_block *host_block(const struct host *host, unsigned int nth)
{
	unsigned int i = 0;

	while (nth >= host->sources[i]->source.block_count)
		nth -= host->sources[i++]->source.block_count;
	return &host->sources[i]->source.blocks[nth];
}

u64 *drm_perfctr_block_totals(struct drm_perfctr_source *source, unsigned int block)
{
	return source->blocks[block].totals;
}

void drm_perfctr_block_report(struct drm_perfctr_source *source, unsigned int block, u32 states,
			      const u64 *valid)
{
	const struct perfctr_source_state *state = source->state;
	struct drm_perfctr_block *b = &source->blocks[block];
	const u64 *available = perfctr_block_available(&b->desc, state->set);

	if (state->lost_flags || state->pending_lost)
		states |= DRM_PERFCTR_STATE_LOST;
	b->time_ns = 0;
	host_turns_report(host_source_of(source), block, states, valid);
	if (perfctr_block_was_off(states))
		valid = NULL;
	/* usually the same as in the last collection */
	if (states != b->states.now)
		drm_perfctr_sticky_set(&b->states, state->seq, states);
	for (unsigned int i = 0; i < perfctr_block_sections(&b->desc); i++) {
		const u64 measured = valid ? valid[i] & available[i] : 0;

		if (measured != b->valid[i].now)
			drm_perfctr_sticky_set(&b->valid[i], state->seq, measured);
	}
}

void drm_perfctr_block_reached(struct drm_perfctr_source *source, unsigned int block, u64 time_ns)
{
	source->blocks[block].time_ns = time_ns;
}

/* --- the operations --------------------------------------------------------------- */

/* An operation that a signal interrupted might have taken effect: none does. */
static void block_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

static void restore_signals(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

int host_source_prepare(struct host_source *hs)
{
	sigset_t before;
	int error = 0;

	pthread_mutex_lock(&hs->host->lock);
	block_signals(&before);
	if (!hs->state.prepared && hs->source.ops->prepare)
		error = hs->source.ops->prepare(&hs->source);
	restore_signals(&before);
	hs->state.prepared += !error;
	pthread_mutex_unlock(&hs->host->lock);
	return error;
}

void host_source_unprepare(struct host_source *hs)
{
	sigset_t before;

	pthread_mutex_lock(&hs->host->lock);
	block_signals(&before);
	if (!--hs->state.prepared && hs->source.ops->unprepare)
		hs->source.ops->unprepare(&hs->source);
	restore_signals(&before);
	pthread_mutex_unlock(&hs->host->lock);
}

static int start(struct host_source *hs)
{
	int error = hs->source.ops->start(&hs->source, hs->host->set);

	hs->state.running = !error;
	hs->state.set = hs->host->set;
	hs->state.read_ns = perfctr_time_raw_ns();
	if (error == -ENODEV)
		hs->host->gone = true;
	return error;
}

/* Start a source that sleep stopped, or that failed to start: what it missed is lost. */
static int restart(struct host_source *hs)
{
	struct perfctr_source_state *state = &hs->state;
	u64 now = perfctr_time_raw_ns();
	int error = now < state->restart_ns || hs->host->gone ? -EIO : start(hs);

	if (error) {
		state->restart_ns = max(state->restart_ns, now + RESTART_NS);
		return error;
	}
	now = state->read_ns;
	state->lost_ns += now - min(now, state->good_ns);
	state->good_ns = max(now, state->good_ns);
	state->pending_flags |= state->lost_flags;
	state->pending_lost = true;
	state->lost_flags = 0;
	return 0;
}

static s64 clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * (s64)NS_PER_S + now.tv_nsec;
}

/* At most what it was: less by the time that passes between the clocks. */
static s64 time_slept_ns(void)
{
	const s64 with = clock_ns(CLOCK_BOOTTIME);

	return with - clock_ns(CLOCK_MONOTONIC);
}

/* The machine slept, or was off: the hardware has forgotten what it was to count. */
static void note_sleep(struct host *host)
{
	const s64 slept_ns = time_slept_ns();
	const bool slept = slept_ns > host->slept_ns + SLEEP_NS;

	host->slept_ns = max(slept_ns, host->slept_ns);
	if (!slept)
		return;
	host->gpu_epoch++;
	for (unsigned int i = 0; i < host->source_count; i++) {
		struct host_source *hs = host->sources[i];

		if (!hs->state.running || hs->keeps_counts)
			continue;
		if (hs->source.ops->reset)
			hs->source.ops->reset(&hs->source);
		hs->state.running = false;
		hs->state.lost_flags = DRM_PERFCTR_SAMPLE_SUSPENDED;
		hs->state.restart_ns = 0;
	}
}

static void take_timestamp(struct host_source *hs, const struct drm_perfctr_collection *c, bool has)
{
	struct host *host = hs->host;

	hs->state.gpu_epoch = has ? host->gpu_epoch : 0;
	hs->state.gpu_timestamp = has ? c->gpu_timestamp : 0;
	if (!has)
		return;
	host->gpu_timestamp = c->gpu_timestamp;
	host->gpu_raw_ns = c->time_ns;
	host->pair_epoch = host->gpu_epoch;
}

static void account(struct host_source *hs, struct drm_perfctr_collection *c, int error)
{
	struct perfctr_source_state *state = &hs->state;
	const u64 now = perfctr_time_raw_ns();
	bool has_timestamp = c->has_gpu_timestamp && !error && hs->host->config.timestamp_hz;
	u64 not_good_ns;

	state->read_ns = now;
	if (!c->time_ns || c->time_ns > now || c->time_ns < state->time_ns) {
		has_timestamp &= !c->time_ns;
		c->time_ns = max(now, state->time_ns);
	}
	if (c->flags & DRM_PERFCTR_SAMPLE_RESET) {
		hs->host->gpu_epoch++;
		state->resets++;
	}
	take_timestamp(hs, c, has_timestamp);
	/* a failed collection loses nothing by itself, but may overlap a loss */
	not_good_ns = c->time_ns - min(c->time_ns, state->good_ns);
	c->lost_ns = state->lost_flags ? not_good_ns : min(c->lost_ns, not_good_ns);
	state->lost_ns += c->lost_ns;
	c->flags |= state->pending_flags | state->lost_flags;
	drm_perfctr_sticky_set(&state->flags, state->seq, c->flags);
	state->pending_flags = 0;
	state->pending_lost = false;
	state->time_ns = c->time_ns;
	if (!error || state->lost_flags)
		state->good_ns = max(state->good_ns, c->time_ns);
	state->incomplete = error || c->incomplete;
	state->error = error;
	for (unsigned int i = 0; i < DRM_PERFCTR_MAX_CLOCKS; i++)
		hs->host->cycles[i] += c->clock_cycles[i];
}

static int collect_piece(struct host_source *hs, bool *more)
{
	struct drm_perfctr_collection c = { 0 };
	u64 from_ns, ns;
	int error;

	hs->state.seq++;
	hs->extension.until_ns = U64_MAX;
	hs->extension.more = false;
	error = hs->state.running ? 0 : restart(hs);
	from_ns = hs->state.good_ns;
	if (!error)
		error = hs->source.ops->collect(&hs->source, &c);
	if (error == -ENODEV)
		hs->host->gone = true;
	for (unsigned int n = 0; error && n < hs->source.block_count; n++)
		drm_perfctr_block_report(&hs->source, n, DRM_PERFCTR_STATE_ERROR, NULL);
	if (error)
		c.flags |= DRM_PERFCTR_SAMPLE_ERROR;
	account(hs, &c, error);
	ns = c.time_ns - min(from_ns, c.time_ns);
	/* of an interval that is lost as a whole, some of the counts may be there */
	if (!error)
		host_turns_count(hs, c.lost_ns < ns ? ns - c.lost_ns : ns);
	*more = hs->extension.more && !error;
	return error;
}

static int collect(struct host_source *hs)
{
	sigset_t before;
	bool more;
	int error;

	if (!hs->collects_at_once)
		block_signals(&before);
	note_sleep(hs->host);
	do {
		error = collect_piece(hs, &more);
	} while (more);
	if (!hs->collects_at_once)
		restore_signals(&before);
	return error;
}

int host_source_collect(struct host_source *hs)
{
	int error = collect(hs);
	sigset_t before;

	if (!host_turns_left_ns(hs)) {
		block_signals(&before);
		if (error)
			hs->state.turns.began_ns = perfctr_time_raw_ns();
		else
			hs->extension.select(&hs->source, host_turns_choose(hs));
		restore_signals(&before);
	}
	return error;
}

u64 host_source_left_ns(const struct host_source *hs)
{
	/* half of it, as the process may be late */
	u64 interval_ns = hs->source.max_interval_ns / 2, left_ns = U64_MAX, turn_ns;

	if (hs->extension.batch_ns && (!interval_ns || hs->extension.batch_ns < interval_ns))
		interval_ns = hs->extension.batch_ns;
	if (!hs->state.users || hs->host->gone)
		return U64_MAX;
	if (interval_ns) {
		const u64 since_ns = perfctr_time_raw_ns() - hs->state.read_ns;

		left_ns = interval_ns - min(since_ns, interval_ns);
	}
	turn_ns = host_turns_left_ns(hs);
	return min(left_ns, turn_ns);
}

/*
 * What the sessions from @first on want has changed. Counts so far belong to the former selection.
 * Return: 0; -E2BIG, nothing has changed.
 */
static int select_counters(struct host_source *hs, const struct host_views *first)
{
	int error;

	if (!hs->extension.select)
		return 0;
	error = host_turns_gather(hs, first);
	if (error)
		return error;
	if (hs->state.running)
		collect(hs);
	hs->extension.select(&hs->source, host_turns_choose(hs));
	if (hs->state.running)
		collect(hs);
	return 0;
}

/* Whether a source that counts already counts all of the blocks of another session, too. */
static int check_joined(struct host_source *hs, const struct host_views *views)
{
	int error = 0;

	for (size_t n = 0; hs->check && !error && n < views->count; n++) {
		const struct drm_perfctr_block *block = views->blocks[n].view.block;

		if (block && block->source == &hs->source)
			error = hs->check(hs, (unsigned int)(block - hs->source.blocks));
	}
	return error;
}

int host_source_attach(struct host_source *hs, u8 set)
{
	struct perfctr_source_state *state = &hs->state;
	sigset_t before;
	int error;

	hs->host->set = set;
	hs->why = NULL;
	/* losses that no session saw */
	if (!state->users) {
		state->lost_flags = state->pending_flags = 0;
		state->pending_lost = false;
	}
	block_signals(&before);
	note_sleep(hs->host);
	error = select_counters(hs, hs->host->counting);
	if (error) {
		host_turns_gather(hs, hs->host->counting->next);
	} else {
		state->restart_ns = 0;
		error = state->running ? check_joined(hs, hs->host->counting) :
			state->users   ? restart(hs) :
					 start(hs);
		/* without the new session, which is the first one */
		if (error)
			select_counters(hs, hs->host->counting->next);
	}
	restore_signals(&before);
	if (error)
		return error;
	state->users++;
	hs->host->set_users++;
	return 0;
}

void host_source_detach(struct host_source *hs)
{
	sigset_t before;

	block_signals(&before);
	hs->host->set_users--;
	if (--hs->state.users) {
		select_counters(hs, hs->host->counting);
	} else if (hs->state.running) {
		hs->source.ops->stop(&hs->source);
		hs->state.running = false;
	}
	restore_signals(&before);
}
