// SPDX-License-Identifier: MIT
/* perfctr perfkit: mean, min and max of a counter, exactly. */
#include "stat.h"

#include <math.h>
#include <stdio.h>

#include "common/number.h"

enum { NUMBER_BYTES = 48, DIGITS = 3, SCALE = 1000 };

/* GMP's own functions take a long, which may have 32 bits */
static void set_u64(mpz_ptr z, uint64_t number)
{
	mpz_import(z, 1, 1, sizeof(number), 0, 0, &number);
}

static void set_i64(mpz_ptr z, int64_t number)
{
	set_u64(z, number < 0 ? -(uint64_t)number : (uint64_t)number);
	if (number < 0)
		mpz_neg(z, z);
}

static void add_u64(mpz_ptr sum, uint64_t number)
{
	mpz_t z;

	mpz_init(z);
	set_u64(z, number);
	mpz_add(sum, sum, z);
	mpz_clear(z);
}

void perfkit_stat_init(struct perfkit_stat *stat)
{
	*stat = (struct perfkit_stat){ .state = PERFCTR_VALUE_NOT_MEASURED };
	mpq_inits(stat->sum, stat->time_ns, stat->min, stat->max, NULL);
	mpz_inits(stat->cycles, stat->elapsed_ns, NULL);
}

void perfkit_stat_clear(struct perfkit_stat *stat)
{
	mpq_clears(stat->sum, stat->time_ns, stat->min, stat->max, NULL);
	mpz_clears(stat->cycles, stat->elapsed_ns, NULL);
}

static void set_ratio(mpq_t ratio, const struct perfctr_perfkit_value *value)
{
	set_i64(mpq_numref(ratio), value->numerator);
	set_i64(mpq_denref(ratio), value->denominator);
	mpq_canonicalize(ratio);
}

void perfkit_stat_add(struct perfkit_stat *stat, const struct perfctr_perfkit_value *value)
{
	mpq_t ratio;

	stat->flags |= value->flags;
	if (value->state != PERFCTR_VALUE_OK) {
		stat->state = value->state;
		return;
	}
	mpq_init(ratio);
	set_ratio(ratio, value);
	if (!stat->measured || mpq_cmp(ratio, stat->min) < 0)
		mpq_set(stat->min, ratio);
	if (!stat->measured || mpq_cmp(ratio, stat->max) > 0)
		mpq_set(stat->max, ratio);
	mpq_add(stat->sum, stat->sum, ratio);
	mpq_clear(ratio);
	add_u64(stat->cycles, value->cycles);
	add_u64(stat->elapsed_ns, value->elapsed_ns);
	stat->measured++;
}

void perfkit_stat_add_time(struct perfkit_stat *stat, const struct perfctr_perfkit_value *time_ns)
{
	mpq_t ratio;

	if (time_ns->state != PERFCTR_VALUE_OK)
		return;
	mpq_init(ratio);
	set_ratio(ratio, time_ns);
	mpq_add(stat->time_ns, stat->time_ns, ratio);
	mpq_clear(ratio);
	stat->timed++;
}

void perfkit_stat_take(struct perfkit_stat *stat, const struct perfctr_perfkit *kit, size_t n,
		       const struct perfctr_perfkit_value *value)
{
	const uint32_t kind = perfctr_perfkit_counter(kit, n)->kind;
	struct perfctr_perfkit_value time_ns;

	perfkit_stat_add(stat, value);
	if ((kind == PERFCTR_PERFKIT_SOL || kind == PERFCTR_PERFKIT_BOTTLENECK) &&
	    !perfctr_perfkit_time(kit, n, 0, &time_ns))
		perfkit_stat_add_time(stat, &time_ns);
}

static void divide(mpq_srcptr sum, uint64_t number, mpq_t mean)
{
	mpq_t count;

	mpq_init(count);
	set_u64(mpq_numref(count), number);
	mpq_div(mean, sum, count);
	mpq_clear(count);
}

void perfkit_stat_mean(const struct perfkit_stat *stat, mpq_t mean)
{
	divide(stat->sum, stat->measured, mean);
}

bool perfkit_stat_mean_time(const struct perfkit_stat *stat, mpq_t mean)
{
	if (stat->timed)
		divide(stat->time_ns, stat->timed, mean);
	return stat->timed;
}

void perfkit_stat_mean_of(const struct perfkit_stat *stat, mpz_srcptr sum, mpq_t mean)
{
	mpz_set(mpq_numref(mean), sum);
	set_u64(mpq_denref(mean), stat->measured);
	mpq_canonicalize(mean);
}

double ratio_number(mpq_srcptr ratio)
{
	/* GMP truncates */
	double toward_zero = mpq_get_d(ratio);
	double away = nextafter(toward_zero, mpq_sgn(ratio) * INFINITY);
	bool away_is_nearer;
	mpq_t near, far;

	if (!mpq_sgn(ratio))
		return 0;
	mpq_inits(near, far, NULL);
	mpq_set_d(near, toward_zero);
	mpq_sub(near, ratio, near);
	mpq_set_d(far, away);
	mpq_sub(far, far, ratio);
	mpq_abs(near, near);
	mpq_abs(far, far);
	away_is_nearer = mpq_cmp(far, near) < 0;
	mpq_clears(near, far, NULL);
	return away_is_nearer ? away : toward_zero;
}

const char *ratio_text(mpq_srcptr ratio, char *text, size_t size)
{
	const char *sign = mpq_sgn(ratio) < 0 ? "-" : "";
	bool is_whole = !mpz_cmp_ui(mpq_denref(ratio), 1);
	uint64_t whole = 0;
	char grouped[NUMBER_BYTES];
	unsigned long digits;
	mpz_t thousandths;

	/* floor((2 * SCALE * |n| + d) / 2d): rounds half up */
	mpz_init(thousandths);
	mpz_abs(thousandths, mpq_numref(ratio));
	mpz_mul_ui(thousandths, thousandths, 2 * SCALE);
	mpz_add(thousandths, thousandths, mpq_denref(ratio));
	mpz_fdiv_q(thousandths, thousandths, mpq_denref(ratio));
	mpz_fdiv_q_2exp(thousandths, thousandths, 1);
	digits = mpz_fdiv_q_ui(thousandths, thousandths, SCALE);
	/* values have 63 bits, and so do their means */
	mpz_export(&whole, NULL, 1, sizeof(whole), 0, 0, thousandths);
	mpz_clear(thousandths);
	number_group(whole, grouped, sizeof(grouped));
	if (is_whole)
		snprintf(text, size, "%s%s", sign, grouped);
	else
		snprintf(text, size, "%s%s.%0*lu", sign, grouped, DIGITS, digits);
	return text;
}
