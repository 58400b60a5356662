// SPDX-License-Identifier: MIT
/**
 * TEST: MP counters that are programmed from the command stream
 * Description: MP counters that jobs program themselves, beside sessions.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_random.h"
#include "igt_sys.h"
#include "igt_vsoc.h"
#include "igt_nv50.h"

#define SLOTS DRM_VSOC_MP_COUNTERS
#define WARP 16
#define JOBS 20
#define HOSTILE_JOBS 60
#define BUFFER_BYTES 4096ull
/* the present TPCs: 0, 2, 16, 18 */
#define LAST_TPC 18
#define RECORDS (LAST_TPC + 1)

/* unit and signal of an event in CONTROL */
#define EVENT(unit, signal) ((uint32_t)(unit) << 4 | (uint32_t)(signal) << 24)
#define INSTRUCTIONS EVENT(4, 0x04)
#define BRANCH EVENT(4, 0x02)
#define DIVERGENT_BRANCH EVENT(4, 0x09)

/* the function that passes one slot's own signal */
static const uint32_t own[SLOTS] = { 0xaaaa, 0xcccc, 0xf0f0, 0xff00 };

/* the buffer that jobs store to */
static struct {
	uint32_t handle;
	char *map;
	uint64_t bytes;
} store;

static void create_store(void)
{
	store.map = igt_vsoc_buffer(igt_nv50.dev.fd, BUFFER_BYTES, &store.handle, &store.bytes);
}

static void destroy_store(void)
{
	igt_vsoc_gem_close(igt_nv50.dev.fd, store.handle);
	munmap(store.map, store.bytes);
}

static struct drm_vsoc_command compute(uint32_t threads, uint32_t instructions)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_COMPUTE };

	c.compute.threads = threads;
	c.compute.instructions = instructions;
	return c;
}

static struct drm_vsoc_command pass(uint64_t ns)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };

	c.wait.duration_ns = ns;
	return c;
}

static void add_method(struct drm_vsoc_command *c, uint32_t method, uint32_t data)
{
	c->type = DRM_VSOC_CMD_METHODS;
	c->methods.methods[c->methods.count].method = method;
	c->methods.methods[c->methods.count++].data = data;
}

static void add_event(struct drm_vsoc_command *c, unsigned int slot, uint32_t event)
{
	add_method(c, DRM_VSOC_MP_PM_CONTROL(slot), event | own[slot] << 8);
}

static struct drm_vsoc_command control(unsigned int slot, uint32_t value)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_METHODS };

	add_method(&c, DRM_VSOC_MP_PM_CONTROL(slot), value);
	return c;
}

static struct drm_vsoc_command event_in(unsigned int slot, uint32_t event)
{
	return control(slot, event | own[slot] << 8);
}

/* the same event in all slots; 0: none */
static struct drm_vsoc_command all_slots(uint32_t event)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_METHODS };

	for (unsigned int i = 0; i < SLOTS; i++)
		add_method(&c, DRM_VSOC_MP_PM_CONTROL(i), event ? event | own[i] << 8 : 0);
	return c;
}

static struct drm_vsoc_command store_at(uint64_t offset, uint32_t sequence)
{
	struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_MP_STORE };

	c.mp_store.handle = store.handle;
	c.mp_store.offset = offset;
	c.mp_store.sequence = sequence;
	return c;
}

static uint64_t queue(uint32_t ctx, const struct drm_vsoc_command *c, unsigned int count)
{
	uint64_t job;

	igt_assert_eq(igt_vsoc_submit_to(igt_nv50.dev.fd, ctx, c, count, &job, NULL), 0);
	return job;
}

static void finish(uint64_t job)
{
	igt_assert_eq(igt_vsoc_wait(&igt_nv50.dev, job).status, 0);
}

static void run(uint32_t ctx, const struct drm_vsoc_command *c, unsigned int count)
{
	finish(queue(ctx, c, count));
}

static bool is_present(unsigned int tpc)
{
	return 0x50005 >> tpc & 1;
}

static const struct drm_vsoc_mp_record *record(uint64_t offset, unsigned int tpc)
{
	return (const struct drm_vsoc_mp_record *)(store.map + offset) + tpc;
}

/* sum of a slot over all TPCs, whose records are complete */
static uint64_t stored(uint64_t offset, uint32_t sequence, unsigned int slot)
{
	uint64_t sum = 0;

	for (unsigned int tpc = 0; tpc < RECORDS; tpc++) {
		if (!is_present(tpc))
			continue;
		igt_assert_eq_u32(__atomic_load_n(&record(offset, tpc)->sequence, __ATOMIC_ACQUIRE),
				  sequence);
		sum += record(offset, tpc)->counters[slot];
	}
	return sum;
}

/* sum over the MP blocks of a session */
static uint64_t total(const struct igt_perfctr_session *s, const char *name)
{
	const struct igt_nv50_counter c = igt_nv50_counter(name);
	uint64_t sum = 0;

	for (unsigned int b = 0; b < s->layout.block_count; b++)
		if (s->sums[b].type == DRM_PERFCTR_NV50_BLOCK_MP)
			sum += s->sums[b].value[c.position];
	return sum;
}

static uint64_t total_in(const struct drm_perfctr_sample_header *h, const char *name)
{
	const struct igt_nv50_counter c = igt_nv50_counter(name);
	uint64_t sum = 0;

	for (unsigned int tpc = 0; tpc < RECORDS; tpc++)
		if (is_present(tpc))
			sum += igt_perfctr_value(h, DRM_PERFCTR_NV50_BLOCK_MP, tpc, c.position);
	return sum;
}

static void session_of(struct igt_perfctr_session *s, const char *const *names, unsigned int count)
{
	igt_nv50_session_create(s, 0, names, count);
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
}

/* a job whose counts do not depend on what runs beside it */
static unsigned int counting_job(struct drm_vsoc_command *c, uint32_t threads,
				 uint32_t instructions, uint64_t offset, uint32_t sequence)
{
	c[0] = compute(threads, instructions);
	c[1] = store_at(offset, sequence);
	return 2;
}

static const char *const two[] = { "instructions", "branch" };
static const char *const four[] = { "instructions", "branch", "divergent_branch",
				    "warp_serialize" };

static void own_counts(void)
{
	struct igt_perfctr_session s;
	static const struct {
		uint32_t threads, instructions;
	} shaders[3] = { { 16000, 64 }, { 4800, 160 }, { 8000, 32 } };
	struct drm_vsoc_command c[4];
	uint64_t jobs[3];
	uint32_t ctx[3];

	create_store();
	igt_nv50_session_create(&s, 0, four, 4);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	for (unsigned int i = 0; i < 3; i++)
		ctx[i] = igt_vsoc_ctx_create(igt_nv50.dev.fd);
	for (unsigned int i = 0; i < 2; i++) {
		c[0] = (struct drm_vsoc_command){ .type = DRM_VSOC_CMD_METHODS };
		add_event(&c[0], 1 + i, INSTRUCTIONS);
		add_event(&c[0], 2 - 2 * i, BRANCH);
		add_method(&c[0], DRM_VSOC_MP_PM_SET(1 + i), 5 + i);
		queue(ctx[i], c, 1);
	}
	for (unsigned int n = 1; n <= JOBS; n++) {
		for (unsigned int i = 0; i < 2; i++)
			jobs[i] = queue(ctx[i], c,
					counting_job(c, shaders[i].threads, shaders[i].instructions,
						     512 * i, n));
		c[0] = igt_vsoc_sample(&s, 2);
		c[1] = compute(shaders[2].threads, shaders[2].instructions);
		c[2] = igt_vsoc_sample(&s, 3);
		jobs[2] = queue(ctx[2], c, 3);
		/* the ring has a slot for each of its samples */
		for (unsigned int i = 0; n == JOBS && i < 3; i++)
			finish(jobs[i]);
	}
	for (unsigned int i = 0; i < 2; i++) {
		const uint64_t each = shaders[i].threads / WARP * shaders[i].instructions * JOBS;

		/* the value is that of each of four TPCs */
		igt_assert_eq_u64(stored(512 * i, JOBS, 1 + i), each + 4 * (5 + i));
		igt_assert_eq_u64(stored(512 * i, JOBS, 2 - 2 * i), each / 16);
		igt_assert_eq_u64(stored(512 * i, JOBS, 3), 0);
	}
	for (uint64_t i = s.extract; i != s.extract + igt_perfctr_unread(&s); i++) {
		const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i);
		const uint64_t each = shaders[2].threads / WARP * shaders[2].instructions;

		if (h->user_data != 3)
			continue;
		igt_assert_eq_u32(h->flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
		igt_assert_eq_u64(total_in(h, "instructions"), each);
		igt_assert_eq_u64(total_in(h, "branch"), each / 16);
	}
	igt_assert_eq_u64(s.extract + igt_perfctr_unread(&s), 2 * JOBS);
	igt_perfctr_finish(&s);
	igt_perfctr_session_close(&s);
	for (unsigned int i = 0; i < 3; i++)
		igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx[i]), 0);
	destroy_store();
}

static void state_kept(void)
{
	struct igt_perfctr_session s;
	struct drm_vsoc_command c[4];
	uint32_t ctx[2];

	create_store();
	session_of(&s, two, 2);
	for (unsigned int i = 0; i < 2; i++)
		ctx[i] = igt_vsoc_ctx_create(igt_nv50.dev.fd);
	c[0] = event_in(0, INSTRUCTIONS);
	add_method(&c[0], DRM_VSOC_MP_PM_SET(3), 1000);
	c[1] = compute(1600, 32);
	run(ctx[0], c, 2);
	/* the same slots; the session counts in the others */
	c[0] = store_at(0, 1);
	c[1] = event_in(0, BRANCH);
	c[2] = compute(1600, 32);
	c[3] = store_at(512, 2);
	run(ctx[1], c, 4);
	run(ctx[0], c, counting_job(c, 1600, 32, 1024, 3));
	for (unsigned int slot = 0; slot < SLOTS; slot++) {
		igt_assert_eq_u64(stored(0, 1, slot), 0);
		igt_assert_eq_u64(stored(512, 2, slot), slot ? 0 : 100 * 2);
	}
	igt_assert_eq_u64(stored(1024, 3, 0), 200 * 32);
	igt_assert_eq_u64(stored(1024, 3, 1), 0);
	igt_assert_eq_u64(stored(1024, 3, 2), 0);
	igt_assert_eq_u64(stored(1024, 3, 3), 4000);
	/* suspend keeps the state, a reset clears it */
	igt_vsoc_debugfs(&igt_nv50.dev, "reset", "1");
	for (unsigned int i = 0; i < 2; i++) {
		run(ctx[i], c, counting_job(c, 1600, 32, 1536, 4 + i));
		for (unsigned int slot = 0; slot < SLOTS; slot++)
			igt_assert_eq_u64(stored(1536, 4 + i, slot), 0);
	}
	igt_perfctr_finish(&s);
	igt_perfctr_session_close(&s);
	for (unsigned int i = 0; i < 2; i++)
		igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx[i]), 0);
	/* a later context does not have that state */
	ctx[0] = igt_vsoc_ctx_create(igt_nv50.dev.fd);
	run(ctx[0], c, counting_job(c, 1600, 32, 0, 9));
	for (unsigned int slot = 0; slot < SLOTS; slot++)
		igt_assert_eq_u64(stored(0, 9, slot), 0);
	igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx[0]), 0);
	destroy_store();
}

static void function_of_slots(void)
{
	struct igt_perfctr_session s;
	struct drm_vsoc_command c[3];
	uint64_t alone = 0;

	create_store();
	for (unsigned int with = 0; with < 2; with++) {
		const uint32_t ctx = igt_vsoc_ctx_create(igt_nv50.dev.fd);

		if (with)
			session_of(&s, two, 2);
		/* instructions in clocks in which no other slot has a signal */
		c[0] = control(3, INSTRUCTIONS | 0x0100 << 8);
		c[1] = compute(16000, 64);
		c[2] = store_at(0, 1 + with);
		run(ctx, c, 3);
		if (!with)
			alone = stored(0, 1, 3);
		igt_assert_eq_u64(stored(0, 1 + with, 3), alone);
		igt_assert_eq_u64(alone, 1000 * 64);
		igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx), 0);
	}
	igt_perfctr_finish(&s);
	/* the session had no slot while the jobs ran, as its times show */
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	igt_assert_eq_u64(total(&s, "instructions"), 0);
	igt_perfctr_session_close(&s);
	destroy_store();
}

static void own_tests(void)
{
	igt_describe("two contexts with different shaders program and store their counters while "
		     "both run and a session counts: all exact");
	igt_nv50_subtest("own-counts") own_counts();
	igt_describe("a context keeps its counters for its next job, no other context sees or "
		     "changes them, a reset clears them");
	igt_nv50_subtest("state-kept") state_kept();
	igt_describe("a function of another slot's signal does not see the session's events in "
		     "that slot");
	igt_nv50_subtest("function-of-slots") function_of_slots();
}

static const char *const names[] = { "instructions", "branch", "shader_busy" };
static const char *const beside_four[] = { "instructions", "branch", "divergent_branch",
					   "warp_serialize" };

static void check_all_slots(void)
{
	struct igt_perfctr_session s;
	struct drm_vsoc_command take[2] = { all_slots(DIVERGENT_BRANCH), compute(16000, 64) };
	struct drm_vsoc_command give[2] = { all_slots(0), compute(8000, 64) };
	struct drm_vsoc_command other = compute(4800, 160);
	const uint32_t ctx = igt_vsoc_ctx_create(igt_nv50.dev.fd);

	session_of(&s, names, 3);
	igt_nv50_read_before();
	for (unsigned int n = 0; n < JOBS; n++) {
		queue(ctx, take, 2);
		run(DRM_VSOC_CTX_DEFAULT, &other, 1);
	}
	run(ctx, take, 1);
	igt_nv50_finish(&s);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	igt_assert_eq_u64(total(&s, "instructions"), JOBS * 300 * 160);
	igt_assert_eq_u64(total(&s, "branch"), JOBS * 300 * 10);
	igt_assert_eq_u64(igt_nv50_truth("instructions"), JOBS * (300 * 160 + 1000 * 64));
	for (unsigned int i = 0; i < 2; i++) {
		igt_assert(igt_nv50_sum(&s, names[i])->states & DRM_PERFCTR_STATE_MULTIPLEXED);
		igt_assert_lte_u64(1, igt_nv50_ran(&s, names[i]));
		/* the jobs took time */
		igt_assert_lte_u64(igt_nv50_ran(&s, names[i]) + JOBS * 1000ull,
				   igt_nv50_sum(&s, names[i])->time_enabled);
	}
	/* PCOUNTER has no contexts */
	igt_assert_eq_u64(igt_nv50_value(&s, "shader_busy"), igt_nv50_truth("shader_busy"));
	igt_assert_eq_u64(igt_nv50_ran(&s, "shader_busy"),
			  igt_nv50_sum(&s, "shader_busy")->time_enabled);
	igt_assert_eq_u32(igt_nv50_sum(&s, "shader_busy")->states & DRM_PERFCTR_STATE_MULTIPLEXED,
			  0);
	igt_perfctr_session_close(&s);

	/* the context releases them */
	run(ctx, give, 1);
	session_of(&s, names, 3);
	igt_nv50_read_before();
	for (unsigned int n = 0; n < JOBS; n++) {
		queue(ctx, give, 2);
		run(DRM_VSOC_CTX_DEFAULT, &other, 1);
	}
	run(ctx, give, 1);
	igt_nv50_finish(&s);
	igt_assert_eq_u32(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
	igt_nv50_assert_conserved(&s);
	igt_assert_eq_u64(igt_nv50_ran(&s, "branch"), igt_nv50_sum(&s, "branch")->time_enabled);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx), 0);
}

static void all_slots_invalid(void)
{
	struct igt_perfctr_session s;
	const struct igt_nv50_counter c = igt_nv50_counter("instructions");
	struct drm_vsoc_command job[4] = { all_slots(BRANCH) };
	const uint32_t ctx = igt_vsoc_ctx_create(igt_nv50.dev.fd);
	const struct drm_perfctr_sample_header *h = NULL;
	uint64_t unread;

	session_of(&s, beside_four, 4);
	job[1] = igt_vsoc_sample(&s, 2);
	job[2] = compute(1600, 32);
	job[3] = igt_vsoc_sample(&s, 3);
	run(ctx, job, 4);
	unread = igt_perfctr_unread(&s);
	igt_assert_eq_u64(unread, 2);
	h = igt_perfctr_slot(&s, s.extract + 1);
	igt_assert_eq_u64(h->user_data, 3);
	igt_assert(h->flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	for (const char *at = (const char *)h + h->header_size; at < (const char *)h + h->size;
	     at += ((const struct drm_perfctr_block_header *)at)->size) {
		const struct drm_perfctr_block_header *b = (const void *)at;

		igt_assert_eq(b->type, DRM_PERFCTR_NV50_BLOCK_MP);
		igt_assert_eq_u64(b->enable_mask >> c.position & 1, 1);
		igt_assert_eq_u64(b->valid_mask, 0);
		igt_assert(b->states & DRM_PERFCTR_STATE_MULTIPLEXED);
	}
	igt_perfctr_finish(&s);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx), 0);
}

static void slot_taken(void)
{
	struct igt_perfctr_session s;
	const uint32_t ctx = igt_vsoc_ctx_create(igt_nv50.dev.fd);
	struct drm_vsoc_command c[2 * SLOTS + 2];

	create_store();
	session_of(&s, names, 3);
	igt_nv50_read_before();
	for (unsigned int n = 0; n < JOBS; n++) {
		/* take one slot after another, at most two at once */
		for (unsigned int i = 0; i < SLOTS; i++) {
			c[2 * i] = control((i + 2) % SLOTS, 0);
			add_event(&c[2 * i], i, INSTRUCTIONS);
			add_method(&c[2 * i], DRM_VSOC_MP_PM_SET(i), 0);
			c[2 * i + 1] = compute(1600 + 160 * i, 64);
		}
		c[2 * SLOTS] = store_at(0, n);
		c[2 * SLOTS + 1] = all_slots(0);
		run(ctx, c, 2 * SLOTS + 2);
		/* each slot counts in its own command and in the next one */
		for (unsigned int i = 0; i < SLOTS; i++)
			igt_assert_eq_u64(
				stored(0, n, i),
				64ull * (100 + 10 * i + (i + 1 < SLOTS ? 110 + 10 * i : 0)));
	}
	igt_nv50_finish(&s);
	igt_assert_eq_u32(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
	igt_nv50_assert_conserved(&s);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx), 0);
	destroy_store();
}

static void slots_shared(void)
{
	struct igt_perfctr_session s;
	const uint32_t ctx = igt_vsoc_ctx_create(igt_nv50.dev.fd);
	struct drm_vsoc_command c[2] = { event_in(0, INSTRUCTIONS), compute(16000, 64) };

	add_event(&c[0], 2, INSTRUCTIONS);
	session_of(&s, beside_four, 4);
	for (unsigned int n = 0; n < JOBS; n++)
		run(ctx, c, 2);
	igt_perfctr_finish(&s);
	igt_assert(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED);
	for (unsigned int i = 0; i < 4; i++) {
		const uint64_t enabled_ns = igt_nv50_sum(&s, beside_four[i])->time_enabled;

		igt_assert_lte_u64(igt_nv50_ran(&s, beside_four[i]) + 1, enabled_ns);
		igt_assert_lte_u64(1, igt_nv50_ran(&s, beside_four[i]));
	}
	/* counted in some jobs, not in all */
	igt_assert_lte_u64(1000 * 64, total(&s, "instructions"));
	igt_assert_lte_u64(total(&s, "instructions"), (JOBS - 1) * 1000 * 64);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx), 0);
}

static void hostile_methods(void)
{
	struct igt_perfctr_session s;
	const uint32_t ctx = igt_vsoc_ctx_create(igt_nv50.dev.fd);
	struct drm_vsoc_command c[12], other[3];
	struct igt_chance r = { .seed = 8 };
	unsigned int exact = 0, flagged = 0;

	session_of(&s, names, 2);
	other[0] = igt_vsoc_sample(&s, 4);
	other[1] = compute(4800, 160);
	other[2] = igt_vsoc_sample(&s, 5);
	for (unsigned int n = 0; n < HOSTILE_JOBS; n++) {
		igt_chance_begin(&r, n);
		c[0] = igt_vsoc_sample(&s, 2);
		for (unsigned int i = 1; i < 11; i += 2) {
			c[i] = (struct drm_vsoc_command){ .type = DRM_VSOC_CMD_METHODS };
			for (unsigned int k = igt_chance_any(&r, 10) + 1; k; k--) {
				const unsigned int slot = igt_chance_any(&r, SLOTS);

				if (igt_chance_any(&r, 2))
					add_method(&c[i], DRM_VSOC_MP_PM_SET(slot),
						   0u - igt_chance_any(&r, 3));
				else if (igt_chance_any(&r, 2))
					add_method(&c[i], DRM_VSOC_MP_PM_CONTROL(slot), 0);
				else
					add_method(&c[i], DRM_VSOC_MP_PM_CONTROL(slot),
						   INSTRUCTIONS | igt_chance_any(&r, 2) |
							   igt_chance_any(&r, 0x10000) << 8);
			}
			c[i + 1] = compute(1600, 64);
		}
		c[11] = igt_vsoc_sample(&s, 3);
		queue(ctx, c, 12);
		run(DRM_VSOC_CTX_DEFAULT, other, 3);
		for (uint64_t i = s.extract; i != s.extract + igt_perfctr_unread(&s); i++) {
			const struct drm_perfctr_sample_header *h = igt_perfctr_slot(&s, i);
			const uint64_t true_total = h->user_data == 3 ? 5 * 100 * 64 : 300 * 160;
			const bool multiplexed = h->flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED;

			if (!(h->user_data & 1))
				continue;
			flagged += multiplexed;
			exact += !multiplexed && h->user_data == 3;
			if (h->user_data == 5)
				igt_assert(!multiplexed);
			if (!multiplexed)
				igt_assert_eq_u64(total_in(h, "instructions"), true_total);
			else
				igt_assert_lte_u64(total_in(h, "instructions"), true_total);
		}
		igt_perfctr_drain(&s);
	}
	igt_perfctr_finish(&s);
	igt_assert_eq_u32(s.flags & DRM_PERFCTR_SAMPLE_OVERFLOW, 0);
	igt_assert_eq_u64(s.lost_ns, 0);
	igt_info("%u samples exact, %u multiplexed\n", exact, flagged);
	igt_assert_lt(0, flagged);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx), 0);
}

static void start_in_job(void)
{
	struct igt_perfctr_session s;
	const uint32_t ctx = igt_vsoc_ctx_create(igt_nv50.dev.fd);
	struct drm_vsoc_command c[4];
	uint64_t job;

	create_store();
	igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "1");
	c[0] = event_in(0, INSTRUCTIONS);
	c[1] = pass(100 * 1000);
	c[2] = compute(16000, 64);
	c[3] = store_at(0, 1);
	job = queue(ctx, c, 4);
	usleep(2000);
	igt_nv50_step(50 * 1000);
	session_of(&s, names, 2);
	igt_nv50_read_before();
	usleep(200000);
	igt_nv50_step(200 * MS);
	finish(job);
	igt_vsoc_debugfs(&igt_nv50.dev, "stepped", "0");
	igt_nv50_finish(&s);
	igt_assert_eq_u32(s.flags & DRM_PERFCTR_SAMPLE_MULTIPLEXED, 0);
	igt_nv50_assert_conserved(&s);
	igt_assert_eq_u64(stored(0, 1, 0), 1000 * 64);
	igt_perfctr_session_close(&s);
	igt_assert_eq(igt_vsoc_ctx_destroy(igt_nv50.dev.fd, ctx), 0);
	destroy_store();
}

static void beside_tests(void)
{
	igt_describe("a context that uses all slots is not counted, and samples report it; other "
		     "contexts are exact, and so is this one after it releases the slots");
	igt_nv50_subtest("all-slots") check_all_slots();
	igt_describe("counters of a sample that covers only a context with all slots are not "
		     "valid");
	igt_nv50_subtest("all-slots-invalid") all_slots_invalid();
	igt_describe("a job that takes a slot while it runs leaves the others: no count is lost "
		     "or doubled");
	igt_nv50_subtest("slot-taken") slot_taken();
	igt_describe("four counters share fewer slots of a context, one after the other, as "
		     "running times report");
	igt_nv50_subtest("slots-shared") slots_shared();
	igt_describe("for any methods of a context, each sample is exact or flagged, and samples "
		     "of other contexts are exact");
	igt_nv50_subtest("hostile-methods") hostile_methods();
	igt_describe("a session that starts and stops in the middle of a job has the counts of "
		     "that time");
	igt_nv50_subtest("start-in-job") start_in_job();
}

int igt_main()
{
	igt_fixture() {
		igt_nv50_add();
	}
	own_tests();
	beside_tests();
	igt_fixture() {
		igt_nv50_remove();
	}
}
