// SPDX-License-Identifier: MIT
/* Formulas, fractions, the database and time. */
#include <errno.h>
#include <perfctr/perfctr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counters/fraction.h"
#include "base/ctx.h"
#include "samples.h"
#include "test.h"

static void lookup(void *data, const char *name, struct perfctr_value *value)
{
	if (!strcmp(name, "seven"))
		*value = (struct perfctr_value){ 7, 7, 0, PERFCTR_VALUE_INTEGER };
	else if (!strcmp(name, "block.big"))
		*value = (struct perfctr_value){ 9007199254740993.0, 9007199254740993, 0,
						 PERFCTR_VALUE_INTEGER };
	else if (!strcmp(name, "most"))
		*value = (struct perfctr_value){ (double)INT64_MAX, INT64_MAX, 0,
						 PERFCTR_VALUE_INTEGER };
	else if (!strcmp(name, "half"))
		*value = (struct perfctr_value){ 0.5, 0, 0, PERFCTR_VALUE_ESTIMATED };
	else
		value->state = PERFCTR_VALUE_NOT_MEASURED;
}

static struct perfctr_value eval(const char *text)
{
	struct perfctr_value v = { .state = 99 };
	struct perfctr_expr *e;
	struct perfctr_ctx *ctx;

	perfctr_ctx_new(&ctx);
	if (EQUAL(perfctr_expr_new(ctx, text, &e), 0)) {
		perfctr_expr_eval(e, lookup, NULL, &v);
		perfctr_expr_unref(e);
	}
	perfctr_ctx_unref(ctx);
	return v;
}

TEST("integers stay exact")
{
	struct perfctr_value v = eval("block.big");

	EQUAL(v.integer, 9007199254740993);
	EQUAL(v.flags, PERFCTR_VALUE_INTEGER);
	EQUAL(eval("block.big * 3 - 2 * block.big").integer, 9007199254740993);
	EQUAL(eval("21 / seven").integer, 3);
	EQUAL(eval("2 + 3 * 4 - -1").integer, 15);
	EQUAL(eval("(2 + 3) * 4").integer, 20);
	EQUAL(eval("20 - 5 - 3").integer, 12);
	EQUAL(eval("100 / 5 / 2").integer, 10);
	EQUAL(eval("min(seven, 3) + max(seven, 3)").integer, 10);
	EQUAL(eval("- (1 + 1)").integer, -2);
}

TEST("the rest is a double")
{
	struct perfctr_value v = eval("seven / 2");

	CHECK(v.number == 3.5 && !(v.flags & PERFCTR_VALUE_INTEGER));
	v = eval("half * seven");
	CHECK(v.number == 3.5);
	EQUAL(v.flags, PERFCTR_VALUE_ESTIMATED);
	v = eval("most + 1");
	CHECK(v.number == 9223372036854775808.0 && !(v.flags & PERFCTR_VALUE_INTEGER));
	CHECK(eval("1e3 * 2.5").number == 2500);
	CHECK(eval("min(half, 2)").number == 0.5);
}

TEST("no value has a reason")
{
	EQUAL(eval("seven / 0").state, PERFCTR_VALUE_ZERO_DENOMINATOR);
	EQUAL(eval("seven / (seven - 7)").state, PERFCTR_VALUE_ZERO_DENOMINATOR);
	EQUAL(eval("1 + unknown * 2").state, PERFCTR_VALUE_NOT_MEASURED);
	EQUAL(eval("unknown / 0").state, PERFCTR_VALUE_NOT_MEASURED);
	EQUAL(eval("1e308 * 1e308").state, PERFCTR_VALUE_OVERFLOW);
	EQUAL(eval("max(unknown, 1)").state, PERFCTR_VALUE_NOT_MEASURED);
}

TEST("bad formulas are refused")
{
	static const char *const bad[] = {
		"",	 "1 +",	   "* 2",	"(1",	    "1)",    "1 2",  "a b",
		"f(1)",	 "min(1)", "max(1,2,)", "min(1 2)", "1 $ 2", "a..b", ".5",
		"1e999", "min",	   "min(",	"a.b.c",    "é",
	};
	struct perfctr_expr *e;
	struct perfctr_ctx *ctx;
	char deep[4096];

	perfctr_ctx_new(&ctx);
	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
		int error = perfctr_expr_new(ctx, bad[n], &e);

		/* "min" alone is a name like any other */
		if (!strcmp(bad[n], "min")) {
			EQUAL(error, 0);
			perfctr_expr_unref(e);
		} else if (!EQUAL(error, -EINVAL)) {
			test_fail(__FILE__, __LINE__, "at \"%s\"", bad[n]);
		}
	}
	HAS_TEXT(perfctr_ctx_error(ctx), "formula");
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	EQUAL(perfctr_expr_new(ctx, deep, &e), -EINVAL);
	memset(deep, '-', sizeof(deep) - 1);
	EQUAL(perfctr_expr_new(ctx, deep, &e), -EINVAL);
	for (size_t n = 0; n + 2 < sizeof(deep); n += 2)
		memcpy(deep + n, "1+", 2);
	EQUAL(perfctr_expr_new(ctx, deep, &e), -EINVAL);
	memset(deep, 'a', sizeof(deep) - 1);
	EQUAL(perfctr_expr_new(ctx, deep, &e), -EINVAL);
	perfctr_ctx_unref(ctx);
}

TEST("names are looked up")
{
	struct perfctr_expr *e;
	struct perfctr_ctx *ctx;

	perfctr_ctx_new(&ctx);
	EQUAL(perfctr_expr_new(ctx, "A / (B.C + A)", &e), 0);
	EQUAL_TEXT(perfctr_expr_name(e, 0), "A");
	EQUAL_TEXT(perfctr_expr_name(e, 1), "B.C");
	CHECK(!perfctr_expr_name(e, 2));
	perfctr_expr_unref(e);
	perfctr_ctx_unref(ctx);
}

/* This parser accepts every formula of the database. */
TEST("formulas of the database are read")
{
	const struct perfctr_metric_desc *m = NULL;
	struct perfctr_ctx *ctx;
	size_t count = 0;

	perfctr_ctx_new(&ctx);
	while ((m = perfctr_metric_next(m))) {
		struct perfctr_expr *e;

		if (!EQUAL(perfctr_expr_new(ctx, m->formula, &e), 0))
			continue;
		CHECK(perfctr_expr_name(e, 0));
		CHECK(m->unit[0] && m->short_text[0]);
		perfctr_expr_unref(e);
		count++;
	}
	CHECK(count > 40);
	perfctr_ctx_unref(ctx);
}

TEST("counters are found where they are")
{
	const struct perfctr_counter_desc *c = NULL;
	size_t count = 0;

	while ((c = perfctr_counter_next(c))) {
		if (c->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
			CHECK(perfctr_counter_of_pmu(c->pmu, c->event) == c);
		else
			CHECK(perfctr_counter_at(c->product, c->block_type,
						 (unsigned int)__builtin_ctz(c->sets),
						 c->position) == c);
		count++;
	}
	CHECK(count > 150);
	CHECK(!perfctr_counter_at(DRM_VSOC_PRODUCT_CSF, DRM_PERFCTR_MALI_BLOCK_SHADER, 0, 3));
	CHECK(!perfctr_counter_at(DRM_VSOC_PRODUCT_CSF, DRM_PERFCTR_MALI_BLOCK_SHADER, 9, 4));
	CHECK(!perfctr_counter_at(DRM_VSOC_PRODUCT_CSF, DRM_PERFCTR_MALI_BLOCK_SHADER, 99, 4));
	CHECK(!perfctr_counter_at(0xffff, 1, 0, 4));
	CHECK(!perfctr_counter_of_pmu("software", 999));
	EQUAL_TEXT(perfctr_counter_of_pmu("cpu_clock", 0)->name, "cpu-clock");
}

TEST("names of blocks and bits")
{
	char text[64];

	perfctr_block_label(DRM_PERFCTR_MALI_BLOCK_SHADER, 18, text, sizeof(text));
	EQUAL_TEXT(text, "shader18");
	perfctr_block_label(DRM_PERFCTR_TEGRA410_BLOCK_PCIE, 0x102, text, sizeof(text));
	EQUAL_TEXT(text, "pcie1_rc2");
	perfctr_block_label(DRM_PERFCTR_TEGRA410_BLOCK_UCF, DRM_PERFCTR_INDEX_ALL, text,
			    sizeof(text));
	EQUAL_TEXT(text, "ucf");
	perfctr_block_label(200, 3, text, sizeof(text));
	EQUAL_TEXT(text, "type200.3");
	EQUAL(perfctr_flag_text(0, text, sizeof(text)), 0);
	EQUAL_TEXT(text, "");
	perfctr_flag_text(DRM_PERFCTR_SAMPLE_MANUAL | DRM_PERFCTR_SAMPLE_RESET | 1u << 31, text,
			  sizeof(text));
	EQUAL_TEXT(text, "manual,reset,0x80000000");
	EQUAL(perfctr_state_text(DRM_PERFCTR_STATE_ON | DRM_PERFCTR_STATE_OFF, text, 4), 6);
	EQUAL_TEXT(text, "on,");
	EQUAL(perfctr_state_text(DRM_PERFCTR_STATE_ON, NULL, 0), 2);
}

TEST("time converts between anchors")
{
	const struct perfctr_anchor a = { .raw_ns = 1000,
					  .monotonic_ns = 5000,
					  .realtime_ns = 9000000 };
	const struct perfctr_anchor b = { .raw_ns = 2000,
					  .monotonic_ns = 6010,
					  .realtime_ns = 9000990 };
	uint64_t ns;

	EQUAL(perfctr_time_convert(&a, &b, 1000, CLOCK_MONOTONIC, &ns), 0);
	EQUAL(ns, 5000);
	perfctr_time_convert(&a, &b, 1500, CLOCK_MONOTONIC, &ns);
	EQUAL(ns, 5505);
	perfctr_time_convert(&a, &b, 1500, CLOCK_REALTIME, &ns);
	EQUAL(ns, 9000495);
	perfctr_time_convert(&a, &b, 2100, CLOCK_MONOTONIC, &ns);
	EQUAL(ns, 6110);
	perfctr_time_convert(&a, &b, 900, CLOCK_MONOTONIC, &ns);
	EQUAL(ns, 4900);
	perfctr_time_convert(&a, &a, 1700, CLOCK_MONOTONIC, &ns);
	EQUAL(ns, 5700);
	EQUAL(perfctr_time_convert(&a, &b, 1500, CLOCK_TAI, &ns), -EINVAL);
}

TEST("time converts by the anchors around it")
{
	/* a suspend between the last two */
	const struct perfctr_anchor a[] = {
		{ .raw_ns = 1000, .monotonic_ns = 500, .boottime_ns = 500, .realtime_ns = 300 },
		{ .raw_ns = 2000, .monotonic_ns = 1510, .boottime_ns = 1510, .realtime_ns = 1300 },
		{ .raw_ns = 3000,
		  .monotonic_ns = 2510,
		  .boottime_ns = 1000002510,
		  .realtime_ns = 1000002300 },
	};
	uint64_t ns;

	EQUAL(perfctr_time_of_anchors(a, 0, 1500, CLOCK_MONOTONIC, &ns), -ENODATA);
	EQUAL(perfctr_time_of_anchors(a, 3, 1500, CLOCK_TAI, &ns), -EINVAL);
	EQUAL(perfctr_time_of_anchors(a, 3, 1500, CLOCK_MONOTONIC, &ns), 0);
	EQUAL(ns, 1005);
	EQUAL(perfctr_time_of_anchors(a, 3, 2600, CLOCK_REALTIME, &ns), 0);
	EQUAL(ns, 1900);
	EQUAL(perfctr_time_of_anchors(a, 3, 3100, CLOCK_REALTIME, &ns), 0);
	EQUAL(ns, 1000002400);
	EQUAL(perfctr_time_of_anchors(a, 3, 700, CLOCK_REALTIME, &ns), 0);
	EQUAL(ns, 0);
	EQUAL(perfctr_time_of_anchors(a, 3, 699, CLOCK_REALTIME, &ns), -ERANGE);
}

TEST("anchors are of now")
{
	struct perfctr_anchor a, b;
	uint64_t now = perfctr_time_raw_ns();

	EQUAL(perfctr_time_anchor(&a), 0);
	EQUAL(perfctr_time_anchor(&b), 0);
	CHECK(a.raw_ns >= now && b.raw_ns >= a.raw_ns && b.realtime_ns > 0);
	CHECK(a.error_ns < 1000000000);
}

static struct fraction make(long numerator, long denominator)
{
	struct fraction a = fraction_of((uint64_t)labs(numerator)), b, zero = fraction_of(0);

	b = fraction_of((uint64_t)denominator);
	a = fraction_divide(&a, &b);
	return numerator < 0 ? fraction_subtract(&zero, &a) : a;
}

static bool is(const struct fraction *f, long numerator, long denominator)
{
	struct fraction expected = make(numerator, denominator);

	return f->state == PERFCTR_VALUE_OK && f->numerator == expected.numerator &&
	       f->denominator == expected.denominator;
}

TEST("fractions follow arithmetic")
{
	for (long a = -6; a <= 6; a++)
		for (long b = 1; b <= 6; b++)
			for (long c = -6; c <= 6; c++)
				for (long d = 1; d <= 6; d++) {
					struct fraction x = make(a, b), y = make(c, d), r;

					r = fraction_add(&x, &y);
					CHECK(is(&r, a * d + c * b, b * d));
					r = fraction_subtract(&x, &y);
					CHECK(is(&r, a * d - c * b, b * d));
					r = fraction_multiply(&x, &y);
					CHECK(is(&r, a * c, b * d));
					r = fraction_divide(&x, &y);
					if (!c)
						EQUAL(r.state, PERFCTR_VALUE_ZERO_DENOMINATOR);
					else
						CHECK(is(&r, c < 0 ? -a * d : a * d, b * labs(c)));
					EQUAL(fraction_compare(&x, &y),
					      (a * d > c * b) - (a * d < c * b));
				}
}

TEST("fractions that do not fit overflow")
{
	struct fraction big = fraction_of(UINT64_MAX), square, r, tenth = fraction_of_double(0.1);

	square = fraction_multiply(&big, &big);
	EQUAL(square.state, PERFCTR_VALUE_OVERFLOW);
	r = fraction_add(&square, &big);
	EQUAL(r.state, PERFCTR_VALUE_OVERFLOW);
	r = fraction_divide(&big, &big);
	CHECK(is(&r, 1, 1));
	/* a double is a fraction of a power of two: exact */
	EQUAL(tenth.state, PERFCTR_VALUE_OK);
	CHECK((double)tenth.numerator / (double)tenth.denominator == 0.1);
	r = fraction_of_double(0.75);
	CHECK(is(&r, 3, 4));
	r = fraction_of_double(3e30);
	CHECK((double)r.numerator == 3e30 && r.denominator == 1);
	EQUAL(fraction_of_double(1e300).state, PERFCTR_VALUE_OVERFLOW);
	EQUAL(fraction_of_double(1e-300).state, PERFCTR_VALUE_OVERFLOW);
}

static struct fraction look_up(void *data, const char *name)
{
	return fraction_of((uint64_t)(name[0] - 'a' + 1));
}

TEST("formulas of fractions are exact")
{
	static const struct {
		const char *text;
		long numerator, denominator;
	} formulas[] = {
		{ "100 * b / (b + a)", 200, 3 }, { "a / c + a / c + a / c", 1, 1 },
		{ "(c / b) / (a / b)", 3, 1 },	 { "1.05 * b", 21, 10 },
		{ "0.1 + 0.2", 3, 10 },		 { "-a - b", -3, 1 },
		{ "max(0, a - c)", 0, 1 },	 { "min(a / b, c / d)", 1, 2 },
		{ "2.5e1 * a", 25, 1 },
	};
	struct perfctr_expr *expr;
	struct perfctr_ctx *ctx;
	struct fraction f;

	perfctr_ctx_new(&ctx);
	for (size_t n = 0; n < ARRAY_SIZE(formulas); n++) {
		EQUAL(perfctr_expr_new(ctx, formulas[n].text, &expr), 0);
		f = expr_eval_fraction(expr, look_up, NULL);
		if (!CHECK(is(&f, formulas[n].numerator, formulas[n].denominator)))
			printf("# %s\n", formulas[n].text);
		perfctr_expr_unref(expr);
	}
	EQUAL(perfctr_expr_new(ctx, "a / (b - b)", &expr), 0);
	EQUAL(expr_eval_fraction(expr, look_up, NULL).state, PERFCTR_VALUE_ZERO_DENOMINATOR);
	perfctr_expr_unref(expr);
	perfctr_ctx_unref(ctx);
}
