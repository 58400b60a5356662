// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU's microcontroller and its firmware, as far as counters are concerned.
 *
 * Written from the interface description in csf_layout.h alone, without knowledge of the host's
 * implementation. The MCU is a thread. The doorbell wakes it; it reads the request word, executes
 * the requests, writes its output page and raises the interrupt.
 */
#include <linux/bitfield.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "compat.h"
#include "vsoc_csf_counters.h"
#include "engine/vsoc_fault.h"
#include "vsoc_fw.h"

#define FW_VERSION		0x03000000	/* 3.0 */
#define FW_INPUT_VA		0x04001000
#define FW_OUTPUT_VA		0x04002000

/* requests that need nothing but an acknowledgment */
#define FW_PLAIN_REQUESTS	(CSF_GLB_PING)

/*
 * The scheduler decides when the MCU thread runs. A host gives up after CSF_PRFCNT_ACK_TIMEOUT_MS;
 * use half of it, as the host may begin to wait before it rings the doorbell.
 */
#define LATE_ANSWER_MS		(CSF_PRFCNT_ACK_TIMEOUT_MS / 2)

/* faults */
#define SLOW_DOORBELL_MS	20
#define STORM_EVENTS		32
#define STORM_PAUSE_US		200

/* the time of the host's interrupt handler is not the MCU's */
static void stop_clock(struct vsoc_fw *fw)
{
	if (fw->busy_since_ns)
		fw->busy_ns += ktime_get_mono_fast_ns() - fw->busy_since_ns;
	fw->busy_since_ns = 0;
}

/* without self-IPIs (User-mode Linux), irq_work is delayed until the next tick: up to 10 ms */
static void raise_line(struct vsoc_fw *fw)
{
	if (arch_irq_work_has_interrupt())
		irq_work_queue(&fw->irq);
	else
		hrtimer_start(&fw->irq_timer, 0, HRTIMER_MODE_REL_HARD);
}

static void interrupt(struct vsoc_fw *fw)
{
	fw->interrupts++;
	stop_clock(fw);
	if (!vsoc_fault(fw->vsoc, VSOC_FAULT_LOST_IRQ))
		raise_line(fw);
}

static void acknowledge(struct vsoc_fw *fw, u32 ack)
{
	u32 changed = fw->ack ^ ack;

	if (!changed)
		return;
	fw->ack = ack;
	fw_write(&fw->pages.output->ack, ack);
	if (changed & fw_read(&fw->pages.input->ack_irq_mask))
		interrupt(fw);
}

/* a sample that the host did not request; called with hw_lock held */
static void automatic_sample(struct vsoc_fw *fw, u32 reason)
{
	u32 req = fw_read(&fw->pages.input->req);

	if (!fw->enabled)
		return;
	acknowledge(fw, fw_take_sample(fw, req, fw->ack, reason));
	/* if no event was raised, ack is unchanged, but INSERT has advanced */
	interrupt(fw);
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
	fw->set = FIELD_GET(CSF_PRFCNT_CONFIG_SET_MASK, config);
	fw->metadata = config & CSF_PRFCNT_CONFIG_METADATA;
	fw->enable[FW_BLOCK_FW] = fw_read(&in->prfcnt_fw_en);
	fw->enable[FW_BLOCK_CSHW] = fw_read(&in->prfcnt_csf_en);
	fw->enable[FW_BLOCK_TILER] = fw_read(&in->prfcnt_tiler_en);
	fw->enable[FW_BLOCK_MEMSYS] = fw_read(&in->prfcnt_mmu_l2_en);
	fw->enable[FW_BLOCK_SHADER] = fw_read(&in->prfcnt_shader_en);

	bytes = fw->slots * fw_sample_bytes(fw);
	if (!is_power_of_2(fw->slots) || fw->slots > vsoc->fw_slots || fw->set >= VSOC_SETS ||
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
	const size_t counters = vsoc_gpu_registers(vsoc);

	if (!program(fw)) {
		WRITE_ONCE(fw->pages.output->prfcnt_status, cpu_to_le32(CSF_PRFCNT_STATUS_FAILED));
		return false;
	}
	WRITE_ONCE(fw->pages.output->prfcnt_status, 0);
	fw->insert = fw_read(&fw->pages.input->prfcnt_extract);
	fw_write(&fw->pages.output->prfcnt_insert, fw->insert);
	/* samples do not write the slots of absent cores */
	memset(fw->ring, 0, fw->slots * fw_sample_bytes(fw));

	vsoc_gpu_update_clocks(vsoc);
	memcpy(fw->base, vsoc->gpu.reg, counters * sizeof(*fw->base));
	fw_begin_truth(fw);
	fw_begin_span(fw, vsoc_gpu_timestamp(vsoc->gpu.clock_ns));
	fw->enabled = true;
	return true;
}

static void handle_requests(struct vsoc_fw *fw)
{
	u32 req = fw_read(&fw->pages.input->req);
	u32 ack = fw->ack;
	u32 pending = req ^ ack;

	mutex_lock(&fw->vsoc->hw_lock);
	fw_log(fw, VSOC_LOG_REQUEST, pending, 0);
	ack ^= pending & FW_PLAIN_REQUESTS;

	if (pending & CSF_GLB_PRFCNT_SAMPLE) {
		if (fw->enabled && vsoc_fault(fw->vsoc, VSOC_FAULT_EXTRA_SAMPLE))
			ack = fw_take_sample(fw, req, ack, CSF_REASON_THRESHOLD);
		/* sampled and disabled by one request word: take the sample first */
		if (fw->enabled && req & CSF_GLB_PRFCNT_ENABLE &&
		    !vsoc_fault(fw->vsoc, VSOC_FAULT_ACK_WITHOUT_SAMPLE))
			ack = fw_take_sample(fw, req, ack, CSF_REASON_REQUEST);
		ack ^= CSF_GLB_PRFCNT_SAMPLE;
	}

	if (pending & CSF_GLB_PRFCNT_ENABLE) {
		if (!(req & CSF_GLB_PRFCNT_ENABLE)) {
			ack = fw_take_sample(fw, req, ack, CSF_REASON_DISABLE);
			fw_end_truth(fw);
			fw->enabled = false;
			ack ^= CSF_GLB_PRFCNT_ENABLE;
		} else if (start_counting(fw)) {
			ack ^= CSF_GLB_PRFCNT_ENABLE;
		}
	}

	mutex_unlock(&fw->vsoc->hw_lock);

	if (vsoc_fault(fw->vsoc, VSOC_FAULT_LATE_ACK))
		msleep(vsoc_fault_delay_ms(fw->vsoc));
	/* update before the acknowledgment, so that its reader sees the new value */
	if (ktime_get_mono_fast_ns() - fw->asked_ns > LATE_ANSWER_MS * NSEC_PER_MSEC)
		fw->late_answers++;
	acknowledge(fw, ack);
	if (pending & CSF_GLB_PRFCNT_SAMPLE && vsoc_fault(fw->vsoc, VSOC_FAULT_DOUBLE_ACK))
		acknowledge(fw, ack ^ CSF_GLB_PRFCNT_SAMPLE);
}

/* firmware crashes and reboots silently */
static void restart(struct vsoc_fw *fw)
{
	mutex_lock(&fw->vsoc->hw_lock);
	fw_end_truth(fw);
	mutex_unlock(&fw->vsoc->hw_lock);
	fw->enabled = false;
	fw->insert = 0;
	fw->ack = 0;
	fw_write(&fw->pages.output->prfcnt_insert, 0);
	fw_write(&fw->pages.output->ack, 0);
}

/* raises the event again each time the host acknowledges it */
static void threshold_storm(struct vsoc_fw *fw)
{
	for (unsigned int i = 0; i < STORM_EVENTS; i++) {
		u32 req = fw_read(&fw->pages.input->req);

		acknowledge(fw, fw_event(req, fw->ack, CSF_GLB_PRFCNT_THRESHOLD));
		usleep_range(STORM_PAUSE_US, 2 * STORM_PAUSE_US);
	}
}

/* returns true if firmware ignores the doorbell's requests */
static bool fail_request(struct vsoc_fw *fw)
{
	struct vsoc_device *vsoc = fw->vsoc;

	if (vsoc_fault(vsoc, VSOC_FAULT_SLOW_DOORBELL))
		msleep(SLOW_DOORBELL_MS);
	if (vsoc_fault(vsoc, VSOC_FAULT_SPURIOUS_IRQ)) {
		interrupt(fw);
		usleep_range(USEC_PER_MSEC, 2 * USEC_PER_MSEC);
	}
	if (fw->enabled && vsoc_fault(vsoc, VSOC_FAULT_THRESHOLD_STORM))
		threshold_storm(fw);
	if (fw->enabled && vsoc_fault(vsoc, VSOC_FAULT_STATUS_FAILED))
		WRITE_ONCE(fw->pages.output->prfcnt_status, cpu_to_le32(CSF_PRFCNT_STATUS_FAILED));
	if (fw->enabled && vsoc_fault(vsoc, VSOC_FAULT_FW_RESTART)) {
		restart(fw);
		return true;
	}
	if (fw->enabled && vsoc_fault(vsoc, VSOC_FAULT_RESET_IN_REQUEST)) {
		schedule_work(&vsoc->reset_work);
		return true;
	}
	if (fw->enabled && vsoc_fault(vsoc, VSOC_FAULT_UNPLUG_IN_REQUEST)) {
		vsoc->ops->unplug_soon(vsoc);
		return true;
	}
	return vsoc_fault(vsoc, VSOC_FAULT_NO_ACK);
}

static int mcu_thread(void *data)
{
	struct vsoc_fw *fw = data;
	u64 rung_ns;

	while (!kthread_should_stop()) {
		/* pairs with vsoc_fw_doorbell(): rung_ns is stable while doorbell is set */
		wait_event_idle(fw->wait, smp_load_acquire(&fw->doorbell) || kthread_should_stop());
		rung_ns = READ_ONCE(fw->rung_ns);
		if (!xchg(&fw->doorbell, false))
			continue;
		mutex_lock(&fw->lock);
		fw->doorbells++;
		fw->asked_ns = rung_ns;
		fw->busy_since_ns = ktime_get_mono_fast_ns();
		if (!fail_request(fw))
			handle_requests(fw);
		stop_clock(fw);
		mutex_unlock(&fw->lock);
	}
	return 0;
}

static void call_handler(struct vsoc_fw *fw)
{
	void (*handler)(struct vsoc_device *vsoc) = READ_ONCE(fw->handler);

	if (handler)
		handler(fw->vsoc);
}

static void irq_from_work(struct irq_work *work)
{
	call_handler(container_of(work, struct vsoc_fw, irq));
}

static enum hrtimer_restart irq_from_timer(struct hrtimer *timer)
{
	call_handler(container_of(timer, struct vsoc_fw, irq_timer));
	return HRTIMER_NORESTART;
}

/* --- interface to the rest of the device ---------------------------------- */

/* the host rings the global doorbell; any context */
void vsoc_fw_doorbell(struct vsoc_device *vsoc)
{
	struct vsoc_fw *fw = vsoc->fw;

	if (vsoc_fault(vsoc, VSOC_FAULT_LOST_DOORBELL))
		return;
	if (!READ_ONCE(fw->doorbell))
		WRITE_ONCE(fw->rung_ns, ktime_get_mono_fast_ns());
	/* orders the host's writes to the input page before the doorbell */
	smp_store_release(&fw->doorbell, true);
	wake_up(&fw->wait);
}

const struct vsoc_fw_pages *vsoc_fw_pages(struct vsoc_device *vsoc)
{
	return &vsoc->fw->pages;
}

/* map @memory at @va of the MCU's address space 0; NULL unmaps */
void vsoc_fw_map(struct vsoc_device *vsoc, u64 va, void *memory, size_t bytes)
{
	struct vsoc_fw *fw = vsoc->fw;

	mutex_lock(&fw->lock);
	/* firmware crashes if the ring is unmapped while counting is enabled */
	if (!memory && fw->enabled)
		restart(fw);
	fw->map_va = va;
	fw->map = memory;
	fw->map_bytes = bytes;
	mutex_unlock(&fw->lock);
}

/* @handler is called in hard interrupt context; NULL: removes it and waits for its last call */
void vsoc_fw_set_irq(struct vsoc_device *vsoc, void (*handler)(struct vsoc_device *vsoc))
{
	WRITE_ONCE(vsoc->fw->handler, handler);
	if (handler)
		return;
	irq_work_sync(&vsoc->fw->irq);
	hrtimer_cancel(&vsoc->fw->irq_timer);
}

/*
 * Powers shader cores up and down. Firmware takes a sample before the change, so that no count is
 * lost with the power, and the power state of a core is constant within a sample's time span.
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
		if (down && vsoc_fault(vsoc, VSOC_FAULT_POWER_LOSS))
			fw_lose_cores(fw, down);
		else
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

/* Changes which shader cores work for this system. The GPU must be idle, and powered. */
void vsoc_fw_assign(struct vsoc_device *vsoc, u64 assigned)
{
	struct vsoc_fw *fw = vsoc->fw;

	mutex_lock(&fw->lock);
	mutex_lock(&vsoc->hw_lock);
	vsoc_shape_assign(&vsoc->shape, assigned);
	fw->cores_mine |= assigned;
	fw->cores_away |= vsoc->shape.shader_present & ~assigned;
	mutex_unlock(&vsoc->hw_lock);
	mutex_unlock(&fw->lock);
}

/*
 * Enters or leaves protected mode, in which nothing is counted. A sample at each transition
 * separates its time span from others.
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

/* GPU reset: registers and pages are zeroed, firmware reboots */
void vsoc_fw_reset(struct vsoc_device *vsoc)
{
	const size_t counters = vsoc_gpu_registers(vsoc);
	struct vsoc_fw *fw = vsoc->fw;
	unsigned long flags;

	mutex_lock(&fw->lock);
	mutex_lock(&vsoc->hw_lock);
	fw_end_truth(fw);
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

/*
 * One consistent copy of all counts, of those lost, of those that may be lost, and of those that
 * are not in a sample yet. @pending must be zeroed.
 */
void vsoc_fw_totals(struct vsoc_device *vsoc, u64 *truth, u64 *dropped, u64 *doubtful,
		    u64 *pending)
{
	const size_t counters = vsoc_gpu_registers(vsoc);
	const size_t bytes = counters * sizeof(*truth);
	struct vsoc_fw *fw = vsoc->fw;

	mutex_lock(&fw->lock);
	mutex_lock(&vsoc->hw_lock);
	memcpy(truth, vsoc->gpu.truth, bytes);
	memcpy(dropped, fw->dropped, bytes);
	memcpy(doubtful, fw->doubtful, bytes);
	for (size_t i = 0; i < counters; i++)
		if (!fw_is_counted(fw, i))
			doubtful[i] += truth[i] - fw->stop_truth[i];
	fw_add_pending(fw, pending);
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
	seq_printf(m, "late_answers %llu\n", fw->late_answers);
	seq_printf(m, "resets %llu\n", fw->resets);
	seq_printf(m, "busy_ns %llu\n", fw->busy_ns);
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
	const size_t block_units = fw_block_bytes(shape) / CSF_PRFCNT_SIZE_UNIT_BYTES;
	const size_t hw_blocks = VSOC_BLOCK_MEMSYS - VSOC_BLOCK_CSHW + shape->l2_slices +
				 fw_shader_slots(shape);

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
	const size_t counters = vsoc_gpu_registers(vsoc);
	struct vsoc_fw *fw;
	int ret;

	fw = drmm_kzalloc(&vsoc->drm, sizeof(*fw), GFP_KERNEL);
	if (!fw)
		return -ENOMEM;
	vsoc->fw = fw;
	fw->vsoc = vsoc;
	init_waitqueue_head(&fw->wait);
	fw->irq = IRQ_WORK_INIT_HARD(irq_from_work);
	perfctr_hrtimer_setup(&fw->irq_timer, irq_from_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_HARD);
	ret = drmm_mutex_init(&vsoc->drm, &fw->lock);
	if (ret)
		return ret;

	fw->pages.control = shared_page(vsoc);
	fw->pages.input = shared_page(vsoc);
	fw->pages.output = shared_page(vsoc);
	fw->base = drmm_kcalloc(&vsoc->drm, counters, sizeof(*fw->base), GFP_KERNEL);
	fw->dropped = drmm_kcalloc(&vsoc->drm, counters, sizeof(*fw->dropped), GFP_KERNEL);
	fw->doubtful = drmm_kcalloc(&vsoc->drm, counters, sizeof(*fw->doubtful), GFP_KERNEL);
	fw->stop_truth = drmm_kcalloc(&vsoc->drm, counters, sizeof(*fw->stop_truth), GFP_KERNEL);
	fw->settled = drmm_kcalloc(&vsoc->drm, vsoc->fw_slots, sizeof(*fw->settled), GFP_KERNEL);
	if (!fw->pages.control || !fw->pages.input || !fw->pages.output || !fw->base ||
	    !fw->dropped || !fw->doubtful || !fw->stop_truth || !fw->settled)
		return -ENOMEM;
	boot(fw);

	fw->mcu = kthread_run(mcu_thread, fw, "vsoc%d-mcu", vsoc->pdev->id);
	if (IS_ERR(fw->mcu)) {
		ret = PTR_ERR(fw->mcu);
		fw->mcu = NULL;
		return ret;
	}
	/* a microcontroller does not compete for host CPUs */
	sched_set_fifo(fw->mcu);
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
