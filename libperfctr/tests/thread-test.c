// SPDX-License-Identifier: MIT
/*
 * The thread rules of perfctr.h under the thread sanitizer: contexts are independent of each other,
 * and one other thread may use the cursor of a session.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"
#include "test.h"

enum { THREADS = 4, ROUNDS = 25, SAMPLES = 20000 };

static uint64_t sum_of_first(struct perfctr_cursor *cursor, struct perfctr_totals *totals,
			     unsigned int *samples)
{
	struct perfctr_sample sample;

	while (perfctr_cursor_next(cursor, &sample) > 0) {
		if (perfctr_totals_add(totals, &sample))
			abort();
		perfctr_cursor_advance(cursor, 1);
		(*samples)++;
	}
	return perfctr_totals_counter(perfctr_totals_block(totals, 0), 0)->sum;
}

/* A complete use of the library, on a separate device. */
static void *use_everything(void *result)
{
	for (int round = 0; round < ROUNDS; round++) {
		const struct perfctr_counter_desc *counter = NULL;
		struct perfctr_selection *selection;
		struct perfctr_session *session;
		struct perfctr_totals *totals;
		struct perfctr_device *device;
		struct perfctr_cursor *cursor;
		struct perfctr_ctx *ctx;
		struct perfctr_value value;
		struct perfctr_anchor anchor;
		struct fake *fake = fake_new();
		unsigned int samples = 0;

		perfctr_ctx_new_with(&fake->sys, &ctx);
		if (perfctr_device_open(ctx, NULL, &device) ||
		    perfctr_selection_new(device, &selection) ||
		    perfctr_selection_add(selection, "shader/*,metric:l2_*") < 0 ||
		    perfctr_session_new(selection, NULL, &session) ||
		    perfctr_cursor_new(session, &cursor) || perfctr_totals_new(ctx, &totals) ||
		    perfctr_session_start(session, 0))
			abort();
		/* an error is the context's own, too */
		if (perfctr_selection_add(selection, "no_such_counter") != -ENOENT ||
		    !strstr(perfctr_ctx_error(ctx), "no_such_counter"))
			abort();
		for (int n = 0; n < 5; n++)
			perfctr_session_sample(session, (uint64_t)n);
		perfctr_session_stop(session, 0);
		/* the first counter of a block grows by 1 in each sample */
		if (sum_of_first(cursor, totals, &samples) != samples || samples != 6)
			abort();
		while ((counter = perfctr_counter_next(counter)))
			if (!counter->name[0])
				abort();
		perfctr_totals_metric(totals, perfctr_metric_next(NULL), NULL, &value);
		perfctr_time_anchor(&anchor);
		perfctr_totals_unref(totals);
		perfctr_cursor_unref(cursor);
		perfctr_session_unref(session);
		perfctr_selection_unref(selection);
		perfctr_device_unref(device);
		perfctr_ctx_unref(ctx);
		fake_free(fake);
	}
	*(bool *)result = true;
	return NULL;
}

TEST("contexts are independent")
{
	pthread_t threads[THREADS];
	bool done[THREADS] = { false };

	for (int n = 0; n < THREADS; n++)
		EQUAL(pthread_create(&threads[n], NULL, use_everything, &done[n]), 0);
	for (int n = 0; n < THREADS; n++) {
		EQUAL(pthread_join(threads[n], NULL), 0);
		CHECK(done[n]);
	}
}

struct reader {
	struct perfctr_cursor *cursor;
	uint64_t sum, samples;
	bool in_order;
};

static void *read_to_the_end(void *data)
{
	const struct timespec pause = { 0, 1000 };
	struct reader *r = data;
	struct perfctr_sample sample;
	struct perfctr_block block;
	int result;

	r->in_order = true;
	while ((result = perfctr_cursor_next(r->cursor, &sample)) >= 0) {
		if (!result) {
			nanosleep(&pause, NULL);
			continue;
		}
		r->in_order &= sample.seq == r->samples++;
		while (perfctr_decode_block(&sample, &block) > 0)
			r->sum += perfctr_block_value(&block, 0);
		perfctr_cursor_lag(r->cursor);
		perfctr_cursor_state(r->cursor);
		perfctr_cursor_advance(r->cursor, 1);
		if (sample.flags & DRM_PERFCTR_SAMPLE_FINAL)
			break;
	}
	return NULL;
}

TEST("the cursor may belong to another thread")
{
	struct perfctr_session_opts opts = { .size = sizeof(opts), .slots = 8 };
	struct fake *fake = fake_new();
	struct perfctr_selection *selection;
	struct perfctr_session *session;
	struct drm_perfctr_status status;
	struct perfctr_device *device;
	struct perfctr_ctx *ctx;
	struct reader reader = { 0 };
	pthread_t thread;
	uint64_t published = 0;

	perfctr_ctx_new_with(&fake->sys, &ctx);
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	CHECK(perfctr_selection_add(selection, "shader/FRAGMENTS") > 0);
	EQUAL(perfctr_session_new(selection, &opts, &session), 0);
	EQUAL(perfctr_cursor_new(session, &reader.cursor), 0);
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(pthread_create(&thread, NULL, read_to_the_end, &reader), 0);
	while (published < SAMPLES) {
		int error = perfctr_session_sample(session, published);

		if (!error)
			published++;
		else if (error != -ENOSPC)
			break;
		if (!(published % 100))
			EQUAL(perfctr_session_status(session, &status, sizeof(status)), 0);
	}
	/* the final sample needs a slot */
	while (perfctr_session_stop(session, 0) == -ENOSPC)
		;
	EQUAL(pthread_join(thread, NULL), 0);
	EQUAL(published, SAMPLES);
	EQUAL(reader.samples, SAMPLES + 1);
	CHECK(reader.in_order);
	/* four cores, of which each grows by 1 */
	EQUAL(reader.sum, 4 * (SAMPLES + 1));
	perfctr_cursor_unref(reader.cursor);
	perfctr_session_unref(session);
	perfctr_selection_unref(selection);
	perfctr_device_unref(device);
	perfctr_ctx_unref(ctx);
	fake_free(fake);
}
