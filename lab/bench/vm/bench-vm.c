// SPDX-License-Identifier: MIT
/*
 * Cost of reading counters for a consumer, on a device (in the VM: the virtual SoC):
 *
 *  - reading COUNTERS counters through the ring, against one read() of a
 *    perf_event group of as many events;
 *  - from the request for a sample to its arrival, against a bare eventfd round
 *    trip between two threads.
 *
 * Subject and reference alternate in the same run; each figure is the median of all rounds. Prints
 * JSON; lab/bench/run has the goals.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <perfctr/perfctr.h>

#include "bench.h"
#include "subject.h"

#define COUNTERS 64
#define ROUNDS 15
/* slots of a ring that a round drains completely, except for the slot kept for STOP */
#define SLOTS 256
#define SAMPLES (SLOTS - 1)
/* samples that a reader takes before it frees their slots */
#define BATCH 16
#define MAX_BLOCKS 256

static volatile uint64_t sink;

static uint64_t lowest_bits(uint64_t mask, unsigned int count)
{
	uint64_t low = 0;

	for (; mask && count; count--, mask &= mask - 1)
		low |= mask & -mask;
	return low;
}

/* the block with the most counters that is not in use yet, or NULL */
static const struct drm_perfctr_block_info *largest_block(const struct subject *s,
							  const bool *taken, size_t *which)
{
	const struct drm_perfctr_block_info *largest = NULL;

	for (size_t n = 0; n < perfctr_device_block_count(s->device) && n < MAX_BLOCKS; n++) {
		const struct drm_perfctr_block_info *block = perfctr_device_block(s->device, n);

		if (taken[n] || block->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY)
			continue;
		if (largest && __builtin_popcountll(block->available[0]) <=
				       __builtin_popcountll(largest->available[0]))
			continue;
		largest = block;
		*which = n;
	}
	return largest;
}

/* COUNTERS counters from as few blocks as possible, because a perf group has one PMU */
static void select_counters(struct subject *s, struct perfctr_selection *selection)
{
	const struct drm_perfctr_block_info *block;
	unsigned int left = COUNTERS;
	bool taken[MAX_BLOCKS] = { false };
	size_t which = 0;

	while (left && (block = largest_block(s, taken, &which)) != NULL) {
		struct drm_perfctr_block_request request = {
			.type = block->type,
			.index = block->index,
			.mask = lowest_bits(block->available[0], left),
		};

		taken[which] = true;
		if (perfctr_selection_add_request(selection, &request) < 0)
			die("selecting counters", perfctr_ctx_error(s->ctx));
		left -= (unsigned int)__builtin_popcountll(request.mask);
	}
	if (left)
		die("selecting counters", "the device has fewer than 64");
}

/* decode an unread sample, add up all of its counters */
static unsigned int consume(struct subject *s, unsigned int ahead, uint64_t *sum)
{
	struct perfctr_sample sample;
	struct perfctr_block block;
	struct perfctr_slot slot;
	unsigned int counters = 0;

	if (perfctr_cursor_peek(s->cursor, ahead, &slot) != 1 ||
	    perfctr_decode_sample(slot.bytes, slot.size, &sample) <= 0)
		die("cursor", "no sample where one must be");
	while (perfctr_decode_block(&sample, &block) > 0) {
		uint64_t block_sum = 0;

		for (unsigned int n = 0; n < block.count; n++)
			block_sum += perfctr_block_value(&block, n);
		*sum += block_sum;
		counters += block.count;
	}
	return counters;
}

static double time_ring(struct subject *s)
{
	uint64_t begin, sum = 0;

	for (unsigned int i = 0; i < SAMPLES; i++)
		if (perfctr_session_sample(s->session, i))
			die("sample", perfctr_ctx_error(s->ctx));

	begin = now_ns();
	for (unsigned int i = 0; i < SAMPLES; i++) {
		if (consume(s, i % BATCH, &sum) != COUNTERS)
			die("decode", "a sample has other than 64 counters");
		if (i % BATCH == BATCH - 1)
			perfctr_cursor_advance(s->cursor, BATCH);
	}
	perfctr_cursor_advance(s->cursor, SAMPLES % BATCH);
	begin = now_ns() - begin;
	sink += sum;
	return (double)begin / SAMPLES;
}

static double time_request(struct subject *s)
{
	uint64_t begin, sum = 0;

	begin = now_ns();
	for (unsigned int i = 0; i < SAMPLES; i++) {
		if (perfctr_session_sample(s->session, i))
			die("sample", perfctr_ctx_error(s->ctx));
		consume(s, 0, &sum);
		perfctr_cursor_advance(s->cursor, 1);
	}
	begin = now_ns() - begin;
	sink += sum;
	return (double)begin / SAMPLES;
}

/*
 * --- reference: a perf_event group ------------------------------------------
 */

static int group_open(int *members)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	for (int i = 0; i < COUNTERS; i++) {
		members[i] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, i ? members[0] : -1,
					  PERF_FLAG_FD_CLOEXEC);
		if (members[i] < 0)
			die("perf_event_open", strerror(errno));
	}
	return members[0];
}

static double time_group(int leader)
{
	uint64_t buffer[3 + COUNTERS], begin, sum = 0;

	begin = now_ns();
	for (unsigned int i = 0; i < SAMPLES; i++) {
		if (read(leader, buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer))
			die("group read", strerror(errno));
		for (unsigned int n = 0; n < COUNTERS; n++)
			sum += buffer[3 + n];
	}
	begin = now_ns() - begin;
	sink += sum;
	return (double)begin / SAMPLES;
}

/*
 * --- reference: an eventfd round trip ---------------------------------------
 */

struct ping {
	int request;
	int answer;
};

static void *ping_answer(void *data)
{
	const struct ping *ping = data;
	uint64_t value;

	while (read(ping->request, &value, sizeof(value)) == sizeof(value) && value == 1)
		if (write(ping->answer, &value, sizeof(value)) != sizeof(value))
			break;
	return NULL;
}

static double time_ping(const struct ping *ping)
{
	uint64_t begin, value = 1;

	begin = now_ns();
	for (unsigned int i = 0; i < SAMPLES; i++)
		if (write(ping->request, &value, sizeof(value)) != sizeof(value) ||
		    read(ping->answer, &value, sizeof(value)) != sizeof(value))
			die("eventfd", strerror(errno));
	return (double)(now_ns() - begin) / SAMPLES;
}

int main(void)
{
	const struct perfctr_session_opts opts = { .size = sizeof(opts), .slots = SLOTS };
	double ring[ROUNDS], group[ROUNDS], request[ROUNDS], ping_ns[ROUNDS];
	double ring_ns, group_ns, request_ns, round_trip_ns;
	struct ping ping = { eventfd(0, 0), eventfd(0, 0) };
	uint64_t end = 2;
	int members[COUNTERS], leader;
	struct subject subject;
	pthread_t thread;

	subject_open(&subject, NULL, opts, select_counters);
	leader = group_open(members);
	if (ping.request < 0 || ping.answer < 0 ||
	    pthread_create(&thread, NULL, ping_answer, &ping))
		die("eventfd", strerror(errno));

	for (unsigned int i = 0; i < ROUNDS; i++) {
		ring[i] = time_ring(&subject);
		group[i] = time_group(leader);
		request[i] = time_request(&subject);
		ping_ns[i] = time_ping(&ping);
	}
	ring_ns = median(ring, ROUNDS);
	group_ns = median(group, ROUNDS);
	request_ns = median(request, ROUNDS);
	round_trip_ns = median(ping_ns, ROUNDS);
	printf("{\"read_ns\": %.1f, \"read_peer_ns\": %.1f, \"read_ratio\": %.2f, "
	       "\"visible_ns\": %.1f, \"visible_peer_ns\": %.1f, \"visible_ratio\": %.3f}\n",
	       ring_ns, group_ns, group_ns / ring_ns, request_ns, round_trip_ns,
	       request_ns / round_trip_ns);

	if (write(ping.request, &end, sizeof(end)) == sizeof(end))
		pthread_join(thread, NULL);
	subject_close(&subject);
	return 0;
}
