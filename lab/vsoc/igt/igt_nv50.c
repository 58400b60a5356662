// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_sys.h"
#include "igt_vsoc.h"
#include "igt_nv50.h"

struct igt_nv50 igt_nv50;

static bool in_subtest;

void igt_nv50_add(void)
{
	igt_require_f(!access(IGT_VSOC_DRIVER, F_OK), "no virtual SoC\n");
	/* removes a device that an earlier run has left */
	igt_vsoc_driver("del_device", IGT_NV50_NUMBER_TEXT);
	igt_vsoc_add(&igt_nv50.dev, IGT_NV50_NUMBER_TEXT " product=nv50 shader_present=0x50005");
	igt_assert_eq(igt_nv50.dev.info.product, DRM_PERFCTR_NV50_PRODUCT);
	/* the names of its counters */
	igt_nv50_read_before();
}

void igt_nv50_remove(void)
{
	igt_vsoc_remove(&igt_nv50.dev, IGT_NV50_NUMBER);
}

void igt_nv50_begin_subtest(void)
{
	if (in_subtest) {
		igt_perfctr_close(&igt_nv50.dev);
		igt_nv50_add();
	}
	in_subtest = true;
}

bool igt_nv50_is_in_subtest(void)
{
	return in_subtest;
}

void igt_nv50_end_subtest(void)
{
	in_subtest = false;
}

void igt_nv50_read_before(void)
{
	igt_vsoc_truth(&igt_nv50.dev, &igt_nv50.before);
}

void igt_nv50_read_after(void)
{
	igt_vsoc_truth(&igt_nv50.dev, &igt_nv50.after);
}

void igt_nv50_start(struct igt_perfctr_session *s)
{
	igt_nv50_read_before();
	igt_assert_eq(igt_perfctr_start(s, 0), 0);
}

void igt_nv50_finish(struct igt_perfctr_session *s)
{
	igt_perfctr_finish(s);
	igt_nv50_read_after();
}

struct igt_nv50_counter igt_nv50_counter(const char *name)
{
	for (unsigned int i = 0; i < igt_nv50.before.count; i++) {
		const struct igt_true_counter *c = &igt_nv50.before.at[i];

		if (!strcmp(c->name, name))
			return (struct igt_nv50_counter){ c->type, c->index, c->counter };
	}
	igt_assert_f(false, "no counter %s\n", name);
	return (struct igt_nv50_counter){ 0 };
}

uint64_t igt_nv50_truth(const char *name)
{
	uint64_t sum = 0;

	igt_nv50_counter(name);
	for (unsigned int i = 0; i < igt_nv50.after.count; i++)
		if (!strcmp(igt_nv50.after.at[i].name, name))
			sum += igt_nv50.after.at[i].value - igt_nv50.before.at[i].value;
	return sum;
}

/*
 * Under KCSAN the virtual GPU needs more than a period for the packets of a period: jobs never end.
 */
static void require_records_in_time(void)
{
	igt_require_f(access("/sys/kernel/debug/kcsan", F_OK),
		      "KCSAN makes the model of record mode slower than real time\n");
}

void igt_nv50_session_init(struct igt_perfctr_session *s, uint64_t period_ns)
{
	if (period_ns)
		require_records_in_time();
	igt_perfctr_session_init_empty(s, &igt_nv50.dev);
	s->params.slots = 256;
	s->params.period_ns = period_ns;
}

void igt_nv50_want(struct igt_perfctr_session *s, const char *name)
{
	const struct igt_nv50_counter c = igt_nv50_counter(name);
	const uint16_t index = c.type == DRM_PERFCTR_NV50_BLOCK_MP ? DRM_PERFCTR_INDEX_ALL :
								     c.index;
	struct drm_perfctr_block_request *r;

	for (unsigned int i = 0; i < s->params.request_count; i++)
		if (s->requests[i].type == c.type && s->requests[i].index == index) {
			s->requests[i].mask |= 1ull << c.position;
			return;
		}
	r = &s->requests[s->params.request_count++];
	r->type = c.type;
	r->index = index;
	r->mask = 1ull << c.position;
}

void igt_nv50_session_create(struct igt_perfctr_session *s, uint64_t period_ns,
			     const char *const *names, unsigned int count)
{
	igt_nv50_session_init(s, period_ns);
	s->params.slots = IGT_NV50_RECORD_SLOTS;
	for (unsigned int i = 0; i < count; i++)
		igt_nv50_want(s, names[i]);
	igt_perfctr_session_open(s);
}

const struct igt_perfctr_sum *igt_nv50_sum(const struct igt_perfctr_session *s, const char *name)
{
	const struct igt_nv50_counter c = igt_nv50_counter(name);

	for (unsigned int b = 0; b < s->layout.block_count; b++)
		if (s->sums[b].type == c.type && s->sums[b].index == c.index)
			return &s->sums[b];
	igt_assert_f(false, "no block of %s\n", name);
	return NULL;
}

uint64_t igt_nv50_value(const struct igt_perfctr_session *s, const char *name)
{
	return igt_nv50_sum(s, name)->value[igt_nv50_counter(name).position];
}

uint64_t igt_nv50_ran(const struct igt_perfctr_session *s, const char *name)
{
	return igt_nv50_sum(s, name)->running[igt_nv50_counter(name).position];
}

void igt_nv50_assert_conserved(const struct igt_perfctr_session *s)
{
	igt_assert_conserved(s, &igt_nv50.before, &igt_nv50.after);
}

void igt_nv50_work(unsigned int n)
{
	/* odd amounts, no multiples of a bus width */
	struct drm_vsoc_command c[2] = { { .type = DRM_VSOC_CMD_DRAW },
					 { .type = DRM_VSOC_CMD_COMPUTE } };

	/* points are primitives, however long a test takes */
	n %= 512;
	c[0].draw.vertices = 3001 + n;
	c[0].draw.primitives = 1003;
	c[0].draw.primitives_culled = 301;
	c[0].draw.points = 101 + n;
	c[0].draw.lines = 207;
	c[0].draw.streamed = 503;
	c[0].draw.fragments = 50021 + 2 * n;
	c[0].draw.texels = 70003;
	c[1].compute.threads = 5001;
	c[1].compute.instructions = 64;
	igt_assert_eq(igt_vsoc_wait(&igt_nv50.dev, igt_vsoc_submit(&igt_nv50.dev, c, 2)).status, 0);
}

void igt_nv50_step(uint64_t ns)
{
	igt_vsoc_debugfs_u64(&igt_nv50.dev, "step_ns", ns);
}

uint64_t igt_nv50_sampler(const char *name)
{
	uint64_t n = 0;

	igt_assert_f(igt_debugfs_number(&igt_nv50.dev, "vsoc/pcounter", name, &n) ||
			     igt_debugfs_number(&igt_nv50.dev, "perfctr_sampler", name, &n),
		     "no %s in debugfs\n", name);
	return n;
}
