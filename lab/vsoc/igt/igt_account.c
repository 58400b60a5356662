// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "minigt.h"
#include "igt_account.h"
#include "igt_sys.h"

static void begin(struct igt_account *account)
{
	struct igt_perfctr_session *s = account->session;

	for (unsigned int b = 0; b < s->layout.block_count; b++) {
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

bool igt_account_try_open(struct igt_account *account, struct igt_perfctr_session *session,
			  unsigned int set)
{
	memset(account, 0, sizeof(*account));
	account->session = session;
	account->set = set;
	if (!igt_vsoc_try_totals(session->dev, set, &account->base))
		return false;
	account->ucf_base = igt_vsoc_ucf_bytes_read(session->dev);
	begin(account);
	return true;
}

void igt_account_open(struct igt_account *account, struct igt_perfctr_session *session,
		      unsigned int set)
{
	igt_require_f(igt_account_try_open(account, session, set), "vsoc/counts of debugfs: %s\n",
		      strerror(errno));
}

/* the counts of one counter since the last settlement */
struct fate {
	const char *name;
	uint64_t truth, dropped, doubtful;
	/* counts that hardware kept for other sessions when STOP got no answer */
	uint64_t unread;
	/* counts from before START: not in the truth, but possibly destroyed */
	uint64_t inherited;
};

static void assert_explained(struct igt_account *account, const struct igt_perfctr_sum *sum,
			     const struct fate *f, uint64_t missing, uint64_t refused)
{
	if (refused <= f->doubtful + f->unread)
		return;
	igt_vsoc_print_log(account->session->dev);
	igt_assert_f(false,
		     "%u:%u %s: %llu of %llu are missing, hardware destroyed %llu and gave reason "
		     "to doubt %llu and did not answer with %llu (flags %#x, %llu ns lost)\n",
		     sum->type, sum->index, f->name, (unsigned long long)missing,
		     (unsigned long long)f->truth, (unsigned long long)f->dropped,
		     (unsigned long long)f->doubtful, (unsigned long long)f->unread,
		     account->session->flags, (unsigned long long)account->session->lost_ns);
}

static uint64_t settle_counter(struct igt_account *account, const struct igt_perfctr_sum *sum,
			       unsigned int bit, const struct fate *f)
{
	uint64_t in_samples = sum->value[bit], missing, refused;

	account->compared++;
	igt_assert_f(in_samples <= f->truth && in_samples + f->dropped <= f->truth + f->inherited,
		     "%u:%u %s: %llu in samples, %llu destroyed, but only %llu happened and %llu "
		     "were there\n",
		     sum->type, sum->index, f->name, (unsigned long long)in_samples,
		     (unsigned long long)f->dropped, (unsigned long long)f->truth,
		     (unsigned long long)f->inherited);
	missing = f->truth - in_samples;
	refused = missing > f->dropped ? missing - f->dropped : 0;
	if (missing)
		account->missing_name = f->name;
	assert_explained(account, sum, f, missing, refused);
	account->truth += f->truth;
	account->counts += in_samples;
	account->dropped += f->dropped;
	account->refused += refused;
	return missing;
}

static bool is_nvidia(const struct igt_perfctr_sum *sum)
{
	return sum->type == DRM_PERFCTR_NV50_BLOCK_PCOUNTER ||
	       sum->type == DRM_PERFCTR_NV50_BLOCK_MP;
}

/*
 * This counter continues during the comparison. From START on, samples never exceed the truth that
 * is read after the last sample. Between two settlements they may: counts between a sample and the
 * read are in the next sample.
 */
static void settle_idle(struct igt_account *account, uint64_t in_samples, uint64_t truth)
{
	account->idle_in_samples += in_samples;
	account->idle_truth += truth;
	/* the truth could not be read after the last sample */
	if (account->unplugged)
		return;
	igt_assert_f(account->idle_in_samples <= account->idle_truth,
		     "gpu_idle: %llu in samples, but only %llu happened\n",
		     (unsigned long long)account->idle_in_samples,
		     (unsigned long long)account->idle_truth);
}

/*
 * PCOUNTER has no count of dropped ones. A multiplexed counter lacks the counts of other slots, and
 * any counter may lack what its samples report as lost.
 */
static uint64_t settle_multiplexed(struct igt_account *account, const struct igt_perfctr_sum *sum,
				   unsigned int bit, const struct fate *f)
{
	uint64_t in_samples = sum->value[bit], missing;

	account->compared++;
	if (!strcmp(f->name, "gpu_idle")) {
		settle_idle(account, in_samples, f->truth);
		return 0;
	}
	igt_assert_f(in_samples <= f->truth, "%u:%u %s: %llu in samples, but only %llu happened\n",
		     sum->type, sum->index, f->name, (unsigned long long)in_samples,
		     (unsigned long long)f->truth);
	missing = f->truth - in_samples;
	account->truth += f->truth;
	account->counts += in_samples;
	if (missing && sum->running[bit] < sum->time_enabled) {
		igt_assert(sum->states & DRM_PERFCTR_STATE_MULTIPLEXED);
		account->multiplexed += missing;
		return 0;
	}
	account->dropped += missing;
	if (missing)
		account->missing_name = f->name;
	return missing;
}

/* samples must report that their block lacks counts */
static void assert_loss_reported(struct igt_account *account, const struct igt_perfctr_sum *sum)
{
	const struct igt_perfctr_session *s = account->session;
	const uint32_t fault_flags = DRM_PERFCTR_SAMPLE_ERROR | DRM_PERFCTR_SAMPLE_OVERFLOW |
				     DRM_PERFCTR_SAMPLE_RESET;

	account->blocks_missing++;
	account->types_missing |= 1u << sum->type;
	if (sum->states & DRM_PERFCTR_STATE_SATURATED && !is_nvidia(sum))
		return;
	if (s->lost_ns && s->flags & fault_flags && sum->states & DRM_PERFCTR_STATE_LOST)
		return;
	igt_vsoc_print_log(s->dev);
	igt_assert_f(false,
		     "%u:%u lacks counts (%s) and does not admit it: flags %#x, states %#x, %llu "
		     "ns\n",
		     sum->type, sum->index, account->missing_name, s->flags, sum->states,
		     (unsigned long long)s->lost_ns);
}

/*
 * Faults of the GPU do not affect the fabric. The counts may be incomplete only if the PMU was
 * removed or perf did not count all the time.
 */
static void settle_ucf(struct igt_account *account, const struct igt_perfctr_sum *sum)
{
	const uint64_t bit = 1ull << DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD;
	uint64_t in_samples = sum->value[DRM_PERFCTR_TEGRA410_UCF_SLC_BYTES_RD];
	uint64_t now = igt_vsoc_ucf_bytes_read(account->session->dev);
	bool excused = sum->states & (DRM_PERFCTR_STATE_ERROR | DRM_PERFCTR_STATE_MULTIPLEXED) ||
		       !(sum->valid & bit);

	if (!(sum->mask & bit))
		return;
	igt_assert_f(in_samples == now - account->ucf_base ||
			     (excused && in_samples < now - account->ucf_base),
		     "UCF: %llu bytes in samples, %llu were read, states %#x\n",
		     (unsigned long long)in_samples, (unsigned long long)(now - account->ucf_base),
		     sum->states);
	account->ucf_base = now;
	account->ucf_bytes += in_samples;
}

static uint64_t settle_one(struct igt_account *account, const struct igt_perfctr_sum *sum,
			   unsigned int bit, const struct fate *f)
{
	return is_nvidia(sum) ? settle_multiplexed(account, sum, bit, f) :
				settle_counter(account, sum, bit, f);
}

static uint64_t settle_block(struct igt_account *account, const struct igt_perfctr_sum *sum,
			     const struct igt_vsoc_totals *now, const uint64_t *unread)
{
	const struct igt_vsoc_totals *base = &account->base;
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
			missing += settle_one(account, sum, counter % DRM_PERFCTR_SECTION_COUNTERS,
					      &f);
	}
	return missing;
}

/*
 * @unread: for each counter, what hardware kept although the last sample requested it, or NULL.
 * Returns the counts that are not in samples.
 */
static uint64_t settle(struct igt_account *account, const struct igt_vsoc_totals *now,
		       const uint64_t *unread)
{
	const struct igt_perfctr_session *s = account->session;
	uint64_t before = account->compared, enabled = 0, all_missing = 0;

	igt_assert_eq(now->truth.count, account->base.truth.count);
	/* the first sample names the blocks */
	igt_assert_lte_u64(1, s->samples);
	for (unsigned int b = 0; b < s->layout.block_count; b++) {
		const struct igt_perfctr_sum *sum = &s->sums[b];
		uint64_t missing;

		if (sum->type == DRM_PERFCTR_TEGRA410_BLOCK_UCF)
			settle_ucf(account, sum);
		if (sum->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY)
			continue;
		enabled += __builtin_popcountll(sum->mask);
		missing = settle_block(account, sum, now, unread);
		if (missing)
			assert_loss_reported(account, sum);
		/* PCOUNTER saturates if it is collected late, which is no fault */
		if (!is_nvidia(sum) || !(sum->states & DRM_PERFCTR_STATE_SATURATED))
			all_missing += missing;
	}
	igt_assert_eq_u64(account->compared - before, enabled);
	account->lost_ns += s->lost_ns;
	account->base = *now;
	begin(account);
	return all_missing;
}

uint64_t igt_account_settle(struct igt_account *account, const struct igt_vsoc_totals *now)
{
	return settle(account, now, NULL);
}

uint64_t igt_account_settle_unplugged(struct igt_account *account,
				      const struct igt_vsoc_totals *now)
{
	account->unplugged = true;
	return settle(account, now, NULL);
}

uint64_t igt_account_settle_stopped(struct igt_account *account,
				    const struct igt_vsoc_totals *before,
				    const struct igt_vsoc_totals *now, bool others)
{
	const struct drm_perfctr_sample_header *last = &account->session->last;

	igt_assert(last->flags & DRM_PERFCTR_SAMPLE_FINAL);
	if (!(last->flags & DRM_PERFCTR_SAMPLE_ERROR))
		return settle(account, now, NULL);
	return settle(account, now, others ? before->pending : now->pending);
}

void igt_accounted_open(struct igt_accounted *a, const struct igt_perfctr_device *d, uint64_t mask,
			uint64_t period_ns, bool with_ucf)
{
	igt_perfctr_session_init(&a->s, d);
	for (unsigned int i = 0; i < a->s.params.request_count; i++)
		a->s.requests[i].mask &= mask;
	if (with_ucf)
		igt_require_f(igt_perfctr_add_ucf(&a->s), "no PMU nvidia_ucf_pmu_0\n");
	a->s.params.slots = 64;
	a->s.params.period_ns = period_ns;
	igt_perfctr_session_open(&a->s);
	igt_account_open(&a->account, &a->s, DRM_PERFCTR_SET_PRIMARY);
}

void igt_accounted_close(struct igt_accounted *a)
{
	static struct igt_vsoc_totals totals;

	igt_vsoc_totals(a->s.dev, DRM_PERFCTR_SET_PRIMARY, &totals);
	igt_perfctr_drain(&a->s);
	igt_account_settle(&a->account, &totals);
	igt_perfctr_session_close(&a->s);
}
