// SPDX-License-Identifier: MIT
/* Adding samples up, and metrics of the sums. */
#include <errno.h>
#include <perfctr/perfctr.h>
#include <string.h>

#include "samples.h"
#include "test.h"

static struct sample_writer w;
static struct perfctr_ctx *ctx;
static struct perfctr_totals *totals;
static uint64_t next_seq;

static void begin(void)
{
	perfctr_ctx_new(&ctx);
	EQUAL(perfctr_totals_new(ctx, &totals), 0);
	next_seq = 0;
}

static void end(void)
{
	totals = perfctr_totals_unref(totals);
	ctx = perfctr_ctx_unref(ctx);
	CHECK(!totals && !ctx);
}

/* Two L2 slices with L2_READ, L2_READ_HIT and L2_READ_MISS. */
static void begin_sample(uint64_t read, uint64_t hit)
{
	const uint64_t values[3] = { read, hit, read - hit };
	struct drm_perfctr_sample_header *h = sample_begin(&w);

	h->seq = next_seq++;
	h->start_ns = 1000000 * h->seq;
	h->end_ns = h->start_ns + 1000000;
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_MEMSYS, 0, 0xe0, values);
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_MEMSYS, 1, 0xe0, values);
}

static void add(void)
{
	struct perfctr_sample s;

	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	EQUAL(perfctr_totals_add(totals, &s), 0);
}

static void add_block_value(uint64_t value, uint64_t valid)
{
	struct drm_perfctr_sample_header *h = sample_begin(&w);

	h->seq = next_seq++;
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, 0, 0x10, &value)->valid_mask = valid;
	add();
}

static const struct perfctr_total *counter(const struct perfctr_totals *t, size_t block, size_t n)
{
	return perfctr_totals_counter(perfctr_totals_block(t, block), n);
}

TEST_WITH(begin, end, "sums per block and per type")
{
	const struct perfctr_totals_block_info *info;
	struct perfctr_totals *sum;

	begin_sample(100, 25);
	add();
	begin_sample(10, 5);
	add();
	EQUAL(perfctr_totals_block_count(totals), 2);
	info = perfctr_totals_block_info(perfctr_totals_block(totals, 1));
	EQUAL_TEXT(info->label, "memsys1");
	EQUAL(info->clock_cycles, 1000);
	EQUAL(info->blocks, 1);
	EQUAL(perfctr_totals_counter_count(perfctr_totals_block(totals, 1)), 3);
	EQUAL_TEXT(counter(totals, 1, 1)->desc->name, "L2_READ_HIT");
	EQUAL(counter(totals, 1, 1)->sum, 30);
	EQUAL(counter(totals, 1, 1)->min, 5);
	EQUAL(counter(totals, 1, 1)->max, 25);
	EQUAL(counter(totals, 1, 1)->last, 5);
	EQUAL(counter(totals, 1, 1)->measured, 2);
	CHECK(!counter(totals, 1, 3));
	CHECK(!perfctr_totals_block(totals, 2));
	EQUAL(perfctr_totals_span(totals)->elapsed_ns, 2000000);
	EQUAL(perfctr_totals_span(totals)->samples, 2);

	EQUAL(perfctr_totals_sum(totals, &sum), 0);
	EQUAL(perfctr_totals_block_count(sum), 1);
	info = perfctr_totals_block_info(perfctr_totals_block(sum, 0));
	EQUAL_TEXT(info->label, "memsys");
	EQUAL(info->index, DRM_PERFCTR_INDEX_ALL);
	EQUAL(info->blocks, 2);
	EQUAL(info->clock_cycles, 2000);
	/* of the sum in each sample, not of one slice */
	EQUAL(counter(sum, 0, 0)->sum, 220);
	EQUAL(counter(sum, 0, 0)->min, 20);
	EQUAL(counter(sum, 0, 0)->max, 200);
	EQUAL(counter(sum, 0, 0)->measured, 2);
	EQUAL(perfctr_totals_span(sum)->samples, 2);
	/* a copy: later samples do not change it */
	begin_sample(1, 1);
	add();
	EQUAL(counter(sum, 0, 0)->sum, 220);
	perfctr_totals_unref(sum);
}

TEST_WITH(begin, end, "sums by type without a copy follow the samples")
{
	const struct perfctr_totals *types = perfctr_totals_by_type(totals);

	CHECK(types == perfctr_totals_by_type(types));
	begin_sample(100, 25);
	add();
	EQUAL(perfctr_totals_block_count(types), 1);
	EQUAL(counter(types, 0, 0)->sum, 200);
	begin_sample(1, 1);
	add();
	EQUAL(counter(types, 0, 0)->sum, 202);
	EQUAL(perfctr_totals_span(types)->samples, 2);
	perfctr_totals_reset(totals);
	EQUAL(counter(types, 0, 0)->sum, 0);
	EQUAL(perfctr_totals_span(types)->samples, 0);
}

/* Another process may write to the bytes after they were checked. */
TEST_WITH(begin, end, "of a sample that becomes malformed nothing is added")
{
	struct perfctr_sample s;

	begin_sample(100, 25);
	add();
	begin_sample(7, 7);
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, 0, 0x10, &(uint64_t){ 9 });
	EQUAL(perfctr_decode_sample(w.bytes, w.size, &s), w.size);
	memset(w.bytes + w.block, 0xff, sizeof(uint32_t));
	EQUAL(perfctr_totals_add(totals, &s), -EBADMSG);
	CHECK(strstr(perfctr_ctx_error(ctx), "sample 1"));
	EQUAL(perfctr_totals_span(totals)->samples, 1);
	EQUAL(perfctr_totals_block_info(perfctr_totals_block(totals, 0))->clock_cycles, 500);
	EQUAL(counter(totals, 0, 0)->sum, 100);
	EQUAL(counter(perfctr_totals_by_type(totals), 0, 0)->sum, 200);
	/* nor in the next one */
	begin_sample(10, 5);
	add();
	EQUAL(counter(totals, 0, 0)->sum, 110);
	EQUAL(counter(totals, 0, 0)->min, 10);
	EQUAL(counter(totals, 0, 0)->measured, 2);
	EQUAL(counter(perfctr_totals_by_type(totals), 0, 0)->max, 200);
	EQUAL(perfctr_totals_block_info(perfctr_totals_block(totals, 1))->blocks, 1);
}

/* Samples of a block with these counters, each of which counts what its position is. */
static void add_positions(uint64_t mask, uint64_t valid)
{
	uint64_t values[64];
	size_t count = 0;

	for (uint64_t left = mask; left; left &= left - 1)
		values[count++] = (uint64_t)__builtin_ctzll(left);
	sample_begin(&w)->seq = next_seq++;
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, 0, mask, values)->valid_mask = mask &
											   valid;
	add();
}

TEST_WITH(begin, end, "totals of a counter stay where they are when others come")
{
	const struct perfctr_total *first, *last;
	struct perfctr_totals *sum;

	add_positions(1ULL << 63 | 1 << 8, UINT64_MAX);
	EQUAL(perfctr_totals_counter_count(perfctr_totals_block(totals, 0)), 2);
	first = counter(totals, 0, 0);
	last = counter(totals, 0, 1);
	EQUAL(first->position, 8);
	EQUAL(last->position, 63);
	EQUAL(perfctr_totals_sum(totals, &sum), 0);
	/* in the group of the first one, in no group yet, and all at once */
	add_positions(1ULL << 63 | 1 << 9 | 1 << 8 | 1 << 1, ~(1ULL << 9));
	EQUAL(perfctr_totals_block_count(totals), 1);
	EQUAL(perfctr_totals_counter_count(perfctr_totals_block(totals, 0)), 4);
	add_positions(UINT64_MAX, UINT64_MAX);
	EQUAL(perfctr_totals_counter_count(perfctr_totals_block(totals, 0)), 64);
	CHECK(first == counter(totals, 0, 8) && last == counter(totals, 0, 63));
	for (size_t n = 0; n < 64; n++) {
		const struct perfctr_total *t = counter(totals, 0, n);

		EQUAL(t->position, n);
		EQUAL(t->measured, n == 8 || n == 63 ? 3 : n == 1 ? 2 : 1);
		EQUAL(t->missed, n == 9);
		EQUAL(t->sum, n * t->measured);
		EQUAL(t->min, n);
	}
	EQUAL(perfctr_totals_counter_count(perfctr_totals_block(sum, 0)), 2);
	EQUAL(counter(sum, 0, 1)->sum, 63);
	perfctr_totals_unref(sum);
}

/* what a sum is by its definition, of one block or of all */
struct plain_sum {
	__extension__ unsigned __int128 sum;
	uint64_t min, max, last, measured, missed;
	bool overflow;
};

static void add_plain(struct plain_sum *p, const uint64_t *values, unsigned int count,
		      unsigned int missed)
{
	uint64_t value = 0;

	for (unsigned int n = 0; n < count; n++)
		p->overflow |= __builtin_add_overflow(value, values[n], &value);
	p->missed += missed > 0;
	if (!count)
		return;
	p->min = !p->measured || value < p->min ? value : p->min;
	p->max = value > p->max ? value : p->max;
	p->last = value;
	p->sum += value;
	p->measured++;
}

static void compare_plain(const struct perfctr_totals_block *block, const struct plain_sum *sums)
{
	const struct perfctr_total *t;

	for (size_t n = 0; (t = perfctr_totals_counter(block, n)); n++) {
		const struct plain_sum *p = &sums[t->position];

		EQUAL(t->sum, (uint64_t)p->sum);
		EQUAL(t->overflow, p->overflow || p->sum >> 64);
		EQUAL(t->min, p->min);
		EQUAL(t->max, p->max);
		EQUAL(t->last, p->last);
		EQUAL(t->measured, p->measured);
		EQUAL(t->missed, p->missed);
	}
}

TEST_WITH(begin, end, "totals are plain sums, of whichever counters")
{
	/* groups of counters that are whole, have a part, and none, in any order */
	static const uint64_t masks[] = { UINT64_MAX, 0xffff, 0xff00ff0f00ff0100, 1, 0, 0x7fff80 };
	static struct plain_sum blocks[2][64], sums[64];
	struct perfctr_totals *by_type, *both = totals;
	uint64_t state = 5;

	/* samples can be added by type only, too */
	EQUAL(perfctr_totals_sum(totals, &by_type), 0);
	for (int n = 0; n < 3000; n++) {
		uint64_t values[2][64], mask[2], valid[2];

		sample_begin(&w)->seq = next_seq++;
		for (unsigned int b = 0; b < 2; b++) {
			unsigned int count = 0;

			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			mask[b] = masks[(state >> 40) % (sizeof(masks) / sizeof(masks[0]))];
			valid[b] = state >> 60 ? mask[b] : mask[b] & state;
			for (uint64_t left = mask[b]; left; left &= left - 1) {
				state = state * UINT64_C(6364136223846793005) + 1;
				/* some overflow; what was not measured counts nothing */
				values[b][count++] = state >> (state % 97 ? 20 : 1);
			}
			sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, (uint16_t)b, mask[b],
					 values[b])
				->valid_mask = valid[b];
		}
		add();
		totals = by_type;
		add();
		totals = both;
		for (unsigned int bit = 0; bit < 64; bit++) {
			const uint64_t below = (UINT64_C(1) << bit) - 1;
			uint64_t measured[2];
			unsigned int count = 0, missed = 0;

			for (unsigned int b = 0; b < 2; b++) {
				const bool is_valid = valid[b] >> bit & 1;

				measured[count] =
					values[b][__builtin_popcountll(mask[b] & below) & 63];
				add_plain(&blocks[b][bit], &measured[count], is_valid,
					  (mask[b] & ~valid[b]) >> bit & 1);
				count += is_valid;
				missed += (mask[b] & ~valid[b]) >> bit & 1;
			}
			add_plain(&sums[bit], measured, count, missed);
		}
	}
	for (size_t n = 0; n < 2; n++) {
		const struct perfctr_totals_block *block = perfctr_totals_block(totals, n);

		compare_plain(block, blocks[perfctr_totals_block_info(block)->index]);
	}
	compare_plain(perfctr_totals_block(perfctr_totals_by_type(totals), 0), sums);
	compare_plain(perfctr_totals_block(by_type, 0), sums);
	perfctr_totals_unref(by_type);
}

TEST_WITH(begin, end, "large counts stay exact")
{
	const uint64_t odd = (UINT64_C(1) << 53) + 1;

	add_block_value(odd, 0x10);
	EQUAL(counter(totals, 0, 0)->sum, odd);
	add_block_value(1, 0x10);
	EQUAL(counter(totals, 0, 0)->sum, odd + 1);
	EQUAL(counter(totals, 0, 0)->overflow, 0);
	add_block_value(UINT64_MAX, 0x10);
	EQUAL(counter(totals, 0, 0)->overflow, 1);
	EQUAL(counter(totals, 0, 0)->max, UINT64_MAX);
}

TEST_WITH(begin, end, "not measured is no zero")
{
	struct perfctr_value v;

	add_block_value(0, 0);
	EQUAL(counter(totals, 0, 0)->measured, 0);
	EQUAL(counter(totals, 0, 0)->missed, 1);
	perfctr_totals_rate(totals, counter(totals, 0, 0), &v);
	EQUAL(v.state, PERFCTR_VALUE_NOT_MEASURED);
	add_block_value(0, 0x10);
	EQUAL(counter(totals, 0, 0)->measured, 1);
	perfctr_totals_rate(totals, counter(totals, 0, 0), &v);
	EQUAL(v.state, PERFCTR_VALUE_OK);
	EQUAL(v.flags, PERFCTR_VALUE_PARTIAL);
}

/* as in a sample that a job took: read before, and the sum of a type as long as their mean */
TEST_WITH(begin, end, "rates are those of a block's own span")
{
	static const uint64_t spans[2][2] = { { 500, 1500 }, { 700, 1200 } };
	const struct perfctr_totals_block_info *info;
	struct perfctr_totals *sum;
	const uint64_t value = 2000;
	struct perfctr_value v;

	for (int round = 0; round < 2; round++) {
		sample_begin(&w)->seq = next_seq++;
		for (uint16_t n = 0; n < 2; n++) {
			sample_add_pmu(&w, DRM_PERFCTR_TEGRA410_BLOCK_UCF, n, 1, &value, NULL, 500);
			sample_add_span(&w, spans[n][0] + 1000 * (uint64_t)round,
					spans[n][1] + 1000 * (uint64_t)round);
		}
		sample_header(&w)->start_ns += 1000 * (uint64_t)round;
		sample_header(&w)->end_ns += 1000 * (uint64_t)round;
		add();
	}
	info = perfctr_totals_block_info(perfctr_totals_block(totals, 1));
	EQUAL(info->start_ns, 700);
	EQUAL(info->end_ns, 2200);
	EQUAL(info->elapsed_ns, 1000);
	EQUAL(info->apart_ns, 800);
	perfctr_totals_rate(totals, counter(totals, 1, 0), &v);
	EQUAL(v.number, 4e9);
	EQUAL(perfctr_totals_sum(totals, &sum), 0);
	EQUAL(perfctr_totals_block_info(perfctr_totals_block(sum, 0))->elapsed_ns, 1500);
	perfctr_totals_unref(sum);
	perfctr_totals_reset(totals);
	EQUAL(info->elapsed_ns, 0);
}

/* a block's spans follow each other, each as long as it happened to be */
TEST_WITH(begin, end, "the rate of several blocks is the sum of theirs")
{
	static const uint64_t ends[2][4] = { { 0, 900, 2100, 3000 }, { 0, 1300, 1700, 3000 } };
	const struct perfctr_totals_block *block;
	struct perfctr_totals *sum;
	struct perfctr_value v;

	for (int round = 0; round < 3; round++) {
		sample_begin(&w)->seq = next_seq++;
		for (uint16_t n = 0; n < 2; n++) {
			const uint64_t ns = ends[n][round + 1] - ends[n][round];
			const uint64_t value = ns * (n + 1);

			sample_add_pmu(&w, DRM_PERFCTR_TEGRA410_BLOCK_UCF, n, 1, &value, NULL, ns);
			sample_add_span(&w, ends[n][round], ends[n][round + 1]);
		}
		sample_header(&w)->start_ns = 1000 * (uint64_t)round;
		sample_header(&w)->end_ns = 1000 * (uint64_t)round + 1000;
		add();
	}
	EQUAL(perfctr_totals_sum(totals, &sum), 0);
	block = perfctr_totals_block(sum, 0);
	EQUAL(perfctr_totals_block_info(block)->elapsed_ns, 3000);
	perfctr_totals_rate(sum, perfctr_totals_counter(block, 0), &v);
	EQUAL(v.number, 3e9);
	perfctr_totals_unref(sum);
}

TEST_WITH(begin, end, "missing samples are counted")
{
	add_block_value(1, 0x10);
	next_seq += 3;
	add_block_value(1, 0x10);
	EQUAL(perfctr_totals_span(totals)->missing_samples, 3);
	perfctr_totals_reset(totals);
	EQUAL(perfctr_totals_span(totals)->missing_samples, 0);
	EQUAL(counter(totals, 0, 0)->sum, 0);
	EQUAL(counter(totals, 0, 0)->measured, 0);
	next_seq++;
	add_block_value(7, 0x10);
	EQUAL(perfctr_totals_span(totals)->missing_samples, 1);
	EQUAL(counter(totals, 0, 0)->sum, 7);
	EQUAL(counter(totals, 0, 0)->min, 7);
}

TEST_WITH(begin, end, "the span of merged and lost adds up")
{
	begin_sample(1, 1);
	sample_header(&w)->merged_periods = 4;
	sample_header(&w)->lost_ns = 10;
	sample_header(&w)->flags = DRM_PERFCTR_SAMPLE_STRETCHED;
	add();
	begin_sample(1, 1);
	sample_header(&w)->merged_periods = 1;
	sample_header(&w)->lost_ns = 5;
	add();
	EQUAL(perfctr_totals_span(totals)->merged_periods, 5);
	EQUAL(perfctr_totals_span(totals)->lost_ns, 15);
	EQUAL(perfctr_totals_span(totals)->flags,
	      DRM_PERFCTR_SAMPLE_STRETCHED | DRM_PERFCTR_SAMPLE_MANUAL);
}

static const struct perfctr_metric_desc *metric(const char *id)
{
	const struct perfctr_metric_desc *m = NULL;

	while ((m = perfctr_metric_next(m)))
		if (!strcmp(m->id, id))
			return m;
	test_fail(__FILE__, __LINE__, "the database has no metric %s", id);
	return perfctr_metric_next(NULL);
}

static struct perfctr_value value_of(const struct perfctr_totals *t, const char *id)
{
	struct perfctr_value v = { 0 };

	EQUAL(perfctr_totals_metric(t, metric(id), NULL, &v), 0);
	return v;
}

TEST_WITH(begin, end, "metrics have blocks and counters that came later")
{
	const struct perfctr_metric_desc *m = metric("vsoc_csf.memsys.l2_read_hit_ratio");
	const uint64_t read = 100;
	struct perfctr_value v = { 0 };

	EQUAL(value_of(totals, m->id).state, PERFCTR_VALUE_NOT_SELECTED);
	sample_begin(&w)->seq = next_seq++;
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_MEMSYS, 0, 0x20, &read);
	add();
	EQUAL(value_of(totals, m->id).state, PERFCTR_VALUE_NOT_SELECTED);
	begin_sample(100, 25);
	add();
	v = value_of(totals, m->id);
	EQUAL(v.state, PERFCTR_VALUE_OK);
	CHECK(v.number == 12.5);
	EQUAL(perfctr_totals_metric(totals, m, perfctr_totals_block(totals, 1), &v), 0);
	EQUAL(v.integer, 25);
	EQUAL(perfctr_totals_metric(totals, m, perfctr_totals_block(totals, 0), &v), 0);
	CHECK(v.number == 12.5);
}

TEST_WITH(begin, end, "metrics of blocks")
{
	struct perfctr_totals *sum;
	struct perfctr_value v;

	begin_sample(100, 25);
	add();
	v = value_of(totals, "vsoc_csf.memsys.l2_read_hit_ratio");
	EQUAL(v.state, PERFCTR_VALUE_OK);
	EQUAL(v.integer, 25);
	EQUAL(v.flags, PERFCTR_VALUE_INTEGER);
	v = value_of(totals, "vsoc_csf.memsys.ext_read_latency");
	EQUAL(v.state, PERFCTR_VALUE_NOT_SELECTED);
	v = value_of(totals, "vsoc_csf.shader.instructions");
	EQUAL(v.state, PERFCTR_VALUE_NOT_SELECTED);
	EQUAL(perfctr_totals_metric(totals, metric("vsoc_csf.shader.instructions"),
				    perfctr_totals_block(totals, 0), &v),
	      -EINVAL);
	EQUAL(perfctr_totals_sum(totals, &sum), 0);
	v = value_of(sum, "vsoc_csf.memsys.l2_read_hit_ratio");
	EQUAL(v.integer, 25);
	perfctr_totals_unref(sum);
	perfctr_totals_reset(totals);
	begin_sample(0, 0);
	add();
	v = value_of(totals, "vsoc_csf.memsys.l2_read_hit_ratio");
	EQUAL(v.state, PERFCTR_VALUE_ZERO_DENOMINATOR);
	HAS_TEXT(perfctr_value_state_text(v.state), "division by zero");
}

enum { CMEM_CYCLES = 2000, CMEM_REQUESTS = 50, CMEM_OUTSTANDING = 5000, SPAN_NS = 1000 };

/* Two sockets whose memory answers in 100 cycles of 2 GHz. */
static void begin_latency(const uint64_t *running)
{
	const uint64_t values[3] = { CMEM_CYCLES, CMEM_REQUESTS, CMEM_OUTSTANDING };

	sample_begin(&w)->seq = next_seq++;
	sample_add_pmu(&w, DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY, 0, 7, values, running, SPAN_NS);
	sample_add_pmu(&w, DRM_PERFCTR_TEGRA410_BLOCK_CMEM_LATENCY, 1, 7, values, running, SPAN_NS);
}

TEST_WITH(begin, end, "latency does not depend on the number of blocks")
{
	struct perfctr_totals *sum;
	struct perfctr_value v;

	begin_latency(NULL);
	add();
	v = value_of(totals, "tegra410.cmem_latency.cmem_read_latency");
	EQUAL(v.integer, 50);
	EQUAL(perfctr_totals_sum(totals, &sum), 0);
	EQUAL(perfctr_totals_block_count(sum), 1);
	v = value_of(sum, "tegra410.cmem_latency.cmem_read_latency");
	EQUAL(v.integer, 50);
	v = value_of(sum, "tegra410.cmem_latency.cmem_read_latency_cycles");
	EQUAL(v.integer, 100);
	v = value_of(sum, "tegra410.cmem_latency.cmem_read_in_flight");
	EQUAL(v.integer, 5);
	v = value_of(sum, "tegra410.cmem_latency.cmem_read_bandwidth");
	EQUAL(v.state, PERFCTR_VALUE_OK);
	CHECK(v.number > 3.199e9 && v.number < 3.201e9);
	perfctr_totals_unref(sum);
}

TEST_WITH(begin, end, "counters without a slot in a sample are not missing")
{
	const uint64_t first[2] = { 100, 0 }, first_ns[2] = { SPAN_NS, 0 };
	const uint64_t second[2] = { 0, 30 }, second_ns[2] = { 0, SPAN_NS };
	struct perfctr_value v;

	/* setup_primitive_count and setup_primitive_culled_count */
	sample_add_mux(&w, DRM_PERFCTR_NV50_BLOCK_PCOUNTER, 1, 0x11000, first, first_ns, SPAN_NS)
		->block.valid_mask = 0x1000;
	add();
	sample_begin(&w);
	sample_add_mux(&w, DRM_PERFCTR_NV50_BLOCK_PCOUNTER, 1, 0x11000, second, second_ns, SPAN_NS)
		->block.valid_mask = 0x10000;
	add();
	v = value_of(totals, "nv50.pcounter.setup_cull_rate");
	EQUAL(v.state, PERFCTR_VALUE_OK);
	EQUAL(v.flags, PERFCTR_VALUE_ESTIMATED);
	CHECK(v.number == 30);
	EQUAL(counter(totals, 0, 0)->running_ns, SPAN_NS);
}

enum { SETUP_CYCLES = 1000, SHADER_CYCLES = 3000, TURN_NS = SPAN_NS / 4 };

/* setup_primitive_count and gpu_busy of domain 1, shader_busy of domain 3, multiplexed */
static void begin_domains(void)
{
	static const uint64_t setup[2] = { 250, 100 }, setup_ns[2] = { SPAN_NS, SPAN_NS };
	static const uint64_t shader = 600, shader_ns = TURN_NS;

	begin();
	sample_begin(&w);
	sample_add_mux(&w, DRM_PERFCTR_NV50_BLOCK_PCOUNTER, 1, 0x1001, setup, setup_ns, SPAN_NS)
		->block.clock_cycles = SETUP_CYCLES;
	sample_add_mux(&w, DRM_PERFCTR_NV50_BLOCK_PCOUNTER, 3, UINT64_C(1) << 31, &shader,
		       &shader_ns, SPAN_NS)
		->block.clock_cycles = SHADER_CYCLES;
	add();
}

static const struct perfctr_total *find(const struct perfctr_totals *t, unsigned int position,
					const struct perfctr_totals_block_info **info)
{
	const struct perfctr_totals_block *b;
	const struct perfctr_total *c;

	for (size_t n = 0; (b = perfctr_totals_block(t, n)); n++)
		for (size_t k = 0; (c = perfctr_totals_counter(b, k)); k++)
			if (c->position == position) {
				*info = perfctr_totals_block_info(b);
				return c;
			}
	return NULL;
}

TEST("domains keep their cycles and times in sums")
{
	const struct perfctr_totals_block_info *info;
	const struct perfctr_total *total;
	struct perfctr_totals *sum;
	struct perfctr_value v;

	begin_domains();
	EQUAL(perfctr_totals_sum(totals, &sum), 0);
	v = value_of(sum, "nv50.pcounter.gpu_busy_ratio");
	EQUAL(v.state, PERFCTR_VALUE_OK);
	EQUAL(v.flags, PERFCTR_VALUE_INTEGER);
	EQUAL(v.integer, 25);
	/* a quarter of the time, of the cycles of its own domain */
	v = value_of(sum, "nv50.pcounter.shader_busy_ratio");
	EQUAL(v.flags, PERFCTR_VALUE_ESTIMATED);
	CHECK(v.number == 100.0 * 4 * 600 / SHADER_CYCLES);
	/* the metric of a block of the sum is the same */
	EQUAL(perfctr_totals_metric(sum, metric("nv50.pcounter.shader_busy_ratio"),
				    perfctr_totals_block(sum, 0), &v),
	      0);
	CHECK(v.number == 100.0 * 4 * 600 / SHADER_CYCLES);
	/* an estimate uses the times of its own domain */
	total = find(sum, 12, &info);
	EQUAL(total->running_ns, info->time_enabled);
	CHECK(!(info->states & DRM_PERFCTR_STATE_MULTIPLEXED));
	total = find(sum, 31, &info);
	EQUAL(4 * total->running_ns, info->time_enabled);
	EQUAL_TEXT(info->label, "pcounter");
	EQUAL(info->index, DRM_PERFCTR_INDEX_ALL);
	perfctr_totals_unref(sum);
	end();
}

TEST("multiplexed counters are scaled and marked")
{
	static const uint64_t running[3] = { SPAN_NS, SPAN_NS / 2, SPAN_NS / 4 };
	static const uint64_t never[3] = { SPAN_NS, 0, SPAN_NS };
	struct perfctr_value v;
	double part;

	begin();
	begin_latency(running);
	add();
	v = value_of(totals, "tegra410.cmem_latency.cmem_read_latency_cycles");
	EQUAL(v.state, PERFCTR_VALUE_OK);
	EQUAL(v.flags, PERFCTR_VALUE_ESTIMATED);
	/* 4 * 5000 / (2 * 50) */
	CHECK(v.number == 200);
	/* the counts themselves stay unchanged */
	EQUAL(counter(totals, 0, 2)->sum, CMEM_OUTSTANDING);
	EQUAL(counter(totals, 0, 2)->running_ns, SPAN_NS / 4);
	perfctr_totals_value(perfctr_totals_block(totals, 0), 0, &v, &part);
	EQUAL(v.flags, PERFCTR_VALUE_INTEGER);
	EQUAL(v.integer, CMEM_CYCLES);
	CHECK(part == 1);
	perfctr_totals_value(perfctr_totals_block(totals, 0), 2, &v, &part);
	EQUAL(v.state, PERFCTR_VALUE_OK);
	EQUAL(v.flags, PERFCTR_VALUE_ESTIMATED);
	CHECK(v.number == 4 * CMEM_OUTSTANDING && part == 0.25);
	perfctr_totals_value(perfctr_totals_block(totals, 0), 3, &v, NULL);
	EQUAL(v.state, PERFCTR_VALUE_NOT_SELECTED);
	end();
	begin();
	begin_latency(never);
	add();
	v = value_of(totals, "tegra410.cmem_latency.cmem_read_latency_cycles");
	EQUAL(v.state, PERFCTR_VALUE_NOT_MEASURED);
	/* it has a count of 50, and no time in which that was counted */
	perfctr_totals_value(perfctr_totals_block(totals, 0), 1, &v, &part);
	EQUAL(v.state, PERFCTR_VALUE_NOT_MEASURED);
	CHECK(part == 0);
	end();
}

TEST_WITH(begin, end, "filters keep blocks apart")
{
	static const uint64_t one = 1;
	struct perfctr_totals *sum;

	sample_begin(&w);
	sample_add_pmu(&w, DRM_PERFCTR_TEGRA410_BLOCK_UCF, 0, 1, &one, NULL, 1)->pmu.config1 = 2;
	sample_add_pmu(&w, DRM_PERFCTR_TEGRA410_BLOCK_UCF, 0, 1, &one, NULL, 1)->pmu.config1 = 4;
	sample_add_pmu(&w, DRM_PERFCTR_BLOCK_GENERIC_PMU, 0, 1, &one, NULL, 1)->pmu.config = 3;
	sample_add_pmu(&w, DRM_PERFCTR_BLOCK_GENERIC_PMU, 1, 1, &one, NULL, 1)->pmu.config = 3;
	add();
	EQUAL(perfctr_totals_block_count(totals), 4);
	EQUAL_TEXT(counter(totals, 2, 0)->desc->name, "context-switches");
	EQUAL(perfctr_totals_sum(totals, &sum), 0);
	EQUAL(perfctr_totals_block_count(sum), 4);
	EQUAL_TEXT(perfctr_totals_block_info(perfctr_totals_block(sum, 2))->label, "software");
	perfctr_totals_unref(sum);
}
