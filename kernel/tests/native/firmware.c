// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware for the tests of the CSF source.
 */
#include "firmware.h"
#include "test.h"

#define JASID		3

struct firmware fw;

static bool fault(unsigned int *count)
{
	if (!*count)
		return false;
	if (*count != FOREVER)
		--*count;
	return true;
}

u64 firmware_ticks(void)
{
	__uint128_t ns = native_now_ns;

	if (fw.frozen_ticks)
		return fw.frozen_ticks;
	ns = ns * (1000000 + fw.drift_ppm) / 1000000;
	return 1000 + (u64)(ns * fw.hz / NSEC_PER_SEC);
}

static int read_anchor(void *priv, struct csf_perfctr_anchor *anchor)
{
	assert(!fw.lock.held);
	if (fault(&fw.fail.anchor_fails))
		return -EIO;
	if (fault(&fw.fail.time_stops))
		fw.frozen_ticks = fw.frozen_ticks ?: firmware_ticks();
	anchor->gpu_ticks = firmware_ticks();
	if (fault(&fw.fail.time_backwards))
		anchor->gpu_ticks -= fw.hz;
	anchor->raw_ns = native_now_ns;
	anchor->error_ns = 100;
	return 0;
}

static void doorbell(void *priv)
{
	assert(!fw.lock.held);
	fw.doorbells++;
	if (fault(&fw.fail.lost_doorbell))
		return;
	if (fault(&fw.fail.spurious_irq) && fw.irq)
		fw.irq();
	if (fw.auto_process)
		firmware_process();
}

static const struct csf_perfctr_driver_ops ops = {
	.ring_doorbell = doorbell,
	.read_anchor = read_anchor,
};

static unsigned int first_shader(void)
{
	return 3 + fw.config.csg_blocks + fw.config.l2_slices;
}

unsigned int firmware_shader_block(unsigned int core)
{
	u64 below = BIT_ULL(core) - 1;

	if (fw.config.shader_dense)
		core = hweight64(fw.config.shader_present & below);
	return first_shader() + core;
}

static int core_of_block(unsigned int block)
{
	int core;

	for (core = 0; core < 64; core++)
		if (fw.config.shader_present & BIT_ULL(core) &&
		    firmware_shader_block(core) == block)
			return core;
	return -1;
}

static bool is_shader(unsigned int block)
{
	return block >= first_shader();
}

static size_t sample_bytes(void)
{
	return (fw.metadata + fw.blocks) * fw.counters * 4;
}

void firmware_default_config(void)
{
	memset(&fw, 0, sizeof(fw));
	fw.hz = 24000000;
	fw.metadata = true;
	fw.auto_process = true;
	spin_lock_init(&fw.lock);
	fw.config = (struct csf_perfctr_config){
		.input = &fw.input, .output = &fw.output,
		.req_lock = &fw.lock, .ops = &ops,
		.ring = fw.ring, .ring_va = FIRMWARE_RING_VA, .ring_bytes = sizeof(fw.ring),
		.slots = 4, .jasid = JASID, .l2_slices = 2,
		.shader_present = 0x50005, .shader_visible = 0x50005,
		.extended_metadata = true, .counters_per_block = 64,
		.product = DRM_VSOC_PRODUCT_CSF,
		.timestamp_hz = fw.hz, .max_count_hz = 1000000000,
	};
}

void firmware_boot(void)
{
	unsigned int cores = fw.config.shader_dense ? hweight64(fw.config.shader_present) :
						      fls64(fw.config.shader_present);

	fw.counters = fw.config.counters_per_block;
	fw.blocks = first_shader() + cores;
	assert(fw.blocks <= FIRMWARE_MAX_BLOCKS && fw.config.slots <= FIRMWARE_MAX_SLOTS);
	fw.config.prfcnt_size = ((1 + fw.config.csg_blocks) * fw.counters * 4 / 256) << 16 |
				(fw.blocks - 1 - fw.config.csg_blocks) * fw.counters * 4 / 256;
	fw.config.prfcnt_features = fw.metadata ? fw.counters * 4 / 256 : 0;
	/* bits of the driver, which the source must not change */
	fw.input.req = CSF_GLB_IDLE | CSF_GLB_PING;
	fw.input.ack_irq_mask = CSF_GLB_IDLE;
	fw.cores_off = 0;
}

void firmware_count(unsigned int block, unsigned int counter, u32 n)
{
	int core = core_of_block(block);

	if (!fw.counting || fw.protected)
		return;
	if (is_shader(block) && (core < 0 || fw.cores_off & BIT_ULL(core)))
		return;
	fw.hw[block][counter] += n;
	fw.counted[block][counter] += n;
}

void firmware_count_random(struct random_state *random)
{
	unsigned int i, n = random_below(random, 40);

	for (i = 0; i < n; i++)
		firmware_count(random_below(random, fw.blocks),
			       4 + random_below(random, fw.counters - 4),
			       random_u64(random) >> (40 + random_below(random, 20)));
	for (i = 0; i < 3; i++)
		fw.cycles[i] += random_below(random, 1000);
}

/* each bit of an enable mask covers several counters */
static bool enabled(unsigned int block, unsigned int counter)
{
	unsigned int csg = fw.config.csg_blocks;
	u32 mask = block == 0 ? fw.input.prfcnt_fw_en :
		   block <= csg ? fw.input.prfcnt_csg_en :
		   block == 1 + csg ? fw.input.prfcnt_csf_en :
		   block == 2 + csg ? fw.input.prfcnt_tiler_en :
		   is_shader(block) ? fw.input.prfcnt_shader_en : fw.input.prfcnt_mmu_l2_en;

	return mask & BIT(counter / (fw.counters / 32));
}

static u32 enable_word(unsigned int block)
{
	u32 word = 0;
	unsigned int i;

	for (i = 0; i < fw.counters; i++)
		if (enabled(block, i))
			word |= BIT(i / (fw.counters / 32));
	return word;
}

static void put64(u32 *words, unsigned int at, u64 value)
{
	words[at] = value;
	words[at + 1] = value >> 32;
}

static void put_metadata(u32 *words, u32 reason)
{
	if (words[CSF_BLOCK_PRFCNT_EN] || words[CSF_BLOCK_SAMPLE_REASON])
		fw.protocol_errors++;
	put64(words, CSF_BLOCK_TIMESTAMP_LO, firmware_ticks());
	words[CSF_BLOCK_PRFCNT_EN] = ~0u;
	words[CSF_BLOCK_SAMPLE_REASON] = reason;
	if (!fw.config.extended_metadata)
		return;
	words[CSF_METADATA_SEQ] = fw.seq;
	put64(words, CSF_METADATA_START, fw.span_start);
	if (fault(&fw.fail.wrong_start))
		put64(words, CSF_METADATA_START, 1);
	/* a sample has cycles of some clock */
	put64(words, CSF_METADATA_CYCLES_TOP, fw.cycles[0] + fw.cycles[1] + fw.cycles[2] ?
	      fw.cycles[0] : 1);
	put64(words, CSF_METADATA_CYCLES_COREGROUP, fw.cycles[1]);
	put64(words, CSF_METADATA_CYCLES_SHADER, fw.cycles[2]);
	if (fault(&fw.fail.clock_stop))
		memset(&words[CSF_METADATA_CYCLES_TOP], 0, 3 * sizeof(u64));
	put64(words, CSF_METADATA_CORES_ON, fw.cores_seen_on);
	put64(words, CSF_METADATA_CORES_OFF, fw.cores_seen_off);
	put64(words, CSF_METADATA_CORES_MINE, fw.config.shader_present);
	put64(words, CSF_METADATA_CORES_AWAY, 0);
	if (fault(&fw.fail.garbage_metadata)) {
		unsigned int i;

		for (i = 0; i < fw.counters; i++)
			words[i] = 0xdeadbeef + i * 0x1234567;
	}
}

static void put_block(u32 *words, unsigned int block, bool saturate)
{
	int core = core_of_block(block);
	unsigned int i;

	if (words[CSF_BLOCK_PRFCNT_EN])
		fw.protocol_errors++;
	if ((is_shader(block) && (core < 0 || !(fw.cores_seen_on & BIT_ULL(core)))) ||
	    (block && block <= fw.config.csg_blocks &&
	     !(fw.input.prfcnt_csg_select & BIT(block - 1)))) {
		for (i = 4; i < fw.counters; i++)
			words[i] = 0;
		return;
	}
	put64(words, CSF_BLOCK_TIMESTAMP_LO, firmware_ticks());
	words[CSF_BLOCK_PRFCNT_EN] = enable_word(block);
	for (i = 4; i < fw.counters; i++) {
		words[i] = enabled(block, i) ? fw.hw[block][i] : 0xa5a5a5a5;
		if (saturate)
			words[i] = ~0u;
	}
	if (block == fw.fault_block && fault(&fw.fail.garbage_header))
		words[CSF_BLOCK_PRFCNT_EN] = 0x5eadbee1;
	if (block == fw.fault_block && fault(&fw.fail.garbage_timestamp))
		put64(words, CSF_BLOCK_TIMESTAMP_LO, 0xdeadbeefcafef00dull);
}

static void new_span(bool drop)
{
	unsigned int b, i;

	for (b = 0; b < fw.blocks; b++)
		for (i = 0; i < fw.counters; i++) {
			if (drop)
				fw.dropped[b][i] += fw.hw[b][i];
			fw.hw[b][i] = 0;
		}
	memset(fw.cycles, 0, sizeof(fw.cycles));
	fw.span_start = firmware_ticks();
	fw.cores_seen_on = fw.config.shader_present & ~fw.cores_off;
	fw.cores_seen_off = fw.cores_off;
	fw.seq++;
}

void firmware_sample(u32 reason)
{
	u32 insert = fw.output.prfcnt_insert, unread = insert - fw.input.prfcnt_extract;
	u32 *words = (u32 *)(fw.ring + (insert & (fw.slots - 1)) * sample_bytes());
	bool saturate, torn;
	unsigned int b;

	if (!fw.counting)
		return;
	if (unread >= fw.slots || fault(&fw.fail.overflow)) {
		fw.dropped_samples++;
		new_span(true);
		if (!((fw.input.req ^ fw.output.ack) & CSF_GLB_PRFCNT_OVERFLOW))
			fw.output.ack ^= CSF_GLB_PRFCNT_OVERFLOW;
		return;
	}
	if (fw.metadata) {
		put_metadata(words, reason);
		words += fw.counters;
	}
	saturate = fault(&fw.fail.saturate);
	torn = fault(&fw.fail.torn);
	for (b = 0; b < fw.blocks; b++, words += fw.counters)
		if (!torn || b < fw.fault_block)
			put_block(words, b, saturate);
	new_span(false);
	fw.samples++;
	insert++;
	if (fault(&fw.fail.insert_unwritten))
		insert++;
	if (fault(&fw.fail.insert_beyond))
		insert += 1000;
	if (fault(&fw.fail.insert_backwards))
		insert -= 7;
	fw.output.prfcnt_insert = insert;
	if ((unread + 1 >= fw.slots / 2 || fault(&fw.fail.threshold)) &&
	    !((fw.input.req ^ fw.output.ack) & CSF_GLB_PRFCNT_THRESHOLD))
		fw.output.ack ^= CSF_GLB_PRFCNT_THRESHOLD;
}

static void raise(void)
{
	if (!fault(&fw.fail.no_irq) && fw.irq)
		fw.irq();
}

static void enable(void)
{
	if (fault(&fw.fail.no_enable_ack))
		return;
	if (fw.input.prfcnt_base != FIRMWARE_RING_VA || fw.input.prfcnt_jasid != JASID ||
	    fw.input.prfcnt_extract || !(fw.input.prfcnt_config & 0xff) ||
	    fw.input.prfcnt_csg_select != BIT(fw.config.csg_blocks) - 1 ||
	    !fw.config.csg_blocks != !fw.input.prfcnt_csg_en ||
	    !!(fw.input.prfcnt_config & CSF_PRFCNT_CONFIG_METADATA) != fw.metadata)
		fw.protocol_errors++;
	fw.slots = fw.input.prfcnt_config & 0xff;
	fw.output.prfcnt_insert = fw.input.prfcnt_extract;
	fw.output.prfcnt_status = 0;
	fw.counting = true;
	fw.enables++;
	/* counters keep their earlier values */
	new_span(false);
	fw.hw[0][10] = 12345;
	fw.hw[1][11] = 12345;
	fw.output.ack |= CSF_GLB_PRFCNT_ENABLE;
	raise();
}

static void disable(void)
{
	if (fault(&fw.fail.no_disable_ack))
		return;
	firmware_sample(CSF_REASON_DISABLE);
	fw.counting = false;
	fw.output.ack &= ~CSF_GLB_PRFCNT_ENABLE;
	raise();
}

static void requested(void)
{
	if (fault(&fw.fail.no_ack))
		return;
	if (!fw.ack_at_ns && fault(&fw.fail.late_ack)) {
		fw.ack_at_ns = native_now_ns + fw.ack_delay_ns;
		return;
	}
	if (fw.ack_at_ns) {
		if (native_now_ns < fw.ack_at_ns)
			return;
		fw.ack_at_ns = 0;
	}
	if (fault(&fw.fail.failed_status))
		fw.output.prfcnt_status = CSF_PRFCNT_STATUS_FAILED;
	if (!fault(&fw.fail.ack_without_sample))
		firmware_sample(CSF_REASON_REQUEST);
	fw.output.ack ^= CSF_GLB_PRFCNT_SAMPLE;
	if (fault(&fw.fail.double_ack))
		fw.output.ack ^= CSF_GLB_PRFCNT_SAMPLE;
	raise();
}

void firmware_process(void)
{
	u32 differ = fw.input.req ^ fw.output.ack;

	if (differ & CSF_GLB_PRFCNT_ENABLE) {
		if (fw.input.req & CSF_GLB_PRFCNT_ENABLE)
			enable();
		else
			disable();
	}
	if (fw.counting && (fw.input.req ^ fw.output.ack) & CSF_GLB_PRFCNT_SAMPLE)
		requested();
}

void firmware_power(u64 cores_off)
{
	u64 changed = fw.cores_off ^ cores_off;

	if (changed) {
		/* the sample is taken before power changes */
		fw.cores_off = cores_off;
		firmware_sample(cores_off & changed ? CSF_REASON_POWEROFF : CSF_REASON_POWERON);
	}
}

void firmware_protected(bool enter)
{
	if (fw.protected == enter)
		return;
	firmware_sample(enter ? CSF_REASON_PROTM_ENTER : CSF_REASON_PROTM_EXIT);
	fw.protected = enter;
}

void firmware_restart(void)
{
	new_span(true);
	fw.counting = false;
	memset(&fw.output, 0, sizeof(fw.output));
	memset(&fw.input, 0, sizeof(fw.input));
	fw.ack_at_ns = 0;
	fw.seq = 0;
	fw.protected = false;
}
