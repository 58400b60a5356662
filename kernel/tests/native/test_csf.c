// SPDX-License-Identifier: GPL-2.0
/*
 * The CSF source against working firmware, and the configurations that it rejects.
 */
#include "csf_fixture.h"

/* --- working firmware ---------------------------------------------------- */

FIXTURE_TEST(start_programs_the_firmware)
{
	check_eq(fw.protocol_errors, 0);
	check_eq(fw.enables, 1);
	check_eq(fw.input.prfcnt_csg_en, 0);
	check_eq(fw.input.prfcnt_fw_en, U32_MAX);
	check_eq(fw.input.prfcnt_shader_en, U32_MAX);
	check_eq(fw.input.prfcnt_config, 4 | CSF_PRFCNT_CONFIG_METADATA);
	/* the driver's own bits are unchanged */
	check(fw.input.req & CSF_GLB_IDLE && fw.input.req & CSF_GLB_PING);
	check(fw.input.ack_irq_mask & CSF_GLB_IDLE);
	check((fw.input.ack_irq_mask & CSF_ACK_IRQS) == CSF_ACK_IRQS);
}

TEST(start_programs_the_counter_set)
{
	firmware_default_config();
	fw.config.types[CSF_PERFCTR_SHADER].sets = 0x7;
	firmware_boot();
	fixture_create();
	check_eq(core.source->ops->start(core.source, DRM_PERFCTR_SET_TERTIARY), 0);
	check_eq(FIELD_GET(CSF_PRFCNT_CONFIG_SET_MASK, fw.input.prfcnt_config), 2);
	check_eq(core.source->descs[shader(0)].sets, 0x7);
	check_eq(core.source->descs[0].sets, 0x1);
}

FIXTURE_TEST(counts_before_start_are_dropped)
{
	/* when it is enabled, firmware.c has counts of 12345 */
	check_eq(core_collect(), 0);
	check_eq(core.totals[0][10], 0);
	check(fixture_conserved());
}

TEST(every_shape_counts_exactly)
{
	struct random_state random = { test_seed() };
	unsigned int s, round;

	for (s = 0; s < FIXTURE_SHAPES; s++) {
		fixture_use_shape(s);
		check_eq(fixture_start(), 0);
		check_eq(core.source->block_count,
			 3 + fixture_shapes[s].csg_blocks + fixture_shapes[s].l2_slices +
			 hweight64(fixture_shapes[s].present));
		check_eq(core_block(DRM_PERFCTR_MALI_BLOCK_CSG, 7),
			 fixture_shapes[s].csg_blocks ? 8 : -1);
		for (round = 0; round < 20; round++) {
			unsigned int i;

			native_sleep_ns(1000 + random_below(&random, 1000000));
			firmware_count_random(&random);
			native_sleep_ns(1000);
			collect_clean();
			check_eq(got.lost_ns, 0);
			for (i = 0; i < core.source->block_count; i++) {
				const u64 *available = core.source->descs[i].available;

				check_eq(core.reports[i], 1);
				check_eq(core.valid[i][0], available[0]);
				check_eq(core.valid[i][1], available[1]);
			}
			check(fixture_conserved());
		}
		check_eq(fw.protocol_errors, 0);
		core.source->ops->stop(core.source);
		check(!fw.counting);
	}
}

TEST(sparse_cores_keep_their_numbers)
{
	firmware_default_config();
	fw.config.shader_visible = 0x40005;
	check_eq(fixture_start(), 0);
	check_eq(core.source->block_count, 3 + 2 + 3);
	check(shader(0) >= 0);
	check(shader(2) >= 0);
	check(shader(18) >= 0);
	/* present, but not available */
	check_eq(shader(16), -1);
	/* absent */
	check_eq(shader(1), -1);
	fixture_collect_clean(7);
	check(fixture_conserved());
}

TEST(unavailable_counters_are_left_out)
{
	firmware_default_config();
	fw.config.types[CSF_PERFCTR_FW].available[0] = 0xff0;
	check_eq(fixture_start(), 0);
	check_eq(core.source->descs[0].available[0], 0xff0);
	check_eq(fw.input.prfcnt_fw_en, 0x3f);
	fixture_collect_clean(9);
	check_eq(core.totals[0][4], 9);
	check_eq(core.totals[0][10], 9);
	check_eq(core.totals[0][12], 0);
	check_eq(core.valid[0][0], 0xff0);
}

FIXTURE_TEST(missing_counters_are_valid_only_without_power)
{
	firmware_power(fw.config.shader_present);
	/* of the shader cores, this firmware has the first counters only */
	fw.input.prfcnt_shader_en = 0xff;
	fixture_collect_clean(1);
	fixture_collect_clean(1);
	check_eq(core.valid[shader(0)][0], ~0xfull);
	csf_reader_restart(&csf->reader);
	firmware_power(0);
	fixture_collect_clean(1);
	check_eq(core.valid[shader(0)][0], 0xfff0);
}

TEST(unwritten_group_slot_is_not_measured)
{
	const u32 bad = DRM_PERFCTR_STATE_LOST | DRM_PERFCTR_STATE_ERROR;
	int slot, other, i;

	firmware_default_config();
	fw.config.csg_blocks = 8;
	check_eq(fixture_start(), 0);
	slot = core_block(DRM_PERFCTR_MALI_BLOCK_CSG, 3);
	other = core_block(DRM_PERFCTR_MALI_BLOCK_CSG, 4);
	fw.input.prfcnt_csg_select &= ~BIT(3);
	fixture_collect_clean(5);
	check_eq(got.lost_ns, 0);
	check(!(core.states[slot] & bad));
	check_eq(core.valid[slot][0], 0);
	check_eq(core.valid[other][0], ~0xfull);
	check_eq(core.totals[other][4], 5);
	/* nor when only one of the samples of the collection has it: the second, the first */
	for (i = 0; i < 2; i++) {
		firmware_sample(CSF_REASON_THRESHOLD);
		fw.input.prfcnt_csg_select ^= BIT(3);
		fixture_collect_clean(5);
		check_eq(core.valid[slot][0], 0);
	}
	fw.input.prfcnt_csg_select ^= BIT(3);
	fixture_collect_clean(5);
	check_eq(core.valid[slot][0], ~0xfull);
}

FIXTURE_TEST(totals_exceed_32_bits)
{
	unsigned int i;

	for (i = 0; i < 5; i++) {
		native_sleep_ns(1000);
		firmware_count(2, 20, U32_MAX - 1);
		check_eq(core_collect(), 0);
	}
	check_eq(core.totals[2][20], 5ull * (U32_MAX - 1));
}

FIXTURE_TEST(indices_wrap_at_32_bits)
{
	unsigned int i;

	fw.input.prfcnt_extract = U32_MAX - 5;
	fw.output.prfcnt_insert = U32_MAX - 5;
	csf->extract = U32_MAX - 5;
	csf->seen_insert = U32_MAX - 5;
	for (i = 0; i < 20; i++) {
		fixture_count(i);
		if (i % 3 == 0)
			firmware_sample(CSF_REASON_THRESHOLD);
		collect_clean();
		check(fixture_conserved());
	}
	check(fw.output.prfcnt_insert < 100);
}

FIXTURE_TEST(automatic_samples_are_all_read)
{
	unsigned int i;

	for (i = 0; i < fw.config.slots; i++) {
		fixture_count(3);
		firmware_sample(CSF_REASON_POWEROFF);
	}
	/* the ring is full: a request would overflow it */
	fixture_collect_clean(3);
	check_eq(got.lost_ns, 0);
	check_eq(fw.dropped_samples, 0);
	check(fixture_conserved());
	check_eq(fw.input.prfcnt_extract, fw.output.prfcnt_insert);
}

TEST(sample_has_the_time_of_its_capture)
{
	static const s64 drifts[] = { 0, 40, -300, 5000 };
	unsigned int d, i;

	for (d = 0; d < ARRAY_SIZE(drifts); d++) {
		u64 last_ns = 0;

		firmware_default_config();
		fw.drift_ppm = drifts[d];
		check_eq(fixture_start(), 0);
		for (i = 0; i < 50; i++) {
			u64 taken_ns, taken_ticks;

			native_sleep_ns(20 * MS);
			firmware_sample(CSF_REASON_POWERON);
			taken_ns = native_now_ns;
			taken_ticks = firmware_ticks();
			native_sleep_ns(3 * MS);
			/* a request without an answer: there is only the automatic sample */
			if (i % 5 == 4)
				fw.fail.no_ack = FOREVER;
			check_eq(core_collect(), 0);
			if (fw.fail.no_ack) {
				u64 apart = got.time_ns > taken_ns ? got.time_ns - taken_ns :
								   taken_ns - got.time_ns;

				check(got.flags & DRM_PERFCTR_SAMPLE_ERROR);
				check(apart <= csf_time_error_ns(&csf->time) + 42);
			} else {
				check_eq(got.flags, 0);
				check(native_now_ns - got.time_ns < 1000);
			}
			check(got.time_ns > last_ns && got.time_ns <= native_now_ns);
			last_ns = got.time_ns;
			check(got.has_gpu_timestamp);
			check_eq(got.gpu_timestamp,
				 fw.fail.no_ack ? taken_ticks : firmware_ticks());
			fw.fail.no_ack = 0;
		}
	}
}

TEST(missing_gpu_clock_is_no_error)
{
	firmware_default_config();
	fw.fail.anchor_fails = FOREVER;
	check_eq(fixture_start(), 0);
	fixture_collect_clean(5);
	check_eq(got.time_ns, native_now_ns);
	check(!got.has_gpu_timestamp);
	check(fixture_conserved());
}

FIXTURE_TEST(clock_cycles_are_added_up)
{
	native_sleep_ns(MS);
	fw.cycles[DRM_PERFCTR_MALI_CLOCK_TOP] = 1000;
	fw.cycles[DRM_PERFCTR_MALI_CLOCK_SHADER] = 3000;
	firmware_sample(CSF_REASON_THRESHOLD);
	native_sleep_ns(MS);
	fw.cycles[DRM_PERFCTR_MALI_CLOCK_TOP] = 500;
	fw.cycles[DRM_PERFCTR_MALI_CLOCK_COREGROUP] = 700;
	check_eq(core_collect(), 0);
	check_eq(got.clock_cycles[DRM_PERFCTR_MALI_CLOCK_TOP], 1500);
	check_eq(got.clock_cycles[DRM_PERFCTR_MALI_CLOCK_COREGROUP], 700);
	check_eq(got.clock_cycles[DRM_PERFCTR_MALI_CLOCK_SHADER], 3000);
}

FIXTURE_TEST(power_changes_are_in_the_states)
{
	fixture_collect(2);
	check_eq(core.states[shader(16)], DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_AVAILABLE |
				      DRM_PERFCTR_STATE_NORMAL);

	fixture_count(2);
	firmware_power(BIT_ULL(16));
	fixture_collect(2);
	check((core.states[shader(16)] & 3) == (DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_OFF));
	check((core.states[shader(0)] & 3) == DRM_PERFCTR_STATE_ON);
	check(fixture_conserved());

	/* off during the span: zeroes are valid */
	fixture_collect_clean(2);
	check((core.states[shader(16)] & 3) == DRM_PERFCTR_STATE_OFF);
	check_eq(core.valid[shader(16)][0], core.source->descs[shader(16)].available[0]);
	check(fixture_conserved());

	firmware_power(0);
	fixture_collect(2);
	check((core.states[shader(16)] & 3) == (DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_OFF));
	check(fixture_conserved());
}

FIXTURE_TEST(protected_mode_is_in_the_states)
{
	const u32 both = DRM_PERFCTR_STATE_NORMAL | DRM_PERFCTR_STATE_PROTECTED;

	fixture_count(2);
	firmware_protected(true);
	fixture_collect(2);
	check((core.states[0] & both) == both);
	check_eq(core_collect(), 0);
	check((core.states[0] & both) == DRM_PERFCTR_STATE_PROTECTED);
	firmware_protected(false);
	check_eq(core_collect(), 0);
	check((core.states[0] & both) == both);
	fixture_collect(1);
	check((core.states[0] & both) == DRM_PERFCTR_STATE_NORMAL);
	check(fixture_conserved());
}

FIXTURE_TEST(second_start_begins_at_zero)
{
	u64 counted;

	fixture_collect(4);
	counted = core.totals[0][4];
	fixture_count(100);
	core.source->ops->stop(core.source);
	check(!fw.counting);
	firmware_count(0, 4, 1000);
	check_eq(core.source->ops->start(core.source, 0), 0);
	check_eq(core_collect(), 0);
	check_eq(core.totals[0][4], counted);
	fixture_collect(5);
	check_eq(core.totals[0][4], counted + 5);
	check_eq(got.flags, 0);
	check_eq(fw.protocol_errors, 0);
}

/* --- interrupts ---------------------------------------------------------- */

FIXTURE_TEST(events_are_acknowledged_and_reported_once)
{
	fixture_count(1);
	firmware_sample(CSF_REASON_THRESHOLD);
	firmware_sample(CSF_REASON_THRESHOLD);
	check((fw.input.req ^ fw.output.ack) & CSF_GLB_PRFCNT_THRESHOLD);
	fixture_irq();
	check(!((fw.input.req ^ fw.output.ack) & CSF_EVENTS));
	check_eq(core.events, 1);
	fixture_irq();
	firmware_sample(CSF_REASON_THRESHOLD);
	fixture_irq();
	check_eq(core.events, 1);
	check(fw.input.req & CSF_GLB_IDLE && fw.input.req & CSF_GLB_PING);
	check_eq(core_collect(), 0);
	check(!got.transition);
	firmware_sample(CSF_REASON_POWEROFF);
	fixture_irq();
	check_eq(core.events, 1);
	check_eq(core.transitions, 2);
	check_eq(core_collect(), 0);
	check(got.transition);
	check_eq(core_collect(), 0);
	check(!got.transition);
	check(fixture_conserved());
}

FIXTURE_TEST(threshold_storm_without_samples_is_no_event)
{
	unsigned int i;

	for (i = 0; i < 10000; i++) {
		fw.output.ack ^= CSF_GLB_PRFCNT_THRESHOLD;
		fixture_irq();
		check(!((fw.input.req ^ fw.output.ack) & CSF_EVENTS));
	}
	check_eq(core.events, 0);
}

FIXTURE_TEST(requested_sample_is_no_event)
{
	check_eq(core_collect(), 0);
	fixture_irq();
	check_eq(core.events, 0);
}

TEST(interrupt_without_session_writes_nothing)
{
	firmware_default_config();
	firmware_boot();
	fixture_create();
	fw.output.ack ^= CSF_EVENTS;
	fixture_irq();
	check_eq(fw.input.req, CSF_GLB_IDLE | CSF_GLB_PING);
	check_eq(core.source->ops->start(core.source, 0), 0);
	core.source->ops->reset(core.source);
	firmware_restart();
	fw.output.ack = CSF_EVENTS;
	fixture_irq();
	check_eq(fw.input.req, 0);
	check_eq(core.events, 0);
	csf_perfctr_irq(NULL);
}

/* --- overflow ------------------------------------------------------------ */

FIXTURE_TEST(overflow_reports_the_lost_time)
{
	unsigned int i;
	u64 full_ns;

	for (i = 0; i < fw.config.slots; i++) {
		fixture_count(1);
		firmware_sample(CSF_REASON_POWEROFF);
	}
	full_ns = native_now_ns;
	for (i = 0; i < 3; i++) {
		fixture_count(10);
		firmware_sample(CSF_REASON_POWEROFF);
	}
	fixture_irq();
	check(!((fw.input.req ^ fw.output.ack) & CSF_EVENTS));
	check_eq(core.events, 1);
	full_ns = native_now_ns - full_ns;
	fixture_collect(2);
	check_eq(got.flags, DRM_PERFCTR_SAMPLE_OVERFLOW);
	check(got.lost_ns > full_ns - 100 && got.lost_ns < full_ns + 100);
	check_eq(fw.dropped_samples, 3);
	check(fixture_conserved());
	check(core.states[0] & DRM_PERFCTR_STATE_LOST);
	/* the next sample is complete */
	fixture_collect_clean(2);
	check_eq(got.lost_ns, 0);
	check(!(core.states[0] & DRM_PERFCTR_STATE_LOST));
}

TEST(overflow_without_metadata_loses_the_span)
{
	unsigned int i;
	u64 began_ns;

	firmware_default_config();
	fw.metadata = false;
	fw.config.extended_metadata = false;
	check_eq(fixture_start(), 0);
	began_ns = csf->time_ns;
	for (i = 0; i < fw.config.slots + 2; i++) {
		fixture_count(1);
		firmware_sample(CSF_REASON_POWEROFF);
	}
	fixture_irq();
	check_eq(core_collect(), 0);
	check_eq(got.flags, DRM_PERFCTR_SAMPLE_OVERFLOW);
	check_eq(got.lost_ns, got.time_ns - began_ns);
	check(fixture_conserved());
	collect_clean();
}

/* --- a ring that the driver allocates ------------------------------------ */

static unsigned int rings;
static int ring_error;

static int prepare(void *priv, size_t bytes, void **ring, u64 *ring_va)
{
	if (ring_error)
		return ring_error;
	check_eq(rings++, 0);
	check_eq(bytes, fw.config.slots * fw.blocks * fw.counters * sizeof(u32));
	memset(fw.ring, 0, bytes);
	*ring = fw.ring;
	*ring_va = FIRMWARE_RING_VA;
	return 0;
}

static void unprepare(void *priv)
{
	check_eq(--rings, 0);
}

/* as in panthor: memory only while sessions exist, firmware without a metadata block */
static void begin_without_ring(void)
{
	static struct csf_perfctr_driver_ops ops;

	native_free_managed();
	firmware_default_config();
	fw.config.extended_metadata = false;
	fw.metadata = false;
	ops = *fw.config.ops;
	ops.prepare = prepare;
	ops.unprepare = unprepare;
	fw.config.ops = &ops;
	fw.config.ring_va = 0;
	fw.config.ring = NULL;
	rings = 0;
	firmware_boot();
	fixture_create();
	check(!IS_ERR(csf));
}

static void begin_session(void)
{
	if (!rings)
		check_eq(core.source->ops->prepare(core.source), 0);
	check_eq(core.source->ops->start(core.source, 0), 0);
}

static void end_session(void)
{
	core.source->ops->stop(core.source);
	core.source->ops->unprepare(core.source);
}

TEST(ring_exists_while_sessions_do)
{
	unsigned int n;

	begin_without_ring();
	ring_error = -ENOMEM;
	check_eq(core.source->ops->prepare(core.source), -ENOMEM);
	ring_error = 0;
	/* firmware states other sizes afterwards: prepare() checks the bytes that it gets */
	fw.config.prfcnt_size = U32_MAX;
	fw.config.prfcnt_features = CSF_PRFCNT_FEATURES_MD_MASK;
	for (n = 0; n < 2; n++) {
		begin_session();
		check_eq(rings, 1);
		fixture_collect_clean(3 + n);
		check(fixture_conserved());
		end_session();
		check_eq(rings, 0);
	}
	check_eq(fw.protocol_errors, 0);
}

TEST(ring_is_kept_while_firmware_may_write)
{
	begin_without_ring();
	begin_session();
	fw.fail.no_disable_ack = FOREVER;
	end_session();
	check_eq(rings, 1);
	/* the next session uses the same ring; firmware answers again */
	fw.fail.no_disable_ack = 0;
	begin_session();
	fixture_collect_clean(3);
	check(fixture_conserved());
	end_session();
	check_eq(rings, 0);

	/* without an acknowledgment of the stop, the release of the device frees the ring */
	begin_session();
	fw.fail.no_disable_ack = FOREVER;
	end_session();
	check_eq(rings, 1);
	native_free_managed();
	check_eq(rings, 0);
}

/* as on runtime suspend, with and without a boot of the firmware, and on a hang */
TEST(restarts_lose_no_collected_count)
{
	struct random_state random = { test_seed() };
	unsigned int i;

	begin_without_ring();
	begin_session();
	for (i = 0; i < 500; i++) {
		const bool hang = !random_below(&random, 4);

		fixture_collect_clean(random_below(&random, 100));
		fixture_count(1);
		if (hang) {
			core.source->ops->reset(core.source);
		} else {
			collect_clean();
			core.source->ops->stop(core.source);
			check(!fw.counting);
		}
		if (hang || random_below(&random, 2))
			firmware_restart();
		/* panthor writes all of the mask after each boot */
		fw.input.ack_irq_mask = CSF_GLB_IDLE;
		begin_session();
	}
	collect_clean();
	check(fixture_conserved());
	check_eq(fw.protocol_errors, 0);
}

/* --- set-up -------------------------------------------------------------- */

static void expect_rejected(void)
{
	fixture_create();
	check(IS_ERR(csf));
	check_eq(PTR_ERR(csf), -EINVAL);
	firmware_default_config();
	firmware_boot();
}

TEST(wrong_configuration_is_rejected)
{
	static struct csf_perfctr_driver_ops ops;

#define WRONG(setting) do { setting; expect_rejected(); } while (0)
	firmware_default_config();
	firmware_boot();
	WRONG(fw.config.input = NULL);
	WRONG(fw.config.output = NULL);
	WRONG(fw.config.req_lock = NULL);
	WRONG(fw.config.ops = NULL);
	WRONG(fw.config.ring = NULL);
	WRONG(fw.config.ring_bytes = csf_perfctr_ring_bytes(&fw.config) - 1);
	WRONG(fw.config.slots = 0);
	WRONG(fw.config.slots = 1);
	WRONG(fw.config.slots = 3);
	WRONG(fw.config.slots = 256);
	WRONG(fw.config.jasid = 8);
	WRONG(fw.config.l2_slices = 0);
	WRONG(fw.config.l2_slices = 65);
	WRONG(fw.config.csg_blocks = 32);
	WRONG(fw.config.shader_present = 0);
	WRONG(fw.config.shader_visible = 0x2);
	WRONG(fw.config.counters_per_block = 32);
	WRONG(fw.config.counters_per_block = 65);
	WRONG(fw.config.ring = fw.ring + 4);
	/* firmware states another geometry */
	WRONG(fw.config.prfcnt_size += 1);
	WRONG(fw.config.prfcnt_size += 1 << 16);
	WRONG(fw.config.prfcnt_features = 5);
	/* a ring and prepare(); prepare() without unprepare() */
	ops = *fw.config.ops;
	ops.prepare = prepare;
	ops.unprepare = unprepare;
	WRONG(fw.config.ops = &ops);
	ops = *fw.config.ops;
	ops.prepare = prepare;
	fw.config.ops = &ops;
	WRONG(fw.config.ring = NULL);
#undef WRONG
	core_reset();
	fixture_create();
	check(!IS_ERR(csf));
}

TEST(failed_allocation_is_reported)
{
	unsigned int n;

	for (n = 1; n <= 6; n++) {
		firmware_default_config();
		firmware_boot();
		native_fail_alloc = n;
		fixture_create();
		check(IS_ERR(csf));
		check_eq(PTR_ERR(csf), -ENOMEM);
		check_eq(native_fail_alloc, 0);
	}
	native_fail_alloc = 7;
	fixture_create();
	check(!IS_ERR(csf));
	check_eq(native_fail_alloc, 1);
	native_fail_alloc = 0;
}

TEST(collect_interval_prevents_a_wrap)
{
	firmware_default_config();
	fw.config.max_count_hz = 4000000000ull;
	firmware_boot();
	fixture_create();
	check(core.source->max_interval_ns < 1073741824ull);
	check(core.source->max_interval_ns > 700000000ull);
	fw.config.max_count_hz = 0;
	fixture_create();
	check_eq(core.source->max_interval_ns, NSEC_PER_SEC);
	fw.config.max_count_hz = U64_MAX;
	fixture_create();
	check_eq(core.source->max_interval_ns, 1);
}
