// SPDX-License-Identifier: MIT
/*
 * A session's account: samples on one side, the truth on the other.
 */
#include <errno.h>
#include <string.h>

#include "minigt.h"
#include "igt_ledger.h"

static void begin(struct igt_ledger *ledger)
{
	struct igt_perfctr_session *s = ledger->session;

	for (unsigned int b = 0; b < s->setup.block_count; b++) {
		struct igt_perfctr_sum *sum = &s->sums[b];

		memset(sum->value, 0, sizeof(sum->value));
		sum->valid = ~0ull;
		sum->states = 0;
		sum->time_enabled = 0;
		sum->time_running = 0;
		memset(sum->running, 0, sizeof(sum->running));
	}
	s->lost_ns = 0;
	s->flags = 0;
}

bool igt_ledger_try_open(struct igt_ledger *ledger, struct igt_perfctr_session *session,
			 unsigned int set)
{
	memset(ledger, 0, sizeof(*ledger));
	ledger->session = session;
	ledger->set = set;
	if (!igt_vsoc_try_totals(session->dev, set, &ledger->base))
		return false;
	ledger->ucf_base = igt_vsoc_ucf_bytes_read(session->dev);
	begin(ledger);
	return true;
}

void igt_ledger_open(struct igt_ledger *ledger, struct igt_perfctr_session *session,
		     unsigned int set)
{
	igt_require_f(igt_ledger_try_open(ledger, session, set), "vsoc/counts of debugfs: %s\n",
		      strerror(errno));
}

/* what became of the counts of one counter since the last settlement */
struct fate {
	const char *name;
	uint64_t truth, dropped, doubtful;
	/* what hardware kept for others when STOP asked in vain */
	uint64_t unread;
	/* what hardware had of before: none of the truth, but it may be in what was destroyed */
	uint64_t inherited;
};

static void assert_explained(struct igt_ledger *ledger, const struct igt_perfctr_sum *sum,
			     const struct fate *f, uint64_t missing, uint64_t refused)
{
	if (refused <= f->doubtful + f->unread)
		return;
	igt_vsoc_tell_log(ledger->session->dev);
	igt_assert_f(false,
		     "%u:%u %s: %llu of %llu are missing, hardware destroyed %llu and gave reason "
		     "to doubt %llu and did not answer with %llu (flags %#x, %llu ns lost)\n",
		     sum->type, sum->index, f->name, (unsigned long long)missing,
		     (unsigned long long)f->truth, (unsigned long long)f->dropped,
		     (unsigned long long)f->doubtful, (unsigned long long)f->unread,
		     ledger->session->flags, (unsigned long long)ledger->session->lost_ns);
}

static uint64_t settle_counter(struct igt_ledger *ledger, const struct igt_perfctr_sum *sum,
			       unsigned int bit, const struct fate *f)
{
	uint64_t told = sum->value[bit], missing, refused;

	ledger->compared++;
	igt_assert_f(told <= f->truth && told + f->dropped <= f->truth + f->inherited,
		     "%u:%u %s: %llu in samples, %llu destroyed, but only %llu happened and %llu "
		     "were there\n",
		     sum->type, sum->index, f->name, (unsigned long long)told,
		     (unsigned long long)f->dropped, (unsigned long long)f->truth,
		     (unsigned long long)f->inherited);
	missing = f->truth - told;
	refused = missing > f->dropped ? missing - f->dropped : 0;
	if (missing)
		ledger->missing_name = f->name;
	assert_explained(ledger, sum, f, missing, refused);
	ledger->truth += f->truth;
	ledger->counts += told;
	ledger->dropped += f->dropped;
	ledger->refused += refused;
	return missing;
}

static bool is_nvidia(const struct igt_perfctr_sum *sum)
{
	return sum->type == DRM_PERFCTR_NV50_BLOCK_PCOUNTER ||
	       sum->type == DRM_PERFCTR_NV50_BLOCK_MP;
}

/*
 * It goes on while one looks. The account begins before START: since then no more can be in samples
 * than happened until somebody looked after the last one of them. From one settlement to the next it
 * can: what happened between the sample and the look is in the next sample.
 */
static void settle_idle(struct igt_ledger *ledger, uint64_t told, uint64_t truth)
{
	ledger->idle_told += told;
	ledger->idle_truth += truth;
	/* nobody could look after the last sample */
	if (ledger->unplugged)
		return;
	igt_assert_f(ledger->idle_told <= ledger->idle_truth,
		     "gpu_idle: %llu in samples, but only %llu happened\n",
		     (unsigned long long)ledger->idle_told, (unsigned long long)ledger->idle_truth);
}

/*
 * PCOUNTER has no account of what is gone. A counter may lack what happened while it was another
 * one's turn, and any what its samples say to be lost.
 */
static uint64_t settle_turns(struct igt_ledger *ledger, const struct igt_perfctr_sum *sum,
			     unsigned int bit, const struct fate *f)
{
	uint64_t told = sum->value[bit], missing;

	ledger->compared++;
	if (!strcmp(f->name, "gpu_idle")) {
		settle_idle(ledger, told, f->truth);
		return 0;
	}
	igt_assert_f(told <= f->truth, "%u:%u %s: %llu in samples, but only %llu happened\n",
		     sum->type, sum->index, f->name, (unsigned long long)told,
		     (unsigned long long)f->truth);
	missing = f->truth - told;
	ledger->truth += f->truth;
	ledger->counts += told;
	if (missing && sum->running[bit] < sum->time_enabled) {
		igt_assert(sum->states & DRM_PERFCTR_STATE_MULTIPLEXED);
		ledger->turned += missing;
		return 0;
	}
	ledger->dropped += missing;
	if (missing)
		ledger->missing_name = f->name;
	return missing;
}

/* counts are missing in a block: its samples must say so */
static void check_admitted(struct igt_ledger *ledger, const struct igt_perfctr_sum *sum)
{
	const struct igt_perfctr_session *s = ledger->session;
	const uint32_t troubles = DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_OVERFLOW |
				  DRM_PERFCTR_SAMPLE_RESET;

	ledger->blocks_missing++;
	ledger->types_missing |= 1u << sum->type;
	if (sum->states & DRM_PERFCTR_STATE_SATURATED && !is_nvidia(sum))
		return;
	if (s->lost_ns && s->flags & troubles && sum->states & DRM_PERFCTR_STATE_LOST)
		return;
	igt_vsoc_tell_log(s->dev);
	igt_assert_f(false,
		     "%u:%u lacks counts (%s) and does not admit it: flags %#x, states %#x, %llu "
		     "ns\n",
		     sum->type, sum->index, ledger->missing_name, s->flags, sum->states,
		     (unsigned long long)s->lost_ns);
}

/*
 * The GPU's troubles are none of the fabric's: only a PMU that is gone, or that perf did not let
 * count all the time, is an excuse.
 */
static void settle_ucf(struct igt_ledger *ledger, const struct igt_perfctr_sum *sum)
{
	const uint64_t bit = 1ull << DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD;
	uint64_t told = sum->value[DRM_PERFCTR_TEGRA410_UCF_MEM_BYTES_RD];
	uint64_t now = igt_vsoc_ucf_bytes_read(ledger->session->dev);
	bool excused = sum->states & (DRM_PERFCTR_STATE_ERROR | DRM_PERFCTR_STATE_MULTIPLEXED) ||
		       !(sum->valid & bit);

	if (!(sum->mask & bit))
		return;
	igt_assert_f(told == now - ledger->ucf_base || (excused && told < now - ledger->ucf_base),
		     "UCF: %llu bytes in samples, %llu were read, states %#x\n",
		     (unsigned long long)told, (unsigned long long)(now - ledger->ucf_base),
		     sum->states);
	ledger->ucf_base = now;
	ledger->ucf_bytes += told;
}

static uint64_t settle_one(struct igt_ledger *ledger, const struct igt_perfctr_sum *sum,
			   unsigned int bit, const struct fate *f)
{
	return is_nvidia(sum) ? settle_turns(ledger, sum, bit, f) :
				settle_counter(ledger, sum, bit, f);
}

static uint64_t settle_block(struct igt_ledger *ledger, const struct igt_perfctr_sum *sum,
			     const struct igt_vsoc_totals *now, const uint64_t *unread)
{
	const struct igt_vsoc_totals *base = &ledger->base;
	uint64_t missing = 0;

	for (unsigned int i = 0; i < now->truth.count; i++) {
		const unsigned int counter = now->truth.at[i].counter;
		const struct fate f = {
			.name = now->truth.at[i].name,
			.truth = now->truth.at[i].value - base->truth.at[i].value,
			.dropped = now->dropped[i] - base->dropped[i],
			.doubtful = now->doubtful[i] - base->doubtful[i],
			.unread = unread ? unread[i] : 0,
			.inherited = base->pending[i],
		};

		if (now->truth.at[i].type == sum->type && now->truth.at[i].index == sum->index &&
		    counter / DRM_PERFCTR_SECTION_COUNTERS == sum->section &&
		    sum->mask >> counter % DRM_PERFCTR_SECTION_COUNTERS & 1)
			missing +=
				settle_one(ledger, sum, counter % DRM_PERFCTR_SECTION_COUNTERS, &f);
	}
	return missing;
}

/*
 * @unread: of each counter, what hardware kept although the last sample asked for it; NULL: nothing.
 * Returns the counts that are not in samples.
 */
static uint64_t settle(struct igt_ledger *ledger, const struct igt_vsoc_totals *now,
		       const uint64_t *unread)
{
	const struct igt_perfctr_session *s = ledger->session;
	uint64_t before = ledger->compared, enabled = 0, all_missing = 0;

	igt_assert_eq(now->truth.count, ledger->base.truth.count);
	/* no sample, nothing to compare: blocks are known from the first one on */
	igt_assert_lte_u64(1, s->samples);
	for (unsigned int b = 0; b < s->setup.block_count; b++) {
		const struct igt_perfctr_sum *sum = &s->sums[b];
		uint64_t missing;

		if (sum->type == DRM_PERFCTR_TEGRA410_BLOCK_UCF)
			settle_ucf(ledger, sum);
		if (sum->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY)
			continue;
		enabled += __builtin_popcountll(sum->mask);
		missing = settle_block(ledger, sum, now, unread);
		if (missing)
			check_admitted(ledger, sum);
		/* counters of PCOUNTER are full if nobody came in time: no fault of hardware */
		if (!is_nvidia(sum) || !(sum->states & DRM_PERFCTR_STATE_SATURATED))
			all_missing += missing;
	}
	igt_assert_eq_u64(ledger->compared - before, enabled);
	ledger->lost_ns += s->lost_ns;
	ledger->base = *now;
	begin(ledger);
	return all_missing;
}

uint64_t igt_ledger_settle(struct igt_ledger *ledger, const struct igt_vsoc_totals *now)
{
	return settle(ledger, now, NULL);
}

uint64_t igt_ledger_settle_unplugged(struct igt_ledger *ledger, const struct igt_vsoc_totals *now)
{
	ledger->unplugged = true;
	return settle(ledger, now, NULL);
}

uint64_t igt_ledger_settle_stopped(struct igt_ledger *ledger, const struct igt_vsoc_totals *before,
				   const struct igt_vsoc_totals *now, bool others)
{
	const struct drm_perfctr_sample_header *last = &ledger->session->last;

	igt_assert(last->flags & DRM_PERFCTR_SAMPLE_FINAL);
	if (!(last->flags & DRM_PERFCTR_SAMPLE_ERROR))
		return settle(ledger, now, NULL);
	return settle(ledger, now, others ? before->pending : now->pending);
}
