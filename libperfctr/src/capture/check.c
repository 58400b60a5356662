// SPDX-License-Identifier: MIT
/* Finds numbers that no recording has: damage that leaves the lengths of all records right. */
#include "capture.h"

enum { LEAST_PERIOD_NS = 1000, MOST_AT_ONCE = 1000, MOST_YEARS = 100 };

#define MOST_LOST_NS (UINT64_C(3600) * NS_PER_S)

static bool is_time(uint64_t ns)
{
	return ns < MOST_YEARS * 366ull * 86400 * NS_PER_S;
}

static bool is_possible(const struct capture_checks *c, const struct perfctr_sample *s)
{
	const uint64_t ns = s->end_ns - s->start_ns;

	if (!is_time(s->start_ns) || !is_time(s->end_ns) || s->end_ns < s->start_ns ||
	    s->merged_periods > ns / LEAST_PERIOD_NS + MOST_AT_ONCE ||
	    s->lost_ns > ns + MOST_LOST_NS)
		return false;
	/* a flight recorder begins with any number */
	return !c->samples || (s->seq >= c->next_seq &&
			       s->seq - c->next_seq <= (s->end_ns > c->last_end_ns ?
								s->end_ns - c->last_end_ns :
								0) / LEAST_PERIOD_NS +
							       MOST_AT_ONCE);
}

EXPORT int perfctr_capture_sample(struct perfctr_capture_reader *reader,
				  const struct perfctr_capture_record *record,
				  struct perfctr_sample *sample)
{
	struct capture_checks *c = &reader->checks;

	if (perfctr_decode_sample(record->content, record->size, sample) <= 0 ||
	    !is_possible(c, sample))
		return -EBADMSG;
	if (!c->samples || sample->start_ns < c->start_ns)
		c->start_ns = sample->start_ns;
	if (sample->end_ns > c->end_ns)
		c->end_ns = sample->end_ns;
	c->samples++;
	c->next_seq = sample->seq + 1;
	c->last_end_ns = sample->end_ns;
	return 0;
}

EXPORT int perfctr_capture_anchor(struct perfctr_capture_reader *reader,
				  const struct perfctr_capture_record *record,
				  struct perfctr_anchor *anchor)
{
	struct capture_checks *c = &reader->checks;

	perfctr_capture_copy(record, anchor, sizeof(*anchor));
	if (!is_time(anchor->raw_ns) || !is_time(anchor->monotonic_ns) ||
	    !is_time(anchor->boottime_ns) || !is_time(anchor->realtime_ns)) {
		c->has_bad_anchor = true;
		return -EBADMSG;
	}
	/* conversion needs ascending times */
	if (!anchor->raw_ns || anchor->raw_ns < c->anchor_ns)
		return -ERANGE;
	c->anchor_ns = anchor->raw_ns;
	return 0;
}

static bool is_possible_status(const struct capture_checks *c,
			       const struct drm_perfctr_status *status)
{
	const uint64_t most = (c->end_ns - c->start_ns + MOST_LOST_NS) / LEAST_PERIOD_NS;

	return status->published >= c->samples &&
	       status->published - c->samples <= most + c->next_seq;
}

EXPORT uint32_t perfctr_capture_bad_numbers(const struct perfctr_capture_reader *reader)
{
	const struct capture_meta *meta = &reader->meta;
	uint32_t bad = reader->checks.has_bad_anchor ? PERFCTR_CAPTURE_BAD_ANCHOR : 0;

	if (meta->has_session && !is_time(meta->session.period_ns))
		bad |= PERFCTR_CAPTURE_BAD_SESSION;
	if (meta->has_status && !is_possible_status(&reader->checks, &meta->status))
		bad |= PERFCTR_CAPTURE_BAD_STATUS;
	return bad;
}
