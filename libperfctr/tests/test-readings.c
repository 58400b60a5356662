// SPDX-License-Identifier: MIT
/* DRM clients, sensors and clocks in a made-up /proc and /sys, after the kernel's documents. */
#include "tree.h"

#define I915 "drm/i915@0000:00:02.0:"

/* A DRM file of a process, by the name of its node. */
static void put_node(int pid, int fd, const char *content, const char *node)
{
	char path[PATH_BYTES], link[2 * PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	put(path, content);
	snprintf(path, sizeof(path), "/proc/%d/fd/.", pid);
	snprintf(link, sizeof(link), "%s/proc/%d/fd", root, pid);
	mkdir(link, 0755);
	snprintf(link, sizeof(link), "%s/proc/%d/fd/%d", root, pid, fd);
	unlink(link);
	if (symlink(node, link))
		abort();
}

static void put_client(int pid, int fd, const char *content)
{
	put_node(pid, fd, content, "/dev/dri/renderD128");
}

static void put_i915(int pid, int fd, int client, unsigned int render_ns)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "pos:\t0\nflags:\t0100002\nmnt_id:\t21\ndrm-driver:\ti915\n"
		 "drm-pdev:\t0000:00:02.0\ndrm-client-id:\t%d\n"
		 "drm-engine-render:\t%u ns\ndrm-engine-copy:\t2035071108 ns\n"
		 "drm-engine-video:\t0 ns\ndrm-engine-capacity-video:\t2\n"
		 "drm-total-system0:\t4 MiB\ndrm-resident-system0:\t%d KiB\n",
		 client, render_ns, 100 * client);
	put_client(pid, fd, text);
}

/* Samples up to the one with the next search for clients, which comes after a pause, summed. */
static struct seen take_samples_to_search(void)
{
	const unsigned int before = searches;
	struct seen sum = { 0 };

	while (searches == before) {
		struct seen seen = take_sample();

		for (size_t n = 0; n < ARRAY_SIZE(sum.values); n++)
			sum.values[n] += seen.values[n];
		sum.lost_ns += seen.lost_ns;
		sum.states |= seen.states;
		sum.valid = seen.valid;
		usleep(1000);
	}
	return sum;
}

/* The sample that finds new clients. */
static struct seen take_sample_with(uint32_t valid, uint64_t value)
{
	struct seen seen = take_sample();

	for (unsigned int n = 0; n < 1000 && (seen.valid != valid || seen.values[0] != value);
	     n++) {
		usleep(10000);
		seen = take_sample();
	}
	return seen;
}

/* --- tests ------------------------------------------------------------------------- */

TEST_WITH(begin, end_tree, "engine times count each DRM client once and never go backwards")
{
	struct seen seen;

	put_i915(100, 3, 7, 1000);
	/* the same client by another file, and in another process */
	put_i915(100, 4, 7, 1000);
	put_i915(101, 3, 7, 1000);
	put_i915(102, 3, 8, 5000);
	start(I915 "engine-render/," I915 "engine-video/," I915 "engine-missing/", 3);
	put_i915(100, 3, 7, 1300);
	put_i915(102, 3, 8, 5050);
	seen = take_sample();
	EQUAL(seen.values[0], 350);
	EQUAL(seen.values[1], 0);
	/* no client has it: not measured, rather than zero */
	EQUAL(seen.valid, 3);
	EQUAL(seen.lost_ns, 0);
	/* after a reset of the GPU: the larger value stays */
	put_i915(100, 3, 7, 20);
	put_i915(102, 3, 8, 5100);
	seen = take_sample();
	EQUAL(seen.values[0], 50);
	put_i915(100, 3, 7, 1310);
	EQUAL(take_sample().values[0], 10);
}

TEST_WITH(begin, end_tree, "clients that end keep their counts and lose time; new ones count whole")
{
	struct seen seen;

	put_i915(100, 3, 7, 1000);
	put_i915(102, 3, 8, 5000);
	start(I915 "engine-render/," I915 "resident-system0/", 2);
	put_i915(100, 3, 7, 1100);
	seen = take_sample();
	EQUAL(seen.values[0], 100);
	EQUAL(seen.values[1], 1500 << 10);
	/* one ends; one that is newer than START is counted from its begin */
	drop("/proc/100");
	put_i915(103, 3, 9, 77);
	seen = take_samples_to_search();
	EQUAL(seen.values[0], 77);
	CHECK(seen.lost_ns > 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	EQUAL(seen.values[1], 1700 << 10);
	EQUAL(seen.lost_ns, 0);
	CHECK(!(seen.states & DRM_PERFCTR_STATE_LOST));
}

/* the sums of the session before must not be what the next one begins with */
TEST_WITH(begin, end_tree, "a session that starts again without its client begins at zero")
{
	put_i915(100, 3, 7, 1000);
	start(I915 "engine-render/", 1);
	put_i915(100, 3, 7, 5000);
	EQUAL(take_sample().values[0], 4000);
	EQUAL(perfctr_session_stop(session, 0), 0);
	perfctr_cursor_advance(cursor, 1);
	drop("/proc/100");
	EQUAL(perfctr_session_start(session, 0), 0);
	EQUAL(take_sample().valid, 0);
	put_i915(103, 3, 9, 77);
	EQUAL(take_sample_with(1, 77).values[0], 77);
}

TEST_WITH(begin, end_tree, "pid= counts the clients of one process")
{
	put_i915(100, 3, 7, 1000);
	put_i915(102, 3, 8, 5000);
	start(I915 "engine-render,pid=102/", 1);
	put_i915(100, 3, 7, 1100);
	put_i915(102, 3, 8, 5003);
	EQUAL(take_sample().values[0], 3);
}

TEST_WITH(begin, end_tree, "pid= takes the number of one process")
{
	static const char *const wrong[] = {
		"-1", "0", "x", "7x", "", "99999999999", "100,pid=101"
	};

	put_i915(100, 3, 7, 1000);
	put_i915(101, 3, 8, 1000);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	for (size_t n = 0; n < ARRAY_SIZE(wrong); n++) {
		char event[96];

		snprintf(event, sizeof(event), I915 "engine-render,pid=%s/", wrong[n]);
		EQUAL(perfctr_selection_add(selection, event), -EINVAL);
		HAS_TEXT(perfctr_ctx_error(ctx), "pid=");
	}
}

static void put_xe(int pid, int client, unsigned int cycles, unsigned int total)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "drm-driver:\txe\ndrm-client-id:\t%d\ndrm-pdev:\t0000:03:00.0\n"
		 "drm-cycles-rcs:\t%u\ndrm-total-cycles-rcs:\t%u\n",
		 client, cycles, total);
	put_client(pid, 5, text);
}

/* the clock is the same for all clients, their cycles are not */
TEST_WITH(begin, end_tree, "cycles of clients add up, their clock does not")
{
	struct seen seen;

	put_xe(100, 1, 10, 1000);
	put_xe(101, 2, 20, 1000);
	start("drm/xe@0000:03:00.0:cycles-rcs/,drm/xe@0000:03:00.0:total-cycles-rcs/", 2);
	put_xe(100, 1, 60, 1100);
	put_xe(101, 2, 40, 1101);
	seen = take_sample();
	EQUAL(seen.values[0], 70);
	EQUAL(seen.values[1], 101);
}

TEST_WITH(begin, end_tree, "temperature, frequency and load are levels; energy is a count")
{
	struct perfctr_totals *totals;
	struct perfctr_sample sample;
	const struct perfctr_total *total;

	put("/sys/class/hwmon/hwmon2/name", "coretemp\n");
	put("/sys/class/hwmon/hwmon2/temp1_input", "41000\n");
	put("/sys/class/hwmon/hwmon2/energy1_input", "1000000\n");
	put("/sys/class/devfreq/fb000000.gpu/cur_freq", "300000000\n");
	put("/sys/class/drm/card0/gt/gt0/rps_act_freq_mhz", "350\n");
	put("/sys/class/drm/card0-DP-1/gt/gt0/rps_act_freq_mhz", "1\n");
	put("/sys/class/drm/card0/device/gpu_busy_percent", "12\n");
	/* "drm/card0*" is what sysfs has, in byte order */
	start("hwmon/hwmon2-coretemp:*/,devfreq/*/,drm/card0*/", 5);
	EQUAL(perfctr_totals_new(ctx, &totals), 0);
	for (int n = 0; n < 3; n++) {
		put("/sys/class/hwmon/hwmon2/temp1_input", n == 2 ? "43000\n" : "42000\n");
		put("/sys/class/hwmon/hwmon2/energy1_input", n == 2 ? "1300000\n" : "1100000\n");
		EQUAL(perfctr_session_sample(session, 0), 0);
		EQUAL(perfctr_cursor_next(cursor, &sample), 1);
		EQUAL(perfctr_totals_add(totals, &sample), 0);
		perfctr_cursor_advance(cursor, 1);
	}
	{
		const uint64_t expected[] = { 43000, 300000, 300000000, 350000000, 12 };

		EQUAL(perfctr_totals_block_count(totals), ARRAY_SIZE(expected));
		for (size_t n = 0; n < ARRAY_SIZE(expected); n++) {
			total = perfctr_totals_counter(perfctr_totals_block(totals, n), 0);
			EQUAL(total->sum, expected[n]);
			EQUAL(total->desc->kind == PERFCTR_KIND_LEVEL, n != 1);
		}
	}
	/* a sensor that is gone is not measured */
	drop("/sys/class/hwmon/hwmon2");
	EQUAL(take_sample().valid, 0x1c);
	perfctr_totals_unref(totals);
}

TEST_WITH(begin, end_tree,
	  "energy that cannot be read at first or goes backwards counts from there on")
{
	struct seen seen;

	put("/sys/class/hwmon/hwmon2/name", "coretemp\n");
	put("/sys/class/hwmon/hwmon2/energy1_input", "none\n");
	start("hwmon/hwmon2-coretemp:*/", 1);
	put("/sys/class/hwmon/hwmon2/energy1_input", "1000000\n");
	EQUAL(take_sample().values[0], 0);
	put("/sys/class/hwmon/hwmon2/energy1_input", "500000\n");
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	put("/sys/class/hwmon/hwmon2/energy1_input", "700000\n");
	EQUAL(take_sample().values[0], 200000);
}

static int names;

static int count_name(void *data, const struct perfctr_pmu_event *event)
{
	if (!strcmp(event->pmu, "drm") && event->event)
		names++;
	return 0;
}

TEST_WITH(begin, end_tree, "the list has the keys of all clients once")
{
	put_i915(100, 3, 7, 1000);
	put_i915(102, 3, 8, 5000);
	names = 0;
	EQUAL(perfctr_pmu_events(ctx, count_name, NULL), 0);
	/* render, copy, video, and two of memory; not the capacity */
	EQUAL(names, 5);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_selection_add(selection, I915 "motor-render/"), -ENOENT);
	HAS_TEXT(perfctr_ctx_error(ctx), "drm has no counter or event");
	HAS_TEXT(perfctr_ctx_error(ctx), "did you mean i915@0000:00:02.0:engine-render");
	put("/proc/102/comm", "Xorg\n");
	EQUAL(perfctr_selection_add(selection, "drm/*:engine-render,pid=*/"), 2);
	/* a name does it, too */
	EQUAL(perfctr_selection_add(selection, I915 "engine-render,pid=*/"), 2);
	EQUAL(perfctr_selection_request_count(selection), 2);
	{
		const struct perfctr_block block = { .type = DRM_PERFCTR_BLOCK_GENERIC_PMU,
						     .index = 1 };
		char text[64];

		perfctr_counter_label(selection, &block, 0, text, sizeof(text));
		CHECK(!strcmp(text, "i915@0000:00:02.0:engine-render,pid=102 (Xorg)"));
	}
}

/* the values of panfrost stand still until a switch in sysfs is on */
TEST_WITH(begin, end_tree, "a driver's switch for engine times is named if it is off")
{
	put_client(100, 3,
		   "drm-driver:\tpanfrost\ndrm-client-id:\t3\n"
		   "drm-engine-fragment:\t1846584880 ns\ndrm-cycles-fragment:\t1424359409\n"
		   "drm-maxfreq-fragment:\t799999987 Hz\ndrm-curfreq-fragment:\t799999987 Hz\n"
		   "drm-total-memory:\t290 MiB\ndrm-resident-memory:\t36496 KiB\n");
	put("/sys/bus/platform/drivers/panfrost/ffe40000.gpu/profiling", "0\n");
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_selection_add(selection, "drm/panfrost:engine-fragment/"), 1);
	EQUAL(perfctr_session_new(selection, NULL, &session), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "echo 1 | sudo tee");
	put("/sys/bus/platform/drivers/panfrost/ffe40000.gpu/profiling", "1\n");
	start("drm/panfrost:curfreq-fragment/,drm/panfrost:resident-memory/", 2);
	EQUAL(take_sample().values[2], 36496ull << 10);
}

TEST_WITH(begin, end_tree, "the clock of an engine goes on while clients come and go")
{
	uint64_t cycles = 0, total = 0;
	struct seen seen;

	put_xe(100, 1, 0, 1000000);
	start("drm/xe@0000:03:00.0:cycles-rcs/,drm/xe@0000:03:00.0:total-cycles-rcs/", 2);
	for (unsigned int n = 1; n <= 3; n++) {
		char path[32];

		put_xe(99 + (int)n, (int)n, 1000, 1000000 + 1000 * n);
		seen = take_samples_to_search();
		cycles += seen.values[0];
		total += seen.values[1];
		snprintf(path, sizeof(path), "/proc/%u", 99 + n);
		drop(path);
		put_xe(100 + (int)n, (int)n + 1, 0, 1000000 + 1000 * n);
	}
	EQUAL(cycles, 3000);
	EQUAL(total, 3000);
	/* without a client nobody shows the clock; the next one shows how far it went */
	drop("/proc/103");
	EQUAL(take_sample().valid, 1);
	put_xe(104, 5, 10, 1005000);
	seen = take_sample_with(3, 10);
	EQUAL(seen.valid, 3);
	EQUAL(seen.values[0], 10);
	EQUAL(seen.values[1], 2000);
	/* it starts again */
	put_xe(104, 5, 10, 100);
	EQUAL(take_sample().values[1], 0);
	put_xe(104, 5, 10, 400);
	EQUAL(take_sample().values[1], 300);
}

TEST_WITH(begin, end_tree, "cycles begin with their clock if no client was there at START")
{
	struct seen seen;

	start("drm/xe@0000:03:00.0:cycles-rcs/,drm/xe@0000:03:00.0:total-cycles-rcs/", 2);
	EQUAL(take_sample().valid, 0);
	put_xe(100, 1, 900, 1000000);
	put_xe(101, 2, 800, 1000000);
	seen = take_sample_with(3, 0);
	EQUAL(seen.valid, 3);
	EQUAL(seen.values[0], 0);
	EQUAL(seen.values[1], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	put_xe(100, 1, 950, 1000100);
	seen = take_sample();
	EQUAL(seen.values[0], 50);
	EQUAL(seen.values[1], 100);
	CHECK(!(seen.states & DRM_PERFCTR_STATE_LOST));
	/* from now on the clock is known, and all cycles of a new client count */
	put_xe(102, 3, 70, 1000200);
	seen = take_sample_with(3, 70);
	EQUAL(seen.values[0], 70);
}

static void put_seconds(const char *engine, unsigned int seconds)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "drm-driver:\tamdgpu\ndrm-client-id:\t9\ndrm-memory-vram:\t8 KiB\n"
		 "drm-engine-gfx:\t%u s\n%s",
		 seconds, engine);
	put_client(70, 4, text);
}

TEST_WITH(begin, end_tree, "more time than engines have is lost, not counted")
{
	struct seen seen;

	put_seconds("", 5);
	start("drm/amdgpu:engine-gfx/,drm/amdgpu:engine-dec/", 2);
	put_seconds("", 3605);
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	put_seconds("", 3606);
	seen = take_sample();
	EQUAL(seen.values[0], 1000000000);
	CHECK(!(seen.states & DRM_PERFCTR_STATE_LOST));
	/* a value that was missing, not zero */
	put_seconds("drm-engine-dec:\t7200000000000 ns\n", 3606);
	seen = take_sample();
	EQUAL(seen.values[1], 0);
	EQUAL(seen.valid, 3);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	put_seconds("drm-engine-dec:\t7200000000500 ns\n", 3606);
	EQUAL(take_sample().values[1], 500);
}

TEST_WITH(begin, end_tree, "an id of a client that ended may be another client's")
{
	put_i915(100, 3, 7, 5000);
	start(I915 "engine-render/", 1);
	put_i915(100, 3, 7, 5100);
	EQUAL(take_sample().values[0], 100);
	drop("/proc/100");
	put_i915(101, 3, 7, 40);
	EQUAL(take_samples_to_search().values[0], 40);
	drop("/proc/101");
	EQUAL(take_samples_to_search().values[0], 0);
	put_i915(102, 3, 7, 30);
	EQUAL(take_sample_with(1, 30).values[0], 30);
}

TEST_WITH(begin, end_tree, "a client that starts again counts on; a dip counts nothing twice")
{
	put_i915(100, 3, 7, 4294967000u);
	start(I915 "engine-render/", 1);
	/* a 32-bit counter that wraps */
	put_i915(100, 3, 7, 100);
	CHECK(take_sample().states & DRM_PERFCTR_STATE_LOST);
	put_i915(100, 3, 7, 700);
	EQUAL(take_sample().values[0], 600);
	put_i915(100, 3, 7, 4294967050u);
	EQUAL(take_sample().values[0], 0);
	/* a little lower: the document asks to wait */
	put_i915(100, 3, 7, 4294967000u);
	EQUAL(take_sample().values[0], 0);
	put_i915(100, 3, 7, 4294967040u);
	EQUAL(take_sample().values[0], 0);
	put_i915(100, 3, 7, 4294967060u);
	EQUAL(take_sample().values[0], 10);
}

TEST_WITH(begin, end_tree, "pid= counts a client that several processes share, and its clock")
{
	struct seen seen;

	put_xe(100, 1, 10, 1000);
	put_xe(101, 1, 10, 1000);
	put_xe(102, 2, 10, 1000);
	start("drm/xe@0000:03:00.0:cycles-rcs,pid=101/,"
	      "drm/xe@0000:03:00.0:total-cycles-rcs,pid=101/",
	      2);
	put_xe(100, 1, 60, 1200);
	put_xe(101, 1, 60, 1200);
	put_xe(102, 2, 90, 1201);
	seen = take_sample();
	EQUAL(seen.values[0], 50);
	EQUAL(seen.values[1], 201);
}

/* the time of a class of engines is that of all; its share is that of one */
TEST_WITH(begin, end_tree, "the factor of an event divides by the engines of its class")
{
	const struct perfctr_block block = { .type = DRM_PERFCTR_BLOCK_GENERIC_PMU, .index = 0 };
	char unit[16];
	double scale;

	put_i915(100, 3, 7, 1000);
	EQUAL(perfctr_selection_add(selection, I915 "engine-video/," I915 "engine-render/"), 2);
	perfctr_counter_unit(selection, &block, 0, unit, sizeof(unit), &scale);
	CHECK(scale == 0.5);
	perfctr_counter_unit(selection, &(struct perfctr_block){ .type = block.type, .index = 1 },
			     0, unit, sizeof(unit), &scale);
	CHECK(scale == 1);
}

static void put_panthor(unsigned int cycles, unsigned int ns)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "drm-driver:\tpanthor\ndrm-client-id:\t3\ndrm-engine-panthor:\t%u ns\n"
		 "drm-cycles-panthor:\t%u\ndrm-maxfreq-panthor:\t1000000000 Hz\n",
		 ns, cycles);
	put_client(100, 3, text);
}

#define PANTHOR_SWITCH "/sys/bus/platform/drivers/panthor/fb000000.gpu/profiling"

TEST_WITH(begin, end_tree, "panthor's switch has a bit for cycles and one for time")
{
	put_panthor(0, 0);
	put_i915(101, 3, 7, 1000);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_selection_add(selection, "drm/panthor:engine-panthor/"), 1);
	for (const char *bits = "01"; *bits; bits++) {
		const char text[] = { *bits, '\n', '\0' };

		put(PANTHOR_SWITCH, text);
		EQUAL(perfctr_session_new(selection, NULL, &session), -EOPNOTSUPP);
		HAS_TEXT(perfctr_ctx_error(ctx), "echo 3 | sudo tee " PANTHOR_SWITCH);
	}
	put(PANTHOR_SWITCH, "2\n");
	start(I915 "engine-render/", 1);
	put_panthor(0, 70);
	EQUAL(take_sample().values[0], 70);
	/* somebody turns it off: the value stands still, and nobody measures it */
	put(PANTHOR_SWITCH, "1\n");
	EQUAL(take_sample().valid, 2);
}

TEST_WITH(begin, end_tree, "another driver's switch is no reason to refuse an event")
{
	put_panthor(0, 0);
	put_i915(101, 3, 7, 1000);
	put(PANTHOR_SWITCH, "0\n");
	start(I915 "engine-render/", 1);
	put_i915(101, 3, 7, 1200);
	EQUAL(take_sample().values[0], 200);
}

static void put_without_id(int pid, int fd, unsigned int ns)
{
	char text[128];

	snprintf(text, sizeof(text), "drm-driver:\tetnaviv\ndrm-engine-3D:\t%u ns\n", ns);
	put_client(pid, fd, text);
}

TEST_WITH(begin, end_tree, "files without a client's id, which is optional, are clients")
{
	put_without_id(100, 3, 1000);
	put_without_id(100, 4, 2000);
	put_without_id(101, 3, 3000);
	start("drm/etnaviv:engine-3D/,drm/etnaviv:engine-3D,pid=101/", 2);
	put_without_id(100, 3, 1010);
	put_without_id(100, 4, 2020);
	put_without_id(101, 3, 3030);
	{
		struct seen seen = take_sample();

		EQUAL(seen.values[0], 60);
		EQUAL(seen.values[1], 30);
	}
}

/* 20 KB: more than the text of any driver today */
TEST_WITH(begin, end_tree, "a DRM file is known by its text, of whatever node and length")
{
	static char text[20000];
	struct seen seen;
	size_t used;

	put_node(55, 4,
		 "pos:\t0\ndrm-driver:\tamdxdna_accel_driver\ndrm-client-id:\t76\n"
		 "drm-pdev:\t0000:c5:00.1\ndrm-engine-npu-amdxdna:\t5 ns\n",
		 "/dev/accel/accel0");
	used = (size_t)snprintf(text, sizeof(text),
				"drm-driver:\tamdgpu\ndrm-client-id:\t5\n"
				"drm-pdev:\t0000:08:00.0\n");
	for (unsigned int n = 0; used < sizeof(text) - 100; n++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "drm-total-region%u:\t%u KiB\n", n, n);
	snprintf(text + used, sizeof(text) - used,
		 "drm-memory-vram:\t2 GiB\ndrm-memory-gtt:\t2 pages\n");
	put_node(60, 4, text, "/dev/gpu0");
	put_node(61, 4, "drm-driver:\ti915\ndrm-client-id:\t1\n", "socket:[123]");
	start("drm/amdxdna*:engine-npu-amdxdna/,drm/amdgpu*:memory-vram/", 2);
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	EQUAL(seen.values[1], 2ull << 30);
	/* a value with an unknown unit is none */
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_selection_add(selection, "drm/amdgpu*:memory-gtt/"), -ENOENT);
	EQUAL(perfctr_selection_add(selection, "drm/i915:*/"), -ENOENT);
}

TEST_WITH(begin, end_tree, "energy that reads low for a while counts what was used at most")
{
	static const char energy[] = "/sys/class/hwmon/hwmon7/energy1_input";
	uint64_t sum = 0;
	struct seen seen;

	put("/sys/class/hwmon/hwmon7/name", "xe\n");
	put(energy, "22543283000000\n");
	start("hwmon/hwmon7-xe:*/", 1);
	put(energy, "200000000\n");
	seen = take_sample();
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	sum += seen.values[0];
	put(energy, "200000300\n");
	sum += take_sample().values[0];
	put(energy, "22543300000000\n");
	sum += take_sample().values[0];
	EQUAL(sum, 17000000);
	put(energy, "22543301000000\n");
	EQUAL(take_sample().values[0], 1000000);
	/* a little lower, and not as high again yet */
	for (const char *const *low =
		     (const char *const[]){ "22543290000000\n", "22543295000000\n", NULL };
	     *low; low++) {
		put(energy, *low);
		seen = take_sample();
		EQUAL(seen.values[0], 0);
		CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	}
	put(energy, "22543302000000\n");
	EQUAL(take_sample().values[0], 1000000);
}

/* numbers of hwmon are those of the order of probing */
TEST_WITH(begin, end_tree, "a sensor that comes back under another number is read again")
{
	char link[PATH_BYTES];

	put("/sys/devices/pci0/a/hwmon/hwmon3/name", "xe\n");
	put("/sys/devices/pci0/a/hwmon/hwmon3/temp1_input", "41000\n");
	put("/sys/class/hwmon/.", "");
	snprintf(link, sizeof(link), "%s/sys/class/hwmon/hwmon3", root);
	if (symlink("../../devices/pci0/a/hwmon/hwmon3", link))
		abort();
	start("hwmon/hwmon3-xe:temp1_input/", 1);
	EQUAL(take_sample().values[0], 41000);
	unlink(link);
	drop("/sys/devices/pci0/a");
	put("/sys/devices/pci0/a/hwmon/hwmon4/name", "xe\n");
	put("/sys/devices/pci0/a/hwmon/hwmon4/temp1_input", "42000\n");
	put("/sys/devices/usb/b/hwmon/hwmon3/name", "xe\n");
	put("/sys/devices/usb/b/hwmon/hwmon3/temp1_input", "1000\n");
	if (symlink("../../devices/usb/b/hwmon/hwmon3", link))
		abort();
	/* its number is another device's */
	EQUAL(take_sample().valid, 0);
	snprintf(link, sizeof(link), "%s/sys/class/hwmon/hwmon4", root);
	if (symlink("../../devices/pci0/a/hwmon/hwmon4", link))
		abort();
	EQUAL(take_sample().values[0], 42000);
}

static void put_virtual(unsigned int number, const char *name, const char *input)
{
	char path[PATH_BYTES], link[PATH_BYTES];

	snprintf(path, sizeof(path), "/sys/devices/virtual/hwmon/hwmon%u/name", number);
	put(path, name);
	snprintf(path, sizeof(path), "/sys/devices/virtual/hwmon/hwmon%u/temp1_input", number);
	put(path, input);
	put("/sys/class/hwmon/.", "");
	snprintf(link, sizeof(link), "%s/sys/class/hwmon/hwmon%u", root, number);
	snprintf(path, sizeof(path), "../../devices/virtual/hwmon/hwmon%u", number);
	if (symlink(path, link) && errno != EEXIST)
		abort();
}

TEST_WITH(begin, end_tree, "a sensor that is gone is never read from another device")
{
	put_virtual(0, "acpitz\n", "40000\n");
	put_virtual(1, "acpitz\n", "90000\n");
	put_virtual(2, "other\n", "91000\n");
	start("hwmon/hwmon0-acpitz:temp1_input/", 1);
	EQUAL(take_sample().values[0], 40000);
	drop("/sys/class/hwmon/hwmon0");
	drop("/sys/devices/virtual/hwmon/hwmon0");
	EQUAL(take_sample().valid, 0);
	/* its number is another device's */
	put_virtual(0, "other\n", "92000\n");
	EQUAL(take_sample().valid, 0);
	put_virtual(0, "acpitz\n", "41000\n");
	EQUAL(take_sample().values[0], 41000);
}

TEST_WITH(begin, end_tree, "reading the sensors of a GPU does not wake it")
{
	put("/sys/class/hwmon/hwmon7/name", "xe\n");
	put("/sys/class/hwmon/hwmon7/temp1_input", "41000\n");
	put("/sys/class/hwmon/hwmon7/device/drm/card0/dev", "226:0\n");
	put("/sys/class/hwmon/hwmon7/device/power/runtime_status", "suspended\n");
	start("hwmon/hwmon7-xe:*/", 1);
	EQUAL(take_sample().valid, 0);
	put("/sys/class/hwmon/hwmon7/device/power/runtime_status", "active\n");
	EQUAL(take_sample().valid, 1);
}

/* below 0 degrees, and a rail of -12 V */
TEST_WITH(begin, end_tree, "values of sensors may be negative, and so may least and largest")
{
	static const char *const inputs[] = { "-5000\n", "-7000\n", "-6000\n" };
	const struct perfctr_total *total;
	struct perfctr_totals *totals;
	struct perfctr_sample sample;

	put("/sys/class/hwmon/hwmon0/name", "coretemp\n");
	put("/sys/class/hwmon/hwmon0/temp1_input", inputs[0]);
	start("hwmon/hwmon0-coretemp:*/", 1);
	EQUAL(perfctr_totals_new(ctx, &totals), 0);
	for (size_t n = 0; n < ARRAY_SIZE(inputs); n++) {
		put("/sys/class/hwmon/hwmon0/temp1_input", inputs[n]);
		EQUAL(perfctr_session_sample(session, 0), 0);
		EQUAL(perfctr_cursor_next(cursor, &sample), 1);
		EQUAL(perfctr_totals_add(totals, &sample), 0);
		perfctr_cursor_advance(cursor, 1);
	}
	total = perfctr_totals_counter(perfctr_totals_block(totals, 0), 0);
	EQUAL((int64_t)total->sum, -6000);
	EQUAL((int64_t)total->min, -7000);
	EQUAL((int64_t)total->max, -5000);
	EQUAL(total->measured, 3);
	EQUAL(total->overflow, 0);
	perfctr_totals_unref(totals);
}

static struct {
	char titles[256], units[64];
} listed;

static int note_sensor(void *data, const struct perfctr_pmu_event *event)
{
	if (strcmp(event->pmu, "hwmon") != 0)
		return 0;
	strcat(strcat(listed.titles, event->title), ";");
	strcat(strcat(listed.units, event->unit), ";");
	return 0;
}

TEST_WITH(begin, end_tree, "sensors have the kernel's names and units of people")
{
	static const char *const files[][2] = {
		{ "name", "amdgpu\n" },	     { "temp1_input", "41000\n" },
		{ "temp1_label", "edge\n" }, { "power1_average", "15000000\n" },
		{ "power1_label", "PPT\n" }, { "curr1_input", "-1500\n" },
		{ "fan1_input", "1200\n" },  { "fan1_label", "CPU\x1b fan\n" },
		{ "pwm1", "255\n" },	     { "pwm1_enable", "2\n" },
		{ "pwm10", "51\n" },	     { "humidity1_input", "45000\n" },
		{ "in2_average", "5000\n" }, { "curr2_average", "70\n" },
	};
	struct seen seen;

	for (size_t n = 0; n < ARRAY_SIZE(files); n++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon0/%s", files[n][0]);
		put(path, files[n][1]);
	}
	memset(&listed, 0, sizeof(listed));
	EQUAL(perfctr_pmu_events(ctx, note_sensor, NULL), 0);
	EQUAL_TEXT(listed.titles, "edge;PPT;;;;;CPU? fan;;;");
	EQUAL_TEXT(listed.units, "degC;W;V;A;A;%;RPM;%;%;");
	start("hwmon/*:[!t]*/", 8);
	seen = take_sample();
	EQUAL(seen.values[1], 5000);
	EQUAL((int64_t)seen.values[2], -1500);
	EQUAL(seen.values[3], 70);
	EQUAL(seen.values[4], 45000);
	EQUAL(seen.values[5], 1200);
	EQUAL(seen.values[6], 255);
	EQUAL(seen.values[7], 51);
}

TEST_WITH(begin, end_tree, "what no device can use and no sensor measured is not counted")
{
	static const char energy[] = "/sys/class/hwmon/hwmon7/energy1_input";
	struct seen seen;

	put("/sys/class/hwmon/hwmon7/name", "xe\n");
	/* low at START, by less than a megajoule, then by more */
	put(energy, "200000\n");
	put("/sys/class/hwmon/hwmon7/temp1_input", "127000\n");
	put("/sys/class/hwmon/hwmon7/temp1_fault", "1\n");
	start("hwmon/hwmon7-xe:energy1_input/,hwmon/hwmon7-xe:temp1_input/", 2);
	put(energy, "900000000000\n");
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	put(energy, "900001000000\n");
	EQUAL(take_sample().values[0], 1000000);
	put(energy, "22543283000000\n");
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	EQUAL(seen.valid, 1);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	put(energy, "22543284000000\n");
	put("/sys/class/hwmon/hwmon7/temp1_fault", "0\n");
	seen = take_sample();
	EQUAL(seen.values[0], 1000000);
	EQUAL(seen.valid, 3);
	EQUAL(seen.values[1], 127000);
	put(energy, "9922543284000000\n");
	EQUAL(take_sample().values[0], 0);
	put(energy, "22543285000000\n");
	EQUAL(take_sample().values[0], 0);
	put(energy, "22543286000000\n");
	EQUAL(take_sample().values[0], 1000000);
}

TEST_WITH(begin, end_tree, "the clients of a GPU of xe that sleeps are not read, which wakes it")
{
	static const char status[] = "/sys/class/drm/renderD128/device/power/runtime_status";
	char link[PATH_BYTES];
	struct seen seen;

	put_xe(100, 1, 10, 1000);
	put(status, "active\n");
	snprintf(link, sizeof(link), "%s/sys/class/drm/renderD128/device/driver", root);
	if (symlink("../../bus/pci/drivers/xe", link))
		abort();
	start("drm/xe@0000:03:00.0:cycles-rcs/,drm/xe@0000:03:00.0:total-cycles-rcs/", 2);
	put(status, "suspended\n");
	put_xe(100, 1, 60, 1100);
	seen = take_sample();
	EQUAL(seen.values[0], 0);
	EQUAL(seen.values[1], 0);
	CHECK(!(seen.states & DRM_PERFCTR_STATE_LOST));
	put(status, "active\n");
	seen = take_sample();
	EQUAL(seen.values[0], 50);
	EQUAL(seen.values[1], 100);
}

TEST_WITH(begin, end_tree, "a client that was hidden by sleep at START is not new")
{
	static const char status[] = "/sys/class/drm/renderD128/device/power/runtime_status";
	char link[PATH_BYTES];
	struct seen seen;

	put_xe(100, 1, 5000, 100000);
	put(status, "suspended\n");
	snprintf(link, sizeof(link), "%s/sys/class/drm/renderD128/device/driver", root);
	if (symlink("../../bus/pci/drivers/xe", link))
		abort();
	start("drm/xe@0000:03:00.0:cycles-rcs/", 1);
	EQUAL(take_sample().valid, 0);
	put(status, "active\n");
	seen = take_sample_with(1, 0);
	EQUAL(seen.valid, 1);
	EQUAL(seen.values[0], 0);
	CHECK(seen.states & DRM_PERFCTR_STATE_LOST);
	/* one that comes while it is awake is new */
	put_xe(101, 2, 70, 100100);
	EQUAL(take_sample_with(1, 70).values[0], 70);
}

static void put_xe_node(int pid, const char *node)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "drm-driver:\txe\ndrm-client-id:\t%d\ndrm-pdev:\t0000:03:00.0\n"
		 "drm-cycles-rcs:\t1\n",
		 pid);
	put_node(pid, 3, text, node);
}

TEST_WITH(begin, end_tree, "a GPU of xe that sleeps is left alone whatever its node is called")
{
	static const char status[] = "/sys/dev/char/226:129/device/power/runtime_status";
	static const char by_name[] = "/sys/class/drm/renderD129/device/power/runtime_status";
	static const char *const folders[] = { "/sys/dev/char/226:129",
					       "/sys/class/drm/renderD129" };
	const char *const event = "drm/xe@0000:03:00.0:cycles-rcs,pid=*/";

	put(status, "active\n");
	put(by_name, "active\n");
	for (size_t n = 0; n < ARRAY_SIZE(folders); n++) {
		char link[PATH_BYTES];

		snprintf(link, sizeof(link), "%s%s/device/driver", root, folders[n]);
		if (symlink("../../bus/pci/drivers/xe", link))
			abort();
	}
	put_xe_node(100, "/run/containers/storage/overlay-containers/"
			 "0123456789abcdef0123456789abcdef0123456789abcdef/dev/226:129");
	put_xe_node(101, "/dev/gpu0");
	/* awake, but another number */
	put("/sys/dev/char/226:130/device/power/runtime_status", "active\n");
	put_xe_node(102, "/dev/dri/226:130");
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_selection_add(selection, event), 3);
	put(status, "suspended\n");
	put(by_name, "suspended\n");
	perfctr_selection_unref(selection);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	EQUAL(perfctr_selection_add(selection, event), 1);
}

/* A client of panthor at a node "226:N", whose device sysfs calls fbN00000.gpu. */
static void put_panthor_at(int number, unsigned int ns)
{
	char text[256], path[PATH_BYTES], link[PATH_BYTES];

	snprintf(path, sizeof(path), "/sys/devices/platform/fb%d00000.gpu/uevent", number);
	put(path, "");
	put("/sys/dev/char/.", "");
	snprintf(path, sizeof(path), "/sys/dev/char/226:%d/.", number);
	put(path, "");
	snprintf(path, sizeof(path), "%s/sys/devices/platform/fb%d00000.gpu", root, number);
	snprintf(link, sizeof(link), "%s/sys/dev/char/226:%d/device", root, number);
	if (symlink(path, link) && errno != EEXIST)
		abort();
	snprintf(text, sizeof(text),
		 "drm-driver:\tpanthor\ndrm-client-id:\t3\ndrm-engine-panthor:\t%u ns\n", ns);
	snprintf(path, sizeof(path), "/dev/dri/226:%d", number);
	put_node(100 + number, 3, text, path);
}

TEST_WITH(begin, end_tree, "GPUs of one driver without drm-pdev are apart, and so are switches")
{
	struct seen seen;

	put_panthor_at(1, 1000);
	put_panthor_at(2, 5000);
	put("/sys/bus/platform/drivers/panthor/fb100000.gpu/profiling", "0\n");
	put("/sys/bus/platform/drivers/panthor/fb200000.gpu/profiling", "3\n");
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_selection_add(selection, "drm/panthor@fb100000.gpu:engine-panthor/"), 1);
	EQUAL(perfctr_session_new(selection, NULL, &session), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "tee /sys/bus/platform/drivers/panthor/fb100000.gpu/");
	perfctr_selection_unref(selection);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	start("drm/panthor@fb200000.gpu:engine-panthor/", 1);
	put_panthor_at(1, 1100);
	put_panthor_at(2, 5070);
	seen = take_sample();
	EQUAL(seen.values[0], 70);
	EQUAL(seen.valid, 1);
	put("/sys/bus/platform/drivers/panthor/fb200000.gpu/profiling", "0\n");
	EQUAL(take_sample().valid, 0);
}

TEST_WITH(begin, end_tree, "an event of a driver without a device is that of each of its GPUs")
{
	static const char folder[] = "/sys/bus/platform/drivers/panthor/fb300000.gpu/drm/card0/.";
	struct seen seen;

	put_panthor_at(1, 1000);
	put_panthor_at(2, 5000);
	put_i915(110, 3, 8, 5000);
	start("drm/panthor:engine-panthor/,drm/panthor:engine-*/,drm/i915:engine-render/", 5);
	put_panthor_at(1, 1100);
	put_panthor_at(2, 5070);
	put_i915(110, 3, 8, 5003);
	seen = take_sample();
	EQUAL(seen.valid, 7);
	EQUAL(seen.values[0], 100);
	EQUAL(seen.values[1], 70);
	EQUAL(seen.values[2], 3);
	EQUAL(perfctr_selection_add(selection, "drm/panthor:engine-panthor,pid=*/"), 2);
	end();
	/* no client yet: of the devices in sysfs that have nodes, not of other files there */
	drop("/proc");
	put("/proc/stat", "");
	put("/sys/bus/platform/drivers/panthor/module/parameters/x", "");
	put(folder, "");
	EQUAL(perfctr_ctx_new_with(&sys, &ctx), 0);
	open_device(PERFCTR_DEVICE_LOCAL);
	start("drm/panthor:engine-panthor/", 1);
	EQUAL(take_sample().valid, 0);
	put_panthor_at(3, 42);
	EQUAL(take_sample_with(1, 42).values[0], 42);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_selection_add(selection, "drm/panthor:nothing/"), -ENOENT);
}

TEST_WITH(begin, end_tree, "one of a driver's GPUs that is off is no reason to refuse another")
{
	put_panthor(0, 0);
	put(PANTHOR_SWITCH, "0\n");
	put("/sys/bus/platform/drivers/panthor/fc000000.gpu/profiling", "2\n");
	start("drm/panthor:engine-panthor/", 1);
	put_panthor(0, 70);
	EQUAL(take_sample().values[0], 70);
}

/* Lists of chips' files that a session of so many sensors takes. */
static unsigned int lists_of_sensors(unsigned int chips)
{
	struct perfctr_selection *sensors;
	struct perfctr_session *readers;
	char path[PATH_BYTES];

	for (unsigned int n = 0; n < chips; n++) {
		snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%u/name", n);
		put(path, "chip\n");
		snprintf(path, sizeof(path), "/sys/class/hwmon/hwmon%u/temp1_input", n);
		put(path, "41000\n");
	}
	sensor_lists = 0;
	EQUAL(perfctr_selection_new(device, &sensors), 0);
	EQUAL(perfctr_selection_add(sensors, "hwmon/*:temp1_input/"), (int)chips);
	EQUAL(perfctr_session_new(sensors, NULL, &readers), 0);
	perfctr_session_unref(readers);
	perfctr_selection_unref(sensors);
	return sensor_lists;
}

TEST_WITH(begin, end_tree, "sensors are searched once, not once for each of them")
{
	const unsigned int few = lists_of_sensors(5), many = lists_of_sensors(40);

	CHECK(few > 0 && many <= 8 * few);
	/* where the last search found them is not where they are for ever */
	drop("/sys/class/hwmon/hwmon3");
	put("/sys/class/hwmon/hwmon3/name", "other\n");
	put("/sys/class/hwmon/hwmon3/temp1_input", "5000\n");
	start("hwmon/hwmon3-other:temp1_input/", 1);
	EQUAL(perfctr_selection_add(selection, "hwmon/hwmon3-chip:temp1_input/"), -ENOENT);
}
