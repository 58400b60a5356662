// SPDX-License-Identifier: MIT
/* Finding and opening devices. */
#include <stdlib.h>

#include "fixture.h"

TEST_WITH(begin_fake, end, "opens by what a user knows")
{
	static const char *const names[] = { NULL,	   "/dev/dri/renderD128",
					     "renderD128", "vsoc",
					     "fake soc",   "/dev/dri/card0" };

	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		EQUAL(perfctr_device_open(ctx, names[n], &device), 0);
		EQUAL_TEXT(perfctr_device_driver(device), "vsoc");
		EQUAL_TEXT(perfctr_device_info(device)->name, "Fake SoC");
		EQUAL(perfctr_device_block_count(device), 9);
		EQUAL(perfctr_device_block(device, 7)->index, 16);
		CHECK(!perfctr_device_block(device, 9));
		EQUAL(perfctr_device_clock_count(device), 3);
		EQUAL_TEXT(perfctr_device_clock(device, 1)->name, "shader");
		CHECK(!perfctr_device_clock(device, 3));
		device = perfctr_device_unref(device);
		CHECK(!device);
	}
}

TEST_WITH(begin_fake, end, "gives the reason why nothing opens")
{
	EQUAL(perfctr_device_open(ctx, "nouveau", &device), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx),
		 "no device \"nouveau\"; those with counters: renderD128 (vsoc), local");
	EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD9", &device), -ENOENT);
	HAS_TEXT(perfctr_ctx_error(ctx), "/dev/dri/renderD9: No such file");
	fake_file(fake, "/dev/dri/card0", NULL);
	fake_file(fake, "/dev/dri/renderD128", "node:amdgpu");
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL_TEXT(perfctr_device_driver(device), PERFCTR_DEVICE_LOCAL);
	/* it has no version of the kernel's interface */
	EQUAL(perfctr_device_info(device)->version, 0);
	device = perfctr_device_unref(device);
	EQUAL(perfctr_device_open(ctx, "amdgpu", &device), -ENOTTY);
	HAS_TEXT(perfctr_ctx_error(ctx), "the driver amdgpu offers no performance counters");
	fake_file(fake, "/dev/dri/renderD128", "denied");
	/* without the core the node has no counters */
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL_TEXT(perfctr_device_driver(device), PERFCTR_DEVICE_LOCAL);
	device = perfctr_device_unref(device);
	fake_file(fake, "/proc/sys/dev/perfctr/paranoid", "1\n");
	EQUAL(perfctr_device_open(ctx, NULL, &device), -EACCES);
	HAS_TEXT(perfctr_ctx_error(ctx), "Permission denied; the user must be a member");
	CHECK(!device);
}

/* Return: the entry's error; @driver: its driver. */
static int list_one(size_t n, char *driver)
{
	struct perfctr_device_list *list;
	const struct perfctr_device_entry *e;
	int error;

	driver[0] = '\0';
	if (!EQUAL(perfctr_device_list_new(ctx, &list), 0))
		return 0;
	e = perfctr_device_list_get(list, n);
	strcpy(driver, e ? e->driver : "");
	error = e ? e->error : 0;
	perfctr_device_list_unref(list);
	return error;
}

TEST_WITH(begin_fake, end, "a GPU that sleeps is opened only by its name")
{
	static const char status[] = "/sys/class/drm/renderD128/device/power/runtime_status";
	static const char subsystem[] = "/sys/class/drm/renderD128/device/subsystem";
	char driver[32];
	int opened;

	fake_file(fake, status, "suspended\n");
	fake_file(fake, subsystem, "link:../../../bus/pci");
	fake_file(fake, "/sys/class/drm/renderD128/device/driver", "link:../../bus/pci/drivers/xe");
	for (const char *core = "01"; *core; core++) {
		if (*core == '1')
			fake_file(fake, "/proc/sys/dev/perfctr/paranoid", "1\n");
		opened = fake->calls[FAKE_QUERY];
		EQUAL(list_one(0, driver), -EHOSTDOWN);
		EQUAL_TEXT(driver, "xe");
		EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
		EQUAL_TEXT(perfctr_device_driver(device), PERFCTR_DEVICE_LOCAL);
		device = perfctr_device_unref(device);
		EQUAL(fake->calls[FAKE_QUERY], opened);
	}
	EQUAL(perfctr_device_open(ctx, "xe", &device), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Fake SoC");
	device = perfctr_device_unref(device);
	EQUAL(perfctr_device_open(ctx, "renderD128", &device), 0);
	device = perfctr_device_unref(device);
	/* a SoC's GPU sleeps between its jobs, and opening it does not wake it */
	fake_file(fake, subsystem, "link:../../../bus/platform");
	EQUAL(list_one(0, driver), 0);
	EQUAL_TEXT(driver, "vsoc");
	fake_file(fake, subsystem, "link:../../../bus/pci");
	fake_file(fake, status, "active\n");
	EQUAL(list_one(0, driver), 0);
}

TEST_WITH(begin_fake, end, "nodes of accelerators are listed behind those of GPUs")
{
	char driver[32];

	fake_file(fake, "/dev/accel/accel0", "node:amdxdna_accel_driver");
	EQUAL(list_one(1, driver), -ENOTTY);
	EQUAL_TEXT(driver, "amdxdna_accel_driver");
	fake_file(fake, "/sys/class/accel/accel0/device/power/runtime_status", "suspended\n");
	EQUAL(list_one(1, driver), -EHOSTDOWN);
}

TEST_WITH(begin_fake, end, "panthor reports the width of a Mali GPU's external bus")
{
	static const struct {
		const char *node;
		uint32_t l2_features;
		unsigned int bytes;
	} rows[] = {
		{ "node:panthor", 0x07120206, 16 }, { "node:panthor", 0x08000000, 32 },
		{ "node:panthor", 0, 0 },	    { "node:panthor", 0x02000000, 0 },
		{ "node:vsoc", 0x07120206, 0 },
	};

	for (size_t n = 0; n < ARRAY_SIZE(rows); n++) {
		fake->l2_features = rows[n].l2_features;
		fake_file(fake, "/dev/dri/renderD128", rows[n].node);
		if (EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), 0))
			EQUAL(device->ext_bus_bytes, rows[n].bytes);
		device = perfctr_device_unref(device);
	}
}

static int forward(void *data, struct drm_perfctr_query *query)
{
	struct perfctr_device *to = data;

	return to->link->query(to->link_data, query);
}

static bool never(const void *data)
{
	return !data;
}

static void keep(void *data)
{
}

TEST_WITH(begin_fake, end, "with a broker too, if its path is a render node that opens")
{
	static const struct device_link link = {
		.kind = LINK_BROKER, .query = forward, .explained = never, .free = keep
	};
	static const struct {
		const char *path;
		unsigned int bytes;
	} rows[] = { { "/dev/dri/renderD128", 16 },
		     { "/dev/dri/renderD9", 0 },
		     { "/dev/dri/renderD/x", 0 },
		     { "/dev/panthor", 0 } };
	struct perfctr_device *through;

	fake->l2_features = 0x07120206;
	fake_file(fake, "/dev/dri/renderD128", "node:panthor");
	fake_file(fake, "/dev/dri/renderD/x", "node:panthor");
	fake_file(fake, "/dev/panthor", "node:panthor");
	EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), 0);
	for (size_t n = 0; n < ARRAY_SIZE(rows); n++) {
		EQUAL(perfctr_device_from_link(ctx, &link, device, rows[n].path, "panthor",
					       &through),
		      0);
		EQUAL(through->ext_bus_bytes, rows[n].bytes);
		perfctr_device_unref(through);
	}
	device = perfctr_device_unref(device);
}

TEST_WITH(begin_fake, end, "a GPU_ID gives a device its name, and a product that the kernel lacks")
{
	fake->info.gpu_id = 0xa8670005;
	fake->info.product = fake->blocks[0].product = DRM_PERFCTR_PRODUCT_UNKNOWN;
	/* a page's, of a broker */
	fake->blocks[1].product = 0xff00;
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, "Mali-G610");
	EQUAL(perfctr_device_info(device)->product, DRM_PERFCTR_MALI_PRODUCT_V10);
	EQUAL(perfctr_device_block(device, 0)->product, DRM_PERFCTR_MALI_PRODUCT_V10);
	EQUAL(perfctr_device_block(device, 1)->product, DRM_PERFCTR_MALI_PRODUCT_V10);
	device = perfctr_device_unref(device);
	/* the kernel names another product: the virtual GPU is no Mali */
	fake->info.product = DRM_VSOC_PRODUCT_CSF;
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL_TEXT(perfctr_device_info(device)->name, fake->info.name);
	device = perfctr_device_unref(device);
}

TEST_WITH(begin_fake, end, "a machine without DRM has an empty list")
{
	struct perfctr_device_list *list;

	fake->file_count = 0;
	EQUAL(perfctr_device_list_new(ctx, &list), 0);
	EQUAL(perfctr_device_list_count(list), 0);
	CHECK(!perfctr_device_list_get(list, 0));
	perfctr_device_list_unref(list);
	EQUAL(perfctr_device_open(ctx, NULL, &device), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "none of the 0 DRM devices");
	EQUAL(perfctr_device_open(ctx, PERFCTR_DEVICE_LOCAL, &device), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "no perf PMUs");
}

TEST_WITH(begin_fake, end, "the list shows nodes without counters too")
{
	struct perfctr_device_list *list;

	fake_file(fake, "/dev/dri/card1", "node:simpledrm");
	fake_file(fake, "/dev/dri/by-path", "");
	fake_file(fake, "/dev/dri/renderD129", "denied");
	EQUAL(perfctr_device_list_new(ctx, &list), 0);
	if (EQUAL(perfctr_device_list_count(list), 3)) {
		/* card0 has a render node and is left out, card1 has none */
		EQUAL_TEXT(perfctr_device_list_get(list, 0)->path, "/dev/dri/card1");
		EQUAL_TEXT(perfctr_device_list_get(list, 0)->driver, "simpledrm");
		EQUAL(perfctr_device_list_get(list, 0)->error, -ENOTTY);
		EQUAL_TEXT(perfctr_device_list_get(list, 1)->path, "/dev/dri/renderD128");
		EQUAL(perfctr_device_list_get(list, 1)->error, 0);
		EQUAL_TEXT(perfctr_device_list_get(list, 1)->name, "Fake SoC");
		EQUAL(perfctr_device_list_get(list, 2)->error, -EACCES);
	}
	perfctr_device_list_unref(list);
}

TEST_WITH(begin_fake, end, "an open file can be shared")
{
	int fd;

	fd = fake->sys.open(fake, "/dev/dri/renderD128", 0);
	EQUAL(perfctr_device_open_fd(ctx, fd, &device), 0);
	fake->sys.close(fake, fd);
	EQUAL(perfctr_device_refresh(device), 0);
	EQUAL_TEXT(perfctr_device_path(device), "");
	device = perfctr_device_unref(device);
	fd = fake->sys.open(fake, "/dev/dri/renderD128", 0);
	fake_fail(fake, FAKE_DUP, 1, -EMFILE);
	EQUAL(perfctr_device_open_fd(ctx, fd, &device), -EMFILE);
	fake->sys.close(fake, fd);
}

TEST_WITH(begin_fake, end, "older and newer kernels are understood")
{
	fake->block_bytes = 16;
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL(perfctr_device_block(device, 8)->index, 18);
	EQUAL(perfctr_device_block(device, 8)->available[0], 0);
	device = perfctr_device_unref(device);
	fake->block_bytes = 4096;
	fake->info_bytes = 4096;
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL(perfctr_device_block(device, 8)->available[0], 0x3ffffff0);
	device = perfctr_device_unref(device);
}

/* The first three queries belong to the list, the next ones to the device. */
TEST("failing queries leave nothing behind")
{
	for (int n = 1; n <= 6; n++) {
		begin_fake();
		fake_fail(fake, FAKE_QUERY, n, -ENODEV);
		EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), -ENODEV);
		HAS_TEXT(perfctr_ctx_error(ctx), "cannot ask the device");
		end();
	}
}

TEST_WITH(begin_fake, end, "a refresh that fails changes nothing")
{
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	fake_fail(fake, FAKE_QUERY, 3, -ENODEV);
	EQUAL(perfctr_device_refresh(device), -ENODEV);
	EQUAL(perfctr_device_block_count(device), 9);
	fake->block_count = 5;
	EQUAL(perfctr_device_refresh(device), 0);
	EQUAL(perfctr_device_block_count(device), 5);
	device = perfctr_device_unref(device);
}

TEST_WITH(begin_fake, end, "no number is tried without fdinfo's line")
{
	fake->fdinfo = "drm-driver:\tvsoc\n";
	EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), -ENOTTY);
	EQUAL(fake->calls[FAKE_QUERY], 0);
	fake->fdinfo = "drm-perfctr:\t4 ioctls ten\n";
	EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), -ENOTTY);
	EQUAL(fake->calls[FAKE_QUERY], 0);
}

TEST_WITH(begin_fake, end, "an impossible answer is no device")
{
	fake->info.sample_header_size = 3;
	EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), -EPROTO);
}

TEST_WITH(begin_fake, end, "an older kernel is named")
{
	static const char *const old[] = {
		"drm-driver:\tvsoc\nperfctr-sessions:\t0\nperfctr-active:\t0\n",
		"drm-perfctr:\t3 ioctls 0x77\n",
	};

	for (size_t n = 0; n < ARRAY_SIZE(old); n++) {
		fake->fdinfo = old[n];
		EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), -EPROTONOSUPPORT);
		HAS_TEXT(perfctr_ctx_error(ctx), "needs interface version 4; update perfctr-dkms");
		EQUAL(fake->calls[FAKE_QUERY], 0);
	}
}

TEST_WITH(begin_fake, end, "a newer kernel is used")
{
	fake->fdinfo = "drm-perfctr:\t5 ioctls 0x77 more\n";
	EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), 0);
	device = perfctr_device_unref(device);
}

static int messages;

static void count_message(void *data, int level, const char *text)
{
	CHECK(data == &messages);
	EQUAL(level, PERFCTR_LOG_ERROR);
	HAS_TEXT(text, "no device");
	messages++;
}

TEST_WITH(begin_fake, end, "the log goes to the callback")
{
	perfctr_ctx_set_log(ctx, count_message, &messages);
	perfctr_device_open(ctx, "none", &device);
	EQUAL(messages, 0);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_WARNING);
	perfctr_device_open(ctx, "none", &device);
	EQUAL(messages, 1);
}

TEST_WITH(begin_fake, end, "the environment sets the log level")
{
	perfctr_ctx_unref(ctx);
	setenv("PERFCTR_LOG", "info", 1);
	perfctr_ctx_new_with(&fake->sys, &ctx);
	unsetenv("PERFCTR_LOG");
	EQUAL(perfctr_ctx_log_level(ctx), PERFCTR_LOG_INFO);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_ctx_log_level(ctx), PERFCTR_LOG_INFO);
}
