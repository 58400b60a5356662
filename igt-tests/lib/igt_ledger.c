// SPDX-License-Identifier: MIT
/*
 * A session's account: samples on one side, the truth on the other.
 */
#include <string.h>

#include "minigt.h"
#include "igt_ledger.h"

/* no counter is faster (README.md of vsoc, "Time"), and the engine counts in slices of 1 ms */
#define MAX_COUNTS_PER_10NS 32
#define SLICE_NS 1000000ull

static void begin(struct igt_ledger *ledger)
{
	struct igt_perfctr_session *s = ledger->session;

	for (unsigned int b = 0; b < s->setup.block_count; b++) {
		struct igt_perfctr_sum *sum = &s->sums[b];

		memset(sum->value, 0, sizeof(sum->value));
		sum->valid = ~0ull;
		sum->states = 0;
	}
	s->lost_ns = 0;
	s->flags = 0;
}

void igt_ledger_open(struct igt_ledger *ledger, struct igt_perfctr_session *session,
		     unsigned int set)
{
	memset(ledger, 0, sizeof(*ledger));
	ledger->session = session;
	ledger->set = set;
	igt_vsoc_truth_of_set(session->dev, set, &ledger->base);
	ledger->ucf_base = igt_vsoc_ucf_bytes_read(session->dev);
	begin(ledger);
}

static void settle_counter(struct igt_ledger *ledger, const struct igt_perfctr_sum *sum,
			   unsigned int bit, uint64_t truth, const char *name)
{
	const struct igt_perfctr_session *s = ledger->session;
	bool saturated = sum->states & DRM_PERFCTR_STATE_SATURATED;
	bool excused = saturated || s->lost_ns || !(sum->valid >> bit & 1);
	uint64_t told = sum->value[bit];

	ledger->compared++;
	ledger->counts += told;
	igt_assert_f(told <= truth, "%u:%u %s: %llu in samples, but only %llu happened\n",
		     sum->type, sum->index, name, (unsigned long long)told,
		     (unsigned long long)truth);
	igt_assert_f(told == truth || excused,
		     "%u:%u %s: %llu in samples, %llu happened, and nothing says so (flags %#x)\n",
		     sum->type, sum->index, name, (unsigned long long)told,
		     (unsigned long long)truth, s->flags);
	/* a register that stands still loses more than time; its state says so */
	igt_assert_f(saturated || !(sum->valid >> bit & 1) ||
			     truth - told <= (s->lost_ns + SLICE_NS) / 10 * MAX_COUNTS_PER_10NS,
		     "%u:%u %s: %llu are missing, more than %llu ns can have lost\n", sum->type,
		     sum->index, name, (unsigned long long)(truth - told),
		     (unsigned long long)s->lost_ns);
	ledger->missing += truth - told;
}

/*
 * The GPU's troubles are none of the fabric's: only a PMU that is gone, or that perf did not let
 * count all the time, is an excuse.
 */
static void settle_ucf(struct igt_ledger *ledger, const struct igt_perfctr_sum *sum)
{
	const uint64_t bit = 1ull << DRM_PERFCTR_UCF_MEM_BYTES_RD;
	uint64_t told = sum->value[DRM_PERFCTR_UCF_MEM_BYTES_RD];
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

void igt_ledger_settle(struct igt_ledger *ledger, const struct igt_vsoc_truth *now)
{
	const struct igt_perfctr_session *s = ledger->session;
	uint64_t before = ledger->compared, enabled = 0;

	igt_assert_eq(now->count, ledger->base.count);
	/* no sample, nothing to compare: blocks are known from the first one on */
	igt_assert_lte_u64(1, s->samples);
	for (unsigned int b = 0; b < s->setup.block_count; b++) {
		const struct igt_perfctr_sum *sum = &s->sums[b];

		if (sum->type == DRM_PERFCTR_BLOCK_UCF)
			settle_ucf(ledger, sum);
		if (sum->type >= DRM_PERFCTR_BLOCK_GENERIC_PMU)
			continue;
		enabled += __builtin_popcountll(sum->mask);
		for (unsigned int i = 0; i < now->count; i++) {
			unsigned int bit = now->at[i].counter % DRM_PERFCTR_SECTION_COUNTERS;

			if (now->at[i].type != sum->type || now->at[i].index != sum->index ||
			    now->at[i].counter / DRM_PERFCTR_SECTION_COUNTERS != sum->section ||
			    !(sum->mask >> bit & 1))
				continue;
			settle_counter(ledger, sum, bit,
				       now->at[i].value - ledger->base.at[i].value,
				       now->at[i].name);
		}
	}
	igt_assert_eq_u64(ledger->compared - before, enabled);
	ledger->lost_ns += s->lost_ns;
	ledger->base = *now;
	begin(ledger);
}
