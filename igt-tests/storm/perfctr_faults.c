// SPDX-License-Identifier: MIT
/**
 * TEST: Under every hardware fault, samples are correct and flag what is missing
 * Description: Faults by name, each on a device with two sessions, beside another device without
 *   faults.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_vsoc.h"
#include "igt_target.h"
#include "igt_account.h"
#include "igt_sys.h"

#define OTHER 9
/* two cores, densely numbered, one slice, wide blocks, a short ring */
#define OTHER_SHAPE \
	"9 shader_present=0x12 l2_slices=1 counters_per_block=128 shader_dense=1 fw_slots=4"
/* covers several waits for firmware that time out */
#define TIME_LIMIT_NS (60000 * MS)
/* the core collects at least so often: half the time in which a register may wrap */
#define WRAP_NS (250 * MS)
/* rounds of work and samples after which the fault has no more effect */
#define ROUNDS 4
#define CPU1 "/sys/devices/system/cpu/cpu1/online"
/* half of the counters, so that the sessions differ */
#define SECOND_MASK 0x5555555555555555ull

#define ERROR DRM_PERFCTR_SAMPLE_ERROR
#define OVERFLOW DRM_PERFCTR_SAMPLE_OVERFLOW
#define RESET DRM_PERFCTR_SAMPLE_RESET

#define TYPE(name) (1u << DRM_PERFCTR_MALI_BLOCK_##name)
#define ALL_TYPES (TYPE(FW) | TYPE(CSHW) | TYPE(TILER) | TYPE(MEMSYS) | TYPE(SHADER))
#define NO_TYPE 0

static struct igt_perfctr_device dev, other;
static struct igt_vsoc_totals totals;

static struct igt_accounted first, second, beside, fabric;

/* actions that trigger a fault */
static int job_status(void)
{
	struct drm_vsoc_command commands[3];

	igt_vsoc_mixed(commands, 3);
	return igt_vsoc_wait(&dev, igt_vsoc_submit(&dev, commands, 3)).status;
}

static int submit_errno(bool with_fence)
{
	struct drm_vsoc_command commands[3];
	uint64_t job = 0;
	int fence, ret;

	igt_vsoc_mixed(commands, 4);
	ret = igt_vsoc_submit_to(dev.fd, 0, commands, 3, &job, with_fence ? &fence : NULL);
	if (!ret && with_fence)
		close(fence);
	if (!ret)
		igt_assert_eq(igt_vsoc_wait(&dev, job).status, 0);
	return ret;
}

static void job_hang(void)
{
	/* the watchdog resets the GPU */
	igt_assert_eq(job_status(), -ECANCELED);
}

/* the job has ended when the late watchdog checks */
static void watchdog_late(void)
{
	/* before counts are collected because registers might wrap */
	igt_vsoc_debugfs(&dev, "fail_delay_ms", "10");
	igt_fault_arm(&dev, "job_hang", 1);
	job_hang();
	igt_vsoc_debugfs(&dev, "fail_delay_ms", "150");
	igt_assert_eq(igt_fault_disarm(&dev, "job_hang"), 1);
}

static void request(void)
{
	int ret;

	ret = igt_perfctr_sample(&first.s, 7);
	/* a flagged sample or an errno */
	igt_assert_f(!ret || ret == -EIO || ret == -ETIMEDOUT, "sample: %d\n", ret);
}

static void job_fault(void)
{
	igt_assert_eq(job_status(), -EIO);
}

static void alloc_job(void)
{
	igt_assert_eq(submit_errno(false), -ENOMEM);
	igt_assert_eq(submit_errno(false), 0);
}

static void alloc_fence(void)
{
	igt_assert_eq(submit_errno(true), -ENOMEM);
	igt_assert_eq(submit_errno(true), 0);
}

static void alloc_ctx(void)
{
	struct drm_vsoc_ctx_create create = { 0 };

	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), -ENOMEM);
	igt_assert_eq(igt_perfctr_ioctl(dev.fd, DRM_IOCTL_VSOC_CTX_CREATE, &create), 0);
}

static void alloc_file(void)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/dri/renderD%d", dev.minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	igt_assert(fd < 0 && errno == ENOMEM);
	fd = open(path, O_RDWR | O_CLOEXEC);
	igt_assert(fd >= 0);
	close(fd);
}

/* A third session on the fabric is exact or flagged while @fault hits a PMU. */
static void count_with_pmu_fault(const char *fault, void (*trouble)(void))
{
	igt_fault_disarm(&dev, fault);
	igt_accounted_open(&fabric, &dev, ~0ull, 0, true);
	igt_assert_eq(igt_perfctr_start(&fabric.s, 0), 0);
	igt_vsoc_work(&dev, 2);
	igt_fault_arm(&dev, fault, 1);
	trouble();
	igt_vsoc_work(&dev, 4);
	igt_assert_eq(igt_perfctr_stop(&fabric.s, 0), 0);
	igt_assert_eq(igt_fault_hits(&dev, fault), 1);
	igt_assert_eq_u32(fabric.s.flags & ~IGT_ORDINARY_FLAGS, 0);
	igt_accounted_close(&fabric);
	igt_assert_eq_u64(fabric.account.truth, fabric.account.counts);
	igt_assert_lt(0, fabric.account.ucf_bytes);
}

static void read_pmu(void)
{
	igt_perfctr_sample_and_drain(&fabric.s);
}

static void switch_cpu(void)
{
	igt_require_f(!access(CPU1, W_OK), "CPU 1 cannot be taken offline\n");
	igt_assert_eq(igt_write(CPU1, "0"), 0);
	igt_assert_eq(igt_write(CPU1, "1"), 0);
}

static void pmu_slow(void)
{
	count_with_pmu_fault("pmu_slow", read_pmu);
}

static void pmu_affinity(void)
{
	count_with_pmu_fault("pmu_affinity", switch_cpu);
}

static void unplugged(void);

static const struct {
	const char *name;
	/*
	 * called after some work; NULL: work, a power-off of cores and a sample trigger the fault
	 */
	void (*provoke)(void);
	/* flags that the samples must have, and may have */
	uint32_t must, may;
	/* types of blocks that lack counts */
	uint32_t lacks;
	/* number of such blocks; 0: all */
	unsigned int blocks;
	/* time is lost, even if nothing was counted in it */
	bool loses;
	/* replaces the usual steps: the fault removes the device or needs another product */
	void (*instead)(void);
} faults[] = {
	{ "lost_doorbell", NULL, ERROR, 0, NO_TYPE, 0, false, NULL },
	{ "slow_doorbell", NULL, 0, ERROR, NO_TYPE, 0, false, NULL },
	{ "no_ack", NULL, ERROR, 0, NO_TYPE, 0, false, NULL },
	{ "late_ack", NULL, ERROR, 0, NO_TYPE, 0, false, NULL },
	{ "double_ack", NULL, 0, ERROR, NO_TYPE, 0, false, NULL },
	{ "ack_without_sample", NULL, 0, 0, NO_TYPE, 0, false, NULL },
	{ "spurious_irq", NULL, 0, ERROR, NO_TYPE, 0, false, NULL },
	{ "lost_irq", NULL, 0, 0, NO_TYPE, 0, false, NULL },
	{ "extra_sample", NULL, 0, 0, NO_TYPE, 0, false, NULL },
	{ "insert_beyond", NULL, ERROR, 0, ALL_TYPES, 0, true, NULL },
	{ "insert_backwards", NULL, ERROR, 0, ALL_TYPES, 0, true, NULL },
	{ "garbage_header", NULL, ERROR, 0, ALL_TYPES, 1, true, NULL },
	{ "garbage_metadata", request, ERROR, 0, NO_TYPE, 0, false, NULL },
	{ "torn_write", NULL, ERROR, 0, TYPE(SHADER), 2, true, NULL },
	{ "seq_jump", NULL, 0, 0, NO_TYPE, 0, false, NULL },
	{ "time_backwards", NULL, ERROR, 0, ALL_TYPES, 0, true, NULL },
	{ "clock_stop", request, ERROR, 0, NO_TYPE, 0, false, NULL },
	{ "counter_wrap", NULL, 0, 0, NO_TYPE, 0, false, NULL },
	/* Covers: DRM_PERFCTR_STATE_SATURATED, DRM_PERFCTR_STATE_LOST, DRM_PERFCTR_STATE_ERROR */
	{ "saturation", NULL, 0, 0, TYPE(CSHW), 0, false, NULL },
	{ "threshold_storm", NULL, 0, ERROR, NO_TYPE, 0, false, NULL },
	/* Covers: DRM_PERFCTR_SAMPLE_OVERFLOW */
	{ "overflow", NULL, OVERFLOW, 0, ALL_TYPES, 0, true, NULL },
	{ "status_failed", NULL, ERROR, 0, NO_TYPE, 0, true, NULL },
	{ "fw_restart", request, ERROR, OVERFLOW, ALL_TYPES, 0, true, NULL },
	/* Covers: DRM_PERFCTR_STATE_SATURATED, DRM_PERFCTR_STATE_LOST */
	{ "power_loss", NULL, ERROR, 0, TYPE(SHADER), 3, true, NULL },
	{ "power_loss_mid_sample", NULL, ERROR, 0, TYPE(SHADER), 0, true, NULL },
	{ "reset_in_request", request, RESET, ERROR, ALL_TYPES, 0, true, NULL },
	{ "job_hang", job_hang, RESET, ERROR, ALL_TYPES, 0, true, NULL },
	{ "watchdog_late", watchdog_late, RESET, ERROR, ALL_TYPES, 0, true, NULL },
	{ "job_fault", job_fault, 0, 0, NO_TYPE, 0, false, NULL },
	{ "pmu_slow", pmu_slow, 0, 0, NO_TYPE, 0, false, NULL },
	{ "pmu_affinity", pmu_affinity, 0, 0, NO_TYPE, 0, false, NULL },
	{ "alloc_job", alloc_job, 0, 0, NO_TYPE, 0, false, NULL },
	{ "alloc_fence", alloc_fence, 0, 0, NO_TYPE, 0, false, NULL },
	{ "alloc_ctx", alloc_ctx, 0, 0, NO_TYPE, 0, false, NULL },
	{ "alloc_file", alloc_file, 0, 0, NO_TYPE, 0, false, NULL },
	{ "unplug_in_request", .instead = unplugged },
};
#define FAULTS ARRAY_SIZE(faults)

static void assert_clean(const struct igt_accounted *a)
{
	igt_assert_eq_u32(a->s.last.flags & ~IGT_ORDINARY_FLAGS, 0);
	igt_assert_eq_u64(a->s.last.lost_ns, 0);
}

static unsigned int blocks_of_types(const struct igt_perfctr_session *s, uint32_t types)
{
	unsigned int n = 0;

	for (unsigned int b = 0; b < s->layout.block_count; b++)
		n += types >> s->sums[b].type & 1;
	return n;
}

/* only blocks of these @types report a loss */
static void assert_unaffected(const struct igt_perfctr_session *s, uint32_t types)
{
	const uint32_t fault_states = DRM_PERFCTR_STATE_ERROR | DRM_PERFCTR_STATE_LOST |
				      DRM_PERFCTR_STATE_SATURATED;

	for (unsigned int b = 0; types != ALL_TYPES && b < s->layout.block_count; b++)
		if (!(types >> s->sums[b].type & 1))
			igt_assert_eq_u32(s->sums[b].states & fault_states, 0);
}

/* how long it took to provoke the fault */
static uint64_t provoked_ns;

static void assert_flagged(struct igt_accounted *a, unsigned int i)
{
	struct igt_perfctr_session *s = &a->s;
	unsigned int expected = faults[i].blocks ?: blocks_of_types(s, faults[i].lacks);
	const uint32_t flags = s->flags;
	const uint64_t lost_ns = s->lost_ns;

	igt_assert_eq_u32(flags & faults[i].must, faults[i].must);
	igt_assert_eq_u32(flags & ~(faults[i].must | faults[i].may | IGT_ORDINARY_FLAGS), 0);
	igt_assert_eq(lost_ns != 0, faults[i].loses);
	if (!faults[i].loses || faults[i].lacks)
		assert_unaffected(s, faults[i].lacks);
	igt_accounted_close(a);
	igt_info("flags %#x, %.3f ms lost; of %llu counts %llu destroyed, %llu refused\n", flags,
		 lost_ns * 1e-6, (unsigned long long)a->account.truth,
		 (unsigned long long)a->account.dropped, (unsigned long long)a->account.refused);
	igt_assert_eq_u32(a->account.types_missing & ~faults[i].lacks, 0);
	/* on a slow machine counts were collected before the fault, as registers might wrap */
	if (faults[i].provoke && provoked_ns > WRAP_NS && !a->account.blocks_missing)
		return;
	igt_assert_eq(a->account.blocks_missing, expected);
}

/* remove sessions of a failed or skipped subtest; mappings keep their file open */
static void begin_anew(void)
{
	igt_perfctr_session_close(&first.s);
	igt_perfctr_session_close(&second.s);
	igt_perfctr_session_close(&beside.s);
	igt_perfctr_session_close(&fabric.s);
	igt_perfctr_close(&dev);
	igt_vsoc_driver("del_device", "9");
	igt_assert(igt_perfctr_open_device(&dev, "vsoc.0"));
}

static void fault(unsigned int i)
{
	const char *name = faults[i].name;
	const uint64_t t0 = igt_raw_ns();
	unsigned int hits;

	begin_anew();
	igt_vsoc_add(&other, OTHER_SHAPE);
	igt_accounted_open(&first, &dev, ~0ull, 0, false);
	igt_accounted_open(&second, &dev, SECOND_MASK, 0, false);
	igt_accounted_open(&beside, &other, ~0ull, 5 * MS, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&second.s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&beside.s, 0), 0);

	/* cores are on, and all counts have been collected */
	igt_vsoc_work(&dev, 5);
	igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&second.s, 0), 0);
	provoked_ns = igt_raw_ns();
	if (faults[i].provoke)
		/* counts that firmware has not collected yet */
		igt_vsoc_work(&dev, 7);
	igt_fault_arm(&dev, name, 1);
	if (faults[i].provoke)
		faults[i].provoke();
	provoked_ns = igt_raw_ns() - provoked_ns;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		igt_vsoc_work(&other, round);
		igt_vsoc_work(&dev, round);
		/* cores power off, where one fault happens */
		igt_vsoc_debugfs(&dev, "cores_on", "0x1");
		igt_assert_eq(igt_perfctr_sample(&first.s, round), 0);
		igt_assert_eq(igt_perfctr_sample(&second.s, round), 0);
		igt_perfctr_drain(&first.s);
		igt_perfctr_drain(&second.s);
	}
	hits = igt_fault_disarm(&dev, name);
	igt_assert_eq(hits, 1);
	assert_clean(&first);
	assert_clean(&second);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&second.s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&beside.s, 0), 0);
	igt_assert_lte_u64(igt_raw_ns() - t0, TIME_LIMIT_NS);
	igt_perfctr_drain(&first.s);
	igt_perfctr_drain(&second.s);
	igt_perfctr_drain(&beside.s);
	assert_clean(&first);
	assert_clean(&second);
	assert_flagged(&first, i);
	assert_flagged(&second, i);

	/* the other device is unaffected */
	igt_assert_eq_u32(beside.s.flags & ~IGT_ORDINARY_FLAGS, 0);
	igt_assert_eq_u64(beside.s.lost_ns, 0);
	igt_accounted_close(&beside);
	igt_assert_eq_u64(beside.account.truth, beside.account.counts);
	igt_vsoc_remove(&other, OTHER);

	/* the next session is fault-free */
	igt_vsoc_settle(&dev);
	igt_accounted_open(&first, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_vsoc_work(&dev, 9);
	igt_perfctr_finish(&first.s);
	igt_assert_eq_u32(first.s.flags & ~IGT_ORDINARY_FLAGS, 0);
	igt_accounted_close(&first);
	igt_assert_eq_u64(first.account.truth, first.account.counts);
}

/* The device is removed instead of answering; samples have all earlier counts. */
static void unplugged(void)
{
	uint64_t t0;
	int ret;

	begin_anew();
	igt_vsoc_add(&other, OTHER_SHAPE);
	igt_accounted_open(&first, &other, ~0ull, 0, false);
	igt_accounted_open(&second, &other, SECOND_MASK, 0, false);
	igt_accounted_open(&beside, &dev, ~0ull, 2 * MS, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&second.s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&beside.s, 0), 0);
	igt_vsoc_work(&other, 2);
	igt_vsoc_work(&dev, 2);
	igt_vsoc_totals(&other, DRM_PERFCTR_SET_PRIMARY, &totals);
	igt_fault_arm(&other, "unplug_in_request", 1);
	t0 = igt_raw_ns();
	ret = igt_perfctr_sample(&first.s, 7);
	igt_assert_f(!ret || ret == -ENODEV || ret == -EIO || ret == -ETIMEDOUT, "sample: %d\n",
		     ret);
	while (first.s.control->state != DRM_PERFCTR_RING_DEAD && igt_raw_ns() - t0 < TIME_LIMIT_NS)
		usleep(1000);
	for (unsigned int i = 0; i < 2; i++) {
		struct igt_accounted *a = i ? &second : &first;

		igt_assert_eq_u32(a->s.control->state, DRM_PERFCTR_RING_DEAD);
		igt_perfctr_drain(&a->s);
		igt_assert(a->s.last.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
		igt_assert_eq(igt_perfctr_sample(&a->s, 8), -ENODEV);
		igt_assert_eq_u64(a->s.lost_ns, 0);
		igt_assert_eq_u64(igt_account_settle(&a->account, &totals), 0);
		igt_perfctr_session_close(&a->s);
	}
	igt_vsoc_work(&dev, 3);
	igt_perfctr_finish(&beside.s);
	igt_assert_eq_u32(beside.s.flags & ~IGT_ORDINARY_FLAGS, 0);
	igt_accounted_close(&beside);
	igt_assert_eq_u64(beside.account.truth, beside.account.counts);
	igt_vsoc_remove(&other, OTHER);
}

static void every_fault(void)
{
	const struct igt_target all = { .dev = dev };
	unsigned int found = 0;

	igt_target_find(&all);
	igt_assert_lt(0, igt_target_fault_count());
	for (unsigned int n = 0; n < igt_target_fault_count(); n++) {
		const char *name = igt_target_fault(n) + strlen("fail_");
		unsigned int i = 0;

		/* perfctr_pcounter has these */
		if (!strncmp(name, "pcounter_", strlen("pcounter_")))
			continue;
		while (i < FAULTS && strcmp(faults[i].name, name))
			i++;
		found++;
		igt_assert_f(i < FAULTS, "fail_%s of debugfs is in no row of the table\n", name);
	}
	igt_assert_eq(found, FAULTS);
}

static void refused(void)
{
	static const char *const bad[] = { "x",	      "-1",	"1001",	    "4294967296",
					   "1000 -1", "1000 x", "1000 1 1", "1000 4294967296",
					   "1000,1",  "times=1" };
	unsigned int permille, times, hits;
	char path[96];
	FILE *f;

	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "fail_no_ack", " 5   7 \n"), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		igt_assert_lt(igt_vsoc_debugfs_try(&dev, "fail_no_ack", bad[i]), 0);
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc/fail_no_ack", dev.minor);
	f = fopen(path, "r");
	igt_assert(f);
	igt_assert_eq(fscanf(f, "%u %u %u", &permille, &times, &hits), 3);
	fclose(f);
	igt_assert_eq_u32(permille, 5);
	igt_assert_eq_u32(times, 7);
	igt_assert_eq(igt_vsoc_debugfs_try(&dev, "fail_no_ack", "0"), 0);
}

int igt_main()
{
	static char names[FAULTS][48];

	igt_fixture() {
		igt_require_f(igt_perfctr_open_device(&dev, "vsoc.0"), "no virtual SoC\n");
	}
	for (unsigned int i = 0; i < FAULTS; i++) {
		snprintf(names[i], sizeof(names[i]), "fault-%s", faults[i].name);
		for (char *c = names[i]; *c; c++)
			if (*c == '_')
				*c = '-';
		igt_describe("with this fault, samples of two sessions are exact or flagged, the "
			     "effect ends soon, and another device is exact");
		igt_subtest(names[i])
		{
			if (faults[i].instead)
				faults[i].instead();
			else
				fault(i);
		}
	}
	igt_describe("each fault of the device's GPU and PMUs is one of the above");
	igt_subtest("fault-every-name") every_fault();
	igt_describe("an invalid probability or number of times is refused and changes nothing");
	igt_subtest("fault-refused") refused();
}
