// SPDX-License-Identifier: MIT
/*
 * Cost of samples without a kernel around them, against plain memory work:
 *
 *  - publishing a sample with 64 counters and copying it out of the ring, each
 *    against memcpy of as many bytes;
 *  - recording it: copying it from the ring into a capture that is written to
 *    /dev/null, against memcpy of as many bytes;
 *  - decoding it and adding up its counters, against adding up 64 u64;
 *  - publishing for 1 to 64 sessions;
 *  - checking a page of 10,000 counters.
 *
 * Subject and reference alternate in the same run; each figure is the median of all rounds. Prints
 * JSON; lab/bench/run has the goals.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perfctr/capture.h>

#include "bench.h"
#include "produce.h"

#define ROUNDS 41
#define ITERATIONS 20000
#define SESSION_STEPS 7
#define SLOT_BYTES 1024

static volatile uint64_t sink;
static unsigned char copy[4096];
static unsigned char peer_ring[SLOTS * SLOT_BYTES] __attribute__((aligned(64)));
static uint64_t plain[COUNTERS];

/* keeps the compiler from optimizing a loop away */
static inline void opaque(void *p)
{
	__asm__ __volatile__("" : : "r"(p) : "memory");
}

static const unsigned char *slot_of(uint64_t index)
{
	return ring_memory() + (index & (SLOTS - 1)) * slot_stride();
}

/*
 * --- subjects and references: ns for each sample --------------------------
 */

static double produce_one(void)
{
	uint64_t begin = cpu_ns();

	for (unsigned int i = 0; i < ITERATIONS; i++)
		sessions_publish();
	return (double)(cpu_ns() - begin) / ITERATIONS;
}

static double copy_in(void)
{
	uint64_t begin = cpu_ns();
	size_t bytes = sample_bytes(), stride = slot_stride();

	for (unsigned int i = 0; i < ITERATIONS; i++) {
		memcpy(peer_ring + (i & (SLOTS - 1)) * stride, copy, bytes);
		opaque(peer_ring);
	}
	return (double)(cpu_ns() - begin) / ITERATIONS;
}

/*
 * Take a sample out as a recorder does: see it, check its size, copy it, free the slot. All slots
 * hold samples, and the indices wrap around.
 */
static double drain_one(void)
{
	uint32_t first = *ring_insert_idx() - SLOTS, extract = first;
	uint64_t begin;

	begin = cpu_ns();
	for (unsigned int i = 0; i < ITERATIONS; i++) {
		uint32_t insert = __atomic_load_n(ring_insert_idx(), __ATOMIC_ACQUIRE);
		const unsigned char *slot = slot_of(extract);
		uint32_t size;

		if (extract == insert) {
			extract = first;
			continue;
		}
		memcpy(&size, slot, sizeof(size));
		if (size > slot_stride()) {
			sink++;
			continue;
		}
		memcpy(copy, slot, size);
		opaque(copy);
		__atomic_store_n(ring_extract_idx(), ++extract, __ATOMIC_RELEASE);
	}
	return (double)(cpu_ns() - begin) / ITERATIONS;
}

static double copy_out(void)
{
	uint64_t begin = cpu_ns();
	size_t bytes = sample_bytes(), stride = slot_stride();

	for (unsigned int i = 0; i < ITERATIONS; i++) {
		memcpy(copy, ring_memory() + (i & (SLOTS - 1)) * stride, bytes);
		opaque(copy);
	}
	return (double)(cpu_ns() - begin) / ITERATIONS;
}

static struct perfctr_capture_writer *writer;

/* As perfctr record, without the system calls for waiting. */
static double record_one(void)
{
	uint64_t begin = cpu_ns();

	for (unsigned int i = 0; i < ITERATIONS; i++)
		if (perfctr_capture_write_sample(writer, slot_of(i), slot_stride()))
			sink++;
	return (double)(cpu_ns() - begin) / ITERATIONS;
}

static double decode_and_read(void)
{
	uint64_t begin = cpu_ns(), sum = 0;

	for (unsigned int i = 0; i < ITERATIONS; i++) {
		struct perfctr_sample sample;
		struct perfctr_block block;

		if (perfctr_decode_sample(slot_of(i), slot_stride(), &sample) <= 0)
			sink++;
		while (perfctr_decode_block(&sample, &block) > 0)
			for (unsigned int n = 0; n < block.count; n++)
				sum += perfctr_block_value(&block, n);
	}
	sink += sum;
	return (double)(cpu_ns() - begin) / ITERATIONS;
}

static double plain_sum(void)
{
	uint64_t begin = cpu_ns(), sum = 0;

	for (unsigned int i = 0; i < ITERATIONS; i++) {
		for (unsigned int n = 0; n < COUNTERS; n++)
			sum += plain[n];
		opaque(plain);
	}
	sink += sum;
	return (double)(cpu_ns() - begin) / ITERATIONS;
}

/* write every ring once before the measurement */
static double publish_in(unsigned int sessions)
{
	uint64_t begin, end;

	if (!sessions_create(sessions)) {
		fprintf(stderr, "perfctr-bench-native: out of memory\n");
		exit(1);
	}
	for (unsigned int i = 0; i < SLOTS / sessions; i++)
		sessions_publish();
	hardware_counts();
	begin = cpu_ns();
	for (unsigned int i = 0; i < ITERATIONS / sessions; i++)
		sessions_publish();
	end = cpu_ns();
	sessions_destroy();
	return (double)(end - begin) / (ITERATIONS / sessions) / sessions;
}

struct pair {
	const char *name;
	double (*subject_ns)(void);
	double (*peer_ns)(void);
};

static const struct pair pairs[] = {
	{ "produce", produce_one, copy_in },
	{ "drain", drain_one, copy_out },
	{ "record", record_one, copy_out },
	{ "decode_read", decode_and_read, plain_sum },
};

static void run_pair(const struct pair *p)
{
	static double subject[ROUNDS], against[ROUNDS];
	double ns, peer_ns;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		hardware_counts();
		subject[round] = p->subject_ns();
		against[round] = p->peer_ns();
	}
	ns = median(subject, ROUNDS);
	peer_ns = median(against, ROUNDS);
	printf(", \"%s_ns\": %.2f, \"%s_peer_ns\": %.2f, \"%s_ratio\": %.3f", p->name, ns, p->name,
	       peer_ns, p->name, ns / peer_ns);
}

static void run_sessions(void)
{
	static double cost[SESSION_STEPS][ROUNDS];
	double first = 0, worst = 0;

	for (unsigned int round = 0; round < ROUNDS; round++)
		for (unsigned int n = 0; n < SESSION_STEPS; n++)
			cost[n][round] = publish_in(1u << n);
	for (unsigned int n = 0; n < SESSION_STEPS; n++) {
		double ns = median(cost[n], ROUNDS);

		first = n ? first : ns;
		worst = n && ns > worst ? ns : worst;
		printf(", \"session_ns_of_%u\": %.2f", 1u << n, ns);
	}
	printf(", \"session_ratio\": %.3f", worst / first);
}

/* Reading and checking a page of 10,000 counters, in ms: the fastest round. */
static double page_ms(struct perfctr_ctx *ctx)
{
	enum { BLOCKS = 40, FIRST = 4, LAST = 253 };
	char path[] = "/tmp/perfctr-bench-XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	uint64_t best = UINT64_MAX;

	for (unsigned int block = 0; file && block < BLOCKS; block++) {
		fprintf(file, "[page]\nproduct = \"BENCH_%u\"\nblock = \"SHADER\"\ngpu_id = %u\n",
			block, block + 1);
		for (unsigned int bit = FIRST; bit <= LAST; bit++)
			fprintf(file,
				"[[counter]]\nbit = %u\nname = \"COUNTER_%u\"\n"
				"unit = \"events\"\nshort = \"A counter\"\n"
				"long = \"What it counts, in a sentence.\"\n",
				bit, bit);
	}
	if (!file || fclose(file))
		return -1;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t begin = cpu_ns();
		int mistakes = perfctr_page_check(ctx, path, NULL, NULL);
		uint64_t ns = cpu_ns() - begin;

		if (mistakes)
			best = 0;
		best = ns < best ? ns : best;
	}
	unlink(path);
	return best ? (double)best / 1e6 : -1;
}

int main(void)
{
	struct perfctr_ctx *ctx;
	double page;
	unsigned int n;

	if (slot_stride() > SLOT_BYTES || !sessions_create(1) || perfctr_ctx_new(&ctx) ||
	    perfctr_capture_writer_new(ctx, open("/dev/null", O_WRONLY | O_CLOEXEC), &writer)) {
		fprintf(stderr, "perfctr-bench-native: out of memory\n");
		return 1;
	}
	for (n = 0; n < SLOTS; n++)
		sessions_publish();

	printf("{\"counters\": %d, \"sample_bytes\": %zu", COUNTERS, sample_bytes());
	for (n = 0; n < sizeof(pairs) / sizeof(pairs[0]); n++)
		run_pair(&pairs[n]);
	perfctr_capture_writer_unref(writer);
	page = page_ms(ctx);
	perfctr_ctx_unref(ctx);
	if (page < 0) {
		fprintf(stderr, "perfctr-bench-native: the page has mistakes\n");
		return 1;
	}
	printf(", \"page_ms\": %.2f", page);
	sessions_destroy();
	run_sessions();
	puts("}");
	return 0;
}
