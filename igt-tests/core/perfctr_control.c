// SPDX-License-Identifier: MIT
/**
 * TEST: PERF_CONTROL: samples as Arm's library reads them
 * Description: The calls of the library in its order: counts, bytes, indices and signals.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_control.h"
#include "igt_sys.h"

#define PERIOD_NS (5 * MS)

static struct igt_perfctr_device dev;
static struct igt_truth before, after, own_before;
static struct igt_control c, c2;
static struct igt_perfctr_session own;

/* each sum is what the hardware counted; counters that were not requested are zero */
static void start(const struct igt_control *control, uint64_t user_data)
{
	igt_known_truth(control->dev, &before);
	igt_assert_eq(igt_control_command(control, IGT_CONTROL_START, user_data), 0);
}

/* nothing is left to be read */
static void assert_read(struct igt_control *control)
{
	igt_assert_eq_u64(control->indices[0], control->indices[1]);
	igt_assert_eq_u64(control->indices[1], control->samples);
	igt_assert(!igt_control_ready(control, 0));
}

/* --- what is described --------------------------------------------------- */

static void info_tests(void)
{
	igt_describe("the query says what each sample has: all blocks of the device, by type; it "
		     "is answered in any size");
	igt_subtest("control-info")
	{
		struct igt_control_info info;
		uint32_t words[16], bytes = 8;

		igt_control_info(&dev, &info);
		igt_assert_eq_u32(info.sample_header, 64);
		igt_assert_eq_u32(info.block_header, 24);
		igt_assert(info.counters == 64 || info.counters == 128);
		igt_assert_eq_u32(info.flags & ~1u, 0);
		igt_assert_eq(info.flags & 1, !!(dev.info.features & DRM_PERFCTR_FEATURE_STATES));
		for (unsigned int type = 0; type < IGT_CONTROL_TYPES; type++) {
			unsigned int blocks = 0;

			for (unsigned int i = 0; i < dev.block_count; i++)
				blocks += dev.blocks[i].type == type + 1;
			igt_assert_eq_u32(info.blocks[type], blocks);
		}
		memset(words, 0xee, sizeof(words));
		igt_assert_eq(igt_control_query(&dev, words, &bytes), 0);
		igt_assert(!memcmp(words, &info, 8));
		igt_assert_eq_u32(words[2], 0xeeeeeeee);
	}
}

/* --- samples ------------------------------------------------------------- */

static void manual(unsigned int samples, void (*between)(unsigned int n))
{
	igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
	start(&c, 100);
	for (unsigned int n = 0; n < samples; n++) {
		igt_known_work(&dev, n);
		if (between)
			between(n);
		igt_control_sample(&c, 200 + n);
		igt_assert_eq_u64(c.samples, n + 1);
	}
	igt_known_work(&dev, 3);
	igt_known_truth(&dev, &after);
	igt_control_stop(&c, 300);
	assert_read(&c);
	igt_assert_eq_u64(c.samples, samples + 1);
	igt_assert_eq_u64(c.flagged, 0);
	igt_assert_eq_u64(c.stretched, 0);
	igt_control_compare(&c, &before, &after);
}

static void suspend_now_and_then(unsigned int n)
{
	if (n % 2)
		igt_suspend(&dev);
}

static void manual_tests(void)
{
	igt_describe("START, 71 times SAMPLE, STOP: the ring wraps twice, each sample has one "
		     "signal, every count is exact");
	igt_subtest("control-manual")
	{
		manual(71, NULL);
		/* clocks stand still on a device that has nothing to do */
		for (unsigned int i = 0; i < 4; i++)
			if (!(c.info.clocks >> i & 1))
				igt_assert_eq_u64(c.cycles[i], 0);
			else if (dev.known)
				igt_assert_lte_u64(1, c.cycles[i]);
		if (dev.known)
			igt_assert(c.states & DRM_PERFCTR_STATE_ON);
		igt_control_close(&c);
	}
	igt_describe("the device suspends between samples: spans meet, every count is exact");
	igt_subtest("control-suspend")
	{
		manual(6, suspend_now_and_then);
		igt_power(&dev, "on");
		igt_control_close(&c);
	}
	igt_describe("the client reads nothing until all slots but one are used: it waits for each "
		     "SAMPLE, and reads all of them later");
	igt_subtest("control-unread")
	{
		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		start(&c, 1);
		for (unsigned int n = 1; n < IGT_CONTROL_SLOTS; n++) {
			eventfd_t one;

			igt_known_work(&dev, n % 4);
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, n), 0);
			igt_control_await(&c);
			/* one signal for one sample */
			igt_assert(eventfd_read(c.eventfd, &one));
			igt_assert_eq_u64(c.indices[1], n);
		}
		igt_known_truth(&dev, &after);
		for (unsigned int n = 1; n < IGT_CONTROL_SLOTS; n++) {
			igt_control_get(&c);
			igt_assert_eq_u64(c.last.user_data, n);
		}
		igt_control_stop(&c, 99);
		assert_read(&c);
		igt_control_compare(&c, &before, &after);
		igt_control_close(&c);
	}
	igt_describe("START again after STOP: the indices go on, and so do counts");
	igt_subtest("control-start-again")
	{
		manual(3, NULL);
		memset(c.sums, 0, sizeof(c.sums));
		igt_known_work(&dev, 1);
		start(&c, 1);
		c.last.end_ns = 0;
		igt_known_work(&dev, 2);
		igt_known_truth(&dev, &after);
		c.samples = 0;
		igt_control_stop(&c, 7);
		igt_assert_eq_u64(c.indices[1], 5);
		igt_control_compare(&c, &before, &after);
		igt_control_close(&c);
	}
	igt_describe(
		"a ring that nobody reads: the slots are used but one, SAMPLE is -ENOSPC, STOP "
		"delivers; there are as many signals as samples");
	igt_subtest("control-full")
	{
		igt_control_open(&c, &dev, 4, 0);
		start(&c, 1);
		for (unsigned int n = 0; n < 5; n++) {
			igt_known_work(&dev, n);
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, n),
				      n < 3 ? 0 : -ENOSPC);
		}
		igt_known_truth(&dev, &after);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_STOP, 9), 0);
		igt_assert_eq_u64(c.indices[1], 4);
		while (c.samples < 4) {
			igt_assert(igt_control_ready(&c, -1));
			igt_control_get(&c);
		}
		assert_read(&c);
		igt_control_compare(&c, &before, &after);
		igt_control_close(&c);
	}
}

static void periodic(struct igt_control *control, unsigned int samples)
{
	while (control->samples < samples) {
		igt_known_work(&dev, control->samples % 5);
		igt_assert(igt_control_ready(control, 10000));
		igt_control_drain(control);
	}
}

static void periodic_tests(void)
{
	igt_describe(
		"periodic samples: tagged by START, as many signals as samples, every count is "
		"exact");
	igt_subtest("control-periodic")
	{
		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, PERIOD_NS);
		start(&c, 100);
		periodic(&c, 100);
		igt_assert_eq_u64(c.first.user_data, 100);
		igt_known_truth(&dev, &after);
		igt_control_stop(&c, 300);
		assert_read(&c);
		igt_assert_eq_u64(c.flagged, 0);
		igt_control_compare(&c, &before, &after);
		igt_control_close(&c);
	}
	igt_describe(
		"periods that find no slot are merged: STRETCHED, no more signals than samples, "
		"nothing is lost");
	igt_subtest("control-stretched")
	{
		igt_control_open(&c, &dev, 4, PERIOD_NS);
		start(&c, 100);
		igt_known_work(&dev, 1);
		igt_sleep_ms(100);
		igt_assert_eq_u64(c.indices[1], 3);
		igt_known_truth(&dev, &after);
		igt_control_stop(&c, 300);
		igt_assert_eq_u64(c.samples, 4);
		igt_assert(c.last.flags & IGT_CONTROL_STRETCHED);
		assert_read(&c);
		igt_control_compare(&c, &before, &after);
		igt_control_close(&c);
	}
}

static atomic_bool busy;

static void *spin(void *unused)
{
	while (busy)
		;
	return unused;
}

static void exact_tests(void)
{
	igt_describe("1,000 periodic samples under load, none read before the end: the eventfd "
		     "counts the unread ones exactly");
	igt_subtest("control-exact")
	{
		unsigned int signals = 0;
		pthread_t threads[4];

		busy = true;
		for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++)
			igt_assert_eq(pthread_create(&threads[i], NULL, spin, NULL), 0);
		igt_control_open(&c, &dev, 64, MS);
		start(&c, 1);
		while (c.indices[1] < 1000) {
			/* some are read between, some are not */
			if (c.indices[1] - c.indices[0] > 40)
				for (unsigned int i = 0; i < 17; i++) {
					igt_assert(igt_control_ready(&c, -1));
					igt_control_get(&c);
				}
			usleep(500);
		}
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_STOP, 2), 0);
		busy = false;
		for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++)
			igt_assert_eq(pthread_join(threads[i], NULL), 0);
		/* the work item sends them, and no more */
		for (unsigned int ms = 0; signals < c.indices[1] - c.indices[0] && ms < 10000;
		     ms++) {
			signals += igt_control_signals(&c);
			igt_sleep_ms(1);
		}
		igt_sleep_ms(50);
		signals += igt_control_signals(&c);
		igt_assert_eq_u64(signals, c.indices[1] - c.indices[0]);
		igt_control_close(&c);
	}
	igt_describe("an eventfd that is no semaphore has the number of unread samples");
	igt_subtest("control-exact-sum")
	{
		eventfd_t value;

		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		close(c.eventfd);
		c.eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		c.setup.eventfd = c.eventfd;
		igt_assert_lt(0, igt_control_setup(&c));
		start(&c, 1);
		for (unsigned int n = 0; n < 20; n++)
			igt_assert_eq(igt_control_command(&c, IGT_CONTROL_SAMPLE, n), 0);
		igt_assert_eq(eventfd_read(c.eventfd, &value), 0);
		igt_assert_eq_u64(value, 20);
		igt_control_close(&c);
	}
}

/* --- beside others ------------------------------------------------------- */

static void beside_tests(void)
{
	igt_describe("beside a session of perfctr's own interface: both have all counts");
	igt_subtest("control-beside")
	{
		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_perfctr_session_open_with(&own, &dev, IGT_CONTROL_SLOTS, 0);
		igt_known_start(&own, &own_before);
		start(&c, 0);
		for (unsigned int n = 0; n < 10; n++) {
			igt_known_work(&dev, n);
			igt_control_sample(&c, n);
			igt_perfctr_sample_and_drain(&own);
		}
		igt_known_truth(&dev, &after);
		igt_control_stop(&c, 0);
		igt_perfctr_finish(&own);
		igt_control_compare(&c, &before, &after);
		igt_known_compare(&own, &own_before, &after);
		igt_perfctr_session_close(&own);
		igt_control_close(&c);
	}
	igt_describe("two sessions of one file, of different masks and kinds: each has its counts; "
		     "blocks that were not requested are zero");
	igt_subtest("control-two")
	{
		igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, 0);
		igt_control_init(&c2, &dev, IGT_CONTROL_SLOTS, PERIOD_NS);
		memset(c2.setup.masks, 0, sizeof(c2.setup.masks));
		c2.setup.masks[2][0] = 0x5555555555555550;
		c2.setup.masks[4][0] = 0xfffffffff0f0f0f0;
		igt_assert_lt(0, igt_control_setup(&c2));
		igt_assert_neq(c.id, c2.id);
		start(&c, 1);
		igt_assert_eq(igt_control_command(&c2, IGT_CONTROL_START, 2), 0);
		periodic(&c2, 20);
		igt_control_sample(&c, 3);
		igt_known_work(&dev, 3);
		igt_known_truth(&dev, &after);
		igt_control_stop(&c2, 4);
		igt_control_stop(&c, 5);
		igt_control_compare(&c, &before, &after);
		igt_control_compare(&c2, &before, &after);
		igt_control_close(&c2);
		igt_control_close(&c);
	}
	igt_describe("a counter set of its own; another one in use makes START -EBUSY");
	igt_subtest("control-sets")
	{
		igt_control_init(&c, &dev, IGT_CONTROL_SLOTS, 0);
		c.setup.set = DRM_PERFCTR_SET_SECONDARY;
		igt_require(dev.info.sets & 1u << DRM_PERFCTR_SET_SECONDARY);
		igt_assert_lt(0, igt_control_setup(&c));
		igt_control_open(&c2, &dev, IGT_CONTROL_SLOTS, 0);
		igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), 0);
		igt_assert_eq(igt_control_command(&c2, IGT_CONTROL_START, 0), -EBUSY);
		igt_control_sample(&c, 1);
		igt_control_stop(&c, 2);
		igt_assert_eq(igt_control_command(&c2, IGT_CONTROL_START, 0), 0);
		igt_control_sample(&c2, 3);
		igt_control_stop(&c2, 4);
		igt_control_close(&c2);
		igt_control_close(&c);
	}
}

int igt_main()
{
	igt_fixture() {
		igt_require(igt_perfctr_open_any(&dev));
		igt_control_info(&dev, &c.info);
		/* a suspend between the truth and START or STOP powers cores down */
		igt_hold_power(&dev);
	}

	info_tests();
	manual_tests();
	periodic_tests();
	exact_tests();
	beside_tests();

	igt_fixture()
		igt_perfctr_close(&dev);
}
