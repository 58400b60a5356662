// SPDX-License-Identifier: MIT
/* Adds up what the driver reports of frames, and its means. */
#include "software.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/app.h"

uint64_t perfkit_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* one line of a message */
struct value {
	char name[SOFTWARE_NAME_BYTES], unit[SOFTWARE_UNIT_BYTES];
	uint64_t number;
};

/* A word of a name or unit. Return: where it ends, NULL: it is empty or does not fit. */
static const char *take_word(const char *at, char *word, size_t size)
{
	size_t length = 0;

	while (isalnum((unsigned char)at[length]) || (at[length] && strchr("_-./%", at[length])))
		length++;
	if (!length || length >= size)
		return NULL;
	memcpy(word, at, length);
	word[length] = '\0';
	return at + length;
}

static bool parse_value(const char *at, const char *line_end, struct value *value)
{
	char *end;

	at = take_word(at, value->name, sizeof(value->name));
	if (!at || *at != ' ' || !isdigit((unsigned char)at[1]))
		return false;
	errno = 0;
	value->number = strtoull(at + 1, &end, 10);
	if (errno || value->number > INT64_MAX)
		return false;
	return (*end == ' ' ? take_word(end + 1, value->unit, sizeof(value->unit)) : end) ==
	       line_end;
}

/*
 * @value: set; without a name if the line has none: drivers name counters as they like.
 * Return: where the line ends, NULL: it is none.
 */
static const char *take_line(const char *at, struct value *value)
{
	const char *end = at + 1 + (*at ? strcspn(at + 1, "\n") : 0);

	*value = (struct value){ 0 };
	if (*at != '\n')
		return NULL;
	if (!parse_value(at + 1, end, value))
		value->name[0] = '\0';
	return end;
}

bool perfkit_software_check(const char *text)
{
	struct value value;
	size_t count = 0;

	while (text && *text && ++count <= SOFTWARE_MAX)
		text = take_line(text, &value);
	return text && !*text;
}

/* Find or create. Return: its index; -ENOMEM; -ENOSPC: other names came before. */
static int find(struct perfkit_software *s, const char *name, const char *unit)
{
	struct perfkit_software_value *v;

	for (size_t n = 0; n < s->count; n++)
		if (!strcmp(s->values[n].name, name))
			return (int)n;
	/* names may differ from frame to frame */
	if (s->count == 2 * SOFTWARE_MAX)
		return -ENOSPC;
	v = realloc(s->values, (s->count + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->values = v;
	v = &s->values[s->count];
	snprintf(v->name, sizeof(v->name), "%s", name);
	snprintf(v->unit, sizeof(v->unit), "%s", unit);
	perfkit_stat_init(&v->stat);
	return (int)s->count++;
}

static void add(struct perfkit_stat *stat, uint64_t number, uint64_t denominator)
{
	const struct perfctr_perfkit_value ratio = {
		.numerator = (int64_t)number,
		.denominator = (int64_t)denominator,
	};

	perfkit_stat_add(stat, &ratio);
}

/* Frames per second: the mean is the number of frames divided by their time. */
static void set_fps(struct perfkit_stat *fps, const struct perfkit_stat *time_us)
{
	mpq_t number;

	mpq_init(number);
	mpq_set_ui(number, US_PER_S, 1);
	mpq_div(fps->min, number, time_us->max);
	mpq_div(fps->max, number, time_us->min);
	perfkit_stat_mean(time_us, fps->sum);
	mpq_div(fps->sum, number, fps->sum);
	fps->measured = time_us->measured;
	/* the sum is the mean times the number of frames */
	mpq_set_ui(number, fps->measured, 1);
	mpq_mul(fps->sum, fps->sum, number);
	mpq_clear(number);
}

int perfkit_software_add(struct perfkit_software *software, const char *text, uint64_t began_ns)
{
	const uint64_t time_ns = perfkit_now_ns() - began_ns;
	int time = find(software, "OGL frame time", "us"), fps = find(software, "OGL FPS", "1/s");

	if (time < 0 || fps < 0)
		return -ENOMEM;
	if (began_ns && time_ns) {
		add(&software->values[time].stat, time_ns, NS_PER_S / US_PER_S);
		set_fps(&software->values[fps].stat, &software->values[time].stat);
	}
	while (*text) {
		struct value value;
		int n;

		text = take_line(text, &value);
		if (!value.name[0])
			continue;
		n = find(software, value.name, value.unit);
		if (n == -ENOMEM)
			return n;
		if (n >= 0)
			add(&software->values[n].stat, value.number, 1);
	}
	return 0;
}

void perfkit_software_free(struct perfkit_software *software)
{
	for (size_t n = 0; n < software->count; n++)
		perfkit_stat_clear(&software->values[n].stat);
	free(software->values);
}
