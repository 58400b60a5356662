// SPDX-License-Identifier: MIT
/*
 * Cursors: reading samples in place in the ring.
 *
 * The indices are free-running modulo 2^32, slot = index & (slots - 1). The cursor caches the last
 * insert index and reads the shared one only when it has no more unread samples, so reading a burst
 * touches the shared cache line once.
 */
#include "session.h"

#include <stdlib.h>
#include <time.h>

struct perfctr_cursor {
	atomic_uint refs;
	struct perfctr_session *session;
	struct drm_perfctr_ring_control *control;
	const unsigned char *ring;
	uint32_t slots, slot_stride;
	/* last written extract index, last read insert index */
	uint32_t extract, insert;
	/* samples given back */
	uint64_t done;
	uint32_t state;
};

/*
 * All memory ordering between kernel and reader, see struct drm_perfctr_ring_control in
 * perfctr_drm.h.
 */
static void cursor_sync(struct perfctr_cursor *c, uint32_t extract)
{
	if (extract != c->extract) {
		/*
		 * Release: our loads from the slots given back happen before. Pairs with the
		 * kernel's load-acquire of extract_idx, after which it writes into those slots.
		 */
		__atomic_store_n(&c->control->extract_idx, extract, __ATOMIC_RELEASE);
		c->done += extract - c->extract;
		c->extract = extract;
	}
	/*
	 * Acquire: the load of insert_idx below happens after. The kernel sets
	 * RING_DEAD with store-release after it published the last sample, so a
	 * reader that sees the state and then an empty ring has seen everything.
	 */
	c->state = __atomic_load_n(&c->control->state, __ATOMIC_ACQUIRE);
	/*
	 * Acquire: our loads from the new slots happen after. Pairs with the
	 * kernel's store-release of insert_idx after it wrote the sample.
	 */
	c->insert = __atomic_load_n(&c->control->insert_idx, __ATOMIC_ACQUIRE);
}

EXPORT int perfctr_cursor_new(struct perfctr_session *session, struct perfctr_cursor **cursor)
{
	struct perfctr_cursor *c;

	if (!session->control.address)
		return perfctr_fail(session_ctx(session), -EINVAL,
				    "another process reads the session's samples");
	if (atomic_exchange(&session->has_cursor, true))
		return perfctr_fail(session_ctx(session), -EBUSY,
				    "the session has a cursor: samples can be read once");
	c = calloc(1, sizeof(*c));
	if (!c) {
		atomic_store(&session->has_cursor, false);
		return perfctr_no_memory(session_ctx(session));
	}
	atomic_init(&c->refs, 1);
	c->session = perfctr_session_ref(session);
	c->control = session->control.address;
	c->ring = session->ring.address;
	c->slots = session->sizes.slots;
	c->slot_stride = session->sizes.slot_stride;
	c->extract = __atomic_load_n(&c->control->extract_idx, __ATOMIC_RELAXED);
	cursor_sync(c, c->extract);
	*cursor = c;
	return 0;
}

static void free_cursor(struct perfctr_cursor *cursor)
{
	atomic_store(&cursor->session->has_cursor, false);
	perfctr_session_unref(cursor->session);
	free(cursor);
}

DEFINE_REFS(EXPORT, perfctr_cursor, free_cursor)

EXPORT int perfctr_cursor_peek(struct perfctr_cursor *cursor, uint32_t ahead,
			       struct perfctr_slot *slot)
{
	uint32_t index;

	if (ahead >= cursor->insert - cursor->extract) {
		cursor_sync(cursor, cursor->extract);
		if (cursor->insert - cursor->extract > cursor->slots) {
			cursor->insert = cursor->extract;
			return -EBADMSG;
		}
		if (ahead >= cursor->insert - cursor->extract)
			return cursor->state & DRM_PERFCTR_RING_DEAD ? -ENODEV : 0;
	}
	index = cursor->extract + ahead;
	slot->bytes = cursor->ring + (size_t)(index & (cursor->slots - 1)) * cursor->slot_stride;
	slot->size = cursor->slot_stride;
	slot->index = cursor->done + ahead;
	return 1;
}

EXPORT int perfctr_cursor_advance(struct perfctr_cursor *cursor, uint32_t count)
{
	if (count > cursor->insert - cursor->extract)
		cursor_sync(cursor, cursor->extract);
	if (count > cursor->insert - cursor->extract)
		return -ERANGE;
	cursor_sync(cursor, cursor->extract + count);
	return 0;
}

EXPORT int perfctr_cursor_next(struct perfctr_cursor *cursor, struct perfctr_sample *sample)
{
	struct perfctr_slot slot;
	int result = perfctr_cursor_peek(cursor, 0, &slot);

	if (result > 0 && perfctr_decode_sample(slot.bytes, slot.size, sample) <= 0)
		return -EBADMSG;
	return result;
}

static int64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

EXPORT int perfctr_cursor_wait(struct perfctr_cursor *cursor, int64_t timeout_ns)
{
	const struct perfctr_sys *sys = session_ctx(cursor->session)->sys;
	int64_t left = timeout_ns, deadline = 0;
	struct perfctr_slot slot;
	uint64_t events;
	int result;

	if (timeout_ns > 0)
		deadline = monotonic_ns() + timeout_ns;
	while (true) {
		result = perfctr_cursor_peek(cursor, 0, &slot);
		if (result || !left)
			return result;
		result = sys->poll(sys->data, &cursor->session->eventfd, 1, left);
		if (result < 0)
			return result;
		/* the event may belong to samples that were already read: check again */
		if (result > 0 &&
		    sys->read(sys->data, cursor->session->eventfd, &events, sizeof(events)) < 0)
			events = 0;
		if (timeout_ns > 0) {
			left = deadline - monotonic_ns();
			left = left > 0 ? left : 0;
		}
		if (!result)
			left = 0;
	}
}

EXPORT uint32_t perfctr_cursor_lag(const struct perfctr_cursor *cursor)
{
	uint32_t insert = __atomic_load_n(&cursor->control->insert_idx, __ATOMIC_RELAXED);
	uint32_t lag = insert - cursor->extract;

	return lag < cursor->slots ? lag : cursor->slots;
}

EXPORT uint32_t perfctr_cursor_state(const struct perfctr_cursor *cursor)
{
	return __atomic_load_n(&cursor->control->state, __ATOMIC_RELAXED);
}
