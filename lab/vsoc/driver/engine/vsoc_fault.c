// SPDX-License-Identifier: GPL-2.0
/*
 * Fault injection: when a fault occurs.
 *
 * Each fault has a probability in 1/1000 and a number of occurrences left. All draw from one
 * pseudo-random sequence: the same seed and the same draws produce the same faults.
 */
#include <linux/debugfs.h>
#include <linux/kstrtox.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <drm/drm_managed.h>

#include "vsoc.h"
#include "vsoc_fault.h"
#include "vsoc_log.h"

#define ALWAYS_PERMILLE		1000
#define DEFAULT_DELAY_MS	150
#define MAX_DELAY_MS		2000
#define UNLIMITED		U32_MAX
#define MAX_INPUT_BYTES		64

struct vsoc_fault_state {
	struct vsoc_faults *owner;
	u32 permille;			/* probability */
	u32 times;			/* occurrences left */
	u32 hits;			/* occurrences so far */
};

/* fault injection of one device */
struct vsoc_faults {
	struct vsoc_device *vsoc;
	spinlock_t lock;		/* protects everything */
	struct rnd_state random;	/* the sequence */
	u64 seed;			/* seed of the sequence */
	u32 delay_ms;			/* for faults that delay something */
	u64 hits;			/* occurrences of all faults since the device exists */
	struct vsoc_fault_state state[VSOC_FAULT_COUNT];
};

static_assert((int)VSOC_FAULT_COUNT <= 64);

static const char * const fault_names[VSOC_FAULT_COUNT] = {
	[VSOC_FAULT_LOST_DOORBELL] = "fail_lost_doorbell",
	[VSOC_FAULT_SLOW_DOORBELL] = "fail_slow_doorbell",
	[VSOC_FAULT_NO_ACK] = "fail_no_ack",
	[VSOC_FAULT_LATE_ACK] = "fail_late_ack",
	[VSOC_FAULT_DOUBLE_ACK] = "fail_double_ack",
	[VSOC_FAULT_ACK_WITHOUT_SAMPLE] = "fail_ack_without_sample",
	[VSOC_FAULT_SPURIOUS_IRQ] = "fail_spurious_irq",
	[VSOC_FAULT_LOST_IRQ] = "fail_lost_irq",
	[VSOC_FAULT_EXTRA_SAMPLE] = "fail_extra_sample",
	[VSOC_FAULT_INSERT_BEYOND] = "fail_insert_beyond",
	[VSOC_FAULT_INSERT_BACKWARDS] = "fail_insert_backwards",
	[VSOC_FAULT_GARBAGE_HEADER] = "fail_garbage_header",
	[VSOC_FAULT_GARBAGE_METADATA] = "fail_garbage_metadata",
	[VSOC_FAULT_TORN_WRITE] = "fail_torn_write",
	[VSOC_FAULT_SEQ_JUMP] = "fail_seq_jump",
	[VSOC_FAULT_TIME_BACKWARDS] = "fail_time_backwards",
	[VSOC_FAULT_CLOCK_STOP] = "fail_clock_stop",
	[VSOC_FAULT_COUNTER_WRAP] = "fail_counter_wrap",
	[VSOC_FAULT_SATURATION] = "fail_saturation",
	[VSOC_FAULT_THRESHOLD_STORM] = "fail_threshold_storm",
	[VSOC_FAULT_OVERFLOW] = "fail_overflow",
	[VSOC_FAULT_STATUS_FAILED] = "fail_status_failed",
	[VSOC_FAULT_FW_RESTART] = "fail_fw_restart",
	[VSOC_FAULT_POWER_LOSS] = "fail_power_loss",
	[VSOC_FAULT_POWER_LOSS_MID_SAMPLE] = "fail_power_loss_mid_sample",
	[VSOC_FAULT_JOB_HANG] = "fail_job_hang",
	[VSOC_FAULT_JOB_FAULT] = "fail_job_fault",
	[VSOC_FAULT_WATCHDOG_LATE] = "fail_watchdog_late",
	[VSOC_FAULT_RESET_IN_REQUEST] = "fail_reset_in_request",
	[VSOC_FAULT_UNPLUG_IN_REQUEST] = "fail_unplug_in_request",
	[VSOC_FAULT_PCOUNTER_LOST] = "fail_pcounter_lost",
	[VSOC_FAULT_PCOUNTER_LATE] = "fail_pcounter_late",
	[VSOC_FAULT_PCOUNTER_TWICE] = "fail_pcounter_twice",
	[VSOC_FAULT_PMU_SLOW] = "fail_pmu_slow",
	[VSOC_FAULT_PMU_AFFINITY] = "fail_pmu_affinity",
	[VSOC_FAULT_ALLOC_JOB] = "fail_alloc_job",
	[VSOC_FAULT_ALLOC_FENCE] = "fail_alloc_fence",
	[VSOC_FAULT_ALLOC_CTX] = "fail_alloc_ctx",
	[VSOC_FAULT_ALLOC_FILE] = "fail_alloc_file",
};

bool vsoc_fault_draw(struct vsoc_device *vsoc, enum vsoc_fault fault)
{
	struct vsoc_faults *faults = vsoc->faults;
	struct vsoc_fault_state *state = &faults->state[fault];
	unsigned long flags;
	bool happens = false;

	spin_lock_irqsave(&faults->lock, flags);
	if (state->permille && state->times)
		happens = prandom_u32_state(&faults->random) % ALWAYS_PERMILLE < state->permille;
	if (happens) {
		state->hits++;
		faults->hits++;
		if (state->times != UNLIMITED)
			state->times--;
	}
	spin_unlock_irqrestore(&faults->lock, flags);
	if (happens)
		vsoc_log(vsoc, &(struct vsoc_log_entry) {
			.kind = VSOC_LOG_FAULT,
			.name = fault_names[fault],
		});
	return happens;
}

u32 vsoc_fault_random(struct vsoc_device *vsoc)
{
	unsigned long flags;
	u32 number;

	spin_lock_irqsave(&vsoc->faults->lock, flags);
	number = prandom_u32_state(&vsoc->faults->random);
	spin_unlock_irqrestore(&vsoc->faults->lock, flags);
	return number;
}

unsigned int vsoc_fault_delay_ms(struct vsoc_device *vsoc)
{
	return READ_ONCE(vsoc->faults->delay_ms);
}

static int fault_show(struct seq_file *m, void *unused)
{
	struct vsoc_fault_state *state = m->private;
	struct vsoc_fault_state copy;

	spin_lock_irq(&state->owner->lock);
	copy = *state;
	spin_unlock_irq(&state->owner->lock);
	seq_printf(m, "%u %u %u\n", copy.permille, copy.times, copy.hits);
	return 0;
}

static int fault_open(struct inode *inode, struct file *file)
{
	return single_open(file, fault_show, inode->i_private);
}

/* "PERMILLE [TIMES]" */
static int parse_fault(char *text, u32 *permille, u32 *times)
{
	char *first = strim(text);
	char *second = first + strcspn(first, " \t");
	int ret;

	*times = UNLIMITED;
	if (*second) {
		*second++ = '\0';
		ret = kstrtou32(skip_spaces(second), 10, times);
		if (ret)
			return ret;
	}
	ret = kstrtou32(first, 10, permille);
	return !ret && *permille > ALWAYS_PERMILLE ? -EINVAL : ret;
}

static ssize_t fault_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct vsoc_fault_state *state = ((struct seq_file *)file->private_data)->private;
	struct vsoc_device *vsoc = state->owner->vsoc;
	const u64 bit = BIT_ULL(state - state->owner->state);
	char text[MAX_INPUT_BYTES];
	u32 permille, times;
	int ret;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	ret = parse_fault(text, &permille, &times);
	if (ret)
		return ret;

	spin_lock_irq(&state->owner->lock);
	state->permille = permille;
	state->times = times;
	state->hits = 0;
	WRITE_ONCE(vsoc->faults_set, permille ? vsoc->faults_set | bit : vsoc->faults_set & ~bit);
	spin_unlock_irq(&state->owner->lock);
	return count;
}

static const struct file_operations fault_fops = {
	.owner = THIS_MODULE,
	.open = fault_open,
	.read = seq_read,
	.write = fault_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int seed_get(void *data, u64 *seed)
{
	struct vsoc_faults *faults = data;

	*seed = faults->seed;
	return 0;
}

static int seed_set(void *data, u64 seed)
{
	struct vsoc_faults *faults = data;

	spin_lock_irq(&faults->lock);
	faults->seed = seed;
	prandom_seed_state(&faults->random, seed);
	spin_unlock_irq(&faults->lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(seed_fops, seed_get, seed_set, "%llu\n");

static int delay_get(void *data, u64 *ms)
{
	struct vsoc_faults *faults = data;

	*ms = faults->delay_ms;
	return 0;
}

static int delay_set(void *data, u64 ms)
{
	struct vsoc_faults *faults = data;

	if (ms > MAX_DELAY_MS)
		return -ERANGE;
	WRITE_ONCE(faults->delay_ms, ms);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(delay_fops, delay_get, delay_set, "%llu\n");

static int hits_get(void *data, u64 *hits)
{
	struct vsoc_faults *faults = data;

	spin_lock_irq(&faults->lock);
	*hits = faults->hits;
	spin_unlock_irq(&faults->lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(hits_fops, hits_get, NULL, "%llu\n");

void vsoc_faults_debugfs(struct vsoc_device *vsoc, struct dentry *dir)
{
	for (unsigned int i = 0; i < VSOC_FAULT_COUNT; i++)
		debugfs_create_file(fault_names[i], 0600, dir, &vsoc->faults->state[i],
				    &fault_fops);
	debugfs_create_file("fail_seed", 0600, dir, vsoc->faults, &seed_fops);
	debugfs_create_file("fail_delay_ms", 0600, dir, vsoc->faults, &delay_fops);
	debugfs_create_file("fault_hits", 0400, dir, vsoc->faults, &hits_fops);
}

int vsoc_faults_init(struct vsoc_device *vsoc)
{
	struct vsoc_faults *faults;

	faults = drmm_kzalloc(&vsoc->drm, sizeof(*faults), GFP_KERNEL);
	if (!faults)
		return -ENOMEM;
	faults->vsoc = vsoc;
	spin_lock_init(&faults->lock);
	prandom_seed_state(&faults->random, faults->seed);
	faults->delay_ms = DEFAULT_DELAY_MS;
	for (unsigned int i = 0; i < VSOC_FAULT_COUNT; i++)
		faults->state[i].owner = faults;
	vsoc->faults = faults;
	return 0;
}
