// SPDX-License-Identifier: GPL-2.0
/*
 * Periods: which have ended, and those at the begin and the end of a session.
 */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "perfctr_internal.h"

/* readings of two clocks at most this far apart are accepted; number of attempts */
#define CLOCKS_APART_NS		2000
#define CLOCK_READINGS		8

/*
 * CLOCK_MONOTONIC - CLOCK_MONOTONIC_RAW: converts from the clock of samples to that of timers. The
 * clocks are not read simultaneously. An interrupt between the readings would shift hardware times
 * and count periods that have not ended, so the closest of several readings is used.
 */
s64 drm_perfctr_raw_offset_ns(void)
{
	u64 best_ns = U64_MAX;
	s64 offset_ns = 0;
	unsigned int i;

	for (i = 0; i < CLOCK_READINGS && best_ns > CLOCKS_APART_NS; i++) {
		u64 before_ns = ktime_get_raw_ns();
		u64 monotonic_ns = ktime_get_ns();
		u64 apart_ns = ktime_get_raw_ns() - before_ns;

		if (apart_ns >= best_ns)
			continue;
		best_ns = apart_ns;
		offset_ns = monotonic_ns - (before_ns + apart_ns / 2);
	}
	return offset_ns;
}

/* counts the periods of a session, periodic or not, that ended before @now (CLOCK_MONOTONIC) */
static void count_periods(struct drm_perfctr_session *session, ktime_t now)
{
	u64 ended;

	if (!session->config.period_ns || ktime_before(now, session->pending.due))
		return;
	ended = 1 + div64_u64(ktime_to_ns(ktime_sub(now, session->pending.due)),
			      session->config.period_ns);
	session->pending.due = ktime_add_ns(session->pending.due,
					    ended * session->config.period_ns);
	session->pending.periods += ended;
}

/* for a periodic session that is due: counts its periods, returns whether there is room */
bool drm_perfctr_period_is_due(struct drm_perfctr_session *session, ktime_t now)
{
	if (!session->config.period_ns || ktime_before(now, session->pending.due))
		return false;
	count_periods(session, now);
	if (!drm_perfctr_has_room(session)) {
		drm_perfctr_update_status(session);
		return false;
	}
	/* the sample itself is the last period */
	session->pending.periods--;
	return true;
}

/* starts an active session's first period; the session was just baselined */
void drm_perfctr_period_begin(struct drm_perfctr_session *session)
{
	u64 period_ns = session->config.period_ns;
	u64 start_ns, into_ns;

	if (!period_ns)
		return;
	start_ns = session->pending.end_ns + drm_perfctr_raw_offset_ns();
	/* align to multiples of the period: equal periods share one collection */
	div64_u64_rem(start_ns, period_ns, &into_ns);
	session->pending.due = ns_to_ktime(start_ns - into_ns + period_ns);
}

/*
 * After the last collection of a session: counts the periods that ended in its span, including the
 * time that the hardware took to respond. What a source did not return is lost for the session.
 */
void drm_perfctr_period_end(struct drm_perfctr_session *session)
{
	unsigned int i;
	u64 end_ns;

	for (i = 0; i < session->source_count; i++) {
		struct perfctr_source_state *state = session->sources[i].source->state;
		u64 lost_ns;

		if (!state->incomplete)
			continue;
		/* the span ends now nevertheless, without a GPU timestamp */
		state->time_ns = max(state->time_ns, ktime_get_raw_ns());
		state->gpu_epoch = 0;
		state->gpu_timestamp = 0;
		/* at least 1: something is lost */
		lost_ns = 1 + state->time_ns - min(state->time_ns, state->good_ns);
		session->pending.unread_ns = max(session->pending.unread_ns, lost_ns);
	}
	if (session->config.period_ns) {
		end_ns = max(drm_perfctr_session_time(session), session->pending.end_ns);
		count_periods(session, ns_to_ktime(end_ns + drm_perfctr_raw_offset_ns()));
	}
}
