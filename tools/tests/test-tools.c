// SPDX-License-Identifier: MIT
/* Parsing and formatting of the tools, without a device. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/number.h"
#include "diff/compare.h"
#include "diff/distribution.h"
#include "export/export.h"
#include "exporter/clients.h"
#include "guard/guard.h"
#include "record/flight.h"
#include "perfkit/frames.h"
#include "perfkit/software.h"
#include "lib/output.h"
#include "lib/json.h"
#include "lib/stream.h"
#include "perfkit/stat.h"
#include "serve/share.h"
#include "stat/stat.h"
#include "top/screen.h"

#include "tests/test.h"

static unsigned int seeds;

/* json-c's, instead of libc's */
ssize_t getrandom(void *bytes, size_t size, unsigned int flags)
{
	memset(bytes, 0, size);
	seeds += !(flags & GRND_NONBLOCK);
	return (ssize_t)size;
}

TEST("JSON waits for no random numbers, which a machine that just booted lacks")
{
	struct json_object *o = json_object_new_object();

	json_add_u64(o, "n", 1);
	CHECK(json_object_put(o) && !seeds);
}

TEST("numbers, sizes and times are read and written")
{
	uint64_t v = 0;
	char text[40];

	CHECK(!number_parse_count("64Ki", &v) && v == 65536);
	CHECK(!number_parse_count("0x10", &v) && v == 16);
	CHECK(!number_parse_count("010", &v) && v == 10);
	CHECK(!number_parse_count("18446744073709551615", &v) && v == UINT64_MAX);
	CHECK(number_parse_count("18446744073709551616", &v) == -ERANGE);
	CHECK(number_parse_count("18446744073709551615k", &v) == -ERANGE);
	CHECK(number_parse_count("-1", &v) == -EINVAL);
	CHECK(number_parse_count("", &v) == -EINVAL);
	CHECK(number_parse_count("5x", &v) == -EINVAL);
	CHECK(!number_parse_time("1.5s", 1, &v) && v == 1500000000);
	CHECK(!number_parse_time("100", 1000000, &v) && v == 100000000);
	CHECK(number_parse_time("s", 1, &v) == -EINVAL);
	CHECK(number_parse_time("1..5s", 1, &v) == -EINVAL);
	CHECK(number_parse_time("99999999999h", 1, &v) == -ERANGE);
	EQUAL_TEXT(number_group(UINT64_MAX, text, sizeof(text)), "18,446,744,073,709,551,615");
	EQUAL_TEXT(number_group(999, text, sizeof(text)), "999");
	EQUAL_TEXT(number_short(999950, text, sizeof(text)), "1.000 M");
	EQUAL_TEXT(number_short(0, text, sizeof(text)), "0 ");
	EQUAL_TEXT(number_short(0.00512, text, sizeof(text)), "0.00512 ");
	EQUAL_TEXT(number_seconds(0.000001, text, sizeof(text)), "1.000 us");
	EQUAL_TEXT(number_short(NAN, text, sizeof(text)), "- ");
}

TEST("the fast text of numbers is that of JSON")
{
	struct text *text = calloc(1, sizeof(*text));
	union {
		uint64_t bits;
		double number;
	} u;
	uint64_t state = 26;
	char number[40];
	double value;

	for (int n = 0; n < 200000; n++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		u.bits = state;
		/* any bits; ratios; few digits; powers of two and what is next to them; integers */
		value = n % 5 == 0 ? (isfinite(u.number) ? u.number : 0) :
			n % 5 == 1 ? (double)(state >> 40) / (double)((state & 0xfffff) | 1) :
			n % 5 == 2 ? (double)(state >> 54) / 1000 :
			n % 5 == 3 ? nextafter(ldexp(1, (int)(state >> 58) - 10), n % 2 * 1e9) :
				     (double)(state >> (state & 63));
		text->used = 0;
		text_double(text, value);
		text_add(text, "", 1);
		json_number_text(value, number, sizeof(number));
		if (strcmp(text->bytes, number))
			EQUAL_TEXT(text->bytes, number);
		text->used = 0;
		text_u64(text, state >> (state & 63));
		text_add(text, "", 1);
		snprintf(number, sizeof(number), "%llu",
			 (unsigned long long)(state >> (state & 63)));
		if (strcmp(text->bytes, number))
			EQUAL_TEXT(text->bytes, number);
	}
	free(text);
}

TEST("seven digits are those of printf")
{
	static const double some[] = { 0,    -0.0,    -1.5,   NAN,	    INFINITY,  1e-9,
				       1e20, 1e-5,    1e-4,   9.9999995e-5, 9999999.5, 9999999.4,
				       1e7,  1.5e300, 5e-324, 0.1,	    123456.75, 1234567.5 };
	uint64_t state = 7;
	char text[32], number[32];
	double value;

	for (size_t n = 0; n < ARRAY_SIZE(some) + 400000; n++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		/* ties and what is next to them; powers of ten and what is next to them; others */
		value = n % 4 == 0 ? (double)(state >> 40) + 0.5 :
			n % 4 == 1 ? pow(10, (int)(state >> 58) - 20) :
			n % 4 == 2 ? (double)(state >> 36) / 32 :
				     ldexp((double)(state >> 11), (int)(state & 127) - 110);
		if (n & 4)
			value = nextafter(value, n & 8 ? 1e300 : 0);
		value = n < ARRAY_SIZE(some) ? some[n] : value;
		snprintf(number, sizeof(number), "%.7g", value);
		if (number_seven_digits(value, text, sizeof(text)) != strlen(number) ||
		    strcmp(text, number))
			EQUAL_TEXT(text, number);
	}
}

TEST("plain text ends at the first byte that is none")
{
	unsigned char text[20];

	for (size_t at = 0; at < sizeof(text); at++) {
		for (unsigned int byte = 0; byte < 256; byte++) {
			const bool is_plain = byte >= ' ' && byte < 0x7f;

			memset(text, at % 2 ? '~' : ' ', sizeof(text));
			text[at] = (unsigned char)byte;
			EQUAL(stream_plain_length(text, sizeof(text)),
			      is_plain ? sizeof(text) : at);
		}
	}
}

TEST("scaled numbers and labels for Prometheus are exact")
{
	char text[48], *label = NULL;
	size_t size;
	FILE *out = open_memstream(&label, &size);

	EQUAL_TEXT(number_scaled(UINT64_MAX, 1, text, sizeof(text)), "18446744073709551615");
	EQUAL_TEXT(number_scaled(UINT64_MAX, 1e-9, text, sizeof(text)), "18446744073.709551615");
	EQUAL_TEXT(number_scaled(5, 1e-9, text, sizeof(text)), "0.000000005");
	EQUAL_TEXT(number_scaled_signed(-11810, 1e-3, text, sizeof(text)), "-11.810");
	EQUAL_TEXT(number_scaled_signed(INT64_MIN, 1, text, sizeof(text)), "-9223372036854775808");
	EQUAL_TEXT(number_group_signed(-1234567, text, sizeof(text)), "-1,234,567");
	EQUAL_TEXT(number_group_signed(999, text, sizeof(text)), "999");
	EQUAL_TEXT(number_scaled(9007199254740993, 1e-6, text, sizeof(text)), "9007199254.740993");
	/* units of RAPL's energy and of a memory controller's traffic, in 2^20 bytes */
	EQUAL_TEXT(number_scaled(3, 0x1p-32, text, sizeof(text)), "6.98491930961608886719e-10");
	EQUAL_TEXT(number_scaled(9007199254740993, 6.103515625e-5 * 0x1p20, text, sizeof(text)),
		   "576460752303423552");
	label_text(out, "a\\b \"c\"\nd", true);
	label_text(out, "\"\n", false);
	fclose(out);
	EQUAL_TEXT(label, "a\\\\b \\\"c\\\"\\nd\"\\n");
	free(label);
}

TEST("JSON has exact integers and clean text")
{
	struct json_object *o = json_object_new_object();
	const char *text;

	json_add_u64(o, "n", UINT64_C(9007199254740993));
	json_add_u64(o, "max", UINT64_MAX);
	json_add_double(o, "nan", NAN);
	json_add_double(o, "whole", 2);
	json_add_text(o, "bad", "a\"\xff\n");
	json_add_text(o, "none", NULL);
	json_add_words(o, "words", "a,b");
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	CHECK(!strcmp(text, "{\"n\":9007199254740993,\"max\":18446744073709551615,\"nan\":null,"
			    "\"whole\":2.0,\"bad\":\"a\\\"\xef\xbf\xbd\\n\",\"none\":null,"
			    "\"words\":[\"a\",\"b\"]}"));
	json_object_put(o);
}

TEST("lines of top are folded and formatted")
{
	struct row row[3] = {
		{ .event = "shader/A",
		  .label = "shader",
		  .counter = "A",
		  .unit = "cycles",
		  .rate = 50,
		  .number = 50 },
		{ .event = "tiler/B",
		  .label = "tiler",
		  .counter = "B",
		  .unit = "",
		  .rate = NAN,
		  .state = PERFCTR_VALUE_NOT_MEASURED },
		{ .event = "tiler/C",
		  .label = "tiler",
		  .counter = "C",
		  .unit = "ns",
		  .is_software = true,
		  .rate = 5e8,
		  .trust = 4 },
	};
	struct rows rows = { .rows = row, .count = 2 }, more = { .rows = row, .count = 3 };
	struct top_screen screen = { 0 };
	struct top_line *lines = NULL;
	char text[512];
	size_t count = 0;

	CHECK(!top_screen_update(&screen, &rows));
	row[0].rate = 25;
	CHECK(!top_screen_update(&screen, &rows));
	CHECK(top_item_fill(&screen.items[0]) == 0.5);
	top_bar(0.5, 4, false, text);
	EQUAL_TEXT(text, "##  ");
	top_spark(&screen.items[0], 4, false, text);
	EQUAL_TEXT(text, "  #-");
	top_value(&screen.items[1], text, sizeof(text));
	EQUAL_TEXT(text, "<not measured>");
	CHECK(!top_screen_lines(&screen, &lines, &count) && count == 4);
	free(lines);
	lines = NULL;
	top_screen_fold(&screen, "shader");
	CHECK(!top_screen_lines(&screen, &lines, &count) && count == 3 && lines[0].folded);
	free(lines);
	lines = NULL;
	/* the second counter of a group stays in it, regardless of its number */
	CHECK(!top_screen_update(&screen, &more));
	CHECK(!top_screen_lines(&screen, &lines, &count) && count == 4);
	CHECK(lines[3].kind == TOP_LINE_ITEM && !strcmp(lines[3].item->counter, "C"));
	{
		struct top_line *found = NULL;

		/* by a counter's name, and by its group's, in any case */
		snprintf(screen.filter, sizeof(screen.filter), "c");
		CHECK(!top_screen_lines(&screen, &found, &count) && count == 2);
		CHECK(!strcmp(found[1].item->counter, "C"));
		free(found);
		found = NULL;
		snprintf(screen.filter, sizeof(screen.filter), "no such name");
		CHECK(!top_screen_lines(&screen, &found, &count) && !count);
		free(found);
		screen.filter[0] = '\0';
	}
	top_format(&lines[3], 60, false, text, sizeof(text));
	CHECK(!strncmp(text, "! C", 3) && strstr(text, " 0.500 CPUs"));
	/* in a narrow terminal the name is shortened, never the number */
	{
		static const char name[] = "COUNTER_OF_A_LONG_NAME";
		struct top_item item = { .now = 5360, .is_rate = true, .trust = row[0].trust };
		struct top_line line = { .kind = TOP_LINE_ITEM, .item = &item };

		snprintf(item.counter, sizeof(item.counter), "%s", name);
		snprintf(item.unit, sizeof(item.unit), "primitives");
		for (unsigned int width = 12; width < 80; width++) {
			top_format(&line, width, false, text, sizeof(text));
			CHECK(strlen(text) <= width);
			CHECK(strstr(text, " 5.360 k"));
		}
		top_format(&line, 30, false, text, sizeof(text));
		CHECK(strstr(text, " 5.360 kprimitives/s"));
		/* a long unit takes what a short name leaves */
		snprintf(item.counter, sizeof(item.counter), "rd_cum_outs");
		snprintf(item.unit, sizeof(item.unit), "requests x cycles");
		top_format(&line, 80, false, text, sizeof(text));
		CHECK(strstr(text, " rd_cum_outs ") && strlen(text) <= 80);
		CHECK(strstr(text, " 5.360 krequests x cycles/s"));
		line.kind = TOP_LINE_GROUP;
		line.items = 3;
		snprintf(item.group, sizeof(item.group), "%s", name);
		top_format(&line, 20, false, text, sizeof(text));
		CHECK(strlen(text) <= 20 && strstr(text, " (3)"));
	}
	free(lines);
	top_screen_free(&screen);
}

static uint64_t flight_number(const struct flight *flight, size_t n)
{
	unsigned int session;
	uint64_t number = 0;
	size_t size;

	memcpy(&number, flight_get(flight, n, &session, &size), sizeof(number));
	return size == sizeof(number) && session == 7 ? number : UINT64_MAX;
}

TEST("the flight recorder keeps the newest samples")
{
	struct flight f = { .keep_ns = 1000, .limit_bytes = 1 << 20, .stride = 64 };
	bool in_order = true;

	CHECK(flight_add(&f, 7, &f, 65, 0) == -E2BIG);
	for (uint64_t n = 0; n < 5000; n++)
		in_order &= !flight_add(&f, 7, &n, sizeof(n), 10 * n);
	CHECK(in_order);
	/* the samples of the last 1000 ns, 10 ns apart, and the one at the limit */
	CHECK(f.count == 101 && !f.cut_short);
	for (size_t n = 0; n < f.count; n++)
		in_order &= flight_number(&f, n) == 5000 - 101 + n;
	CHECK(in_order);
	/* room for 16: the newest are kept, cut_short counts the missing ones */
	flight_free(&f);
	f = (struct flight){ .keep_ns = 1000, .limit_bytes = 1024, .stride = 64 };
	for (uint64_t n = 0; n < 100; n++)
		flight_add(&f, 7, &n, sizeof(n), n);
	CHECK(f.count == 16 && f.cut_short == 84);
	CHECK(flight_number(&f, 0) == 84 && flight_number(&f, 15) == 99);
	flight_free(&f);
	f = (struct flight){ .keep_ns = 1000, .limit_bytes = 32, .stride = 64 };
	CHECK(flight_add(&f, 7, &f, 8, 0) == -ENOMEM);
	flight_free(&f);
}

TEST("means are compared as by the tables of Student's t distribution")
{
	struct spread x = { 0 }, y = { 0 }, z = { 0 }, few = { 0 }, none = { 0 };
	double error = NAN;

	for (int n = 1; n <= 6; n++) {
		spread_add(&x, n);
		spread_add(&y, 10 + n);
		spread_add(&z, 7);
		if (n < COMPARE_LEAST)
			spread_add(&few, n);
	}
	CHECK(x.count == 6 && x.mean == 3.5 && fabs(x.squares - 17.5) < 1e-12);
	/* equal variances: ten degrees of freedom, t = 3.1693 */
	CHECK(compare_error(&x, &y, &error));
	CHECK(fabs(error - 3.1693 * sqrt(2 * 3.5 / 6)) < 0.005);
	/* one value without variance: five degrees of freedom, t = 4.0321 */
	CHECK(compare_error(&x, &z, &error));
	CHECK(fabs(error - 4.0321 * sqrt(3.5 / 6)) < 0.04);
	CHECK(compare_error(&z, &z, &error) && error == 0);
	CHECK(!compare_error(&x, &few, &error));
	CHECK(!compare_error(&x, &none, &error));
}

static bool is_near(double value, double expected)
{
	return fabs(value - expected) < 1e-9 * fabs(expected);
}

TEST("distributions are those of the tables, or of a count of all cases")
{
	const double freedom[] = { 1, 2, 5, 5.5, 30, 1000 };
	/* from 1 to 5.5 degrees the distribution is not like the normal one at all */
	const double t[] = { 63.656741162871583, 9.9248432009182928, 4.0321429835552278,
			     3.8499114660010312, 2.7499956535672259, 2.5807546980659506 };
	const double sorted[] = { 1, 2, 4, 8, 16, 32 };

	for (size_t n = 0; n < ARRAY_SIZE(t); n++)
		CHECK(is_near(student_t_995(freedom[n]), t[n]));
	CHECK(is_near(normal_above(1.959963984540054), 0.025));
	CHECK(is_near(normal_above(-1), 0.841344746068543));
	CHECK(is_near(normal_above(10), 7.61985302416052e-24));
	CHECK(is_near(exp(ln_choices(52, 5)), 2598960) && fabs(ln_choices(9, 0)) < 1e-12);
	/* of 50 balls 5 are marked; 10 are drawn, of which 4 are marked */
	CHECK(is_near(hypergeometric_part(50, 5, 10, 4, 4), 8145060.0 / 2054455634));
	CHECK(is_near(hypergeometric_part(50, 5, 10, 0, 5), 1));
	/* 8 of 10 are marked, so that 5 draws have 3 marked ones or more */
	CHECK(is_near(hypergeometric_part(10, 8, 5, 0, 3), 56.0 / 252));
	CHECK(hypergeometric_part(10, 8, 5, 0, 2) == 0);
	CHECK(sorted_quantile(sorted, 6, 0) == 1 && sorted_quantile(sorted, 6, 1) == 32);
	CHECK(sorted_quantile(sorted, 6, 0.5) == 6 && sorted_quantile(sorted, 5, 0.5) == 4);
	CHECK(sorted_quantile(sorted, 6, 0.25) == 2.5 && sorted_quantile(sorted, 1, 0.75) == 1);
}

TEST("means of many ratios are exact")
{
	for (unsigned int count = 1; count <= 200; count += count < 8 ? 1 : 64) {
		struct perfkit_stat stat;
		mpq_t sum, ratio, mean;

		mpq_inits(sum, ratio, mean, NULL);
		perfkit_stat_init(&stat);
		for (unsigned int n = 1; n <= count; n++) {
			/* ever smaller, without a common denominator */
			const struct perfctr_perfkit_value value = {
				.numerator = INT64_MAX,
				.denominator = ((int64_t)n << 40) + 1,
				.elapsed_ns = 7,
			};
			/* every second value is a time of n */
			const struct perfctr_perfkit_value time = {
				.numerator = n - 1,
				.denominator = 1,
				.state = n % 2 ? PERFCTR_VALUE_OK : PERFCTR_VALUE_NOT_MEASURED,
			};

			perfkit_stat_add(&stat, &value);
			perfkit_stat_add_time(&stat, &time);
			mpq_set_si(ratio, value.numerator, (unsigned long)value.denominator);
			mpq_canonicalize(ratio);
			CHECK(n > 1 || mpq_equal(stat.max, ratio));
			mpq_add(sum, sum, ratio);
		}
		CHECK(mpq_equal(stat.min, ratio) && mpq_cmp(stat.max, ratio) >= 0);
		perfkit_stat_mean(&stat, mean);
		mpq_set_ui(ratio, count, 1);
		mpq_div(sum, sum, ratio);
		CHECK(stat.measured == count && mpq_equal(mean, sum));
		perfkit_stat_mean_of(&stat, stat.elapsed_ns, mean);
		CHECK(!mpq_cmp_ui(mean, 7, 1));
		CHECK(perfkit_stat_mean_time(&stat, mean) && stat.timed == (count + 1) / 2);
		CHECK(!mpq_cmp_ui(mean, (count + 1) / 2 - 1, 1));
		perfkit_stat_clear(&stat);
		mpq_clears(sum, ratio, mean, NULL);
	}
}

TEST("a value that was not measured is not ok")
{
	struct perfctr_perfkit_value value = { .state = PERFCTR_VALUE_ZERO_DENOMINATOR };
	struct perfkit_stat stat;

	perfkit_stat_init(&stat);
	/* a value that was not measured is not "ok" */
	CHECK(!stat.measured && stat.state == PERFCTR_VALUE_NOT_MEASURED);
	CHECK(!perfkit_stat_mean_time(&stat, stat.sum));
	perfkit_stat_add(&stat, &value);
	CHECK(!stat.measured && stat.state == PERFCTR_VALUE_ZERO_DENOMINATOR);
	value = (struct perfctr_perfkit_value){ .numerator = INT64_MIN, .denominator = 2 };
	perfkit_stat_add(&stat, &value);
	CHECK(stat.measured == 1 && !mpz_cmp_si(mpq_numref(stat.sum), INT64_MIN / 2));
	perfkit_stat_clear(&stat);
}

TEST("ratios are written")
{
	static const struct {
		long numerator;
		unsigned long denominator;
		const char *text;
		double number;
	} ratios[] = {
		{ 0, 1, "0", 0 },
		{ 1234567, 1, "1,234,567", 1234567 },
		{ 1, 5, "0.200", 0.2 },
		{ 2, 3, "0.667", 2.0 / 3 },
		{ -2, 3, "-0.667", -2.0 / 3 },
		{ 1, 2000, "0.001", 0.0005 },
		{ 1999999, 2000000, "1.000", 0.9999995 },
		{ INT64_MAX, 2, "4,611,686,018,427,387,903.500", 0x1p62 },
	};
	char text[48];
	mpq_t ratio;

	mpq_init(ratio);
	for (size_t n = 0; n < sizeof(ratios) / sizeof(ratios[0]); n++) {
		mpq_set_si(ratio, ratios[n].numerator, ratios[n].denominator);
		CHECK(!strcmp(ratio_text(ratio, text, sizeof(text)), ratios[n].text));
		CHECK(ratio_number(ratio) == ratios[n].number);
	}
	mpq_clear(ratio);
}

static unsigned int complaints;

void app_error(const struct app *app, const char *format, ...)
{
	complaints++;
}

/* A program that reports frames to the socket in its environment. */
static int connect_reporter(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = getenv(FRAMES_VARIABLE);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t length;

	memcpy(address.sun_path, name, strlen(name));
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	CHECK(name[0] == '@');
	address.sun_path[0] = 0;
	CHECK(!connect(fd, (struct sockaddr *)&address, length));
	return fd;
}

static bool sends(int fd, const char *message)
{
	return send(fd, message, strlen(message), MSG_NOSIGNAL) == (ssize_t)strlen(message);
}

static bool may_go(int fd)
{
	char text[8];

	return recv(fd, text, sizeof(text), 0) == 2 && !memcmp(text, "go", 2);
}

static bool was_closed(int fd)
{
	char text[8];

	return !recv(fd, text, sizeof(text), 0);
}

TEST("values of frames are checked, and added up")
{
	static const char *const bad[] = {
		"\n",
		"\na",
		"\na ",
		"\na -1",
		"\na 1.5",
		"\na 1 ",
		"\na 1 two words",
		"\na 9223372036854775808",
		"\n\033[2J 1",
		"\nname-that-is-longer-than-any-name-of-a-driver-has-ever-been 1",
	};
	struct perfkit_software s = { 0 };
	char many[2 * 8 * SOFTWARE_MAX] = "", *at = many;

	CHECK(perfkit_software_check("") && perfkit_software_check("\na 1\nb-c 2 bytes"));
	CHECK(!perfkit_software_check("a 1"));
	/* a line that is no value is left out */
	for (size_t n = 0; n < ARRAY_SIZE(bad); n++)
		CHECK(perfkit_software_check(bad[n]) && !perfkit_software_add(&s, bad[n], 0) &&
		      s.count == 2);
	for (size_t n = 0; n < SOFTWARE_MAX; n++)
		at += sprintf(at, "\nx%zu 1", n);
	CHECK(perfkit_software_check(many));
	strcpy(at, "\ny 1");
	CHECK(!perfkit_software_check(many));

	CHECK(!perfkit_software_add(&s, "\na 1\nb 7 bytes", 0));
	CHECK(!perfkit_software_add(&s, "\na 4", perfkit_now_ns() - NS_PER_S));
	CHECK(s.count == 4 && s.values[0].stat.measured == 1 && s.values[1].stat.measured == 1);
	/* a frame of a second or more */
	CHECK(mpq_cmp_ui(s.values[0].stat.min, US_PER_S, 1) >= 0);
	CHECK(mpq_cmp_ui(s.values[1].stat.sum, 1, 1) <= 0 && mpq_sgn(s.values[1].stat.sum) > 0);
	CHECK(!strcmp(s.values[2].name, "a") && s.values[2].stat.measured == 2);
	CHECK(!mpq_cmp_ui(s.values[2].stat.sum, 5, 1) && !mpq_cmp_ui(s.values[2].stat.max, 4, 1));
	CHECK(!strcmp(s.values[3].unit, "bytes") && s.values[3].stat.measured == 1);
	/* names without end */
	for (size_t n = 0; n < 1000; n++) {
		sprintf(many, "\nz%zu 1", n);
		CHECK(!perfkit_software_add(&s, many, 0));
	}
	CHECK(s.count == 2 * SOFTWARE_MAX);
	perfkit_software_free(&s);
}

TEST("frames of one process count at a time")
{
	struct pollfd fds[FRAMES_MAX_FDS];
	struct frames frames;
	int first, second, third;

	CHECK(!frames_open(NULL, &frames));
	CHECK(frames_fds(&frames, fds) == 1 && !frames_next(&frames));
	first = connect_reporter();
	second = connect_reporter();
	third = connect_reporter();
	CHECK(!frames_next(&frames) && frames_fds(&frames, fds) == 4);

	/* the first reporter is counted and waits */
	CHECK(sends(second, "frame") && frames_next(&frames) && !may_go(second));
	frames_answer(&frames);
	CHECK(may_go(second) && !frames_next(&frames));

	/* others neither count nor wait; a note is printed once */
	CHECK(sends(first, "frame") && !frames_next(&frames) && may_go(first) && complaints == 1);
	CHECK(sends(first, "frame") && !frames_next(&frames) && may_go(first) && complaints == 1);

	CHECK(sends(third, "frames") && !frames_next(&frames) && was_closed(third));
	CHECK(complaints == 2 && frames_fds(&frames, fds) == 3);

	/* values of the counted process, of no other; what is no value ends the connection */
	CHECK(sends(second, "frame\ndraw-calls 7") && frames_next(&frames));
	CHECK(!strcmp(frames.values, "\ndraw-calls 7"));
	frames_answer(&frames);
	CHECK(may_go(second) && sends(first, "frame\nother 1") && !frames_next(&frames));
	CHECK(may_go(first) && !strcmp(frames.values, "\ndraw-calls 7"));

	/* after it disconnects the next process is counted */
	close(second);
	CHECK(!frames_next(&frames) && frames_fds(&frames, fds) == 2);
	CHECK(sends(first, "frame") && frames_next(&frames));
	frames_answer(&frames);
	CHECK(may_go(first));

	/* a new process is listed after the one that leaves, for any number of processes */
	close(third);
	second = connect_reporter();
	third = connect_reporter();
	CHECK(!frames_next(&frames) && frames_fds(&frames, fds) == 4);
	CHECK(sends(third, "frame") && !frames_next(&frames) && complaints == 2 && may_go(third));
	close(first);
	CHECK(sends(third, "frame") && frames_next(&frames));
	frames_answer(&frames);
	CHECK(may_go(third));
	close(second);
	close(third);
	second = connect_reporter();
	third = connect_reporter();
	CHECK(sends(third, "frame") && frames_next(&frames) && frames_fds(&frames, fds) == 3);

	/* after frames_stop() a new process is ignored without a message */
	frames_stop(&frames);
	CHECK(was_closed(second) && was_closed(third));
	close(second);
	second = connect_reporter();
	CHECK(sends(second, "frame") && !frames_next(&frames) && frames_fds(&frames, fds) == 1);
	CHECK(recv(second, &complaints, 0, 0) <= 0 && complaints == 2);
	frames_close(&frames);
	CHECK(!frames_fds(&frames, fds));
	close(second);
	close(third);
}

TEST("more processes than fit are refused")
{
	struct pollfd fds[FRAMES_MAX_FDS];
	int reporters[FRAMES_MAX_REPORTERS + 2];
	struct frames frames;

	CHECK(!frames_open(NULL, &frames));
	complaints = 0;
	for (size_t n = 0; n < ARRAY_SIZE(reporters); n++) {
		reporters[n] = connect_reporter();
		CHECK(!frames_next(&frames));
	}
	CHECK(frames.reporter_count == FRAMES_MAX_REPORTERS && complaints == 2);
	CHECK(frames_fds(&frames, fds) == FRAMES_MAX_FDS);
	CHECK(was_closed(reporters[FRAMES_MAX_REPORTERS]) &&
	      was_closed(reporters[FRAMES_MAX_REPORTERS + 1]));
	CHECK(sends(reporters[FRAMES_MAX_REPORTERS - 1], "frame") && frames_next(&frames));
	frames_close(&frames);
	for (size_t n = 0; n < ARRAY_SIZE(reporters); n++)
		close(reporters[n]);
}

/* Whether a tool of one user accepts a program of another user. */
static bool accepts(uid_t tool, uid_t program)
{
	struct frames frames;
	bool heard;
	int fd;

	CHECK(!seteuid(tool) && !frames_open(NULL, &frames));
	CHECK(!seteuid(0) && !seteuid(program));
	fd = connect_reporter();
	CHECK(!seteuid(0) && !seteuid(tool));
	CHECK(sends(fd, "frame"));
	heard = frames_next(&frames);
	frames_close(&frames);
	close(fd);
	CHECK(!seteuid(0));
	return heard;
}

TEST("frames of another user are refused")
{
	if (geteuid()) {
		puts("# users of frames: needs root");
		return;
	}
	complaints = 0;
	CHECK(accepts(1, 1) && accepts(1, 0) && accepts(0, 1) && !complaints);
	CHECK(!accepts(1, 2) && complaints == 1);
}

TEST("clients of one user share one rate; other users have their own")
{
	struct serve_shared *shared = serve_shared_new();
	const uint64_t start = 5 * NS_PER_S, ms = NS_PER_S / 1000;
	struct serve_share first, second, other;

	CHECK(serve_share_take(shared, 0, start, &first));
	serve_share_note(&first, 11);
	CHECK(serve_share_take(shared, 0, start, &second));
	serve_share_note(&second, 12);
	CHECK(serve_share_take(shared, 1000, start, &other));
	serve_share_note(&other, 13);

	/* commands are an interval apart; unused time allows no burst */
	CHECK(!serve_share_wait_ns(&first, start + 900 * ms, ms));
	CHECK(serve_share_wait_ns(&second, start + 900 * ms, ms) == ms);
	CHECK(serve_share_wait_ns(&first, start + 900 * ms, ms) == 2 * ms);
	CHECK(!serve_share_wait_ns(&other, start + 900 * ms, ms));

	/* periodic sessions: four of the shortest period, or more of longer ones */
	for (int n = 0; n < 3; n++)
		CHECK(serve_share_add_period(&first, ms, ms));
	CHECK(serve_share_add_period(&second, 2 * ms, ms));
	CHECK(!serve_share_add_period(&second, ms, ms));
	CHECK(serve_share_add_period(&second, 2 * ms, ms));
	CHECK(!serve_share_add_period(&first, 100 * ms, ms));
	CHECK(serve_share_add_period(&first, 0, ms) && serve_share_add_period(&other, ms, ms));
	serve_share_end_period(&second, 2 * ms);
	CHECK(serve_share_add_period(&first, 2 * ms, ms));

	/* exit frees the resources of a process, but the time of its last command remains */
	serve_share_drop(shared, 11);
	serve_share_drop(shared, 12);
	CHECK(serve_share_take(shared, 0, start + 900 * ms, &first));
	serve_share_note(&first, 14);
	CHECK(serve_share_wait_ns(&first, start + 900 * ms, ms) == 3 * ms);
	for (int n = 0; n < 4; n++)
		CHECK(serve_share_add_period(&first, ms, ms));

	/* slots of former users are free unless they must wait or have a client */
	serve_share_drop(shared, 14);
	for (uid_t uid = 2000; uid < 2000 + SERVE_MAX_CLIENTS - 2; uid++) {
		CHECK(serve_share_take(shared, uid, start + 900 * ms, &second));
		CHECK(!serve_share_wait_ns(&second, start + 900 * ms, ms));
	}
	CHECK(!serve_share_take(shared, 5000, start + 900 * ms, &second));
	CHECK(serve_share_take(shared, 5000, start + 2 * NS_PER_S, &second));
	serve_shared_free(shared);
}

/* A client of a pod of its own did something. */
static void use_gpu(struct uses *uses, unsigned int pod, uint64_t ns, bool is_here)
{
	char cgroup[128], command[16];

	snprintf(cgroup, sizeof(cgroup), "0::/kubepods/pod%032x/%064x", pod, pod);
	snprintf(command, sizeof(command), "app%u", pod);
	uses_take(uses, &(struct perfctr_client_use){ .event = "i915@0000:00:02.0:engine-render",
						      .cgroup = cgroup,
						      .command = command,
						      .ns = ns,
						      .engines = 1,
						      .is_here = is_here });
}

/* All that was counted, whatever its series. */
static uint64_t sum_of(const struct uses *uses)
{
	uint64_t sum = uses->engines[0].other_ns + uses->engines[0].ended_ns;

	for (size_t n = 0; n < uses->count; n++)
		sum += uses->series[n]->ns;
	return sum;
}

/* Comparisons for each of the last of @count pods, all with a series; they end, and others come. */
static uint64_t client_cost(struct perfctr_ctx *ctx, unsigned int count)
{
	struct uses uses = { .limit = count };
	struct app app = { .ctx = ctx };
	const unsigned int last = 1000;
	uint64_t most, begin;

	CHECK(!uses_open(&app, &uses));
	for (unsigned int n = 0; n < count - last; n++)
		use_gpu(&uses, n, 1, false);
	begin = uses_comparisons();
	for (unsigned int n = count - last; n < count; n++)
		use_gpu(&uses, n, 1, false);
	most = uses_comparisons() - begin;
	CHECK(uses.count == count && !uses.engines[0].other_ns);
	/* no room before they were shown; then the first one shown goes first */
	use_gpu(&uses, count, 1, true);
	EQUAL(uses.engines[0].other_ns, 1);
	uses_shown(&uses);
	begin = uses_comparisons();
	for (unsigned int n = 0; n < last; n++)
		use_gpu(&uses, count + n, 1, true);
	if (uses_comparisons() - begin > most)
		most = uses_comparisons() - begin;
	CHECK(uses.count == count);
	EQUAL(uses.engines[0].ended_ns, last);
	use_gpu(&uses, last, 1, true);
	EQUAL(uses.engines[0].ended_ns, last);
	EQUAL(sum_of(&uses), count + last + 2);
	uses_free(&uses);
	return most / last;
}

TEST("a client costs the exporter as many comparisons as a tree of the others is high")
{
	struct perfctr_ctx *ctx = NULL;
	uint64_t few, many;

	CHECK(!perfctr_ctx_new(&ctx));
	few = client_cost(ctx, 2000);
	many = client_cost(ctx, 32000);
	/* of three searches and a removal in two trees, each of at most 2 * log2(n) */
	CHECK(few > 10 && few <= 8 * 2 * 11);
	CHECK(many <= few + 8 * 2 * 4);
	perfctr_ctx_unref(ctx);
}

TEST("an owner has an eighth of the series, in which its newest ones take the oldest ones' places")
{
	static const char user[] = "0::/user.slice/user@1000.service/a.scope";
	struct uses uses = { .limit = 80 };
	struct perfctr_ctx *ctx = NULL;
	struct app app = { 0 };
	char command[16];
	size_t own = 0;

	CHECK(!perfctr_ctx_new(&ctx));
	app.ctx = ctx;
	CHECK(!uses_open(&app, &uses));
	for (unsigned int n = 0; n < 60; n++)
		use_gpu(&uses, n, 100, true);
	for (unsigned int n = 0; n < 1000; n++) {
		snprintf(command, sizeof(command), "evil%u", n);
		uses_take(&uses,
			  &(struct perfctr_client_use){ .event = "i915@0000:00:02.0:engine-render",
							.cgroup = user,
							.command = command,
							.ns = 1,
							.engines = 1 });
		if (n % 50 == 49)
			uses_shown(&uses);
	}
	for (size_t n = 0; n < uses.count; n++)
		own += !!strstr(uses.series[n]->labels, "user@1000.service");
	EQUAL(own, 12);
	EQUAL(uses.count, 72);
	EQUAL(uses.engines[0].other_ns, 0);
	EQUAL(sum_of(&uses), 60 * 100 + 1000);
	uses_free(&uses);
	perfctr_ctx_unref(ctx);
}

TEST("means of stat are between their extremes, and equal to them if all are equal")
{
	unsigned int outside = 0;

	srandom(27);
	for (unsigned int round = 0; round < 20000; round++) {
		struct row_stat stat = { 0 };
		const long count = 1 + random() % 9;
		struct row row = { .unit = "" };

		for (long n = 0; n < count; n++) {
			uint64_t ns = 1 + (uint64_t)random() * (round % 3 ? 1 : 1000);

			if (!n || round % 2)
				row.rate = ldexp((double)random() - RAND_MAX / 4,
						 (int)(random() % 60));
			/* the last one may belong to the one before */
			row_stat_add_interval(&stat, &row, ns, !n || n + 1 < count || round % 5);
		}
		row_stat_end_run(&stat);
		outside += !(stat.min <= row_stat_mean(&stat) && row_stat_mean(&stat) <= stat.max);
		outside += round % 2 == 0 && stat.min != stat.max;
	}
	EQUAL(outside, 0);
}

/* counts of the events in (end - length, end] */
static uint64_t events_in(const uint64_t *events, size_t count, uint64_t end, uint64_t length)
{
	uint64_t sum = 0;

	for (size_t n = 0; n < count; n++)
		sum += events[n] <= end && events[n] + length > end;
	return sum;
}

TEST("no interval exceeds what a window counts, and it counts at most two samples more")
{
	enum { EVENTS = 200, SPAN = 2000 };
	struct window *w = malloc(sizeof(*w));

	srandom(25);
	for (unsigned int round = 0; round < 60; round++) {
		uint64_t events[EVENTS], start = 0;
		const uint64_t length = 20 + (uint64_t)random() % 300;

		*w = (struct window){ .length_ns = length };
		for (size_t n = 0; n < EVENTS; n++)
			events[n] = 1 + (uint64_t)random() % SPAN;
		while (start < SPAN) {
			const uint64_t end = start + 1 + (uint64_t)random() % 60;
			const uint64_t in = events_in(events, EVENTS, end, end - start);
			const uint64_t counted = window_add(w, start, end, in);
			const uint64_t first = w->samples[w->first].start_ns;

			for (uint64_t at = start + 1; at <= end; at++)
				CHECK(events_in(events, EVENTS, at, length) <= counted);
			/* whole samples, none of which ended before the interval begins */
			EQUAL(counted, events_in(events, EVENTS, end, end - first));
			CHECK(start < length || w->samples[w->first].end_ns > start - length);
			start = end;
		}
	}
	/* more samples than it holds, and sums beyond 64 bits */
	*w = (struct window){ .length_ns = UINT64_MAX / 2 };
	for (uint64_t n = 0; n < 2 * WINDOW_SAMPLES; n++)
		EQUAL(window_add(w, n, n + 1, 3), 3 * (n + 1));
	CHECK(window_add(w, 9999, 10000, UINT64_MAX) == UINT64_MAX);
	free(w);
}

TEST("limits are counts in a window, rates and percent, in integers")
{
	static const struct {
		const char *text;
		uint64_t length_ns, full_hz, limit;
		int error;
	} cases[] = {
		{ "20M", 1, 0, 20000000, 0 },
		{ "2G/s", 10000000, 0, 20000000, 0 },
		{ "2GB/s", 1, 0, 2, 0 },
		{ "1/s", 999999999, 0, 0, -ERANGE },
		{ "101%", 1000000, 1000000000, 0, -ERANGE },
		{ "30%", 10000000, 1000000000, 3000000, 0 },
		{ "12.5%", 1000000, 800000000, 100000, 0 },
		{ "0.000001%", 1000000000, 1000000000, 10, 0 },
		{ "30%", 1, 0, 0, -EDOM },
		{ "%", 1, 1, 0, -EINVAL },
		{ "1..5%", 1, 1, 0, -EINVAL },
		{ "-1", 1, 1, 0, -EINVAL },
		{ "2G/h", 1, 1, 0, -EINVAL },
		{ "/s", 1, 1, 0, -EINVAL },
		{ "", 1, 1, 0, -EINVAL },
		{ "18446744073709551616", 1, 1, 0, -ERANGE },
		{ "18446744073709551615/s", 2000000000, 1, 0, -ERANGE },
		{ "18446744073709551615%", UINT64_MAX, UINT64_MAX, 0, -ERANGE },
	};

	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		uint64_t limit = 0;
		const int error =
			window_limit(cases[n].text, cases[n].length_ns, cases[n].full_hz, &limit);

		EQUAL(error, cases[n].error);
		EQUAL(error ? 0 : limit, cases[n].limit);
	}
}
