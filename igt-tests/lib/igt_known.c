// SPDX-License-Identifier: MIT
#include "minigt.h"
#include "igt_known.h"

const struct igt_known *igt_known;

void igt_assert_conserved(const struct igt_perfctr_session *s, const struct igt_truth *before,
			  const struct igt_truth *after)
{
	unsigned int compared = 0, enabled = 0;

	igt_assert_eq(before->count, after->count);
	for (unsigned int b = 0; b < s->layout.block_count; b++) {
		const struct igt_perfctr_sum *sum = &s->sums[b];

		if (sum->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY)
			continue;
		enabled += __builtin_popcountll(sum->mask);
		for (unsigned int i = 0; i < after->count; i++) {
			unsigned int bit = after->at[i].counter % DRM_PERFCTR_SECTION_COUNTERS;
			uint64_t truth = after->at[i].value - before->at[i].value;

			if (after->at[i].type != sum->type || after->at[i].index != sum->index ||
			    after->at[i].counter / DRM_PERFCTR_SECTION_COUNTERS != sum->section ||
			    !(sum->mask >> bit & 1))
				continue;
			igt_assert_f(sum->value[bit] == truth,
				     "block %u:%u counter %u: %llu measured, %llu true\n",
				     sum->type, sum->index, after->at[i].counter,
				     (unsigned long long)sum->value[bit],
				     (unsigned long long)truth);
			compared++;
		}
	}
	igt_assert_lt(0, compared);
	igt_assert_eq(compared, enabled);
}

void igt_known_work(const struct igt_perfctr_device *dev, unsigned int n)
{
	if (dev->known)
		dev->known->work(dev, n);
}

void igt_known_truth(const struct igt_perfctr_device *dev, struct igt_truth *truth)
{
	if (dev->known)
		dev->known->truth(dev, truth);
}

void igt_known_compare(const struct igt_perfctr_session *s, const struct igt_truth *before,
		       const struct igt_truth *after)
{
	if (s->dev->known)
		igt_assert_conserved(s, before, after);
}

void igt_known_start(struct igt_perfctr_session *s, struct igt_truth *before)
{
	igt_known_truth(s->dev, before);
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
}

void igt_known_stop(struct igt_perfctr_session *s, const struct igt_truth *before)
{
	static struct igt_truth after;

	igt_assert_eq(igt_perfctr_stop(s, 0), 0);
	igt_known_truth(s->dev, &after);
	igt_perfctr_drain(s);
	igt_known_compare(s, before, &after);
}

void igt_known_conserve(struct igt_perfctr_session *s, unsigned int jobs,
			void (*step)(struct igt_perfctr_session *s, unsigned int n))
{
	static struct igt_truth before;

	igt_known_start(s, &before);
	for (unsigned int n = 0; n < jobs; n++) {
		igt_known_work(s->dev, n);
		if (step)
			step(s, n);
	}
	igt_known_stop(s, &before);
	igt_assert_eq_u64(s->final, 1);
	igt_assert_eq_u64(s->lost_ns, 0);
	igt_perfctr_assert_status(s, false);
}

void igt_known_step_sample(struct igt_perfctr_session *s, unsigned int n)
{
	igt_assert_eq(igt_perfctr_sample(s, n), 0);
	igt_perfctr_drain(s);
	/* a periodic sample may have followed */
	igt_assert_eq_u64(s->manual_data, n);
}
