// SPDX-License-Identifier: MIT
/* Counters through kbase, by the driver of kbase/unit.h. */
#include <drm/perfctr_mali.h>

#include "fixture.h"
#include "idle.h"
#include "kbase/unit.h"
#include "seen.h"

static void begin(void)
{
	perfctr_ctx_new_with(make_driver(), &ctx);
}

/* Nothing is left in the driver. */
static void end_driver(void)
{
	end();
	EQUAL(driver.sessions, 0);
	EQUAL(driver.files, 0);
}

static int start(const char *events, unsigned int set)
{
	int error;

	EQUAL(perfctr_device_open(ctx, NODE, &device), 0);
	EQUAL(perfctr_selection_new(device, &selection), 0);
	EQUAL(perfctr_selection_set_counter_set(selection, set), 0);
	CHECK(perfctr_selection_add(selection, events) > 0);
	error = perfctr_session_new(selection, NULL, &session);
	if (error)
		return error;
	EQUAL(driver.sessions, 0);
	EQUAL(perfctr_cursor_new(session, &cursor), 0);
	return perfctr_session_start(session, 0);
}

TEST_WITH(begin, end_driver, "product, clock, bus, blocks, and cores by their place")
{
	struct seen seen;

	EQUAL(start("cshw/GPU_ACTIVE,tiler/TRIANGLES,shader/FRAG_PTILES", 0), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Mali-G610");
	EQUAL(perfctr_device_info(device)->product, DRM_PERFCTR_MALI_PRODUCT_V10);
	EQUAL(perfctr_device_info(device)->gpu_id, 0xa8670005);
	EQUAL(perfctr_device_clock(device, 0)->max_frequency_hz, 900000000);
	EQUAL(perfctr_device_clock(device, 0)->frequency_hz, 300000000);
	EQUAL(((struct perfctr_device *)device)->ext_bus_bytes, 16);
	EQUAL(driver.masks[3][0], ~UINT64_C(0xf));
	driver.counts[0][4] = 3;
	driver.counts[1][6] = 5;
	driver.counts[1][7] = 1000;
	for (unsigned int n = 4; n < COUNTERS; n++)
		driver.counts[5][n] = 1u << 20;
	seen = take(true);
	EQUAL(seen.blocks, 4);
	EQUAL(seen.sum[0], 3);
	EQUAL(seen.sum[1], 5);
	EQUAL(seen.index[2], 0);
	EQUAL(seen.index[3], 16);
	EQUAL(seen.sum[2], 0);
	EQUAL(seen.sum[3], 1u << 20);
	EQUAL(seen.states[0], 1 | 4 | 16);
}

TEST_WITH(begin, end_driver, "found without its name, after DRM nodes; other nodes are not touched")
{
	struct perfctr_device_list *list_of_devices = NULL;

	EQUAL(perfctr_device_list_new(ctx, &list_of_devices), 0);
	EQUAL(perfctr_device_list_count(list_of_devices), 1);
	EQUAL_TEXT(perfctr_device_list_get(list_of_devices, 0)->path, NODE);
	EQUAL_TEXT(perfctr_device_list_get(list_of_devices, 0)->driver, "kbase");
	EQUAL(perfctr_device_list_get(list_of_devices, 0)->error, 0);
	perfctr_device_list_unref(list_of_devices);
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Mali-G610");
	device = perfctr_device_unref(device);
	EQUAL(perfctr_device_open(ctx, "kbase", &device), 0);
}

TEST_WITH(begin, end_driver, "100 samples go through fewer buffers: the sum is right")
{
	uint64_t sum = 0;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	for (uint64_t n = 0; n < 100; n++) {
		driver.counts[1][6] = n << 33;
		sum += take(false).sum[0];
	}
	EQUAL(sum, UINT64_C(4950) << 33);
}

TEST_WITH(begin, end_driver, "a session without samples does not call the driver")
{
	idle_watch();
	EQUAL(start("tiler/TRIANGLES", 0), 0);
	EQUAL(idle_calls(300), 0);
}

TEST_WITH(begin, end_driver, "cycles: of one clock, of two")
{
	struct seen seen;

	EQUAL(start("cshw/GPU_ACTIVE,shader/FRAG_PTILES", 0), 0);
	driver.cycles[0] = 100;
	driver.cycles[1] = 30;
	seen = take(false);
	EQUAL(seen.cycles[0], 100);
	EQUAL(seen.cycles[1], 100);
	driver.clocks = 2;
	driver.cycles[0] = 7;
	driver.cycles[1] = 3;
	seen = take(true);
	EQUAL(seen.cycles[0], 7);
	EQUAL(seen.cycles[1], 3);
}

TEST_WITH(begin, end_driver, "items may be longer than those that are known")
{
	driver.longer = true;
	EQUAL(start("shader/FRAG_PTILES", 0), 0);
	for (unsigned int n = 0; n < COUNTERS; n++)
		driver.counts[4][n] = 3;
	EQUAL(take(true).sum[0], 3);
}

TEST_WITH(begin, end_driver, "an error loses its sample, a stretched one loses nothing")
{
	struct seen seen;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	driver.counts[1][6] = 9;
	driver.flags = 1u << 30;
	seen = take(false);
	EQUAL(seen.sum[0], 0);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_ERROR && seen.lost_ns);
	CHECK(seen.states[0] & DRM_PERFCTR_STATE_LOST);
	driver.counts[1][6] = 4;
	driver.flags = 1;
	seen = take(true);
	EQUAL(seen.sum[0], 4);
	EQUAL(seen.lost_ns, 0);
	CHECK(!(seen.flags & DRM_PERFCTR_SAMPLE_ERROR));
}

TEST_WITH(begin, end_driver, "buffers that are full: they are read, nothing is lost")
{
	uint64_t sum = 0;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	/* as after collections that failed */
	while (driver.written - driver.read < SLOTS - 1) {
		driver.counts[1][6] = 10;
		put_sample(1000);
	}
	signal_samples();
	driver.counts[1][6] = 7;
	sum += take(false).sum[0];
	EQUAL(sum, 37);
	EQUAL(take(true).sum[0], 0);
}

TEST_WITH(begin, end_driver, "values beyond the driver's memory are not read")
{
	struct seen seen;

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	driver.lost_offset = true;
	driver.counts[1][6] = 7;
	seen = take(true);
	EQUAL(seen.sum[0], 0);
}

TEST_WITH(begin, end_driver, "the device goes: the session ends")
{
	struct seen seen = { 0 };

	EQUAL(start("tiler/TRIANGLES", 0), 0);
	driver.gone = true;
	EQUAL(perfctr_session_sample(session, 0), -ENODEV);
	read_samples(&seen);
	CHECK(seen.flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
}

TEST_WITH(begin, end_driver, "a driver that was set to another counter set has that one")
{
	driver.set = 1;
	EQUAL(start("memsys/C10", 1), 0);
	driver.counts[3][10] = 2;
	EQUAL(take(true).sum[1], 2);
}

TEST_WITH(begin, end_driver, "early versions: cores by their place, and no states")
{
	struct seen seen;

	driver.minor = 10;
	EQUAL(start("shader/FRAG_PTILES", 0), 0);
	CHECK(!(perfctr_device_info(device)->features & DRM_PERFCTR_FEATURE_STATES));
	for (unsigned int n = 4; n < COUNTERS; n++)
		driver.counts[5][n] = 8;
	seen = take(true);
	EQUAL(seen.index[1], 16);
	EQUAL(seen.sum[0], 0);
	EQUAL(seen.sum[1], 8);
	EQUAL(seen.states[0], 0);
}

static void begin_jm(void)
{
	begin();
	driver.jm = true;
	driver.major = 11;
	driver.minor = 41;
	driver.gpu_id = 0x74021000;
}

TEST_WITH(begin_jm, end_driver, "a job manager: its blocks, as panfrost has them")
{
	EQUAL(start("jm/GPU_ACTIVE", 0), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Mali-G52");
	EQUAL(perfctr_device_info(device)->product, DRM_PERFCTR_MALI_PRODUCT_G52);
	driver.counts[0][6] = 9;
	EQUAL(take(true).sum[0], 9);
}

TEST_WITH(begin, end_driver, "refusals: vinstr, unknown versions and lists, permission")
{
	struct perfctr_device *none = NULL;

	driver.minor = 9;
	EQUAL(perfctr_device_open(ctx, NODE, &none), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "kbase of version CSF 1.9 has only vinstr");
	driver.major = 2;
	EQUAL(perfctr_device_open(ctx, NODE, &none), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "kbase of version CSF 2.9 is not known");
	driver.jm = true;
	driver.major = 11;
	driver.minor = 33;
	EQUAL(perfctr_device_open(ctx, NODE, &none), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "kbase of version JM 11.33 has only vinstr");
	driver.jm = false;
	driver.major = 1;
	driver.minor = 30;
	driver.old_list = true;
	EQUAL(perfctr_device_open(ctx, NODE, &none), -EOPNOTSUPP);
	HAS_TEXT(perfctr_ctx_error(ctx), "CSF 1.30 lists blocks in a form");
	driver.old_list = false;
	driver.denied = true;
	EQUAL(start("tiler/TRIANGLES", 0), -EPERM);
	HAS_TEXT(perfctr_ctx_error(ctx), "Mali-G610: counting needs access to the node");
}
