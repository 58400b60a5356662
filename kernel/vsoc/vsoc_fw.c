// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU's microcontroller and its firmware, as far as counters are concerned.
 *
 * Written from the interface description in csf_layout.h alone; what the host
 * side makes of it is unknown here. The MCU is a thread. It is woken by the
 * doorbell, looks at the request word, works, writes its output page and raises
 * the interrupt.
 */
#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <asm/barrier.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "csf/csf_layout.h"
#include "vsoc.h"
#include "vsoc_counters.h"

#define FW_VERSION		0x03000000	/* 3.0 */
#define FW_INPUT_VA		0x04001000
#define FW_OUTPUT_VA		0x04002000
#define FW_ENABLE_BITS		32		/* bits of an enable mask */

/* requests that are acknowledged without anything else to do */
#define FW_PLAIN_REQUESTS	(CSF_GLB_PING)

enum fw_block_type {
	FW_BLOCK_FW,
	FW_BLOCK_CSHW,
	FW_BLOCK_TILER,
	FW_BLOCK_MEMSYS,
	FW_BLOCK_SHADER,
	FW_BLOCK_TYPES,
};

/**
 * struct vsoc_fw - the microcontroller; everything but the pages is private to it
 */
struct vsoc_fw {
	/** @vsoc: the device. */
	struct vsoc_device *vsoc;
	/** @pages: memory shared with the host. */
	struct vsoc_fw_pages pages;
	/** @map_va: address of the only mapping in address space 0. */
	u64 map_va;
	/** @map: its memory. */
	void *map;
	/** @map_bytes: its size. */
	size_t map_bytes;

	/** @mcu: the processor. */
	struct task_struct *mcu;
	/** @wait: the MCU sleeps here. */
	wait_queue_head_t wait;
	/** @doorbell: rung since the MCU last looked. */
	bool doorbell;
	/** @irq: the interrupt line. */
	struct irq_work irq;
	/** @handler: what the host does in hard interrupt context. */
	void (*handler)(struct vsoc_device *vsoc);

	/** @lock: firmware state, that is everything below. Outside of hw_lock. */
	struct mutex lock;
	/** @enabled: counting, PRFCNT_ENABLE is acknowledged. */
	bool enabled;
	/** @metadata: samples begin with a metadata block. */
	bool metadata;
	/** @ring: the sample ring. */
	void *ring;
	/** @slots: of the ring. */
	u32 slots;
	/** @enable: masks as programmed. */
	u32 enable[FW_BLOCK_TYPES];
	/** @insert: next slot to write, free-running. */
	u32 insert;
	/** @seq: number of the next sample. */
	u32 seq;
	/** @ack: what the output page says. */
	u32 ack;
	/** @start_ticks: GPU timestamp at which the running span began. */
	u64 start_ticks;
	/** @cycles: of the clocks at that time. */
	u64 cycles[VSOC_CLOCKS];
	/** @cores_on: cores powered for some of the span. */
	u64 cores_on;
	/** @cores_off: cores without power for some of the span. */
	u64 cores_off;
	/** @base: counter registers at the end of the last sample. */
	u32 *base;
	/** @dropped: counts lost to full rings since the device exists. */
	u64 *dropped;

	/** @samples_written: since the device exists. */
	u64 samples_written;
	/** @samples_dropped: since the device exists. */
	u64 samples_dropped;
	/** @interrupts: raised. */
	u64 interrupts;
	/** @doorbells: seen. */
	u64 doorbells;
	/** @resets: of the GPU. */
	u64 resets;
};

static u32 fw_read(const __le32 *word)
{
	/* pairs with the host's barrier before it rings the doorbell */
	return le32_to_cpu(smp_load_acquire(word));
}

static void fw_write(__le32 *word, u32 value)
{
	/* what the word announces was written before */
	smp_store_release(word, cpu_to_le32(value));
}

/* --- geometry ------------------------------------------------------------ */

static u32 shader_slots(const struct vsoc_shape *shape)
{
	return shape->shader_dense ? shape->cores : fls64(shape->shader_present);
}

static size_t block_bytes(const struct vsoc_shape *shape)
{
	return shape->counters_per_block * sizeof(__le32);
}

static size_t sample_bytes(const struct vsoc_fw *fw)
{
	const struct vsoc_shape *shape = &fw->vsoc->shape;

	return (fw->metadata + VSOC_BLOCK_MEMSYS + shape->l2_slices + shader_slots(shape)) *
	       block_bytes(shape);
}

/* --- sampling ------------------------------------------------------------ */

static void put_u64(__le32 *words, u64 value)
{
	words[0] = cpu_to_le32(lower_32_bits(value));
	words[1] = cpu_to_le32(upper_32_bits(value));
}

/*
 * Read and clear the counters of @block. @words is NULL if there is no slot to
 * write to: the counts are gone.
 */
static void sample_block(struct vsoc_fw *fw, __le32 *words, u32 block, u32 enable, u64 ticks)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const u32 counters = vsoc->shape.counters_per_block;
	const u32 per_bit = counters / FW_ENABLE_BITS;
	u32 c;

	if (words) {
		put_u64(&words[CSF_BLOCK_TIMESTAMP_LO], ticks);
		words[CSF_BLOCK_PRFCNT_EN] = cpu_to_le32(enable);
		words[CSF_BLOCK_HEADER_WORDS - 1] = 0;
	}

	for (c = CSF_BLOCK_HEADER_WORDS; c < counters; c++) {
		const size_t i = vsoc_gpu_index(vsoc, block, c);
		u32 value = vsoc->gpu.reg[i] - fw->base[i];

		fw->base[i] = vsoc->gpu.reg[i];
		if (!(enable & BIT(c / per_bit)))
			value = 0;
		if (words)
			words[c] = cpu_to_le32(value);
		else
			fw->dropped[i] += value;
	}
}

static void sample_metadata(struct vsoc_fw *fw, __le32 *words, u32 reason, u64 ticks)
{
	struct vsoc_device *vsoc = fw->vsoc;
	unsigned int i;

	memset(words, 0, block_bytes(&vsoc->shape));
	put_u64(&words[CSF_BLOCK_TIMESTAMP_LO], ticks);
	/* the metadata block is always written in full */
	words[CSF_BLOCK_PRFCNT_EN] = cpu_to_le32(U32_MAX);
	words[CSF_BLOCK_SAMPLE_REASON] = cpu_to_le32(reason);
	words[CSF_METADATA_SEQ] = cpu_to_le32(fw->seq);
	for (i = 0; i < VSOC_CLOCKS; i++)
		put_u64(&words[CSF_METADATA_CYCLES_TOP + 2 * i],
			vsoc_gpu_cycles(vsoc, i) - fw->cycles[i]);
	put_u64(&words[CSF_METADATA_START], fw->start_ticks);
	put_u64(&words[CSF_METADATA_CORES_ON], fw->cores_on);
	put_u64(&words[CSF_METADATA_CORES_OFF], fw->cores_off);
}

/* the span that begins now; called with the clocks up to date */
static void begin_span(struct vsoc_fw *fw, u64 ticks)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const u64 present = vsoc->shape.shader_present;
	unsigned int i;

	fw->start_ticks = ticks;
	for (i = 0; i < VSOC_CLOCKS; i++)
		fw->cycles[i] = vsoc_gpu_cycles(vsoc, i);
	fw->cores_on = vsoc->gpu.cores_on;
	fw->cores_off = present & ~vsoc->gpu.cores_on;
}

/* write all blocks to @slot, or drop the counts if it is NULL */
static void sample_hardware(struct vsoc_fw *fw, __le32 *slot, u32 reason)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const struct vsoc_shape *shape = &vsoc->shape;
	const u32 words = shape->counters_per_block;
	u32 block, core, number = 0;
	u64 ticks;

	vsoc_gpu_update_clocks(vsoc);
	ticks = vsoc_gpu_timestamp(vsoc->gpu.clock_ns);

	if (slot && fw->metadata) {
		sample_metadata(fw, slot, reason, ticks);
		slot += words;
	}

	for (block = 0; block < VSOC_BLOCK_MEMSYS + shape->l2_slices; block++) {
		u32 type = min_t(u32, block, FW_BLOCK_MEMSYS);

		sample_block(fw, slot, block, fw->enable[type], ticks);
		if (slot)
			slot += words;
	}

	for (core = 0; core < fls64(shape->shader_present); core++) {
		bool present = shape->shader_present & BIT_ULL(core);
		bool on = fw->cores_on & BIT_ULL(core);

		if (!present && shape->shader_dense)
			continue;
		if (present)
			/* a core without power in the whole span writes no mask */
			sample_block(fw, slot, block + number++,
				     on ? fw->enable[FW_BLOCK_SHADER] : 0, ticks);
		else if (slot)
			memset(slot, 0, block_bytes(shape));
		if (slot)
			slot += words;
	}

	begin_span(fw, ticks);
}

/* an event of firmware's own: pending while req and ack differ */
static u32 event(u32 req, u32 ack, u32 bit)
{
	return (req ^ ack) & bit ? ack : ack ^ bit;
}

/*
 * Take a sample, with hw_lock held. Returns the acknowledge word that tells the
 * host of it, to be written after whatever else is to be acknowledged is in it.
 */
static u32 take_sample(struct vsoc_fw *fw, u32 req, u32 ack, u32 reason)
{
	u32 extract = fw_read(&fw->pages.input->prfcnt_extract);
	__le32 *slot = NULL;

	if (fw->insert - extract < fw->slots)
		slot = fw->ring + (fw->insert & (fw->slots - 1)) * sample_bytes(fw);

	sample_hardware(fw, slot, reason);
	fw->seq++;

	if (slot) {
		fw->samples_written++;
		fw_write(&fw->pages.output->prfcnt_insert, ++fw->insert);
	} else {
		fw->samples_dropped++;
		ack = event(req, ack, CSF_GLB_PRFCNT_OVERFLOW);
	}
	if (fw->insert - extract >= fw->slots / 2)
		ack = event(req, ack, CSF_GLB_PRFCNT_THRESHOLD);
	return ack;
}

static void acknowledge(struct vsoc_fw *fw, u32 ack)
{
	u32 changed = fw->ack ^ ack;

	if (!changed)
		return;
	fw->ack = ack;
	fw_write(&fw->pages.output->ack, ack);
	if (changed & fw_read(&fw->pages.input->ack_irq_mask)) {
		fw->interrupts++;
		irq_work_queue(&fw->irq);
	}
}

/* a sample that nobody asked for, with hw_lock held */
static void automatic_sample(struct vsoc_fw *fw, u32 reason)
{
	u32 req = fw_read(&fw->pages.input->req);

	if (!fw->enabled)
		return;
	acknowledge(fw, take_sample(fw, req, fw->ack, reason));
	/* without an event nothing was acknowledged, but INSERT has moved */
	fw->interrupts++;
	irq_work_queue(&fw->irq);
}

/* --- requests ------------------------------------------------------------ */

static bool program(struct vsoc_fw *fw)
{
	const struct vsoc_device *vsoc = fw->vsoc;
	struct csf_glb_input *in = fw->pages.input;
	u32 config = fw_read(&in->prfcnt_config);
	u64 base = le64_to_cpu(READ_ONCE(in->prfcnt_base));
	size_t bytes;

	fw->slots = FIELD_GET(CSF_PRFCNT_CONFIG_SLOTS_MASK, config);
	fw->metadata = config & CSF_PRFCNT_CONFIG_METADATA;
	fw->enable[FW_BLOCK_FW] = fw_read(&in->prfcnt_fw_en);
	fw->enable[FW_BLOCK_CSHW] = fw_read(&in->prfcnt_csf_en);
	fw->enable[FW_BLOCK_TILER] = fw_read(&in->prfcnt_tiler_en);
	fw->enable[FW_BLOCK_MEMSYS] = fw_read(&in->prfcnt_mmu_l2_en);
	fw->enable[FW_BLOCK_SHADER] = fw_read(&in->prfcnt_shader_en);

	bytes = fw->slots * sample_bytes(fw);
	if (!is_power_of_2(fw->slots) || FIELD_GET(CSF_PRFCNT_CONFIG_SET_MASK, config) ||
	    fw_read(&in->prfcnt_jasid) || base < fw->map_va || base % sizeof(u64) ||
	    base - fw->map_va > fw->map_bytes || bytes > fw->map_bytes - (base - fw->map_va)) {
		drm_dbg_driver(&vsoc->drm, "firmware: cannot count into %u slots at %#llx\n",
			       fw->slots, base);
		return false;
	}
	fw->ring = fw->map + (base - fw->map_va);
	return true;
}

static bool start_counting(struct vsoc_fw *fw)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const size_t counters = vsoc_gpu_index(vsoc, vsoc->shape.blocks, 0);

	if (!program(fw)) {
		WRITE_ONCE(fw->pages.output->prfcnt_status, cpu_to_le32(CSF_PRFCNT_STATUS_FAILED));
		return false;
	}
	WRITE_ONCE(fw->pages.output->prfcnt_status, 0);
	fw->insert = fw_read(&fw->pages.input->prfcnt_extract);
	fw_write(&fw->pages.output->prfcnt_insert, fw->insert);

	vsoc_gpu_update_clocks(vsoc);
	memcpy(fw->base, vsoc->gpu.reg, counters * sizeof(*fw->base));
	begin_span(fw, vsoc_gpu_timestamp(vsoc->gpu.clock_ns));
	fw->enabled = true;
	return true;
}

static void handle_requests(struct vsoc_fw *fw)
{
	u32 req = fw_read(&fw->pages.input->req);
	u32 ack = fw->ack;
	u32 pending = req ^ ack;

	mutex_lock(&fw->vsoc->hw_lock);
	ack ^= pending & FW_PLAIN_REQUESTS;

	if (pending & CSF_GLB_PRFCNT_SAMPLE) {
		/* disabled in the same breath: the last sample is the answer */
		if (fw->enabled && req & CSF_GLB_PRFCNT_ENABLE)
			ack = take_sample(fw, req, ack, CSF_REASON_REQUEST);
		ack ^= CSF_GLB_PRFCNT_SAMPLE;
	}

	if (pending & CSF_GLB_PRFCNT_ENABLE) {
		if (!(req & CSF_GLB_PRFCNT_ENABLE)) {
			ack = take_sample(fw, req, ack, CSF_REASON_DISABLE);
			fw->enabled = false;
			ack ^= CSF_GLB_PRFCNT_ENABLE;
		} else if (start_counting(fw)) {
			ack ^= CSF_GLB_PRFCNT_ENABLE;
		}
	}

	mutex_unlock(&fw->vsoc->hw_lock);
	acknowledge(fw, ack);
}

static int mcu_thread(void *data)
{
	struct vsoc_fw *fw = data;

	while (!kthread_should_stop()) {
		wait_event_idle(fw->wait, READ_ONCE(fw->doorbell) || kthread_should_stop());
		if (!xchg(&fw->doorbell, false))
			continue;
		mutex_lock(&fw->lock);
		fw->doorbells++;
		handle_requests(fw);
		mutex_unlock(&fw->lock);
	}
	return 0;
}

static void raise_irq(struct irq_work *work)
{
	struct vsoc_fw *fw = container_of(work, struct vsoc_fw, irq);
	void (*handler)(struct vsoc_device *vsoc) = READ_ONCE(fw->handler);

	if (handler)
		handler(fw->vsoc);
}

/* --- what the rest of the device sees ------------------------------------ */

/* the host rings the global doorbell; any context */
void vsoc_fw_doorbell(struct vsoc_device *vsoc)
{
	struct vsoc_fw *fw = vsoc->fw;

	/* after what the host wrote to the input page */
	smp_store_release(&fw->doorbell, true);
	wake_up(&fw->wait);
}

const struct vsoc_fw_pages *vsoc_fw_pages(struct vsoc_device *vsoc)
{
	return &vsoc->fw->pages;
}

/* map @memory at @va of the MCU's address space 0 */
void vsoc_fw_map(struct vsoc_device *vsoc, u64 va, void *memory, size_t bytes)
{
	struct vsoc_fw *fw = vsoc->fw;

	mutex_lock(&fw->lock);
	fw->map_va = va;
	fw->map = memory;
	fw->map_bytes = bytes;
	mutex_unlock(&fw->lock);
}

/* @handler is called in hard interrupt context; NULL: nobody listens, waits for the last call */
void vsoc_fw_set_irq(struct vsoc_device *vsoc, void (*handler)(struct vsoc_device *vsoc))
{
	WRITE_ONCE(vsoc->fw->handler, handler);
	if (!handler)
		irq_work_sync(&vsoc->fw->irq);
}

/*
 * Power shader cores up and down. Firmware samples before the change, so that no
 * count is lost with the power and no span has two states of a core in it.
 */
void vsoc_fw_core_power(struct vsoc_device *vsoc, u64 cores_on)
{
	const u64 present = vsoc->shape.shader_present;
	struct vsoc_fw *fw = vsoc->fw;
	u64 up, down;

	cores_on &= present;
	mutex_lock(&fw->lock);
	mutex_lock(&vsoc->hw_lock);
	up = cores_on & ~vsoc->gpu.cores_on;
	down = vsoc->gpu.cores_on & ~cores_on;
	if (up || down) {
		automatic_sample(fw, (up ? CSF_REASON_POWERON : 0) |
				 (down ? CSF_REASON_POWEROFF : 0));
		vsoc_gpu_update_clocks(vsoc);
		vsoc->gpu.cores_on = cores_on;
		vsoc->gpu.clocks[VSOC_CLOCK_SHADER].on = cores_on;
		vsoc_gpu_count(vsoc, VSOC_BLOCK_FW, VSOC_FW_CORE_POWER_UPS, hweight64(up));
		vsoc_gpu_count(vsoc, VSOC_BLOCK_FW, VSOC_FW_CORE_POWER_DOWNS, hweight64(down));
		fw->cores_on = cores_on;
		fw->cores_off = present & ~cores_on;
	}
	mutex_unlock(&vsoc->hw_lock);
	mutex_unlock(&fw->lock);
}

/*
 * Protected mode begins or ends. Nothing is counted in it, so that its span has a
 * sample of its own.
 */
void vsoc_fw_protected(struct vsoc_device *vsoc, bool enter)
{
	struct vsoc_fw *fw = vsoc->fw;

	mutex_lock(&fw->lock);
	mutex_lock(&vsoc->hw_lock);
	if (enter != vsoc->gpu.protected) {
		if (enter)
			vsoc_gpu_count(vsoc, VSOC_BLOCK_FW, VSOC_FW_PROTECTED_ENTRIES, 1);
		automatic_sample(fw, enter ? CSF_REASON_PROTM_ENTER : CSF_REASON_PROTM_EXIT);
		vsoc->gpu.protected = enter;
		WRITE_ONCE(fw->pages.output->prfcnt_status,
			   cpu_to_le32(enter ? CSF_PRFCNT_STATUS_PROTSESSION : 0));
		if (!enter)
			vsoc_gpu_count(vsoc, VSOC_BLOCK_FW, VSOC_FW_PROTECTED_EXITS, 1);
	}
	mutex_unlock(&vsoc->hw_lock);
	mutex_unlock(&fw->lock);
}

/* counts since the last sample that nobody will get */
static void lose_counts(struct vsoc_fw *fw)
{
	struct vsoc_device *vsoc = fw->vsoc;
	const size_t counters = vsoc_gpu_index(vsoc, vsoc->shape.blocks, 0);
	size_t i;

	for (i = 0; i < counters; i++) {
		if (fw->enabled)
			fw->dropped[i] += vsoc->gpu.reg[i] - fw->base[i];
		fw->base[i] = vsoc->gpu.reg[i];
	}
}

/* the GPU is reset: registers and pages are zeroed, firmware boots anew */
void vsoc_fw_reset(struct vsoc_device *vsoc)
{
	const size_t counters = vsoc_gpu_index(vsoc, vsoc->shape.blocks, 0);
	struct vsoc_fw *fw = vsoc->fw;
	unsigned long flags;

	mutex_lock(&fw->lock);
	mutex_lock(&vsoc->hw_lock);
	lose_counts(fw);
	memset(vsoc->gpu.reg, 0, counters * sizeof(*vsoc->gpu.reg));
	memset(fw->base, 0, counters * sizeof(*fw->base));
	vsoc->gpu.protected = false;
	mutex_unlock(&vsoc->hw_lock);

	spin_lock_irqsave(&vsoc->req_lock, flags);
	memset(fw->pages.input, 0, sizeof(*fw->pages.input));
	memset(fw->pages.output, 0, sizeof(*fw->pages.output));
	spin_unlock_irqrestore(&vsoc->req_lock, flags);
	fw->enabled = false;
	fw->ack = 0;
	fw->insert = 0;
	fw->seq = 0;
	fw->resets++;
	mutex_unlock(&fw->lock);
}

/* one consistent copy of all counts, and of those that firmware had to drop */
void vsoc_fw_totals(struct vsoc_device *vsoc, u64 *truth, u64 *dropped)
{
	const size_t bytes = vsoc_gpu_index(vsoc, vsoc->shape.blocks, 0) * sizeof(*truth);
	struct vsoc_fw *fw = vsoc->fw;

	mutex_lock(&fw->lock);
	mutex_lock(&vsoc->hw_lock);
	memcpy(truth, vsoc->gpu.truth, bytes);
	memcpy(dropped, fw->dropped, bytes);
	mutex_unlock(&vsoc->hw_lock);
	mutex_unlock(&fw->lock);
}

static int firmware_show(struct seq_file *m, void *unused)
{
	struct vsoc_device *vsoc = m->private;
	struct vsoc_fw *fw = vsoc->fw;

	mutex_lock(&fw->lock);
	seq_printf(m, "enabled %u\n", fw->enabled);
	seq_printf(m, "slots %u\n", fw->slots);
	seq_printf(m, "insert %u\n", fw->insert);
	seq_printf(m, "extract %u\n", fw_read(&fw->pages.input->prfcnt_extract));
	seq_printf(m, "req 0x%08x\n", fw_read(&fw->pages.input->req));
	seq_printf(m, "ack 0x%08x\n", fw->ack);
	seq_printf(m, "doorbells %llu\n", fw->doorbells);
	seq_printf(m, "interrupts %llu\n", fw->interrupts);
	seq_printf(m, "samples_written %llu\n", fw->samples_written);
	seq_printf(m, "samples_dropped %llu\n", fw->samples_dropped);
	seq_printf(m, "resets %llu\n", fw->resets);
	mutex_unlock(&fw->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(firmware);

void vsoc_fw_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	debugfs_create_file("firmware", 0444, dir, vsoc, &firmware_fops);
}

/* --- boot ---------------------------------------------------------------- */

static void free_page_action(struct drm_device *drm, void *page)
{
	free_page((unsigned long)page);
}

static void *shared_page(struct vsoc_device *vsoc)
{
	void *page = (void *)get_zeroed_page(GFP_KERNEL);

	if (!page || drmm_add_action_or_reset(&vsoc->drm, free_page_action, page))
		return NULL;
	return page;
}

static void boot(struct vsoc_fw *fw)
{
	const struct vsoc_shape *shape = &fw->vsoc->shape;
	struct csf_glb_control *control = fw->pages.control;
	const size_t block_units = block_bytes(shape) / CSF_PRFCNT_SIZE_UNIT_BYTES;
	const size_t hw_blocks = VSOC_BLOCK_MEMSYS - VSOC_BLOCK_CSHW + shape->l2_slices +
				 shader_slots(shape);

	control->version = cpu_to_le32(FW_VERSION);
	control->input_va = cpu_to_le32(FW_INPUT_VA);
	control->output_va = cpu_to_le32(FW_OUTPUT_VA);
	control->prfcnt_size =
		cpu_to_le32(FIELD_PREP(CSF_PRFCNT_SIZE_HW_MASK, hw_blocks * block_units) |
			    FIELD_PREP(CSF_PRFCNT_SIZE_FW_MASK, block_units));
	control->prfcnt_features =
		cpu_to_le32(FIELD_PREP(CSF_PRFCNT_FEATURES_MD_MASK, block_units));
}

int vsoc_fw_init(struct vsoc_device *vsoc)
{
	const size_t counters = vsoc_gpu_index(vsoc, vsoc->shape.blocks, 0);
	struct vsoc_fw *fw;
	int ret;

	fw = drmm_kzalloc(&vsoc->drm, sizeof(*fw), GFP_KERNEL);
	if (!fw)
		return -ENOMEM;
	vsoc->fw = fw;
	fw->vsoc = vsoc;
	init_waitqueue_head(&fw->wait);
	fw->irq = IRQ_WORK_INIT_HARD(raise_irq);
	ret = drmm_mutex_init(&vsoc->drm, &fw->lock);
	if (ret)
		return ret;

	fw->pages.control = shared_page(vsoc);
	fw->pages.input = shared_page(vsoc);
	fw->pages.output = shared_page(vsoc);
	fw->base = drmm_kcalloc(&vsoc->drm, counters, sizeof(*fw->base), GFP_KERNEL);
	fw->dropped = drmm_kcalloc(&vsoc->drm, counters, sizeof(*fw->dropped), GFP_KERNEL);
	if (!fw->pages.control || !fw->pages.input || !fw->pages.output || !fw->base ||
	    !fw->dropped)
		return -ENOMEM;
	boot(fw);

	fw->mcu = kthread_run(mcu_thread, fw, "vsoc%d-mcu", vsoc->pdev->id);
	if (IS_ERR(fw->mcu)) {
		ret = PTR_ERR(fw->mcu);
		fw->mcu = NULL;
		return ret;
	}
	return 0;
}

void vsoc_fw_fini(struct vsoc_device *vsoc)
{
	struct vsoc_fw *fw = vsoc->fw;

	if (!fw || !fw->mcu)
		return;
	kthread_stop(fw->mcu);
	fw->mcu = NULL;
	vsoc_fw_set_irq(vsoc, NULL);
}
