// SPDX-License-Identifier: MIT
/**
 * TEST: PERF_CONTROL of jobs on panthor
 * Description: Jobs of a model of panthor's GPU, which knows what it counted (lab/mali). Without it
 *   the tests skip.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_control.h"
#include "igt_sys.h"

#define MODEL "/sys/kernel/debug/mali/"
#define PERIOD_NS (5 * MS)

static struct igt_perfctr_device dev;
static struct igt_control c;
static struct igt_perfctr_session own;

/* --- the model's counts -------------------------------------------------- */

#define MAX_TRUTH 4096

struct truth {
	unsigned int count;
	struct {
		unsigned int type, index, counter;
		unsigned long long value;
	} at[MAX_TRUTH];
};

/* before the first START and after the last, before the first STOP and after the last */
static struct truth before, started, after, ended;

/* counts that are zero are left out */
static void read_truth(struct truth *truth)
{
	static const char *const names[] = { "fw", "cshw", "tiler", "memsys", "shader", "neural" };
	char name[16];
	FILE *f = fopen(MODEL "truth", "re");

	igt_require_f(f, "%s: no model of a GPU\n", MODEL);
	truth->count = 0;
	while (fscanf(f, "%15s %u %u %llu", name, &truth->at[truth->count].index,
		      &truth->at[truth->count].counter, &truth->at[truth->count].value) == 4)
		for (unsigned int type = 0; type < ARRAY_SIZE(names); type++)
			if (!strcmp(name, names[type])) {
				truth->at[truth->count].type = type + 1;
				igt_assert_lt(++truth->count, MAX_TRUTH);
				break;
			}
	fclose(f);
}

static unsigned long long value_of(const struct truth *truth, unsigned int type, unsigned int index,
				   unsigned int counter)
{
	for (unsigned int i = 0; i < truth->count; i++)
		if (truth->at[i].type == type && truth->at[i].index == index &&
		    truth->at[i].counter == counter)
			return truth->at[i].value;
	return 0;
}

/* perfctr's own sum of a counter, if it was measured in every sample */
static bool own_sum(unsigned int type, unsigned int index, unsigned int counter, uint64_t *value)
{
	for (unsigned int i = 0; i < own.layout.block_count; i++) {
		const struct igt_perfctr_sum *sum = &own.sums[i];

		if (sum->type != type || sum->index != index || sum->section != counter / 64)
			continue;
		*value = sum->value[counter % 64];
		return sum->valid >> counter % 64 & 1;
	}
	return false;
}

/*
 * Cycles, interrupts, flushes and requests of the MMU: they also happen while firmware does not
 * count, when the GPU gets or loses power.
 */
static bool is_of_power(unsigned int type, unsigned int counter)
{
	return type == DRM_PERFCTR_MALI_BLOCK_MEMSYS ||
	       (type == DRM_PERFCTR_MALI_BLOCK_CSHW && counter < 16);
}

/*
 * Each counter that was measured has the model's count, here and in perfctr's own session, unless
 * it changes without jobs: those count time and the firmware's own work. @complete: else some
 * counts were lost, and no counter of the tiler has more than the model.
 */
static void compare(bool complete)
{
	unsigned int counted = 0;

	for (unsigned int type = 0; type < IGT_CONTROL_TYPES; type++)
		for (unsigned int b = 0; b < c.info.blocks[type]; b++) {
			uint16_t index = igt_control_physical(&dev, type + 1, b);

			for (unsigned int n = 4; n < c.info.counters; n++) {
				uint64_t value = c.sums[type][b][n], theirs;
				uint64_t truth = value_of(&after, type + 1, index, n) -
						 value_of(&before, type + 1, index, n);

				if (!own_sum(type + 1, index, n, &theirs) ||
				    is_of_power(type + 1, n) ||
				    value_of(&started, type + 1, index, n) !=
					    value_of(&before, type + 1, index, n) ||
				    value_of(&ended, type + 1, index, n) !=
					    value_of(&after, type + 1, index, n))
					continue;
				if (complete) {
					igt_assert_f(theirs == truth && value == truth,
						     "block %u:%u counter %u: %llu and %llu "
						     "measured, %llu true\n",
						     type + 1, index, n, (unsigned long long)theirs,
						     (unsigned long long)value,
						     (unsigned long long)truth);
					counted += !!value;
				} else if (type + 1 == DRM_PERFCTR_MALI_BLOCK_TILER) {
					igt_assert(!complete);
					igt_assert_lte_u64(value, truth);
					counted += !!value;
				}
			}
		}
	/* of blocks of 128 counters firmware measures few that jobs change */
	igt_assert_lt(!complete ? 0 : c.info.counters > 64 ? 2 : 8, counted);
}

/* so many jobs of all kinds, so many ms apart */
static void run_jobs(unsigned int jobs, unsigned int ms)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "mali-job -q -d /dev/dri/renderD%d -n %u -s %u draw=33,2 fragment=70,50 "
		 "compute=5,3,2 store",
		 dev.minor, jobs, ms);
	igt_assert_eq(system(command), 0);
}

/* both interfaces, of which perfctr's own has the same span */
static void begin(uint64_t period_ns)
{
	igt_control_open(&c, &dev, IGT_CONTROL_SLOTS, period_ns);
	igt_perfctr_session_open_with(&own, &dev, 64, 0);
	read_truth(&before);
	igt_assert_eq(igt_perfctr_start(&own, 0), 0);
	igt_assert_eq(igt_control_command(&c, IGT_CONTROL_START, 0), 0);
	read_truth(&started);
}

static void end(void)
{
	read_truth(&after);
	igt_control_stop(&c, 0);
	igt_perfctr_finish(&own);
	read_truth(&ended);
	igt_assert_eq_u64(c.indices[0], c.indices[1]);
	igt_assert(!igt_control_ready(&c, 0));
}

/*
 * Compares. On a machine that stood still until the driver reset the GPU, or that did not answer in
 * time, counts are lost: then perfctr's own session reports that, and samples are flagged.
 */
static void end_complete(void)
{
	struct drm_perfctr_status status;

	end();
	status = igt_perfctr_status(&own);
	if (!status.resets && !status.errors && !status.lost_ns) {
		igt_assert_eq_u64(c.flagged, 0);
		compare(true);
	} else {
		igt_info("incomplete: %llu resets, %llu errors, %llu ns lost, %llu flagged\n",
			 (unsigned long long)status.resets, (unsigned long long)status.errors,
			 (unsigned long long)status.lost_ns, (unsigned long long)c.flagged);
		igt_assert_lte_u64(1, c.flagged);
		compare(false);
	}
}

static void close_both(void)
{
	igt_perfctr_session_close(&own);
	igt_control_close(&c);
}

/* --- tests --------------------------------------------------------------- */

static void job_tests(void)
{
	igt_describe("40 jobs, each with a SAMPLE after it: every block has the model's counts");
	igt_subtest("panthor-jobs")
	{
		begin(0);
		for (unsigned int n = 0; n < 40; n++) {
			run_jobs(1, 0);
			igt_control_sample(&c, n);
		}
		end_complete();
		igt_assert_eq_u64(c.samples, 41);
		close_both();
	}
	igt_describe("periodic samples of jobs that are read as they come: the model's counts");
	igt_subtest("panthor-periodic")
	{
		begin(PERIOD_NS);
		for (unsigned int n = 0; n < 20; n++) {
			run_jobs(5, 3);
			igt_control_drain(&c);
		}
		end_complete();
		igt_assert_lt(10, c.samples);
		close_both();
	}
	igt_describe("the GPU suspends between jobs: the model's counts");
	igt_subtest("panthor-suspend")
	{
		begin(0);
		run_jobs(5, 200);
		igt_control_sample(&c, 1);
		igt_await_suspend(&dev);
		igt_control_sample(&c, 2);
		run_jobs(1, 0);
		end_complete();
		close_both();
	}
	igt_describe("a reset: samples that miss counts are flagged, later ones count again");
	igt_subtest("panthor-reset")
	{
		begin(PERIOD_NS);
		run_jobs(5, 0);
		igt_require_write(MODEL "fail_unrecoverable", "1");
		igt_assert_neq(system("mali-job -q store >/dev/null"), 0);
		igt_control_drain(&c);
		run_jobs(5, 0);
		igt_sleep_ms(50);
		igt_control_drain(&c);
		end();
		igt_assert_lte_u64(1, c.flagged);
		compare(false);
		close_both();
		begin(0);
		run_jobs(3, 0);
		end_complete();
		close_both();
	}
}

int igt_main()
{
	igt_fixture()
		igt_require(igt_perfctr_open_any(&dev) && !strcmp(dev.driver, "panthor"));

	job_tests();

	igt_fixture()
		igt_perfctr_close(&dev);
}
