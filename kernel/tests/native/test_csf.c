// SPDX-License-Identifier: GPL-2.0
/*
 * The CSF source against firmware that works, and firmware that does not.
 */
#include "csf_perfctr.c"
#include "fake_core.h"
#include "test.h"

#define MS			NSEC_PER_MSEC
#define ACK_TIMEOUT_NS		(CSF_PRFCNT_ACK_TIMEOUT_MS * MS)
/* longest collection: four timeouts, each up to one poll late */
/* four steps, each with up to two answers in time and one more that has its polls to come */
#define COLLECT_MAX_NS		(4 * (ACK_TIMEOUT_NS + 2 * CSF_MIN_POLLS * CSF_POLL_MS * MS))

static struct csf_perfctr *csf;

static void irq(void)
{
	csf_perfctr_irq(csf);
}

static void create(void)
{
	native_free_managed();
	core_reset();
	native_while_waiting = firmware_process;
	csf = drmm_csf_perfctr_create(NULL, NULL, &fw.config);
	fw.irq = IS_ERR(csf) ? NULL : irq;
}

static int start(void)
{
	firmware_boot();
	create();
	if (IS_ERR(csf))
		return PTR_ERR(csf);
	return core.source->ops->start(core.source, 0);
}

/* one of each kind of counter, with a little time on both sides */
static void count(u32 n)
{
	unsigned int b;

	native_sleep_ns(10000);
	for (b = 0; b < fw.blocks; b++) {
		firmware_count(b, 4, n);
		firmware_count(b, fw.counters - 1, 2 * n);
	}
	firmware_count(0, 10, n);
	native_sleep_ns(10000);
}

/* block of a firmware sample to index in descs, -1 if hidden */
static int desc_of(unsigned int block)
{
	unsigned int core_no;

	if (block < 3)
		return block;
	if (block < 3 + fw.config.l2_slices)
		return block;
	for (core_no = 0; core_no < 64; core_no++)
		if (fw.config.shader_present & BIT_ULL(core_no) &&
		    firmware_shader_block(core_no) == block)
			return core_block(DRM_PERFCTR_BLOCK_SHADER, core_no);
	return -1;
}

/* everything that was counted and not dropped has arrived, and nothing else */
static bool conserved(void)
{
	unsigned int b, i;

	for (b = 0; b < fw.blocks; b++) {
		int d = desc_of(b);

		if (d < 0)
			continue;
		for (i = 0; i < fw.counters; i++) {
			u64 want = fw.counted[b][i] - fw.dropped[b][i];

			if (core.totals[d][i] == want)
				continue;
			printf("# block %u counter %u: %llu, counted %llu\n", b, i,
			       core.totals[d][i], want);
			return false;
		}
	}
	return true;
}

/* --- working firmware ---------------------------------------------------- */

static void start_programs_the_interface(void)
{
	firmware_default_config();
	check_eq(start(), 0);
	check_eq(fw.protocol_errors, 0);
	check_eq(fw.enables, 1);
	check_eq(fw.input.prfcnt_csg_en, 0);
	check_eq(fw.input.prfcnt_fw_en, U32_MAX);
	check_eq(fw.input.prfcnt_shader_en, U32_MAX);
	check_eq(fw.input.prfcnt_config, 4 | CSF_PRFCNT_CONFIG_METADATA);
	/* the driver's own bits are as they were */
	check(fw.input.req & CSF_GLB_IDLE && fw.input.req & CSF_GLB_PING);
	check(fw.input.ack_irq_mask & CSF_GLB_IDLE);
	check((fw.input.ack_irq_mask & CSF_ACK_IRQS) == CSF_ACK_IRQS);
}

static void set_is_programmed(void)
{
	firmware_default_config();
	fw.config.types[CSF_PERFCTR_SHADER].sets = 0x7;
	firmware_boot();
	create();
	check_eq(core.source->ops->start(core.source, DRM_PERFCTR_SET_TERTIARY), 0);
	check_eq(FIELD_GET(CSF_PRFCNT_CONFIG_SET_MASK, fw.input.prfcnt_config), 2);
	check_eq(core.source->descs[core_block(DRM_PERFCTR_BLOCK_SHADER, 0)].sets, 0x7);
	check_eq(core.source->descs[0].sets, 0x1);
}

static void counts_of_before_start_are_dropped(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	check_eq(start(), 0);
	/* firmware.c leaves 12345 in counters when it is enabled */
	check_eq(core_collect(&c), 0);
	check_eq(core.totals[0][10], 0);
	check(conserved());
}

struct shape {
	u64 present;
	u32 l2_slices;
	u32 counters;
	bool dense;
	bool metadata;
	bool extended;
};

static const struct shape shapes[] = {
	{ 0x1, 1, 64, false, true, true },
	{ 0x50005, 2, 64, false, true, true },
	{ 0x50005, 1, 64, true, true, true },
	{ 0x1110055, 4, 128, false, true, true },
	{ 0x1110055, 1, 64, false, true, false },
	{ 0xffff, 1, 64, false, false, false },
	{ 0xffff, 2, 128, true, false, false },
	{ 1ull << 63 | 1, 1, 64, true, true, true },
	{ 1ull << 63 | 1, 1, 64, false, true, true },
};

static void every_shape_counts_exactly(void)
{
	struct random_state random = { test_seed() };
	unsigned int s, round;

	for (s = 0; s < ARRAY_SIZE(shapes); s++) {
		struct drm_perfctr_collection c;

		firmware_default_config();
		fw.config.shader_present = shapes[s].present;
		fw.config.shader_visible = shapes[s].present;
		fw.config.l2_slices = shapes[s].l2_slices;
		fw.config.counters_per_block = shapes[s].counters;
		fw.config.shader_dense = shapes[s].dense;
		fw.config.extended_metadata = shapes[s].extended;
		fw.metadata = shapes[s].metadata;
		check_eq(start(), 0);
		check_eq(core.source->block_count,
			 3 + shapes[s].l2_slices + hweight64(shapes[s].present));
		for (round = 0; round < 20; round++) {
			unsigned int i;

			native_sleep_ns(1000 + random_below(&random, 1000000));
			firmware_count_random(&random);
			native_sleep_ns(1000);
			check_eq(core_collect(&c), 0);
			check_eq(c.flags, 0);
			check_eq(c.lost_ns, 0);
			for (i = 0; i < core.source->block_count; i++) {
				const u64 *available = core.source->descs[i].available;

				check_eq(core.reports[i], 1);
				check_eq(core.valid[i][0], available[0]);
				check_eq(core.valid[i][1], available[1]);
			}
			check(conserved());
		}
		check_eq(fw.protocol_errors, 0);
		core.source->ops->stop(core.source);
		check(!fw.counting);
	}
}

static void sparse_cores_keep_their_number(void)
{
	firmware_default_config();
	fw.config.shader_visible = 0x40005;
	check_eq(start(), 0);
	check_eq(core.source->block_count, 3 + 2 + 3);
	check(core_block(DRM_PERFCTR_BLOCK_SHADER, 0) >= 0);
	check(core_block(DRM_PERFCTR_BLOCK_SHADER, 2) >= 0);
	check(core_block(DRM_PERFCTR_BLOCK_SHADER, 18) >= 0);
	/* present, but taken away from the system */
	check_eq(core_block(DRM_PERFCTR_BLOCK_SHADER, 16), -1);
	/* absent */
	check_eq(core_block(DRM_PERFCTR_BLOCK_SHADER, 1), -1);
}

static void hidden_core_is_not_counted(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	fw.config.shader_visible = 0x1;
	check_eq(start(), 0);
	count(7);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check(conserved());
	check_eq(core.totals[core_block(DRM_PERFCTR_BLOCK_SHADER, 0)][4], 7);
}

static void unavailable_counters_are_left_out(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	fw.config.types[CSF_PERFCTR_FW].available[0] = 0xff0;
	check_eq(start(), 0);
	check_eq(core.source->descs[0].available[0], 0xff0);
	check_eq(fw.input.prfcnt_fw_en, 0x3f);
	count(9);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check_eq(core.totals[0][4], 9);
	check_eq(core.totals[0][10], 9);
	check_eq(core.totals[0][12], 0);
	check_eq(core.valid[0][0], 0xff0);
}

static void counters_wider_than_32_bits_together(void)
{
	struct drm_perfctr_collection c;
	unsigned int i;

	firmware_default_config();
	check_eq(start(), 0);
	for (i = 0; i < 5; i++) {
		native_sleep_ns(1000);
		firmware_count(2, 20, U32_MAX - 1);
		check_eq(core_collect(&c), 0);
	}
	check_eq(core.totals[2][20], 5ull * (U32_MAX - 1));
}

static void indices_wrap_at_32_bits(void)
{
	struct drm_perfctr_collection c;
	unsigned int i;

	firmware_default_config();
	check_eq(start(), 0);
	fw.input.prfcnt_extract = U32_MAX - 5;
	fw.output.prfcnt_insert = U32_MAX - 5;
	csf->extract = U32_MAX - 5;
	csf->seen_insert = U32_MAX - 5;
	for (i = 0; i < 20; i++) {
		count(i);
		if (i % 3 == 0)
			firmware_sample(CSF_REASON_THRESHOLD);
		check_eq(core_collect(&c), 0);
		check_eq(c.flags, 0);
		check(conserved());
	}
	check(fw.output.prfcnt_insert < 100);
}

static void automatic_samples_are_all_read(void)
{
	struct drm_perfctr_collection c;
	unsigned int i;

	firmware_default_config();
	check_eq(start(), 0);
	for (i = 0; i < fw.config.slots; i++) {
		count(3);
		firmware_sample(CSF_REASON_POWEROFF);
	}
	/* the ring is full: a request alone would overflow */
	count(3);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check_eq(c.lost_ns, 0);
	check_eq(fw.dropped_samples, 0);
	check(conserved());
	check_eq(fw.input.prfcnt_extract, fw.output.prfcnt_insert);
}

static void time_is_that_of_the_sample(void)
{
	static const s64 drifts[] = { 0, 40, -300, 5000 };
	struct drm_perfctr_collection c;
	unsigned int d, i;

	for (d = 0; d < ARRAY_SIZE(drifts); d++) {
		u64 last_ns = 0;

		firmware_default_config();
		fw.drift_ppm = drifts[d];
		check_eq(start(), 0);
		for (i = 0; i < 50; i++) {
			u64 taken_ns;

			native_sleep_ns(20 * MS);
			firmware_sample(CSF_REASON_POWERON);
			taken_ns = native_now_ns;
			native_sleep_ns(3 * MS);
			/* never answered: the automatic sample is all there is */
			if (i % 5 == 4)
				fw.fail.no_ack = FOREVER;
			check_eq(core_collect(&c), 0);
			if (fw.fail.no_ack) {
				u64 apart = c.time_ns > taken_ns ? c.time_ns - taken_ns :
								   taken_ns - c.time_ns;

				check(c.flags & DRM_PERFCTR_SAMPLE_ERROR);
				check(apart <= csf_time_error_ns(&csf->time) + 42);
				fw.fail.no_ack = 0;
			} else {
				check_eq(c.flags, 0);
				check(native_now_ns - c.time_ns < 1000);
			}
			check(c.time_ns > last_ns && c.time_ns <= native_now_ns);
			last_ns = c.time_ns;
		}
	}
}

static void no_gpu_clock_is_no_error(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	fw.fail.anchor_fails = FOREVER;
	check_eq(start(), 0);
	count(5);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check_eq(c.time_ns, native_now_ns);
	check(conserved());
}

static void cycles_are_reported(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	check_eq(start(), 0);
	native_sleep_ns(MS);
	fw.cycles[DRM_PERFCTR_CLOCK_TOP] = 1000;
	fw.cycles[DRM_PERFCTR_CLOCK_SHADER] = 3000;
	firmware_sample(CSF_REASON_THRESHOLD);
	native_sleep_ns(MS);
	fw.cycles[DRM_PERFCTR_CLOCK_TOP] = 500;
	fw.cycles[DRM_PERFCTR_CLOCK_COREGROUP] = 700;
	check_eq(core_collect(&c), 0);
	check_eq(c.clock_cycles[DRM_PERFCTR_CLOCK_TOP], 1500);
	check_eq(c.clock_cycles[DRM_PERFCTR_CLOCK_COREGROUP], 700);
	check_eq(c.clock_cycles[DRM_PERFCTR_CLOCK_SHADER], 3000);
}

static void power_states_follow_the_cores(void)
{
	struct drm_perfctr_collection c;
	int core0, core16;

	firmware_default_config();
	check_eq(start(), 0);
	core0 = core_block(DRM_PERFCTR_BLOCK_SHADER, 0);
	core16 = core_block(DRM_PERFCTR_BLOCK_SHADER, 16);
	count(2);
	check_eq(core_collect(&c), 0);
	check_eq(core.states[core16], DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_AVAILABLE |
				      DRM_PERFCTR_STATE_NORMAL);

	count(2);
	firmware_power(BIT_ULL(16));
	count(2);
	check_eq(core_collect(&c), 0);
	check((core.states[core16] & 3) == (DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_OFF));
	check((core.states[core0] & 3) == DRM_PERFCTR_STATE_ON);
	check(conserved());

	/* off all the time: zero is what was counted */
	count(2);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check((core.states[core16] & 3) == DRM_PERFCTR_STATE_OFF);
	check_eq(core.valid[core16][0], core.source->descs[core16].available[0]);
	check(conserved());

	firmware_power(0);
	count(2);
	check_eq(core_collect(&c), 0);
	check((core.states[core16] & 3) == (DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_OFF));
	check(conserved());
}

static void protected_mode_is_told(void)
{
	struct drm_perfctr_collection c;
	const u32 both = DRM_PERFCTR_STATE_NORMAL | DRM_PERFCTR_STATE_PROTECTED;

	firmware_default_config();
	check_eq(start(), 0);
	count(2);
	firmware_protected(true);
	count(2);
	check_eq(core_collect(&c), 0);
	check((core.states[0] & both) == both);
	check_eq(core_collect(&c), 0);
	check((core.states[0] & both) == DRM_PERFCTR_STATE_PROTECTED);
	firmware_protected(false);
	check_eq(core_collect(&c), 0);
	check((core.states[0] & both) == both);
	count(1);
	check_eq(core_collect(&c), 0);
	check((core.states[0] & both) == DRM_PERFCTR_STATE_NORMAL);
	check(conserved());
}

static void start_stop_start_begins_at_zero(void)
{
	struct drm_perfctr_collection c;
	u64 counted;

	firmware_default_config();
	check_eq(start(), 0);
	count(4);
	check_eq(core_collect(&c), 0);
	counted = core.totals[0][4];
	count(100);
	core.source->ops->stop(core.source);
	check(!fw.counting);
	firmware_count(0, 4, 1000);
	check_eq(core.source->ops->start(core.source, 0), 0);
	check_eq(core_collect(&c), 0);
	check_eq(core.totals[0][4], counted);
	count(5);
	check_eq(core_collect(&c), 0);
	check_eq(core.totals[0][4], counted + 5);
	check_eq(c.flags, 0);
	check_eq(fw.protocol_errors, 0);
}

/* --- interrupts ---------------------------------------------------------- */

static void events_are_acknowledged_and_told_once(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	check_eq(start(), 0);
	count(1);
	firmware_sample(CSF_REASON_THRESHOLD);
	firmware_sample(CSF_REASON_THRESHOLD);
	check((fw.input.req ^ fw.output.ack) & CSF_GLB_PRFCNT_THRESHOLD);
	irq();
	check(!((fw.input.req ^ fw.output.ack) & CSF_EVENTS));
	check_eq(core.events, 1);
	irq();
	firmware_sample(CSF_REASON_THRESHOLD);
	irq();
	check_eq(core.events, 1);
	check(fw.input.req & CSF_GLB_IDLE && fw.input.req & CSF_GLB_PING);
	check_eq(core_collect(&c), 0);
	check(!c.transition);
	firmware_sample(CSF_REASON_POWEROFF);
	irq();
	check_eq(core.events, 2);
	check_eq(core_collect(&c), 0);
	check(c.transition);
	check_eq(core_collect(&c), 0);
	check(!c.transition);
	check(conserved());
}

static void threshold_storm_without_samples_is_no_event(void)
{
	unsigned int i;

	firmware_default_config();
	check_eq(start(), 0);
	for (i = 0; i < 10000; i++) {
		fw.output.ack ^= CSF_GLB_PRFCNT_THRESHOLD;
		irq();
		check(!((fw.input.req ^ fw.output.ack) & CSF_EVENTS));
	}
	check_eq(core.events, 0);
}

static void requested_sample_is_no_event(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	check_eq(start(), 0);
	check_eq(core_collect(&c), 0);
	irq();
	check_eq(core.events, 0);
}

static void interrupt_leaves_the_pages_alone_unless_counting(void)
{
	firmware_default_config();
	firmware_boot();
	create();
	fw.output.ack ^= CSF_EVENTS;
	irq();
	check_eq(fw.input.req, CSF_GLB_IDLE | CSF_GLB_PING);
	check_eq(core.source->ops->start(core.source, 0), 0);
	core.source->ops->reset(core.source);
	firmware_restart();
	fw.output.ack = CSF_EVENTS;
	irq();
	check_eq(fw.input.req, 0);
	check_eq(core.events, 0);
	csf_perfctr_irq(NULL);
}

static void reset_and_start_again(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	check_eq(start(), 0);
	count(3);
	check_eq(core_collect(&c), 0);
	core.source->ops->reset(core.source);
	firmware_restart();
	check_eq(core.source->ops->start(core.source, 0), 0);
	count(8);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check(conserved());
	check_eq(fw.protocol_errors, 0);
}

/* --- overflow ------------------------------------------------------------ */

static void overflow_tells_how_long(void)
{
	struct drm_perfctr_collection c;
	unsigned int i;
	u64 full_ns;

	firmware_default_config();
	check_eq(start(), 0);
	for (i = 0; i < fw.config.slots; i++) {
		count(1);
		firmware_sample(CSF_REASON_POWEROFF);
	}
	full_ns = native_now_ns;
	for (i = 0; i < 3; i++) {
		count(10);
		firmware_sample(CSF_REASON_POWEROFF);
	}
	irq();
	check(!((fw.input.req ^ fw.output.ack) & CSF_EVENTS));
	check_eq(core.events, 1);
	full_ns = native_now_ns - full_ns;
	count(2);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, DRM_PERFCTR_SAMPLE_OVERFLOW);
	check(c.lost_ns > full_ns - 100 && c.lost_ns < full_ns + 100);
	check_eq(fw.dropped_samples, 3);
	check(conserved());
	check(core.states[0] & DRM_PERFCTR_STATE_LOST);
	/* over: nothing sticks */
	count(2);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check_eq(c.lost_ns, 0);
	check(!(core.states[0] & DRM_PERFCTR_STATE_LOST));
}

static void overflow_without_metadata_is_bounded_by_the_span(void)
{
	struct drm_perfctr_collection c;
	unsigned int i;
	u64 began_ns;

	firmware_default_config();
	fw.metadata = false;
	fw.config.extended_metadata = false;
	check_eq(start(), 0);
	began_ns = csf->time_ns;
	for (i = 0; i < fw.config.slots + 2; i++) {
		count(1);
		firmware_sample(CSF_REASON_POWEROFF);
	}
	irq();
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, DRM_PERFCTR_SAMPLE_OVERFLOW);
	check_eq(c.lost_ns, c.time_ns - began_ns);
	check(conserved());
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
}

/* --- faults -------------------------------------------------------------- */

struct fault_case {
	const char *name;
	size_t offset;
	unsigned int times;
	/* nothing is lost and nobody notices */
	bool harmless;
	/* all counts arrive in the end */
	bool conserves;
	/* collections until all is well again */
	unsigned int recovers_in;
};

#define FAULT(name, times, harmless, conserves, recovers_in) \
	{ #name, offsetof(struct firmware_faults, name), times, harmless, conserves, recovers_in }

static const struct fault_case fault_cases[] = {
	FAULT(no_ack, 1, true, true, 0),	/* looked at again by the poll */
	FAULT(no_ack, 500, false, false, 12),
	FAULT(late_ack, 1, false, true, 2),
	FAULT(double_ack, 1, true, true, 0),	/* looks like a request, is answered as one */
	FAULT(ack_without_sample, 1, true, true, 0),
	FAULT(ack_without_sample, 2, false, true, 1),
	FAULT(no_irq, 1, true, true, 0),
	FAULT(spurious_irq, 1, true, true, 0),
	FAULT(spurious_irq, 50, true, true, 0),
	FAULT(lost_doorbell, 1, true, true, 0),	/* firmware.c looks while we wait */
	FAULT(insert_beyond, 1, false, false, 1),
	FAULT(insert_backwards, 1, false, false, 1),
	FAULT(insert_unwritten, 1, false, true, 1),
	FAULT(garbage_header, 1, false, false, 1),
	FAULT(garbage_timestamp, 1, false, false, 1),
	FAULT(garbage_metadata, 1, false, true, 2),
	FAULT(wrong_start, 1, false, true, 2),
	FAULT(clock_stop, 1, false, true, 2),
	FAULT(torn, 1, false, false, 1),
	FAULT(failed_status, 1, false, true, 1),
	FAULT(overflow, 1, false, false, 2),
	FAULT(threshold, 50, true, true, 0),
	FAULT(anchor_fails, 1, true, true, 1),
	FAULT(time_backwards, 1, false, true, 2),
};

static bool try_fault(const struct fault_case *fc, unsigned int block)
{
	unsigned int *fault = (unsigned int *)((char *)&fw.fail + fc->offset);
	struct drm_perfctr_collection c = { 0 };
	u64 lost_ns = 0, last_ns, sum_before, sum_after;
	unsigned int i, round;
	u32 flags = 0;

	firmware_default_config();
	fw.fault_block = block;
	fw.ack_delay_ns = 150 * MS;
	if (start())
		return false;
	count(5);
	if (core_collect(&c) || c.flags || !conserved())
		return false;
	last_ns = c.time_ns;

	*fault = fc->times;
	for (round = 0; round <= fc->recovers_in; round++) {
		u64 before_ns;
		int ret;

		/* no span is too short for a clock to tick in */
		native_now_ns += MS;
		before_ns = native_now_ns;
		count(6);
		ret = core_collect(&c);
		if (native_now_ns - before_ns > COLLECT_MAX_NS + MS) {
			printf("# round %u took %llu ms\n", round,
			       (native_now_ns - before_ns) / MS);
			return false;
		}
		flags |= ret ? DRM_PERFCTR_SAMPLE_ERROR : c.flags;
		if (!ret) {
			if (c.time_ns < last_ns || c.time_ns > native_now_ns ||
			    c.lost_ns > c.time_ns - last_ns) {
				printf("# round %u: time %llu..%llu, lost %llu\n", round, last_ns,
				       c.time_ns, c.lost_ns);
				return false;
			}
			last_ns = c.time_ns;
			for (i = 0; i < core.source->block_count; i++)
				if (core.reports[i] != 1)
					return false;
		}
		lost_ns += c.lost_ns;
		/* firmware dead for a second is left alone; do not wait for it here */
		native_sleep_ns(200 * MS);
	}
	*fault = 0;

	if (fc->harmless && (flags || lost_ns)) {
		printf("# flags 0x%x, lost %llu ns\n", flags, lost_ns);
		return false;
	}
	if (!fc->harmless && !(flags & (DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_OVERFLOW))) {
		printf("# no flag\n");
		return false;
	}
	if (fc->conserves && !conserved())
		return false;
	/* what was not delivered is admitted */
	if (!fc->conserves && !lost_ns) {
		printf("# nothing is said to be lost\n");
		return false;
	}

	/* all is well again: exact from here on */
	sum_before = core.totals[0][4];
	sum_after = fw.counted[0][4];
	count(9);
	if (core_collect(&c) || c.flags || c.lost_ns) {
		printf("# afterwards: flags 0x%x, lost %llu ns\n", c.flags, c.lost_ns);
		return false;
	}
	if (core.totals[0][4] - sum_before != fw.counted[0][4] - sum_after) {
		printf("# afterwards: counts differ\n");
		return false;
	}
	/* the driver's own bits are as they were */
	return fw.input.req & CSF_GLB_IDLE && fw.input.req & CSF_GLB_PING;
}

static void faults_are_flagged_bounded_and_over(void)
{
	unsigned int i, block;

	for (i = 0; i < ARRAY_SIZE(fault_cases); i++) {
		/* FW, CSHW, a slice, a shader core */
		static const unsigned int blocks[] = { 0, 1, 4, 5 };

		for (block = 0; block < ARRAY_SIZE(blocks); block++) {
			bool ok = try_fault(&fault_cases[i], blocks[block]);

			if (!ok)
				printf("# fault %s x%u block %u\n", fault_cases[i].name,
				       fault_cases[i].times, blocks[block]);
			check(ok);
		}
	}
}

static void saturated_counter_is_told(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	check_eq(start(), 0);
	fw.fail.saturate = 1;
	check_eq(core_collect(&c), 0);
	check(core.states[3] & DRM_PERFCTR_STATE_SATURATED);
	check_eq(core_collect(&c), 0);
	check(!(core.states[3] & DRM_PERFCTR_STATE_SATURATED));
}

static void late_answer_is_not_taken_for_the_next(void)
{
	struct drm_perfctr_collection c;
	u64 asked_ns;

	firmware_default_config();
	fw.ack_delay_ns = 130 * MS;
	check_eq(start(), 0);
	count(1);
	fw.fail.late_ack = 1;
	check_eq(core_collect(&c), -ETIMEDOUT);
	/* answered while nobody waits, then more is counted */
	native_sleep_ns(50 * MS);
	count(2);
	asked_ns = native_now_ns;
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check_eq(c.lost_ns, 0);
	check(conserved());
	check(c.time_ns + 100 >= asked_ns);
}

/* time goes on, firmware does not, until a whole poll is over */
static unsigned int stands_still;

static void stand_still(void)
{
	if (stands_still == CSF_POLL_MS)
		native_now_ns += 10 * ACK_TIMEOUT_NS;
	if (stands_still)
		stands_still--;
	else
		firmware_process();
}

static void machine_that_stood_still_is_no_dead_firmware(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	fw.ack_delay_ns = MS;
	check_eq(start(), 0);
	native_while_waiting = stand_still;
	count(3);
	fw.fail.late_ack = 1;
	stands_still = CSF_POLL_MS;
	check_eq(core_collect(&c), 0);
	check_eq(stands_still, 0);
	check_eq(c.flags, 0);
	check_eq(c.lost_ns, 0);
	check(conserved());
}

static void start_gives_up_and_can_be_repeated(void)
{
	struct drm_perfctr_collection c;
	u64 before_ns = native_now_ns;

	firmware_default_config();
	fw.fail.no_enable_ack = FOREVER;
	before_ns = native_now_ns;
	check_eq(start(), -ETIMEDOUT);
	check(native_now_ns - before_ns <= 2 * ACK_TIMEOUT_NS);
	check(!(fw.input.req & CSF_GLB_PRFCNT_ENABLE));
	fw.fail.no_enable_ack = 0;
	check_eq(core.source->ops->start(core.source, 0), 0);
	count(1);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
}

static void stop_is_bounded_and_the_next_start_recovers(void)
{
	struct drm_perfctr_collection c;
	u64 before_ns;

	firmware_default_config();
	check_eq(start(), 0);
	fw.fail.no_disable_ack = FOREVER;
	before_ns = native_now_ns;
	core.source->ops->stop(core.source);
	check(native_now_ns - before_ns <= 2 * ACK_TIMEOUT_NS);
	check_eq(core.source->ops->start(core.source, 0), -ETIMEDOUT);
	fw.fail.no_disable_ack = 0;
	check_eq(core.source->ops->start(core.source, 0), 0);
	count(1);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
}

static void dead_firmware_costs_little_and_comes_back(void)
{
	struct drm_perfctr_collection c;
	u64 lost_ns = 0, began_ns, before_ns;
	unsigned int i;

	firmware_default_config();
	check_eq(start(), 0);
	count(1);
	check_eq(core_collect(&c), 0);
	began_ns = c.time_ns;
	fw.auto_process = false;
	native_while_waiting = NULL;

	check_eq(core_collect(&c), -ETIMEDOUT);
	check_eq(core_collect(&c), 0);
	lost_ns += c.lost_ns;
	check(c.flags & DRM_PERFCTR_SAMPLE_ERROR);
	/* left alone: no waiting at all */
	before_ns = native_now_ns;
	for (i = 0; i < 50; i++) {
		check_eq(core_collect(&c), 0);
		check(c.flags & DRM_PERFCTR_SAMPLE_ERROR);
		check_eq(core.valid[0][0], 0);
		check(core.states[0] & DRM_PERFCTR_STATE_LOST);
		lost_ns += c.lost_ns;
	}
	check_eq(native_now_ns, before_ns);

	fw.auto_process = true;
	native_while_waiting = firmware_process;
	native_sleep_ns(2 * CSF_RETRY_NS);
	check_eq(core_collect(&c), 0);
	lost_ns += c.lost_ns;
	check(csf->enabled);
	/* every ns from the last good sample to the new beginning, once */
	check(c.time_ns - began_ns >= lost_ns && c.time_ns - began_ns - lost_ns < 1000);
	count(5);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check_eq(c.lost_ns, 0);
}

static void firmware_restart_is_recovered(void)
{
	struct drm_perfctr_collection c;
	u64 before;

	firmware_default_config();
	check_eq(start(), 0);
	count(3);
	firmware_restart();
	/* INSERT went back to zero: recovered at once */
	check_eq(core_collect(&c), 0);
	check(c.flags & DRM_PERFCTR_SAMPLE_ERROR);
	check(c.lost_ns);
	before = core.totals[0][4];
	count(4);
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, 0);
	check_eq(core.totals[0][4], before + 4);
}

/* metadata that cannot be believed does not hide what else went wrong */
static void restart_is_not_hidden_by_garbage(void)
{
	struct drm_perfctr_collection c;
	struct csf_glb_input input;
	unsigned int requests;

	/* the request bit is, or is not, what firmware has it after its restart */
	for (requests = 0; requests < 2; requests++) {
		firmware_default_config();
		check_eq(start(), 0);
		count(2);
		if (requests)
			check_eq(core_collect(&c), 0);
		count(3);
		/* what the host wants is still there: it will be seen as wanted anew */
		input = fw.input;
		firmware_restart();
		fw.input = input;
		fw.fail.garbage_metadata = 1;
		check_eq(core_collect(&c), 0);
		check(c.flags & DRM_PERFCTR_SAMPLE_ERROR);
		check(c.lost_ns);
		check(core.states[0] & DRM_PERFCTR_STATE_LOST);
	}
}

static void overflow_is_not_hidden_by_garbage(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	check_eq(start(), 0);
	count(1);
	check_eq(core_collect(&c), 0);
	count(10);
	fw.fail.overflow = 1;
	fw.fail.no_irq = 1;
	firmware_sample(CSF_REASON_PROTM_ENTER);
	check_eq(fw.dropped_samples, 1);
	count(2);
	fw.fail.garbage_metadata = 1;
	check_eq(core_collect(&c), 0);
	check_eq(c.flags, DRM_PERFCTR_SAMPLE_OVERFLOW | DRM_PERFCTR_SAMPLE_ERROR);
	check(c.lost_ns);
	check(core.states[0] & DRM_PERFCTR_STATE_LOST);
}

static void torn_core_is_not_taken_for_one_without_power(void)
{
	struct drm_perfctr_collection c;
	int core0, core16;

	firmware_default_config();
	check_eq(start(), 0);
	core0 = core_block(DRM_PERFCTR_BLOCK_SHADER, 0);
	core16 = core_block(DRM_PERFCTR_BLOCK_SHADER, 16);
	firmware_power(BIT_ULL(16));
	count(1);
	check_eq(core_collect(&c), 0);
	count(1);
	check_eq(core_collect(&c), 0);
	count(2);
	fw.fault_block = firmware_shader_block(0);
	fw.fail.torn = 1;
	fw.fail.garbage_metadata = 1;
	check_eq(core_collect(&c), 0);
	check(c.flags & DRM_PERFCTR_SAMPLE_ERROR);
	check(c.lost_ns);
	check(core.states[core0] & DRM_PERFCTR_STATE_LOST);
	check(!(core.states[core16] & DRM_PERFCTR_STATE_LOST));
}

/* it may have been the sample of a core that was about to lose power, or not: nothing tells */
static void power_loss_is_not_hidden_by_garbage(void)
{
	struct drm_perfctr_collection c;
	int core0, core16, garbage, i;

	for (garbage = 1; garbage <= 2; garbage++) {
		firmware_default_config();
		check_eq(start(), 0);
		core0 = core_block(DRM_PERFCTR_BLOCK_SHADER, 0);
		core16 = core_block(DRM_PERFCTR_BLOCK_SHADER, 16);
		count(1);
		check_eq(core_collect(&c), 0);
		for (i = 0; i < garbage; i++) {
			count(1);
			fw.fail.garbage_metadata = 1;
			check_eq(core_collect(&c), 0);
			check_eq(c.flags, DRM_PERFCTR_SAMPLE_ERROR);
			check(!(core.states[core16] & DRM_PERFCTR_STATE_LOST));
		}
		check(conserved());
		count(3);
		/* without a sample before it */
		fw.cores_off = BIT_ULL(16);
		fw.cores_seen_on &= ~BIT_ULL(16);
		fw.cores_seen_off |= BIT_ULL(16);
		check_eq(core_collect(&c), 0);
		check(c.flags & DRM_PERFCTR_SAMPLE_ERROR);
		check(c.lost_ns);
		check(core.states[core16] & DRM_PERFCTR_STATE_LOST);
		check(!(core.states[core0] & DRM_PERFCTR_STATE_LOST));
		/* and then it is off, as before */
		count(1);
		check_eq(core_collect(&c), 0);
		check_eq(c.flags, 0);
		check_eq(c.lost_ns, 0);
	}
}

/* time that does not go on is noticed; the sample then has the time of delivery */
static void stopped_gpu_clock_is_flagged(void)
{
	struct drm_perfctr_collection c;

	firmware_default_config();
	check_eq(start(), 0);
	count(1);
	check_eq(core_collect(&c), 0);
	fw.fail.time_stops = 1;
	native_sleep_ns(50 * MS);
	check_eq(core_collect(&c), 0);
	native_sleep_ns(50 * MS);
	count(2);
	check_eq(core_collect(&c), 0);
	check(c.flags & DRM_PERFCTR_SAMPLE_ERROR);
	check(c.time_ns <= native_now_ns);
	check(conserved());
}

/* whatever firmware writes, whenever: bounded time, no access outside, and it recovers */
static void random_firmware_breaks_nothing(void)
{
	struct random_state random = { test_seed() };
	unsigned long round, rounds = test_rounds(1000);

	for (round = 0; round < rounds; round++) {
		const struct shape *shape = &shapes[random_below(&random, ARRAY_SIZE(shapes))];
		struct drm_perfctr_collection c;
		unsigned int step, i;
		u64 last_ns = 0;

		firmware_default_config();
		fw.config.shader_present = shape->present;
		fw.config.shader_visible = shape->present & random_u64(&random);
		fw.config.l2_slices = shape->l2_slices;
		fw.config.counters_per_block = shape->counters;
		fw.config.shader_dense = shape->dense;
		fw.config.extended_metadata = shape->extended;
		fw.metadata = shape->metadata;
		check_eq(start(), 0);
		for (step = 0; step < 20; step++) {
			u8 *out = (u8 *)&fw.output;
			u64 before_ns;
			int ret;

			count(1);
			switch (random_below(&random, 5)) {
			case 0:
				for (i = 0; i < sizeof(fw.output); i++)
					out[i] = random_u64(&random);
				break;
			case 1:
				fw.output.prfcnt_insert += random_below(&random, 8);
				break;
			case 2:
				for (i = 0; i < 1000; i++)
					fw.ring[random_below(&random, sizeof(fw.ring))] =
						random_u64(&random);
				break;
			case 3:
				fw.output.ack ^= random_u64(&random);
				break;
			}
			irq();
			before_ns = native_now_ns;
			ret = core_collect(&c);
			check(ret == 0 || ret == -ETIMEDOUT);
			check(native_now_ns - before_ns <= COLLECT_MAX_NS);
			if (!ret) {
				check(c.time_ns <= native_now_ns && c.time_ns >= last_ns);
				check(c.lost_ns <= c.time_ns);
				last_ns = c.time_ns;
			}
		}
		/* it behaves again: after at most the retry time all is exact */
		native_sleep_ns(2 * CSF_RETRY_NS);
		for (i = 0; i < 3; i++)
			core_collect(&c);
		{
			u64 host = core.totals[0][4], truth = fw.counted[0][4];

			count(3);
			check_eq(core_collect(&c), 0);
			check_eq(c.flags, 0);
			check_eq(core.totals[0][4] - host, fw.counted[0][4] - truth);
		}
	}
}

/* --- set-up -------------------------------------------------------------- */

static void wrong_configuration_is_rejected(void)
{
	unsigned int i;

	for (i = 0; i < 22; i++) {
		firmware_default_config();
		firmware_boot();
		switch (i) {
		case 0:
			fw.config.control = NULL;
			break;
		case 1:
			fw.config.input = NULL;
			break;
		case 2:
			fw.config.output = NULL;
			break;
		case 3:
			fw.config.req_lock = NULL;
			break;
		case 4:
			fw.config.ops = NULL;
			break;
		case 5:
			fw.config.ring = NULL;
			break;
		case 6:
			fw.config.ring_bytes = csf_perfctr_ring_bytes(&fw.config) - 1;
			break;
		case 7:
			fw.config.slots = 0;
			break;
		case 8:
			fw.config.slots = 1;
			break;
		case 9:
			fw.config.slots = 3;
			break;
		case 10:
			fw.config.slots = 256;
			break;
		case 11:
			fw.config.jasid = 8;
			break;
		case 12:
			fw.config.l2_slices = 0;
			break;
		case 13:
			fw.config.l2_slices = 65;
			break;
		case 14:
			fw.config.shader_present = 0;
			break;
		case 15:
			fw.config.shader_visible = 0x2;
			break;
		case 16:
			fw.config.counters_per_block = 32;
			break;
		case 17:
			fw.config.counters_per_block = 65;
			break;
		case 18:
			fw.config.ring = fw.ring + 4;
			break;
		/* firmware has another idea of the geometry */
		case 19:
			fw.control.prfcnt_size += 1;
			break;
		case 20:
			fw.control.prfcnt_size += 1 << 16;
			break;
		case 21:
			fw.control.prfcnt_features = 5;
			break;
		}
		create();
		check(IS_ERR(csf));
		check_eq(PTR_ERR(csf), -EINVAL);
	}
	firmware_default_config();
	firmware_boot();
	core_reset();
	create();
	check(!IS_ERR(csf));
}

static void failed_allocation_is_reported(void)
{
	unsigned int n;

	for (n = 1; n <= 5; n++) {
		firmware_default_config();
		firmware_boot();
		native_fail_alloc = n;
		create();
		check(IS_ERR(csf));
		check_eq(PTR_ERR(csf), -ENOMEM);
		check_eq(native_fail_alloc, 0);
	}
	native_fail_alloc = 6;
	create();
	check(!IS_ERR(csf));
	check_eq(native_fail_alloc, 1);
	native_fail_alloc = 0;
}

static void collect_interval_prevents_a_wrap(void)
{
	firmware_default_config();
	fw.config.max_count_hz = 4000000000ull;
	firmware_boot();
	create();
	check(core.source->max_interval_ns < 1073741824ull);
	check(core.source->max_interval_ns > 700000000ull);
	fw.config.max_count_hz = 0;
	create();
	check_eq(core.source->max_interval_ns, NSEC_PER_SEC);
	fw.config.max_count_hz = U64_MAX;
	create();
	check_eq(core.source->max_interval_ns, 1);
}

static const struct test tests[] = {
	TEST(start_programs_the_interface),
	TEST(set_is_programmed),
	TEST(counts_of_before_start_are_dropped),
	TEST(every_shape_counts_exactly),
	TEST(sparse_cores_keep_their_number),
	TEST(hidden_core_is_not_counted),
	TEST(unavailable_counters_are_left_out),
	TEST(counters_wider_than_32_bits_together),
	TEST(indices_wrap_at_32_bits),
	TEST(automatic_samples_are_all_read),
	TEST(time_is_that_of_the_sample),
	TEST(no_gpu_clock_is_no_error),
	TEST(cycles_are_reported),
	TEST(power_states_follow_the_cores),
	TEST(protected_mode_is_told),
	TEST(start_stop_start_begins_at_zero),
	TEST(events_are_acknowledged_and_told_once),
	TEST(threshold_storm_without_samples_is_no_event),
	TEST(requested_sample_is_no_event),
	TEST(interrupt_leaves_the_pages_alone_unless_counting),
	TEST(reset_and_start_again),
	TEST(overflow_tells_how_long),
	TEST(overflow_without_metadata_is_bounded_by_the_span),
	TEST(faults_are_flagged_bounded_and_over),
	TEST(saturated_counter_is_told),
	TEST(late_answer_is_not_taken_for_the_next),
	TEST(machine_that_stood_still_is_no_dead_firmware),
	TEST(start_gives_up_and_can_be_repeated),
	TEST(stop_is_bounded_and_the_next_start_recovers),
	TEST(dead_firmware_costs_little_and_comes_back),
	TEST(firmware_restart_is_recovered),
	TEST(restart_is_not_hidden_by_garbage),
	TEST(overflow_is_not_hidden_by_garbage),
	TEST(torn_core_is_not_taken_for_one_without_power),
	TEST(power_loss_is_not_hidden_by_garbage),
	TEST(stopped_gpu_clock_is_flagged),
	TEST(random_firmware_breaks_nothing),
	TEST(wrong_configuration_is_rejected),
	TEST(failed_allocation_is_reported),
	TEST(collect_interval_prevents_a_wrap),
};

int main(int argc, char **argv)
{
	native_verbose = getenv("VERBOSE");
	return test_main(argc, argv, tests, ARRAY_SIZE(tests));
}
