// SPDX-License-Identifier: MIT
/* Limits as text, and the sum of the samples in a sliding window. */
#include "guard.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/number.h"

enum { TEXT_BYTES = 64 };

static const uint64_t ns_per_s = 1000000000;

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

uint64_t window_add(struct window *w, uint64_t start_ns, uint64_t end_ns, uint64_t counts)
{
	struct window_sample *last = &w->samples[(w->first + w->count - 1) % WINDOW_SAMPLES];

	while (w->count && start_ns >= w->length_ns &&
	       w->samples[w->first].end_ns <= start_ns - w->length_ns) {
		w->first = (w->first + 1) % WINDOW_SAMPLES;
		w->count--;
	}
	if (w->count == WINDOW_SAMPLES) {
		last->end_ns = end_ns;
		last->counts = add(last->counts, counts);
	} else {
		w->samples[(w->first + w->count++) % WINDOW_SAMPLES] =
			(struct window_sample){ start_ns, end_ns, counts };
	}
	w->counted = 0;
	for (size_t n = 0; n < w->count; n++)
		w->counted = add(w->counted, w->samples[(w->first + n) % WINDOW_SAMPLES].counts);
	return w->counted;
}

/* "12.5" as 125 and 10. Return: 0; -EINVAL; -ERANGE. */
static int parse_percent(const char *text, uint64_t *value, uint64_t *divisor)
{
	char digits[TEXT_BYTES] = "";
	size_t used = 0;
	bool point = false;

	*divisor = 1;
	for (; *text && used + 1 < sizeof(digits); text++) {
		if (*text == '.' && !point && used) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)*text) || *divisor > UINT64_MAX / 1000)
			return -EINVAL;
		digits[used++] = *text;
		*divisor *= point ? 10 : 1;
	}
	return number_parse_count(digits, value);
}

int window_limit(const char *text, uint64_t length_ns, uint64_t full_hz, uint64_t *limit)
{
	char number[TEXT_BYTES];
	uint64_t value, divisor = 1, rate = 0;
	size_t length = strlen(text);
	unsigned __int128 wide;
	int error;

	if (length >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, length + 1);
	if (length && number[length - 1] == '%') {
		number[length - 1] = '\0';
		error = parse_percent(number, &value, &divisor);
		if (!error && !full_hz)
			error = -EDOM;
		if (!error && value / divisor >= 100 && value != 100 * divisor)
			error = -ERANGE;
		rate = full_hz;
		divisor *= 100;
	} else if (length > 2 && !strcmp(number + length - 2, "/s")) {
		length -= 2 + (number[length - 3] == 'B');
		number[length] = '\0';
		error = number_parse_count(number, &value);
		rate = 1;
	} else {
		error = number_parse_count(number, limit);
	}
	if (error || !rate)
		return error;
	/* at most 2^64 each, and the divisor is below 2^64: two steps keep 128 bits */
	if (__builtin_mul_overflow((unsigned __int128)value * rate, length_ns, &wide))
		return -ERANGE;
	wide = wide / divisor / ns_per_s;
	if (wide > UINT64_MAX || (value && !wide))
		return -ERANGE;
	*limit = (uint64_t)wide;
	return 0;
}
