// SPDX-License-Identifier: GPL-2.0
/*
 * Tegra410 uncore PMUs: the perf interface, common to all kinds.
 */
#include "tegra410_pmu.h"

/**
 * DOC: counting without gaps
 *
 * These counters belong to a socket, not to a CPU or a task. They need not stop when perf only
 * rearranges events (another event is opened, a group is scheduled out and in again, the owning CPU
 * goes offline). perf removes an event with del() and adds it again with add() in one
 * pmu_disable()/pmu_enable() section:
 *
 *	         del(A)          add(A)  add(B)       pmu_enable()
 *	A  ------+---------------+------------------------------>
 *	  counts | parked, counts | counts on
 *	B                                +-- pending --+ counts ->
 *
 * del() only parks a counter: it is read, but continues. If the event is added again, it keeps
 * counter and start value, so nothing is lost. At pmu_enable(), counters that are still parked are
 * stopped, read and released, and pending ones are started, all with one register write. An event
 * that needs a counter while all free ones are parked releases those at once: perf is multiplexing
 * then.
 *
 * For the same reason pmu_disable() does nothing: it would stop the counters of all other events.
 *
 * While events move to another CPU, parked counters survive pmu_enable();
 * tegra410_pmu_end_migration() releases the unclaimed ones.
 */

/**
 * DOC: locking
 *
 * tegra410_pmu.open_lock (mutex): what events reserve while open, the BDF and the target addresses.
 * Nests inside perf's ctx->mutex.
 *
 * tegra410_pmu.lock (raw spinlock, interrupts off): registers, slots, the owning CPU, whether a
 * device is bound. Nests inside perf's context locks.
 *
 * event->count and prev_count of an event in pmu->events[] are only written under it, so interrupt
 * and callbacks may even run on different CPUs.
 *
 * cpus_read_lock(): held to bind and unbind a device, so that the hotplug callbacks can move events
 * and the interrupt of a bound PMU without tegra410_pmu.lock, which perf's own locks forbid. Taken
 * before tegra410_pmu.open_lock.
 */

static void tegra410_pmu_fold(struct tegra410_pmu *pmu, struct perf_event *event, int idx)
{
	struct hw_perf_event *hwc = &event->hw;
	u64 value, prev;

	/* if the read fails, add nothing: the next read includes it */
	if (pmu->kind->read(pmu, event, idx, &value))
		return;

	prev = local64_xchg(&hwc->prev_count, value);
	if (hwc->flags & TEGRA410_NO_BASELINE) {
		hwc->flags &= ~TEGRA410_NO_BASELINE;
		return;
	}
	local64_add((value - prev) & pmu->counter_mask, &event->count);
}

static void tegra410_pmu_drop(struct tegra410_pmu *pmu, int idx)
{
	struct perf_event *event = pmu->events[idx];

	if (pmu->kind->release)
		pmu->kind->release(pmu, event, idx);
	event->hw.idx = -1;
	pmu->events[idx] = NULL;
	pmu->used &= ~BIT(idx);
	pmu->pending &= ~BIT(idx);
	pmu->parked &= ~BIT(idx);
}

/* stops these counters and reads their final values */
static void tegra410_pmu_halt(struct tegra410_pmu *pmu, u32 mask)
{
	unsigned long bits = mask;
	unsigned int idx;

	if (!mask)
		return;

	pmu->running &= ~mask;
	pmu->kind->stop(pmu, mask);
	for_each_set_bit(idx, &bits, TEGRA410_PMU_SLOTS)
		tegra410_pmu_fold(pmu, pmu->events[idx], idx);
	if (!pmu->running && pmu->kind->idle)
		pmu->kind->idle(pmu);
}

static void tegra410_pmu_flush_parked(struct tegra410_pmu *pmu)
{
	unsigned long bits = pmu->parked;
	unsigned int idx;

	tegra410_pmu_halt(pmu, pmu->parked);
	for_each_set_bit(idx, &bits, TEGRA410_PMU_SLOTS)
		tegra410_pmu_drop(pmu, idx);
}

static int tegra410_pmu_find_slot(struct tegra410_pmu *pmu, struct perf_event *event)
{
	unsigned long bits = pmu->used;
	unsigned int idx;
	u32 free;

	if (pmu->kind->conflict) {
		for_each_set_bit(idx, &bits, TEGRA410_PMU_SLOTS) {
			if (pmu->kind->conflict(event, pmu->events[idx]))
				return -EAGAIN;
		}
	}

	free = pmu->kind->slots(pmu, event) & ~pmu->used;
	return free ? __ffs(free) : -EAGAIN;
}

static int tegra410_pmu_attach(struct tegra410_pmu *pmu, struct perf_event *event, int flags)
{
	struct hw_perf_event *hwc = &event->hw;
	int idx;

	if (!pmu->bound)
		return -ENODEV;
	if (!cpumask_test_cpu(smp_processor_id(), &pmu->pdata.cpus))
		return -ENOENT;
	/* if it were refused, perf would not add the events after it */
	if (hwc->flags & TEGRA410_ORPHAN) {
		hwc->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
		return 0;
	}

	if (hwc->idx >= 0 && pmu->events[hwc->idx] == event) {
		pmu->parked &= ~BIT(hwc->idx);
		hwc->state = 0;
		return 0;
	}

	idx = tegra410_pmu_find_slot(pmu, event);
	if (idx < 0 && pmu->parked) {
		tegra410_pmu_flush_parked(pmu);
		idx = tegra410_pmu_find_slot(pmu, event);
	}
	if (idx < 0)
		return idx;

	hwc->idx = idx;
	hwc->state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	pmu->events[idx] = event;
	pmu->used |= BIT(idx);
	if (pmu->kind->assign)
		pmu->kind->assign(pmu, event, idx);
	if (flags & PERF_EF_START) {
		hwc->state = 0;
		pmu->kind->preset(pmu, event, idx);
		pmu->pending |= BIT(idx);
	}
	return 0;
}

static int tegra410_pmu_add(struct perf_event *event, int flags)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(event->pmu);
	unsigned long irq;
	int ret;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	ret = tegra410_pmu_attach(pmu, event, flags);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	if (!ret)
		perf_event_update_userpage(event);
	return ret;
}

/* the slot of an event, or -1; unbinding a device releases all slots */
static int tegra410_pmu_slot_of(struct tegra410_pmu *pmu, struct perf_event *event)
{
	int idx = event->hw.idx;

	return idx >= 0 && pmu->events[idx] == event ? idx : -1;
}

static void tegra410_pmu_del(struct perf_event *event, int flags)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(event->pmu);
	unsigned long irq;
	int idx;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	idx = tegra410_pmu_slot_of(pmu, event);
	if (idx >= 0) {
		if (pmu->running & BIT(idx)) {
			tegra410_pmu_fold(pmu, event, idx);
			pmu->parked |= BIT(idx);
		} else {
			tegra410_pmu_drop(pmu, idx);
		}
	}
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	perf_event_update_userpage(event);
}

static void tegra410_pmu_start(struct perf_event *event, int flags)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(event->pmu);
	unsigned long irq;
	int idx;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	idx = tegra410_pmu_slot_of(pmu, event);
	if (idx >= 0 && !((pmu->running | pmu->pending) & BIT(idx))) {
		event->hw.state = 0;
		pmu->kind->preset(pmu, event, idx);
		pmu->kind->start(pmu, BIT(idx));
		pmu->running |= BIT(idx);
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
}

static void tegra410_pmu_stop(struct perf_event *event, int flags)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(event->pmu);
	unsigned long irq;
	int idx;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	idx = tegra410_pmu_slot_of(pmu, event);
	if (idx >= 0) {
		pmu->pending &= ~BIT(idx);
		tegra410_pmu_halt(pmu, pmu->running & BIT(idx));
	}
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
}

static void tegra410_pmu_read(struct perf_event *event)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(event->pmu);
	unsigned long irq;
	int idx;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	idx = tegra410_pmu_slot_of(pmu, event);
	if (idx >= 0 && (pmu->running & BIT(idx)))
		tegra410_pmu_fold(pmu, event, idx);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
}

static void tegra410_pmu_enable(struct pmu *core)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(core);
	unsigned long irq;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	/* start first, then stop: instance windows stop when no counter runs */
	if (pmu->pending) {
		pmu->kind->start(pmu, pmu->pending);
		pmu->running |= pmu->pending;
		pmu->pending = 0;
	}
	if (!pmu->migrating)
		tegra410_pmu_flush_parked(pmu);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
}

/* perf calls pmu_enable() only if this callback exists; see "counting without gaps" */
static void tegra410_pmu_disable(struct pmu *core)
{
}

/*
 * Handle an overflow interrupt. Stops, reads and presets the counters that overflowed; others
 * continue. Context: hard interrupt.
 */
void tegra410_pmu_handle_irq(void *data)
{
	struct tegra410_pmu *pmu = data;
	unsigned long irq, bits;
	unsigned int idx;
	u32 mask;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	if (pmu->bound && pmu->kind->irq) {
		mask = pmu->kind->irq(pmu) & pmu->running;
		bits = mask;
		pmu->kind->stop(pmu, mask);
		for_each_set_bit(idx, &bits, TEGRA410_PMU_SLOTS) {
			tegra410_pmu_fold(pmu, pmu->events[idx], idx);
			pmu->kind->preset(pmu, pmu->events[idx], idx);
		}
		pmu->kind->start(pmu, mask);
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
}

/*
 * Keep counters while events move to another CPU.
 * @cpu: the CPU to which they move.
 * Return: false if there is no device and thus nothing to move.
 */
bool tegra410_pmu_begin_migration(struct tegra410_pmu *pmu, unsigned int cpu)
{
	unsigned long irq;
	bool bound;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	bound = pmu->bound;
	if (bound) {
		pmu->migrating = true;
		cpumask_copy(&pmu->active_cpu, cpumask_of(cpu));
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	return bound;
}

/* Release counters whose events were not added again. */
void tegra410_pmu_end_migration(struct tegra410_pmu *pmu)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&pmu->lock, irq);
	pmu->migrating = false;
	tegra410_pmu_flush_parked(pmu);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
}

/*
 * Read final values and end register access, for unbinding. Events keep their counts. add() fails
 * from now on. Events that were counting do not resume even if a device is bound again: what they
 * missed is unknown.
 */
void tegra410_pmu_detach(struct tegra410_pmu *pmu)
{
	unsigned long irq, bits;
	unsigned int idx;

	mutex_lock(&pmu->open_lock);
	raw_spin_lock_irqsave(&pmu->lock, irq);
	if (pmu->bound) {
		tegra410_pmu_halt(pmu, pmu->running);
		bits = pmu->used;
		for_each_set_bit(idx, &bits, TEGRA410_PMU_SLOTS) {
			/* perf treats them as active until it reschedules them */
			pmu->events[idx]->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
			pmu->events[idx]->hw.flags |= TEGRA410_ORPHAN;
			tegra410_pmu_drop(pmu, idx);
		}
	}
	pmu->bound = false;
	cpumask_clear(&pmu->active_cpu);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	mutex_unlock(&pmu->open_lock);
}

/* --- opening -------------------------------------------------------------- */

static void tegra410_pmu_destroy(struct perf_event *event)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(event->pmu);
	unsigned long irq;
	int idx;

	/* closed during a migration: nothing else would release it in time */
	raw_spin_lock_irqsave(&pmu->lock, irq);
	idx = tegra410_pmu_slot_of(pmu, event);
	if (idx >= 0) {
		tegra410_pmu_halt(pmu, pmu->running & BIT(idx));
		tegra410_pmu_drop(pmu, idx);
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq);

	if (pmu->kind->close) {
		mutex_lock(&pmu->open_lock);
		pmu->kind->close(pmu, event);
		mutex_unlock(&pmu->open_lock);
	}
}

static bool tegra410_pmu_is_cycles(struct tegra410_pmu *pmu, const struct perf_event *event)
{
	return pmu->kind->is_cycles && pmu->kind->is_cycles(event);
}

static bool tegra410_pmu_is_filtered(struct tegra410_pmu *pmu, struct perf_event *event)
{
	return tegra410_pmu_owns(pmu, event) && !tegra410_pmu_is_cycles(pmu, event);
}

/* the event whose filters apply to the other events of the group */
static struct perf_event *tegra410_pmu_filter_leader(struct tegra410_pmu *pmu,
						     struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;

	if (leader == event)
		return NULL;
	if (tegra410_pmu_is_filtered(pmu, leader))
		return leader;
	for_each_sibling_event(sibling, leader) {
		if (sibling != event && tegra410_pmu_is_filtered(pmu, sibling))
			return sibling;
	}
	return NULL;
}

/* reserves a counter for @event in addition to @members; returns whether one is free */
static bool tegra410_pmu_fits(struct tegra410_pmu *pmu, struct perf_event *event,
			      struct perf_event **members, u32 *used)
{
	unsigned long bits = *used;
	unsigned int idx;
	u32 free;

	if (pmu->kind->conflict) {
		for_each_set_bit(idx, &bits, TEGRA410_PMU_SLOTS) {
			if (pmu->kind->conflict(event, members[idx]))
				return false;
		}
	}
	free = pmu->kind->slots(pmu, event) & ~*used;
	if (!free)
		return false;
	idx = __ffs(free);
	members[idx] = event;
	*used |= BIT(idx);
	return true;
}

static int tegra410_pmu_check_group(struct tegra410_pmu *pmu, struct perf_event *event)
{
	struct perf_event *members[TEGRA410_PMU_SLOTS];
	struct perf_event *leader = event->group_leader, *sibling;
	u32 used = 0;

	if (!tegra410_pmu_fits(pmu, event, members, &used))
		goto too_many;
	if (leader == event)
		return 0;

	if (tegra410_pmu_owns(pmu, leader)) {
		if (!tegra410_pmu_fits(pmu, leader, members, &used))
			goto too_many;
	} else if (!is_software_event(leader)) {
		goto other_pmu;
	}
	for_each_sibling_event(sibling, leader) {
		if (sibling == event || is_software_event(sibling))
			continue;
		if (!tegra410_pmu_owns(pmu, sibling))
			goto other_pmu;
		if (!tegra410_pmu_fits(pmu, sibling, members, &used))
			goto too_many;
	}
	return 0;

too_many:
	tegra410_pmu_reject(pmu, "event %#llx can not count together with its group",
			    event->attr.config);
	return -EINVAL;

other_pmu:
	tegra410_pmu_reject(pmu, "groups with events of another PMU are not supported");
	return -EINVAL;
}

/* the CPU on which events currently count */
static int tegra410_pmu_pick_cpu(struct tegra410_pmu *pmu, struct perf_event *event)
{
	unsigned int cpu;

	if (!pmu->bound) {
		tegra410_pmu_reject(pmu, "the device is gone");
		return -ENODEV;
	}
	if (!cpumask_test_cpu(event->cpu, &pmu->pdata.cpus)) {
		tegra410_pmu_reject(pmu, "CPU %d is not associated, see associated_cpus",
				    event->cpu);
		return -EINVAL;
	}
	cpu = cpumask_first(&pmu->active_cpu);
	if (cpu >= nr_cpu_ids) {
		tegra410_pmu_reject(pmu, "no associated CPU is online");
		return -EINVAL;
	}
	event->cpu = cpu;
	pmu->was_opened = true;
	return 0;
}

static int tegra410_pmu_event_init(struct perf_event *event)
{
	struct tegra410_pmu *pmu = to_tegra410_pmu(event->pmu);
	unsigned long irq;
	int ret;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (is_sampling_event(event)) {
		tegra410_pmu_reject(pmu, "sampling is not supported, these are counters");
		return -EOPNOTSUPP;
	}
	if (event->attach_state & PERF_ATTACH_TASK) {
		tegra410_pmu_reject(pmu, "per-task counting is not supported, use a CPU");
		return pmu->kind->task_errno;
	}
	if (event->cpu < 0) {
		tegra410_pmu_reject(pmu, "a CPU is needed, see cpumask");
		return -EINVAL;
	}

	event->hw.idx = -1;
	mutex_lock(&pmu->open_lock);
	raw_spin_lock_irqsave(&pmu->lock, irq);
	ret = tegra410_pmu_pick_cpu(pmu, event);
	raw_spin_unlock_irqrestore(&pmu->lock, irq);
	if (!ret)
		ret = pmu->kind->open(pmu, event, tegra410_pmu_filter_leader(pmu, event));
	if (!ret) {
		ret = tegra410_pmu_check_group(pmu, event);
		if (ret && pmu->kind->close)
			pmu->kind->close(pmu, event);
	}
	mutex_unlock(&pmu->open_lock);
	if (ret)
		return ret;

	event->destroy = tegra410_pmu_destroy;
	return 0;
}

const struct pmu tegra410_pmu_template = {
	.module		= THIS_MODULE,
	.task_ctx_nr	= perf_invalid_context,
	/* the interrupt extends the counters, it does not support sampling */
	.capabilities	= PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
	.event_init	= tegra410_pmu_event_init,
	.pmu_enable	= tegra410_pmu_enable,
	.pmu_disable	= tegra410_pmu_disable,
	.add		= tegra410_pmu_add,
	.del		= tegra410_pmu_del,
	.start		= tegra410_pmu_start,
	.stop		= tegra410_pmu_stop,
	.read		= tegra410_pmu_read,
};
