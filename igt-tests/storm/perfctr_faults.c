// SPDX-License-Identifier: MIT
/**
 * TEST: Under every hardware fault, samples are correct and flag what is missing
 * Description: Faults by name, each on a device with two sessions, beside another device
 *   without faults.
 *
 * SUBTEST: fault-%s
 * Description: with the fault %arg[1], samples of two sessions are exact or flagged, the effect
 *   ends soon, and another device is exact
 *
 * arg[1].values: lost-doorbell, slow-doorbell, no-ack, late-ack, double-ack, ack-without-sample
 * arg[1].values: spurious-irq, lost-irq, extra-sample, insert-beyond, insert-backwards
 * arg[1].values: garbage-header, garbage-metadata, torn-write, seq-jump, time-backwards
 * arg[1].values: clock-stop, counter-wrap, saturation, threshold-storm, overflow, status-failed
 * arg[1].values: fw-restart, power-loss, reset-in-request, job-hang, watchdog-late, job-fault
 * arg[1].values: pmu-slow, pmu-gone, pmu-affinity, alloc-job, alloc-fence, alloc-ctx, alloc-file
 * arg[1].values: power-loss-mid-sample, unplug-in-request, pcounter-lost, pcounter-late
 * arg[1].values: pcounter-twice
 */
/**
 * SUBTEST: %s
 * Description: %arg[1]
 *
 * arg[1]:
 * @fault-every-name: each fault that the device has is one of the above
 * @fault-start: START is -ETIMEDOUT in bounded time if hardware never answers, -EIO if its
 *   answer is invalid, and works when it answers again
 * @fault-silent-firmware: hardware that stops answering gives samples with ERROR rather than
 *   errors, and STOP still delivers
 * @fault-silent-for-seconds: hardware that does not start is retried once a second, and counts
 *   exactly once it does
 * @fault-stop-unanswered: a final sample without an answer has LOST in every block; another
 *   session gets all the counts when hardware answers again
 * @fault-stop-unanswered-power: after a STOP without an answer nothing keeps the GPU awake
 * @fault-stop-unanswered-alone: without another session, counts of a final sample without an
 *   answer are reported, destroyed, or still with the hardware
 * @fault-garbage-metadata-poweroff: cores that power off with a sample of invalid metadata have
 *   LOST, though their counts are there
 * @fault-garbage-metadata-power-loss: cores that power off without a sample after invalid
 *   metadata lack counts and have LOST
 * @fault-start-half-answered: START is refused if hardware gives only a part of the earlier
 *   counts
 * @fault-refused: an invalid probability or number of times is refused and changes nothing
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_vsoc_device.h"
#include "igt_target.h"
#include "igt_account.h"
#include "igt_sys.h"

#define MS 1000000ull
#define OTHER 9
/* two cores, densely numbered, one slice, wide blocks, a short ring */
#define OTHER_SHAPE \
	"9 shader_present=0x12 l2_slices=1 counters_per_block=128 shader_dense=1 fw_slots=4"
/* several waits for firmware that end by their deadlines; without faults nothing comes near */
#define TIME_LIMIT_NS (10000 * MS)
/* rounds of work and samples after which the fault has no more effect */
#define ROUNDS 4
#define CPU1 "/sys/devices/system/cpu/cpu1/online"
/* half of the counters, so that the second session is no copy of the first one */
#define SECOND_MASK 0x5555555555555555ull

/* flags that any sample may have */
#define ORDINARY                                                                              \
	(DRM_PERFCTR_SAMPLE_MANUAL | DRM_PERFCTR_SAMPLE_PERIODIC | DRM_PERFCTR_SAMPLE_FINAL | \
	 DRM_PERFCTR_SAMPLE_STRETCHED)
#define ERROR DRM_PERFCTR_SAMPLE_ERROR
#define OVERFLOW DRM_PERFCTR_SAMPLE_OVERFLOW
#define RESET DRM_PERFCTR_SAMPLE_RESET

#define TYPE(name) (1u << DRM_PERFCTR_MALI_BLOCK_##name)
#define ALL_TYPES (TYPE(FW) | TYPE(CSHW) | TYPE(TILER) | TYPE(MEMSYS) | TYPE(SHADER))
#define NO_TYPE 0

static struct igt_perfctr_device dev, other;
static struct igt_vsoc_totals before, totals;

struct account {
	struct igt_perfctr_session s;
	struct igt_account account;
};

static struct account first, second, beside, fabric;

/* --- what has to happen for a fault to find its place --- */

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

/* the job is over when the watchdog looks late, see also time@watchdog-too-late */
static void watchdog_late(void)
{
	igt_fault_arm(&dev, "job_hang", 1);
	job_hang();
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

static void open_account(struct account *a, const struct igt_perfctr_device *d, uint64_t mask,
			 uint64_t period_ns, bool with_ucf);
static void close_account(struct account *a);

/* A third session counts on the fabric, exactly or flagged, while @fault hits a PMU. */
static void count_with_pmu_fault(const char *fault, void (*trouble)(void))
{
	igt_fault_disarm(&dev, fault);
	open_account(&fabric, &dev, ~0ull, 0, true);
	igt_assert_eq(igt_perfctr_start(&fabric.s, 0), 0);
	igt_vsoc_work(&dev, 2);
	igt_fault_arm(&dev, fault, 1);
	trouble();
	igt_vsoc_work(&dev, 4);
	igt_assert_eq(igt_perfctr_stop(&fabric.s, 0), 0);
	igt_assert_eq(igt_fault_hits(&dev, fault), 1);
	igt_assert_eq_u32(fabric.s.flags & ~ORDINARY, 0);
	close_account(&fabric);
	igt_assert_eq_u64(fabric.account.truth, fabric.account.counts);
	igt_assert_lt(0, fabric.account.ucf_bytes);
}

static void read_pmu(void)
{
	igt_assert_eq(igt_perfctr_sample(&fabric.s, 0), 0);
	igt_perfctr_drain(&fabric.s);
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

static void pmu_gone(void)
{
	count_with_pmu_fault("pmu_gone", read_pmu);
	igt_vsoc_debugfs(&dev, "pmu_plug", "nvidia_ucf_pmu_0");
}

static void pmu_affinity(void)
{
	count_with_pmu_fault("pmu_affinity", switch_cpu);
}

static void unplugged(void);
static void swap_lost(void);
static void swap_late(void);
static void swap_twice(void);

/* --- the table --- */

static const struct {
	const char *name;
	/*
	 * called after some work; NULL: work, cores that power off, and a sample trigger the fault
	 */
	void (*provoke)(void);
	/* flags that the samples must have, and flags that they may have; all others are errors */
	uint32_t must, may;
	/* types of blocks that lack counts; the others have all of them */
	uint32_t lacks;
	/* number of such blocks; 0: all */
	unsigned int blocks;
	/* time is lost, even if nothing was counted in it */
	bool loses;
	/*
	 * runs instead of the usual steps: the device does not survive the fault, or another
	 * product has it
	 */
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
	{ "pmu_gone", pmu_gone, 0, 0, NO_TYPE, 0, false, NULL },
	{ "pmu_affinity", pmu_affinity, 0, 0, NO_TYPE, 0, false, NULL },
	/* Covers: vsoc_submit -ENOMEM */
	{ "alloc_job", alloc_job, 0, 0, NO_TYPE, 0, false, NULL },
	/* Covers: vsoc_submit -ENOMEM */
	{ "alloc_fence", alloc_fence, 0, 0, NO_TYPE, 0, false, NULL },
	/* Covers: vsoc_ctx_create -ENOMEM */
	{ "alloc_ctx", alloc_ctx, 0, 0, NO_TYPE, 0, false, NULL },
	{ "alloc_file", alloc_file, 0, 0, NO_TYPE, 0, false, NULL },
	{ "unplug_in_request", .instead = unplugged },
	{ "pcounter_lost", .instead = swap_lost },
	{ "pcounter_late", .instead = swap_late },
	{ "pcounter_twice", .instead = swap_twice },
};
#define FAULTS ARRAY_SIZE(faults)

/* --- one fault --- */

static void open_account(struct account *a, const struct igt_perfctr_device *d, uint64_t mask,
			 uint64_t period_ns, bool with_ucf)
{
	igt_perfctr_session_init(&a->s, d);
	for (unsigned int i = 0; i < a->s.setup.request_count; i++)
		a->s.requests[i].mask &= mask;
	if (with_ucf)
		igt_require_f(igt_perfctr_add_ucf(&a->s), "no PMU nvidia_ucf_pmu_0\n");
	a->s.setup.slots = 64;
	a->s.setup.period_ns = period_ns;
	igt_perfctr_session_create(&a->s);
	igt_account_open(&a->account, &a->s, DRM_PERFCTR_SET_PRIMARY);
}

/* each session had its final sample */
static void close_account(struct account *a)
{
	igt_vsoc_totals(a->s.dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	igt_perfctr_drain(&a->s);
	igt_account_settle(&a->account, &totals);
	igt_perfctr_session_fini(&a->s);
}

static void assert_clean(const struct account *a)
{
	igt_assert_eq_u32(a->s.last.flags & ~ORDINARY, 0);
	igt_assert_eq_u64(a->s.last.lost_ns, 0);
}

static unsigned int blocks_of_types(const struct igt_perfctr_session *s, uint32_t types)
{
	unsigned int n = 0;

	for (unsigned int b = 0; b < s->setup.block_count; b++)
		n += types >> s->sums[b].type & 1;
	return n;
}

/* blocks other than these report no loss */
static void assert_unaffected(const struct igt_perfctr_session *s, uint32_t types)
{
	const uint32_t fault_states = DRM_PERFCTR_STATE_ERROR | DRM_PERFCTR_STATE_LOST |
				      DRM_PERFCTR_STATE_SATURATED;

	for (unsigned int b = 0; types != ALL_TYPES && b < s->setup.block_count; b++)
		if (!(types >> s->sums[b].type & 1))
			igt_assert_eq_u32(s->sums[b].states & fault_states, 0);
}

static void assert_flagged(struct account *a, unsigned int i)
{
	struct igt_perfctr_session *s = &a->s;
	unsigned int expected = faults[i].blocks ?: blocks_of_types(s, faults[i].lacks);
	const uint32_t flags = s->flags;
	const uint64_t lost_ns = s->lost_ns;

	igt_assert_eq_u32(flags & faults[i].must, faults[i].must);
	igt_assert_eq_u32(flags & ~(faults[i].must | faults[i].may | ORDINARY), 0);
	igt_assert_eq(lost_ns != 0, faults[i].loses);
	if (!faults[i].loses || faults[i].lacks)
		assert_unaffected(s, faults[i].lacks);
	close_account(a);
	igt_info("flags %#x, %.3f ms lost; of %llu counts %llu destroyed, %llu refused\n", flags,
		 lost_ns * 1e-6, (unsigned long long)a->account.truth,
		 (unsigned long long)a->account.dropped, (unsigned long long)a->account.refused);
	igt_assert_eq_u32(a->account.types_missing & ~faults[i].lacks, 0);
	igt_assert_eq(a->account.blocks_missing, expected);
}

/* remove sessions of a failed or skipped subtest; mappings keep their file open */
static void begin_anew(void)
{
	igt_perfctr_session_unmap(&first.s);
	igt_perfctr_session_unmap(&second.s);
	igt_perfctr_session_unmap(&beside.s);
	igt_perfctr_session_unmap(&fabric.s);
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
	open_account(&first, &dev, ~0ull, 0, false);
	open_account(&second, &dev, SECOND_MASK, 0, false);
	open_account(&beside, &other, ~0ull, 5 * MS, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&second.s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&beside.s, 0), 0);

	/* cores are on, and all counts have been collected */
	igt_vsoc_work(&dev, 5);
	igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_sample(&second.s, 0), 0);
	if (faults[i].provoke)
		/* counts that firmware has not collected yet */
		igt_vsoc_work(&dev, 7);
	igt_fault_arm(&dev, name, 1);
	if (faults[i].provoke)
		faults[i].provoke();
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
	igt_assert_eq_u32(beside.s.flags & ~ORDINARY, 0);
	igt_assert_eq_u64(beside.s.lost_ns, 0);
	close_account(&beside);
	igt_assert_eq_u64(beside.account.truth, beside.account.counts);
	igt_vsoc_remove(&other, OTHER);

	/* and the next session is fault-free */
	igt_vsoc_settle(&dev);
	open_account(&first, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_vsoc_work(&dev, 9);
	igt_perfctr_finish(&first.s);
	igt_assert_eq_u32(first.s.flags & ~ORDINARY, 0);
	close_account(&first);
	igt_assert_eq_u64(first.account.truth, first.account.counts);
}

/*
 * The device is removed instead of answering: samples have all earlier counts, other devices
 * continue.
 */
static void unplugged(void)
{
	uint64_t t0;
	int ret;

	begin_anew();
	igt_vsoc_add(&other, OTHER_SHAPE);
	open_account(&first, &other, ~0ull, 0, false);
	open_account(&second, &other, SECOND_MASK, 0, false);
	open_account(&beside, &dev, ~0ull, 2 * MS, false);
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
		struct account *a = i ? &second : &first;

		igt_assert_eq_u32(a->s.control->state, DRM_PERFCTR_RING_DEAD);
		igt_perfctr_drain(&a->s);
		igt_assert(a->s.last.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
		igt_assert_eq(igt_perfctr_sample(&a->s, 8), -ENODEV);
		igt_assert_eq_u64(a->s.lost_ns, 0);
		igt_assert_eq_u64(igt_account_settle(&a->account, &totals), 0);
		igt_perfctr_session_unmap(&a->s);
	}
	igt_vsoc_work(&dev, 3);
	igt_perfctr_finish(&beside.s);
	igt_assert_eq_u32(beside.s.flags & ~ORDINARY, 0);
	close_account(&beside);
	igt_assert_eq_u64(beside.account.truth, beside.account.counts);
	igt_vsoc_remove(&other, OTHER);
}

/* --- product nv50: hardware that is asked to swap its counters --- */

#define DOMAINS 8

/* counts before and after a failed swap; returns those that no sample has */
static uint64_t count_missing_after_swap(const char *fault, uint32_t must)
{
	struct drm_perfctr_block_request *r = first.s.requests;
	struct igt_perfctr_session *s = &first.s;
	const struct igt_vsoc_counter *c;
	uint64_t missing, t0;

	begin_anew();
	igt_vsoc_add(&other, "9 product=nv50");
	igt_vsoc_totals(&other, DRM_PERFCTR_SET_PRIMARY, &before);
	for (c = before.truth.at; strcmp(c->name, "gpu_busy"); c++)
		igt_assert(c + 1 < before.truth.at + before.truth.count);
	igt_perfctr_session_init(s, &other);
	memset(r, 0, sizeof(s->requests));
	r->type = c->type;
	r->index = c->index;
	r->mask = 1ull << c->counter;
	s->setup.request_count = 1;
	igt_perfctr_session_create(s);
	igt_account_open(&first.account, s, DRM_PERFCTR_SET_PRIMARY);
	open_account(&beside, &dev, ~0ull, 2 * MS, false);
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&beside.s, 0), 0);
	igt_vsoc_work(&other, 1);
	igt_fault_arm(&other, fault, DOMAINS);
	t0 = igt_raw_ns();
	igt_assert_eq(igt_perfctr_sample(s, 0), 0);
	igt_assert_lte_u64(igt_raw_ns() - t0, TIME_LIMIT_NS);
	igt_assert_lt(0, igt_fault_disarm(&other, fault));
	igt_perfctr_drain(s);
	igt_assert_eq_u32(s->flags & ~ORDINARY, must);
	igt_vsoc_work(&other, 2);
	igt_vsoc_work(&dev, 2);
	igt_perfctr_finish(s);
	igt_assert_eq_u32(s->last.flags & ~ORDINARY, 0);
	igt_assert_eq_u64(s->last.lost_ns, 0);
	igt_vsoc_totals(&other, DRM_PERFCTR_SET_PRIMARY, &totals);
	missing = igt_account_settle(&first.account, &totals);
	igt_assert_lte_u64(1, first.account.counts);
	igt_perfctr_session_fini(s);
	igt_perfctr_finish(&beside.s);
	igt_assert_eq_u32(beside.s.flags & ~ORDINARY, 0);
	close_account(&beside);
	igt_vsoc_remove(&other, OTHER);
	return missing;
}

static void swap_lost(void)
{
	igt_assert_eq_u64(count_missing_after_swap("pcounter_lost", ERROR), 0);
}

static void swap_late(void)
{
	igt_assert_eq_u64(count_missing_after_swap("pcounter_late", ERROR), 0);
}

/* the counts in the counters are gone, later ones are not */
static void swap_twice(void)
{
	igt_assert_lte_u64(1, count_missing_after_swap("pcounter_twice", OVERFLOW));
}

/* Add a new fault here with what it may do. */
static void every_fault(void)
{
	const struct igt_target all = { .dev = dev };

	igt_target_find(&all);
	igt_assert_lt(0, igt_target_fault_count());
	for (unsigned int n = 0; n < igt_target_fault_count(); n++) {
		const char *name = igt_target_fault(n) + strlen("fail_");
		unsigned int i = 0;

		while (i < FAULTS && strcmp(faults[i].name, name))
			i++;
		igt_assert_f(i < FAULTS, "fail_%s of debugfs is in no row of the table\n", name);
	}
	igt_assert_eq(igt_target_fault_count(), FAULTS);
}

/* --- firmware that is dead for longer --- */

static void start_without_answer(const char *name, int error)
{
	struct account *a = &first;
	uint64_t t0;
	int ret;

	open_account(a, &dev, ~0ull, 0, false);
	/* a worker stops the hardware after the last session */
	for (unsigned int i = 0; igt_vsoc_firmware(&dev, "enabled"); i++) {
		igt_assert_lt(i, 10000);
		usleep(1000);
	}
	igt_fault_arm(&dev, name, UINT32_MAX);
	t0 = igt_raw_ns();
	ret = igt_perfctr_start(&a->s, 0);
	igt_assert_lte_u64(igt_raw_ns() - t0, TIME_LIMIT_NS);
	igt_assert_lt(0, igt_fault_disarm(&dev, name));
	igt_assert_eq(ret, -error);
	igt_assert_eq_u32(a->s.control->state, 0);
	igt_assert_eq(igt_perfctr_sample(&a->s, 0), -ENOTCONN);
	igt_account_open(&a->account, &a->s, DRM_PERFCTR_SET_PRIMARY);
	igt_assert_eq(igt_perfctr_start(&a->s, 0), 0);
	igt_vsoc_work(&dev, 1);
	igt_perfctr_finish(&a->s);
	igt_assert_eq_u32(a->s.flags & ~ORDINARY, 0);
	close_account(a);
	igt_assert_eq_u64(a->account.truth, a->account.counts);
}

static void silent_firmware(void)
{
	uint64_t t0;

	begin_anew();
	open_account(&first, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_vsoc_work(&dev, 0);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	t0 = igt_raw_ns();
	igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_assert_lte_u64(igt_raw_ns() - t0, TIME_LIMIT_NS);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_assert_eq(igt_perfctr_drain(&first.s), 2);
	igt_assert(first.s.flags & DRM_PERFCTR_SAMPLE_ERROR);
	igt_assert(first.s.last.flags & DRM_PERFCTR_SAMPLE_FINAL);
	igt_assert_lte_u64(1, igt_perfctr_status(&first.s).errors);
	/* the loss is bounded in time */
	igt_assert_lte_u64(1, first.s.lost_ns);
	/*
	 * counts that firmware still holds are in no sample; those in samples are no more than the
	 * truth
	 */
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	for (unsigned int i = 0; i < totals.truth.count; i++)
		igt_assert_lte_u64(igt_perfctr_sum(&first.s, totals.truth.at[i].type,
						   totals.truth.at[i].index,
						   totals.truth.at[i].counter),
				   totals.truth.at[i].value - first.account.base.truth.at[i].value);
	igt_perfctr_session_fini(&first.s);
}

/* the core retries once a second: the first attempt fails, the second one works */
static void silent_for_seconds(void)
{
	static uint64_t sums[IGT_VSOC_MAX_COUNTERS];
	uint64_t t0 = igt_raw_ns();
	unsigned int asked = 0;

	begin_anew();
	open_account(&first, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	/* it has to be restarted after that */
	igt_vsoc_debugfs(&dev, "reset", "1");
	/* count starts, not time: the request that failed, and at least two more starts */
	while (asked < 6) {
		igt_assert_lte_u64(igt_raw_ns() - t0, 3 * TIME_LIMIT_NS);
		igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
		igt_perfctr_drain(&first.s);
		igt_assert(first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
		asked = igt_fault_hits(&dev, "no_ack");
		igt_sleep_ms(50);
	}
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	do {
		igt_assert_lte_u64(igt_raw_ns() - t0, 4 * TIME_LIMIT_NS);
		igt_sleep_ms(50);
		igt_perfctr_sample_and_drain(&first.s);
	} while (first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
	/* from then on it is exact again */
	igt_perfctr_sample_and_drain(&first.s);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &before);
	for (unsigned int i = 0; i < before.truth.count; i++)
		sums[i] = igt_perfctr_sum(&first.s, before.truth.at[i].type,
					  before.truth.at[i].index, before.truth.at[i].counter);
	igt_vsoc_work(&dev, 1);
	igt_perfctr_sample_and_drain(&first.s);
	igt_assert_eq_u32(first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR, 0);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	for (unsigned int i = 0; i < totals.truth.count; i++)
		igt_assert_eq_u64(igt_perfctr_sum(&first.s, totals.truth.at[i].type,
						  totals.truth.at[i].index,
						  totals.truth.at[i].counter) -
					  sums[i],
				  totals.truth.at[i].value - before.truth.at[i].value);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_perfctr_session_fini(&first.s);
}

/*
 * A sample after START must not have counts from before it. Firmware took a sample that the host
 * has not seen yet, so that its answer has only half of the counts.
 */
static void start_half_answered(void)
{
	begin_anew();
	open_account(&first, &dev, ~0ull, 0, false);
	open_account(&second, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_vsoc_work(&dev, 3);
	igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
	/* all cores are on: the sample before they power off, and what is counted after it */
	igt_fault_arm(&dev, "lost_irq", 1);
	igt_vsoc_debugfs(&dev, "cores_on", "0x1");
	igt_assert_eq(igt_fault_disarm(&dev, "lost_irq"), 1);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	igt_assert_eq(igt_perfctr_start(&second.s, 0), -ETIMEDOUT);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_assert_eq_u32(second.s.control->state, 0);

	igt_account_open(&second.account, &second.s, DRM_PERFCTR_SET_PRIMARY);
	igt_assert_eq(igt_perfctr_start(&second.s, 0), 0);
	igt_vsoc_work(&dev, 1);
	igt_assert_eq(igt_perfctr_stop(&second.s, 0), 0);
	close_account(&second);
	igt_assert_eq_u64(second.account.truth, second.account.counts);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	close_account(&first);
	igt_assert_eq_u64(first.account.truth, first.account.counts);
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

/* STOP gives up counts that the other session gets a moment later */
static void stop_unanswered(void)
{
	begin_anew();
	open_account(&first, &dev, ~0ull, 0, false);
	open_account(&second, &dev, SECOND_MASK, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_assert_eq(igt_perfctr_start(&second.s, 0), 0);
	igt_vsoc_work(&dev, 3);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &before);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_assert_eq(igt_perfctr_drain(&first.s), 1);
	igt_assert(first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
	igt_assert_lte_u64(1, first.s.last.lost_ns);
	for (unsigned int b = 0; b < first.s.setup.block_count; b++)
		igt_assert(first.s.sums[b].states & DRM_PERFCTR_STATE_LOST);
	igt_account_settle_stopped(&first.account, &before, &totals, true);
	igt_assert_lt(0, first.account.blocks_missing);
	igt_perfctr_session_fini(&first.s);

	igt_perfctr_finish(&second.s);
	igt_assert_eq_u64(second.s.lost_ns, 0);
	for (unsigned int b = 0; b < second.s.setup.block_count; b++)
		igt_assert_eq_u32(second.s.sums[b].states & DRM_PERFCTR_STATE_LOST, 0);
	close_account(&second);
	igt_assert_lte_u64(1, second.account.counts);
	igt_assert_eq_u64(second.account.truth, second.account.counts);
}

/* the session that kept the GPU awake has ended, and nothing else keeps it awake */
static void stop_unanswered_power(void)
{
	struct igt_perfctr_session s;

	igt_vsoc_power(0, "auto");
	igt_perfctr_session_init(&s, &dev);
	s.setup.flags = DRM_PERFCTR_SETUP_KEEP_AWAKE;
	igt_perfctr_begin(&s);
	igt_vsoc_work(&dev, 0);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	igt_assert_eq(igt_perfctr_stop(&s, 0), 0);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_perfctr_drain(&s);
	igt_assert(s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
	igt_perfctr_session_fini(&s);
	igt_vsoc_await_power(0, "suspended");
	igt_vsoc_power(0, "on");
}

/*
 * The same without another session: counts in the ring are in samples; hardware has kept or dropped
 * the others. Any other missing count is a loss of the kernel.
 */
static bool stopped_unanswered(void)
{
	bool missing;

	begin_anew();
	open_account(&first, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_vsoc_work(&dev, 3);
	/* samples that the host has not seen: cores power off and on for work */
	igt_fault_arm(&dev, "lost_irq", UINT32_MAX);
	igt_vsoc_debugfs(&dev, "cores_on", "0x1");
	igt_vsoc_work(&dev, 4);
	igt_assert_lte(2, igt_fault_disarm(&dev, "lost_irq"));
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &before);
	igt_fault_arm(&dev, "no_ack", UINT32_MAX);
	igt_assert_eq(igt_perfctr_stop(&first.s, 0), 0);
	igt_vsoc_totals(&dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	igt_assert_lt(0, igt_fault_disarm(&dev, "no_ack"));
	igt_perfctr_drain(&first.s);
	igt_assert(first.s.last.flags & DRM_PERFCTR_SAMPLE_ERROR);
	missing = igt_account_settle_stopped(&first.account, &before, &totals, false);
	igt_assert_lte_u64(1, first.account.counts);
	igt_perfctr_session_fini(&first.s);
	return missing;
}

/* on a busy host the kernel may have read the counters first */
static void stop_unanswered_alone(void)
{
	for (unsigned int tries = 0; !stopped_unanswered(); tries++)
		igt_assert_lt(tries, 20);
}

/* --- a core's last sample --- */

static void begin_with_cores(void)
{
	begin_anew();
	open_account(&first, &dev, ~0ull, 0, false);
	igt_assert_eq(igt_perfctr_start(&first.s, 0), 0);
	igt_vsoc_work(&dev, 3);
	igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
	igt_vsoc_work(&dev, 4);
}

/* core 0 stayed on; whether the last samples of the others were complete is unknown */
static void end_with_cores_lost(void)
{
	igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
	igt_perfctr_drain(&first.s);
	igt_assert(first.s.flags & DRM_PERFCTR_SAMPLE_ERROR);
	igt_assert_lte_u64(1, first.s.lost_ns);
	for (unsigned int b = 0; b < first.s.setup.block_count; b++) {
		const struct igt_perfctr_sum *sum = &first.s.sums[b];
		bool gone = sum->type == DRM_PERFCTR_MALI_BLOCK_SHADER && sum->index;

		igt_assert_f(gone == !!(sum->states & DRM_PERFCTR_STATE_LOST),
			     "%u:%u: states %#x\n", sum->type, sum->index, sum->states);
	}
	/* and the fault is over */
	igt_vsoc_work(&dev, 5);
	igt_perfctr_finish(&first.s);
	assert_clean(&first);
	close_account(&first);
}

/*
 * The sample before cores power off has invalid metadata. The host takes it for a sample of
 * something else, so that the last counts are doubtful, not lost.
 */
static void garbage_at_poweroff(void)
{
	begin_with_cores();
	igt_fault_arm(&dev, "garbage_metadata", 1);
	igt_vsoc_debugfs(&dev, "cores_on", "0x1");
	igt_assert_eq(igt_fault_disarm(&dev, "garbage_metadata"), 1);
	end_with_cores_lost();
	igt_assert_eq_u64(first.account.truth, first.account.counts);
}

/* it was another one, and then the cores powered off without a sample */
static void garbage_before_power_loss(void)
{
	begin_with_cores();
	igt_fault_arm(&dev, "garbage_metadata", 1);
	igt_assert_eq(igt_perfctr_sample(&first.s, 0), 0);
	igt_assert_eq(igt_fault_disarm(&dev, "garbage_metadata"), 1);
	igt_vsoc_work(&dev, 6);
	igt_fault_arm(&dev, "power_loss", 1);
	igt_vsoc_debugfs(&dev, "cores_on", "0x1");
	igt_assert_eq(igt_fault_disarm(&dev, "power_loss"), 1);
	end_with_cores_lost();
	igt_assert_eq(first.account.types_missing, TYPE(SHADER));
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
		igt_subtest(names[i])
		{
			if (faults[i].instead)
				faults[i].instead();
			else
				fault(i);
		}
	}
	igt_subtest("fault-every-name") every_fault();
	/* Covers: start -EIO, start -ETIMEDOUT */
	igt_subtest("fault-start")
	{
		begin_anew();
		start_without_answer("no_ack", ETIMEDOUT);
		start_without_answer("lost_doorbell", ETIMEDOUT);
		start_without_answer("ack_without_sample", EIO);
		start_without_answer("insert_beyond", EIO);
	}
	/* Covers: DRM_PERFCTR_SAMPLE_ERROR */
	igt_subtest("fault-silent-firmware") silent_firmware();
	/* Covers: DRM_PERFCTR_SAMPLE_ERROR */
	igt_subtest("fault-silent-for-seconds") silent_for_seconds();
	igt_subtest("fault-stop-unanswered") stop_unanswered();
	igt_subtest("fault-stop-unanswered-power") stop_unanswered_power();
	igt_subtest("fault-stop-unanswered-alone") stop_unanswered_alone();
	igt_subtest("fault-garbage-metadata-poweroff") garbage_at_poweroff();
	igt_subtest("fault-garbage-metadata-power-loss") garbage_before_power_loss();
	/* Covers: start -EIO, start -ETIMEDOUT */
	igt_subtest("fault-start-half-answered") start_half_answered();
	igt_subtest("fault-refused") refused();
	igt_fixture() {
		igt_perfctr_close(&dev);
	}
}
