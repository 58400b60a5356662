// SPDX-License-Identifier: GPL-2.0
/*
 * The CSF source inside the kernel, in real time, with the kernel's waits, locks and interrupts.
 * kernel/tests/native/test_csf_faults.c has all faults.
 */
#include <linux/bitfield.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>

#include "kunit_csf.h"

#define RING_VA		0x1000000ULL
#define TIMESTAMP_HZ	NSEC_PER_SEC

/* the fake core's functions have no argument that leads here */
static struct kunit_csf *current_fw;

int kunit_add_source(struct drm_perfctr *pc, struct drm_perfctr_source *source)
{
	current_fw->source = source;
	return 0;
}

u64 *kunit_block_totals(struct drm_perfctr_source *source, unsigned int block)
{
	return current_fw->totals[block];
}

void kunit_block_report(struct drm_perfctr_source *source, unsigned int block,
			u32 states, const u64 *valid)
{
	current_fw->valid[block] = valid[0];
}

void kunit_source_event(struct drm_perfctr_source *source)
{
	current_fw->events++;
}

static bool fault(unsigned int *count)
{
	if (!*count)
		return false;
	--*count;
	return true;
}

static bool present(const struct kunit_csf *fw, unsigned int block)
{
	return block < 4 || fw->config.shader_present & BIT_ULL(block - 4);
}

static void put64(__le32 *words, unsigned int at, u64 value)
{
	words[at] = cpu_to_le32(lower_32_bits(value));
	words[at + 1] = cpu_to_le32(upper_32_bits(value));
}

void kunit_csf_sample(struct kunit_csf *fw, u32 reason)
{
	u32 insert = le32_to_cpu(fw->output.prfcnt_insert);
	__le32 *words = fw->ring + (insert & (KUNIT_CSF_SLOTS - 1)) *
				   (1 + KUNIT_CSF_BLOCKS) * KUNIT_CSF_COUNTERS;
	u64 now = ktime_get_raw_ns();
	unsigned int b, i;

	if (insert - le32_to_cpu(fw->input.prfcnt_extract) >= KUNIT_CSF_SLOTS) {
		fw->output.ack ^= cpu_to_le32(CSF_GLB_PRFCNT_OVERFLOW);
	} else {
		put64(words, CSF_BLOCK_TIMESTAMP_LO, now);
		words[CSF_BLOCK_SAMPLE_REASON] = cpu_to_le32(reason);
		words[CSF_METADATA_SEQ] = cpu_to_le32(fw->seq);
		put64(words, CSF_METADATA_START, fw->span_start);
		/* a clock as fast as the timestamp */
		put64(words, CSF_METADATA_CYCLES_TOP, now - fw->span_start);
		put64(words, CSF_METADATA_CORES_ON, fw->config.shader_present);
		put64(words, CSF_METADATA_CORES_OFF, 0);
		for (b = 0; b < KUNIT_CSF_BLOCKS; b++) {
			words += KUNIT_CSF_COUNTERS;
			if (!present(fw, b))
				continue;
			put64(words, CSF_BLOCK_TIMESTAMP_LO, now);
			words[CSF_BLOCK_PRFCNT_EN] = cpu_to_le32(U32_MAX);
			for (i = CSF_BLOCK_HEADER_WORDS; i < KUNIT_CSF_COUNTERS; i++)
				words[i] = cpu_to_le32(fw->hw[b][i]);
		}
		insert += fault(&fw->insert_beyond) ? 1000 : 1;
		/* what is in the slot comes before INSERT */
		smp_wmb();
		WRITE_ONCE(fw->output.prfcnt_insert, cpu_to_le32(insert));
	}
	memset(fw->hw, 0, sizeof(fw->hw));
	fw->span_start = now;
	fw->seq++;
}

static void ring_doorbell(void *priv)
{
	struct kunit_csf *fw = priv;
	u64 begin = ktime_get_raw_ns();
	u32 differ;

	if (fault(&fw->spurious_irq))
		csf_perfctr_irq(fw->csf);
	if (fault(&fw->deaf))
		return;
	differ = le32_to_cpu(fw->input.req ^ fw->output.ack);
	if (differ & CSF_GLB_PRFCNT_ENABLE) {
		fw->counting = le32_to_cpu(fw->input.req) & CSF_GLB_PRFCNT_ENABLE;
		if (fw->counting) {
			fw->output.prfcnt_insert = fw->input.prfcnt_extract;
			fw->span_start = begin;
		}
		fw->output.ack ^= cpu_to_le32(CSF_GLB_PRFCNT_ENABLE);
	}
	if (fw->counting && differ & CSF_GLB_PRFCNT_SAMPLE) {
		if (!fault(&fw->ack_without_sample))
			kunit_csf_sample(fw, CSF_REASON_REQUEST);
		fw->output.ack ^= cpu_to_le32(CSF_GLB_PRFCNT_SAMPLE);
	}
	fw->model_ns += ktime_get_raw_ns() - begin;
	csf_perfctr_irq(fw->csf);
}

static int read_anchor(void *priv, struct csf_perfctr_anchor *anchor)
{
	anchor->raw_ns = ktime_get_raw_ns();
	anchor->gpu_ticks = anchor->raw_ns;
	anchor->error_ns = 1;
	return 0;
}

static const struct csf_perfctr_driver_ops driver_ops = {
	.ring_doorbell = ring_doorbell,
	.read_anchor = read_anchor,
};

struct kunit_csf *kunit_csf_boot(struct kunit *test)
{
	struct kunit_csf *fw = kunit_kzalloc(test, sizeof(*fw), GFP_KERNEL);
	size_t bytes = KUNIT_CSF_SLOTS * (1 + KUNIT_CSF_BLOCKS) * KUNIT_CSF_COUNTERS * sizeof(u32);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fw);
	fw->ring = kunit_kzalloc(test, bytes, GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fw->ring);
	fw->drm = test->priv;
	current_fw = fw;
	spin_lock_init(&fw->lock);
	fw->control.prfcnt_size = cpu_to_le32(FIELD_PREP(CSF_PRFCNT_SIZE_FW_MASK, 1) |
		FIELD_PREP(CSF_PRFCNT_SIZE_HW_MASK, KUNIT_CSF_BLOCKS - 1));
	fw->control.prfcnt_features = cpu_to_le32(1);
	fw->config = (struct csf_perfctr_config) {
		.control = &fw->control, .input = &fw->input, .output = &fw->output,
		.req_lock = &fw->lock, .ops = &driver_ops, .priv = fw,
		.ring = fw->ring, .ring_va = RING_VA, .ring_bytes = bytes,
		.slots = KUNIT_CSF_SLOTS, .l2_slices = 1,
		.shader_present = 0x50005, .shader_visible = 0x50005,
		.extended_metadata = true, .counters_per_block = KUNIT_CSF_COUNTERS,
		.timestamp_hz = TIMESTAMP_HZ,
	};
	fw->csf = drmm_csf_perfctr_create(fw->drm, NULL, &fw->config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fw->csf);
	KUNIT_ASSERT_EQ(test, fw->source->ops->start(fw->source, 0), 0);
	return fw;
}

void kunit_csf_count(struct kunit_csf *fw, u32 n)
{
	unsigned int b, i;

	for (b = 0; b < KUNIT_CSF_BLOCKS; b++)
		for (i = CSF_BLOCK_HEADER_WORDS; i < KUNIT_CSF_COUNTERS; i++)
			fw->hw[b][i] += n * i;
}

int kunit_csf_collect(struct kunit_csf *fw, struct drm_perfctr_collection *c)
{
	memset(c, 0, sizeof(*c));
	return fw->source->ops->collect(fw->source, c);
}

static void expect_totals(struct kunit *test, struct kunit_csf *fw, u64 n)
{
	unsigned int b, i;

	for (b = 0; b < KUNIT_CSF_VISIBLE; b++)
		for (i = CSF_BLOCK_HEADER_WORDS; i < KUNIT_CSF_COUNTERS; i++)
			KUNIT_EXPECT_EQ(test, fw->totals[b][i], n * i);
}

static void counts_exactly(struct kunit *test)
{
	struct kunit_csf *fw = kunit_csf_boot(test);
	struct drm_perfctr_collection c;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		kunit_csf_count(fw, 1);
		if (i % 3 == 0)
			kunit_csf_sample(fw, CSF_REASON_POWEROFF);
		KUNIT_EXPECT_EQ(test, kunit_csf_collect(fw, &c), 0);
		KUNIT_EXPECT_EQ(test, c.flags, 0);
		KUNIT_EXPECT_EQ(test, c.lost_ns, 0);
	}
	expect_totals(test, fw, 20);
	KUNIT_EXPECT_EQ(test, fw->valid[7], ~0xfULL);
	fw->source->ops->stop(fw->source);
	KUNIT_EXPECT_FALSE(test, fw->counting);
}

static void spurious_interrupt_completes_nothing(struct kunit *test)
{
	struct kunit_csf *fw = kunit_csf_boot(test);
	struct drm_perfctr_collection c;

	fw->spurious_irq = 5;
	kunit_csf_count(fw, 3);
	KUNIT_EXPECT_EQ(test, kunit_csf_collect(fw, &c), 0);
	KUNIT_EXPECT_EQ(test, c.flags, 0);
	expect_totals(test, fw, 3);
	fw->source->ops->stop(fw->source);
}

static void silence_is_bounded_and_recovered(struct kunit *test)
{
	struct kunit_csf *fw = kunit_csf_boot(test);
	struct drm_perfctr_collection c;
	u64 begin = ktime_get_raw_ns();

	fw->deaf = 1;
	kunit_csf_count(fw, 3);
	KUNIT_EXPECT_EQ(test, kunit_csf_collect(fw, &c), -ETIMEDOUT);
	KUNIT_EXPECT_LT(test, ktime_get_raw_ns() - begin,
			10 * CSF_PRFCNT_ACK_TIMEOUT_MS * NSEC_PER_MSEC);
	/* nothing was lost, the counts were still in the hardware */
	KUNIT_EXPECT_EQ(test, kunit_csf_collect(fw, &c), 0);
	KUNIT_EXPECT_EQ(test, c.flags, 0);
	expect_totals(test, fw, 3);
	fw->source->ops->stop(fw->source);
}

static void insert_beyond_the_ring_is_recovered(struct kunit *test)
{
	struct kunit_csf *fw = kunit_csf_boot(test);
	struct drm_perfctr_collection c;

	fw->insert_beyond = 1;
	kunit_csf_count(fw, 3);
	KUNIT_EXPECT_EQ(test, kunit_csf_collect(fw, &c), 0);
	KUNIT_EXPECT_TRUE(test, c.flags & DRM_PERFCTR_SAMPLE_ERROR);
	KUNIT_EXPECT_NE(test, c.lost_ns, 0);
	kunit_csf_count(fw, 4);
	KUNIT_EXPECT_EQ(test, kunit_csf_collect(fw, &c), 0);
	KUNIT_EXPECT_EQ(test, c.flags, 0);
	expect_totals(test, fw, 4);
	fw->source->ops->stop(fw->source);
}

static void acknowledged_without_a_sample(struct kunit *test)
{
	struct kunit_csf *fw = kunit_csf_boot(test);
	struct drm_perfctr_collection c;

	fw->ack_without_sample = 1;
	kunit_csf_count(fw, 3);
	KUNIT_EXPECT_EQ(test, kunit_csf_collect(fw, &c), 0);
	KUNIT_EXPECT_EQ(test, c.flags, 0);
	expect_totals(test, fw, 3);
	fw->source->ops->stop(fw->source);
}

static void overflow_is_acknowledged_and_reported(struct kunit *test)
{
	struct kunit_csf *fw = kunit_csf_boot(test);
	struct drm_perfctr_collection c;
	unsigned int i;

	for (i = 0; i < KUNIT_CSF_SLOTS + 1; i++) {
		kunit_csf_count(fw, 1);
		kunit_csf_sample(fw, CSF_REASON_POWEROFF);
	}
	csf_perfctr_irq(fw->csf);
	KUNIT_EXPECT_EQ(test, fw->events, 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(fw->input.req ^ fw->output.ack) &
			CSF_GLB_PRFCNT_OVERFLOW, 0);
	KUNIT_EXPECT_EQ(test, kunit_csf_collect(fw, &c), 0);
	KUNIT_EXPECT_EQ(test, c.flags, DRM_PERFCTR_SAMPLE_OVERFLOW);
	KUNIT_EXPECT_TRUE(test, c.transition);
	KUNIT_EXPECT_NE(test, c.lost_ns, 0);
	KUNIT_EXPECT_EQ(test, kunit_csf_collect(fw, &c), 0);
	KUNIT_EXPECT_FALSE(test, c.transition);
	expect_totals(test, fw, KUNIT_CSF_SLOTS);
	fw->source->ops->stop(fw->source);
}

static const struct drm_driver kunit_driver = { .name = "kunit-csf" };

int kunit_csf_device_init(struct kunit *test)
{
	struct device *dev = root_device_register("kunit-csf");
	struct drm_device *drm;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	drm = drm_dev_alloc(&kunit_driver, dev);
	if (IS_ERR(drm)) {
		root_device_unregister(dev);
		return PTR_ERR(drm);
	}
	test->priv = drm;
	return 0;
}

void kunit_csf_device_exit(struct kunit *test)
{
	struct drm_device *drm = test->priv;
	struct device *dev;

	if (!drm)
		return;
	dev = drm->dev;
	drm_dev_put(drm);
	root_device_unregister(dev);
}

static struct kunit_case csf_cases[] = {
	KUNIT_CASE(counts_exactly),
	KUNIT_CASE(spurious_interrupt_completes_nothing),
	KUNIT_CASE(silence_is_bounded_and_recovered),
	KUNIT_CASE(insert_beyond_the_ring_is_recovered),
	KUNIT_CASE(acknowledged_without_a_sample),
	KUNIT_CASE(overflow_is_acknowledged_and_reported),
	{ }
};

static struct kunit_suite csf_suite = {
	.name = "perfctr_csf",
	.init = kunit_csf_device_init,
	.exit = kunit_csf_device_exit,
	.test_cases = csf_cases,
};

kunit_test_suite(csf_suite);
