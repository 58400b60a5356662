// SPDX-License-Identifier: MIT
/* Texts of sysfs and perf: lists of CPUs, files of any length, generic events, modifiers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include "base/cpus.h"
#include "counters/generic.h"
#include "fixture.h"

#define LIST_PATH "/sys/devices/system/cpu/online"

TEST("lists of CPUs have ranges, strides and any order")
{
	static const struct {
		const char *text;
		size_t count;
		int first, last;
	} cases[] = {
		{ "", 0, -1, -1 },
		{ "0", 1, 0, 0 },
		{ "0-3,6", 5, 0, 6 },
		{ "6,0-3", 5, 0, 6 },
		{ "0-3,2-5", 6, 0, 5 },
		{ "0-30:1/2", 16, 0, 30 },
		{ "8-23:2/8", 4, 8, 17 },
		{ "8191,4096-4099", 5, 4096, 8191 },
		{ "131071", 1, 131071, 131071 },
	};

	for (size_t n = 0; n < ARRAY_SIZE(cases); n++) {
		struct cpu_list list;

		if (!EQUAL(cpu_list_parse(cases[n].text, &list), 0) ||
		    !EQUAL(list.count, cases[n].count))
			test_fail(__FILE__, __LINE__, "at \"%s\"", cases[n].text);
		if (list.count) {
			EQUAL(list.cpus[0], cases[n].first);
			EQUAL(list.cpus[list.count - 1], cases[n].last);
			CHECK(cpu_list_has(&list, cases[n].last));
		}
		CHECK(!cpu_list_has(&list, 7));
		cpu_list_free(&list);
	}
}

TEST("what is no list of CPUs is refused")
{
	static const char *const cases[] = {
		"x",
		"0-",
		"-1",
		"0,",
		",0",
		"3-0",
		"0;1",
		"0-3:",
		"0-3:1",
		"0-3:2/1",
		"0-3:0/2",
		"131072",
		"99999999999999999999",
		"0x3",
		"0 1",
	};

	for (size_t n = 0; n < ARRAY_SIZE(cases); n++) {
		struct cpu_list list;

		if (!EQUAL(cpu_list_parse(cases[n], &list), -EINVAL))
			test_fail(__FILE__, __LINE__, "at \"%s\"", cases[n]);
		EQUAL(list.count, 0);
		cpu_list_free(&list);
	}
}

TEST_WITH(begin_fake, end, "files are read whole, or are an error beyond a sane length")
{
	static char text[SYS_MAX_TEXT_BYTES + 2];
	const size_t lengths[] = { 0, 1, 255, 256, 4095, 4096, 65536, SYS_MAX_TEXT_BYTES - 1 };
	struct cpu_list list;
	char *read;

	for (size_t n = 0; n < ARRAY_SIZE(lengths); n++) {
		memset(text, 'x', lengths[n]);
		strcpy(text + lengths[n], "");
		fake_file(fake, LIST_PATH, text);
		EQUAL(perfctr_sys_read_all(&fake->sys, LIST_PATH, &read), (int)lengths[n]);
		EQUAL_TEXT(read, text);
		free(read);
	}
	memset(text, '1', SYS_MAX_TEXT_BYTES + 1);
	fake_file(fake, LIST_PATH, text);
	EQUAL(perfctr_sys_read_all(&fake->sys, LIST_PATH, &read), -EFBIG);
	CHECK(!read);
	EQUAL(cpu_list_read(&fake->sys, LIST_PATH, &list), -EFBIG);
	EQUAL(cpu_list_read(&fake->sys, "/nowhere", &list), -ENOENT);
}

TEST("perf's generic and raw events")
{
	struct generic_event event;
	uint64_t config;

	CHECK(generic_event_find("idle-cycles-backend", &event));
	EQUAL(event.type, PERF_TYPE_HARDWARE);
	EQUAL(event.config, PERF_COUNT_HW_STALLED_CYCLES_BACKEND);
	CHECK(generic_event_find("LLC-store-misses", &event));
	EQUAL(event.type, PERF_TYPE_HW_CACHE);
	EQUAL(event.config, PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_WRITE << 8 |
				    PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	CHECK(!event.names[0]);
	CHECK(generic_event_find("CYCLES", &event));
	EQUAL(event.config, PERF_COUNT_HW_CPU_CYCLES);
	CHECK(!generic_event_find("L1-dcache-load", &event));
	CHECK(raw_event_parse("r1C0", &config) && config == 0x1c0);
	CHECK(raw_event_parse("r0x1c0", &config) && config == 0x1c0);
	CHECK(raw_event_parse("rffffffffffffffff", &config) && config == UINT64_MAX);
	CHECK(!raw_event_parse("r", &config));
	CHECK(!raw_event_parse("r0x", &config));
	CHECK(!raw_event_parse("r1g", &config));
	CHECK(!raw_event_parse("r11111111111111111", &config));
}

TEST_WITH(begin_fake, end, "perf's modifiers")
{
	static const struct {
		const char *text;
		uint32_t flags;
	} cases[] = {
		{ "", 0 },
		{ "u", LOCAL_REQUEST_NO_KERNEL | LOCAL_REQUEST_NO_HV },
		{ "ku", LOCAL_REQUEST_NO_HV },
		{ "ukh", 0 },
		{ "G", LOCAL_REQUEST_NO_HOST },
		{ "H", LOCAL_REQUEST_NO_GUEST },
		{ "GH", 0 },
		{ "hI", LOCAL_REQUEST_NO_USER | LOCAL_REQUEST_NO_KERNEL | LOCAL_REQUEST_NO_IDLE },
	};
	uint32_t flags;

	for (size_t n = 0; n < ARRAY_SIZE(cases); n++) {
		EQUAL(modifiers_parse(ctx, "x", cases[n].text, &flags), 0);
		if (!EQUAL(flags, cases[n].flags))
			test_fail(__FILE__, __LINE__, "at \"%s\"", cases[n].text);
	}
	EQUAL(modifiers_parse(ctx, "x", "up", &flags), -EINVAL);
	HAS_TEXT(perfctr_ctx_error(ctx), "the modifier \"p\" is not supported: it is for sampling");
	EQUAL(modifiers_parse(ctx, "x", "W", &flags), -EINVAL);
}
