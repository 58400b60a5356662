// SPDX-License-Identifier: MIT
/**
 * TEST: Devices of different shapes work side by side without affecting each other
 * Description: Several devices of different shapes, added and removed during other tests.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_vsoc.h"
#include "igt_sys.h"

#define SLOTS 64
#define OTHER "9"
#define OTHER_NUMBER 9
#define OTHER_PLATFORM "vsoc.9"
/* two cores, densely numbered, one slice, wide blocks, a short ring */
#define OTHER_SHAPE \
	OTHER " shader_present=0x12 l2_slices=1 counters_per_block=128 shader_dense=1 fw_slots=4"
#define CYCLES 50
/* as many as a context accepts, so that cancelling them takes time */
#define QUEUED_JOBS 1024
#define CLOSES 20
#define CLOSE_STEP_NS 500000

static struct igt_perfctr_device dev, other;
static struct igt_truth before, after, other_before, other_after;

static void come(void)
{
	igt_vsoc_add(&other, OTHER_SHAPE);
}

static void go(void)
{
	igt_vsoc_remove(&other, OTHER_NUMBER);
}

static unsigned int blocks_of(const struct igt_perfctr_device *d, uint16_t type)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < d->block_count; i++)
		n += d->blocks[i].type == type;
	return n;
}

static bool has_block(const struct igt_perfctr_device *d, uint16_t type, uint16_t index)
{
	for (unsigned int i = 0; i < d->block_count; i++)
		if (d->blocks[i].type == type && d->blocks[i].index == index)
			return true;
	return false;
}

/* the block of the test PMU */
#define PMU_INDEX 7

/* the block of the PMU in a sample */
static const struct drm_perfctr_block_header *pmu_block(const struct igt_perfctr_session *s,
							const struct drm_perfctr_sample_header *h)
{
	const uint8_t *at = (const uint8_t *)h + h->header_size;

	for (unsigned int i = 0; i < h->block_count; i++) {
		const struct drm_perfctr_block_header *block = (const void *)at;

		if (block->type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
			return (const void *)at;
		at += block->size;
	}
	igt_assert_f(false, "the sample has no block of a PMU\n");
	return NULL;
}

/* the hits of the test PMU, on each CPU */
static void add_hits(struct igt_perfctr_session *s)
{
	igt_perfctr_add_pmu(s, PMU_INDEX, igt_test_pmu(), 1, DRM_PERFCTR_CPU_ANY);
}

static uint64_t counted_hits(const struct igt_perfctr_session *s)
{
	return igt_perfctr_sum(s, DRM_PERFCTR_BLOCK_GENERIC_PMU, PMU_INDEX, 0);
}

/* later in each round, from before the unplug to after it */
static void *close_soon(void *round)
{
	struct timespec t = { .tv_nsec = *(const unsigned int *)round * CLOSE_STEP_NS };

	nanosleep(&t, NULL);
	close(other.fd);
	return NULL;
}

/* a check of @requests times all shader cores of a device */
static int many_blocks(uint32_t requests)
{
	static struct drm_perfctr_block_request request[2048];
	static struct igt_perfctr_session s;

	igt_assert_lte(requests, ARRAY_SIZE(request));
	for (uint32_t i = 0; i < requests; i++)
		request[i] = (struct drm_perfctr_block_request){
			.type = DRM_PERFCTR_MALI_BLOCK_SHADER,
			.index = DRM_PERFCTR_INDEX_ALL,
			.mask = 1ull << 4,
		};
	igt_perfctr_session_init_empty(&s, &other);
	s.params.slots = 1;
	s.params.requests = (uintptr_t)request;
	s.params.request_count = requests;
	return igt_perfctr_session_check(&s);
}

static void core_masks(void)
{
	static const uint64_t masks[] = { 0x1, 0x50005, 0x1110055, 0xffff };

	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(masks); i++) {
		const uint64_t mask = masks[i / 2];
		struct igt_perfctr_session s;
		char shape[64];

		snprintf(shape, sizeof(shape), OTHER " shader_present=%#llx shader_dense=%u",
			 (unsigned long long)mask, i % 2);
		igt_vsoc_add(&other, shape);
		for (unsigned int core = 0; core < 64; core++)
			igt_assert_eq(has_block(&other, DRM_PERFCTR_MALI_BLOCK_SHADER, core),
				      (int)(mask >> core & 1));
		igt_perfctr_session_open_with(&s, &other, SLOTS, 0);
		igt_vsoc_truth(&other, &other_before);
		igt_assert_eq(igt_perfctr_start(&s, 0), 0);
		igt_vsoc_work(&other, i);
		igt_perfctr_finish(&s);
		igt_vsoc_truth(&other, &other_after);
		igt_assert_conserved(&s, &other_before, &other_after);
		for (unsigned int core = 0; core < 64; core++)
			if (mask >> core & 1)
				igt_assert_lte_u64(
					1, igt_perfctr_sum(
						   &s, DRM_PERFCTR_MALI_BLOCK_SHADER, core,
						   igt_vsoc_counter(&other_after,
								    DRM_PERFCTR_MALI_BLOCK_SHADER,
								    "CORE_ACTIVE")));
		igt_perfctr_session_close(&s);
		go();
	}
}

static void blocks_beyond(void)
{
	const uint32_t cores = 64;

	igt_vsoc_add(&other, OTHER " shader_present=0xffffffffffffffff");
	igt_assert_eq_u32(blocks_of(&other, DRM_PERFCTR_MALI_BLOCK_SHADER), cores);
	igt_assert_lte_u64(65536 / cores, other.info.max_requests);
	igt_assert_eq(many_blocks(1), 0);
	/* few enough blocks, but the same ones in each request */
	igt_assert_eq(many_blocks(65536 / cores - 1), -EEXIST);
	igt_assert_eq(many_blocks(65536 / cores), -E2BIG);
	go();
}

static void shape_tests(void)
{
	igt_describe("each core is a block with its number and counts exactly, with or without "
		     "holes in firmware's samples");
	igt_subtest("core-masks") core_masks();
	/* Covers: open -E2BIG */
	igt_describe("requests for more than 65535 blocks are -E2BIG");
	igt_subtest("blocks-beyond") blocks_beyond();
}

static void both_exact(void)
{
	struct igt_perfctr_session a, b;

	come();
	igt_perfctr_session_open_with(&a, &dev, SLOTS, 2 * MS);
	igt_perfctr_session_open_with(&b, &other, SLOTS, 3 * MS);
	igt_vsoc_truth(&dev, &before);
	igt_vsoc_truth(&other, &other_before);
	igt_assert_eq(igt_perfctr_start(&a, 0), 0);
	igt_assert_eq(igt_perfctr_start(&b, 0), 0);
	for (unsigned int i = 0; i < 6; i++) {
		igt_vsoc_work(i & 1 ? &dev : &other, i);
		igt_vsoc_work(&dev, i);
		igt_perfctr_drain(&a);
		igt_perfctr_drain(&b);
	}
	igt_assert_eq(igt_perfctr_stop(&a, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&b, 0), 0);
	igt_perfctr_drain(&a);
	igt_perfctr_drain(&b);
	igt_vsoc_truth(&dev, &after);
	igt_vsoc_truth(&other, &other_after);
	igt_assert_conserved(&a, &before, &after);
	igt_assert_conserved(&b, &other_before, &other_after);
	igt_perfctr_session_close(&a);
	igt_perfctr_session_close(&b);
	go();
}

static void handles_apart(void)
{
	struct igt_perfctr_session s;
	struct drm_vsoc_command c;

	come();
	igt_perfctr_session_open_with(&s, &dev, SLOTS, 0);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	c = igt_vsoc_sample(&s, 0);
	igt_assert_eq(igt_vsoc_submit_to(other.fd, 0, &c, 1, NULL, NULL), -ENOENT);
	igt_assert_eq(igt_vsoc_submit_to(dev.fd, 0, &c, 1, NULL, NULL), 0);
	igt_perfctr_session_close(&s);
	go();
}

static void unplug_under_load(void)
{
	struct drm_vsoc_command commands[3];
	struct igt_perfctr_session a, b;

	come();
	igt_perfctr_session_open_with(&a, &dev, SLOTS, 2 * MS);
	igt_perfctr_session_open_with(&b, &other, SLOTS, 2 * MS);
	igt_vsoc_start(&a, &before);
	igt_assert_eq(igt_perfctr_start(&b, 0), 0);
	igt_vsoc_mixed(commands, 1);
	for (unsigned int i = 0; i < 16; i++)
		igt_vsoc_submit(&other, commands, 3);
	igt_vsoc_work(&dev, 1);
	igt_assert_eq(igt_vsoc_driver("del_device", OTHER), 0);
	igt_assert_eq_u32(b.control->state, DRM_PERFCTR_RING_DEAD);
	igt_perfctr_drain(&b);
	igt_assert(b.last.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
	igt_assert_eq(igt_perfctr_sample(&b, 0), -ENODEV);
	for (unsigned int i = 0; i < 4; i++) {
		igt_vsoc_work(&dev, i);
		igt_perfctr_drain(&a);
	}
	igt_perfctr_finish(&a);
	igt_vsoc_truth(&dev, &after);
	igt_assert_conserved(&a, &before, &after);
	igt_perfctr_session_close(&a);
	igt_perfctr_close(&other);
	igt_perfctr_session_close(&b);
}

static void close_under_unplug(void)
{
	for (unsigned int i = 0; i < CLOSES; i++) {
		struct drm_vsoc_command c = { .type = DRM_VSOC_CMD_WAIT };
		pthread_t thread;

		c.wait.duration_ns = 1000 * MS;
		come();
		for (unsigned int j = 0; j < QUEUED_JOBS; j++)
			igt_vsoc_submit(&other, &c, 1);
		igt_assert_eq(pthread_create(&thread, NULL, close_soon, &i), 0);
		igt_assert_eq(igt_vsoc_driver("del_device", OTHER), 0);
		igt_assert_eq(pthread_join(thread, NULL), 0);
		other.fd = -1;
	}
	igt_vsoc_work(&dev, 0);
}

static void pmu_gone(void)
{
	const struct drm_perfctr_block_header *pmu;
	struct igt_perfctr_session s;

	/* a skip from here on would leave the device */
	igt_test_pmu();
	come();
	/* the GPU of a device, and a PMU that belongs to none */
	igt_perfctr_session_init(&s, &other);
	s.params.slots = 64;
	add_hits(&s);
	igt_perfctr_session_open(&s);
	igt_vsoc_truth(&other, &other_before);
	igt_assert_eq(igt_perfctr_start(&s, 0), 0);
	igt_test_pmu_set("hit", "5");
	igt_vsoc_work(&other, 0);
	igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
	igt_perfctr_drain(&s);
	igt_assert_eq_u64(counted_hits(&s), 5);

	igt_test_pmu_set("gone", "Y");
	for (unsigned int i = 1; i < 4; i++) {
		igt_test_pmu_set("hit", "3");
		igt_vsoc_work(&other, i);
		igt_assert_eq(igt_perfctr_sample(&s, i), 0);
	}
	pmu = pmu_block(&s, igt_perfctr_slot(&s, s.extract + 2));
	igt_assert_eq_u64(pmu->valid_mask, 0);
	igt_assert(pmu->states & DRM_PERFCTR_STATE_ERROR);
	igt_perfctr_finish(&s);
	igt_vsoc_truth(&other, &other_after);
	igt_assert_conserved(&s, &other_before, &other_after);
	/* no counts after it was removed */
	igt_assert_eq_u64(counted_hits(&s), 5);
	igt_perfctr_session_close(&s);
	igt_test_pmu_set("gone", "N");
	go();
}

static void pmu_back(void)
{
	const struct drm_perfctr_block_header *pmu;
	struct igt_perfctr_session s, t;

	igt_perfctr_session_init(&s, &dev);
	add_hits(&s);
	igt_perfctr_begin(&s);
	igt_test_pmu_set("hit", "3");
	igt_test_pmu_set("gone", "Y");
	igt_test_pmu_set("hit", "4");
	igt_test_pmu_set("gone", "N");
	/* perf reschedules all events of a PMU when one is added */
	igt_perfctr_session_init(&t, &dev);
	add_hits(&t);
	igt_perfctr_begin(&t);
	igt_test_pmu_set("hit", "2");
	igt_assert_eq(igt_perfctr_sample(&s, 1), 0);
	pmu = pmu_block(&s, igt_perfctr_slot(&s, 0));
	igt_assert(pmu->states & DRM_PERFCTR_STATE_ERROR);
	igt_assert_eq(igt_perfctr_stop(&t, 0), 0);
	pmu = pmu_block(&t, igt_perfctr_slot(&t, 0));
	igt_assert_eq_u32(pmu->states & (DRM_PERFCTR_STATE_ERROR | DRM_PERFCTR_STATE_MULTIPLEXED),
			  0);
	igt_perfctr_drain(&t);
	igt_assert_eq_u64(counted_hits(&t), 2);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_perfctr_session_close(&s);
	igt_perfctr_session_close(&t);
}

static void add_and_remove(void)
{
	for (unsigned int i = 0; i < CYCLES; i++) {
		struct igt_perfctr_session s;

		come();
		if (i % 3) {
			igt_perfctr_begin_with(&s, &other, SLOTS, i % 3 == 1 ? MS : 0);
		}
		igt_assert_eq(igt_vsoc_driver("del_device", OTHER), 0);
		if (i % 3)
			igt_assert_eq_u32(s.control->state, DRM_PERFCTR_RING_DEAD);
		igt_perfctr_close(&other);
		if (i % 3)
			igt_perfctr_session_close(&s);
	}
	igt_assert(!igt_perfctr_open_device(&other, OTHER_PLATFORM));
}

static void side_by_side_tests(void)
{
	igt_describe("sessions of two devices count only what their own device did");
	igt_subtest("both-exact") both_exact();
	igt_describe("a session of one device is -ENOENT in jobs of another");
	igt_subtest("handle-of-other-device") handles_apart();
	igt_describe("the session of a device that is unplugged under load reports it, another "
		     "device is exact");
	igt_subtest("unplug-under-load") unplug_under_load();
	igt_describe("a file is closed while its device is unplugged with jobs queued");
	igt_subtest("close-under-unplug") close_under_unplug();
	/* Covers: DRM_PERFCTR_STATE_ERROR */
	igt_describe("removing a PMU affects only its block, which has STATE_ERROR");
	igt_subtest("pmu-gone") pmu_gone();
	igt_describe("a PMU that was absent between two samples is reported; its block has "
		     "STATE_ERROR until a new session");
	igt_subtest("pmu-back") pmu_back();
	igt_describe("devices are added and removed many times, with and without open sessions");
	igt_subtest("add-and-remove") add_and_remove();
}

int igt_main()
{
	igt_fixture() {
		igt_require_f(igt_perfctr_open_device(&dev, "vsoc.0"), "no virtual SoC\n");
		/* left by a run that was interrupted */
		igt_vsoc_driver("del_device", OTHER);
	}
	shape_tests();
	side_by_side_tests();
}
