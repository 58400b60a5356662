// SPDX-License-Identifier: MIT
/* Finding and opening devices. */
#include <stdlib.h>

#include "fake.h"
#include "test.h"

static struct fake *fake;
static struct perfctr_ctx *ctx;

static void begin(void)
{
	fake = fake_new();
	perfctr_ctx_new_with(&fake->sys, &ctx);
}

static void end(void)
{
	ctx = perfctr_ctx_unref(ctx);
	CHECK(!ctx);
	fake_free(fake);
}

static void opens_by_what_a_user_knows(void)
{
	static const char *const names[] = { NULL,	   "/dev/dri/renderD128",
					     "renderD128", "vsoc",
					     "fake soc",   "/dev/dri/card0" };
	struct perfctr_device *device;

	begin();
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
	end();
}

static void reason_why_nothing_opens(void)
{
	struct perfctr_device *device = NULL;

	begin();
	EQUAL(perfctr_device_open(ctx, "nouveau", &device), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "no device \"nouveau\"");
	EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD9", &device), -ENOENT);
	HAS_TEXT(perfctr_ctx_error(ctx), "/dev/dri/renderD9: No such file");
	fake_file(fake, "/dev/dri/card0", NULL);
	fake_file(fake, "/dev/dri/renderD128", "node:amdgpu");
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL_TEXT(perfctr_device_driver(device), PERFCTR_DEVICE_LOCAL);
	device = perfctr_device_unref(device);
	EQUAL(perfctr_device_open(ctx, "amdgpu", &device), -ENOTTY);
	HAS_TEXT(perfctr_ctx_error(ctx), "the driver amdgpu offers no performance counters");
	fake_file(fake, "/dev/dri/renderD128", "denied");
	EQUAL(perfctr_device_open(ctx, NULL, &device), -EACCES);
	HAS_TEXT(perfctr_ctx_error(ctx), "Permission denied; the user must be a member");
	CHECK(!device);
	end();
}

static void machine_without_drm_has_an_empty_list(void)
{
	struct perfctr_device_list *list;
	struct perfctr_device *device;

	begin();
	fake->file_count = 0;
	EQUAL(perfctr_device_list_new(ctx, &list), 0);
	EQUAL(perfctr_device_list_count(list), 0);
	CHECK(!perfctr_device_list_get(list, 0));
	perfctr_device_list_unref(list);
	EQUAL(perfctr_device_open(ctx, NULL, &device), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "none of the 0 DRM devices");
	EQUAL(perfctr_device_open(ctx, PERFCTR_DEVICE_LOCAL, &device), -ENODEV);
	HAS_TEXT(perfctr_ctx_error(ctx), "no perf PMUs");
	end();
}

static void list_shows_nodes_without_counters_too(void)
{
	struct perfctr_device_list *list;

	begin();
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
	end();
}

static void open_file_can_be_shared(void)
{
	struct perfctr_device *device;
	int fd;

	begin();
	fd = fake->sys.open(fake, "/dev/dri/renderD128", 0);
	EQUAL(perfctr_device_open_fd(ctx, fd, &device), 0);
	fake->sys.close(fake, fd);
	EQUAL(perfctr_device_refresh(device), 0);
	EQUAL_TEXT(perfctr_device_path(device), "");
	perfctr_device_unref(device);
	fd = fake->sys.open(fake, "/dev/dri/renderD128", 0);
	fake_fail(fake, FAKE_DUP, 1, -EMFILE);
	EQUAL(perfctr_device_open_fd(ctx, fd, &device), -EMFILE);
	fake->sys.close(fake, fd);
	end();
}

static void older_and_newer_kernels_are_understood(void)
{
	struct perfctr_device *device;

	begin();
	fake->block_bytes = 16;
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL(perfctr_device_block(device, 8)->index, 18);
	EQUAL(perfctr_device_block(device, 8)->available[0], 0);
	perfctr_device_unref(device);
	fake->block_bytes = 4096;
	fake->info_bytes = 4096;
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	EQUAL(perfctr_device_block(device, 8)->available[0], 0x3ffffff0);
	perfctr_device_unref(device);
	end();
}

/* The first three queries belong to the list, the next ones to the device. */
static void failing_queries_leave_nothing_behind(void)
{
	struct perfctr_device *device;

	for (int n = 1; n <= 6; n++) {
		begin();
		fake_fail(fake, FAKE_QUERY, n, -ENODEV);
		EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), -ENODEV);
		HAS_TEXT(perfctr_ctx_error(ctx), "cannot ask the device");
		end();
	}
}

static void refresh_that_fails_changes_nothing(void)
{
	struct perfctr_device *device;

	begin();
	EQUAL(perfctr_device_open(ctx, NULL, &device), 0);
	fake_fail(fake, FAKE_QUERY, 3, -ENODEV);
	EQUAL(perfctr_device_refresh(device), -ENODEV);
	EQUAL(perfctr_device_block_count(device), 9);
	fake->block_count = 5;
	EQUAL(perfctr_device_refresh(device), 0);
	EQUAL(perfctr_device_block_count(device), 5);
	perfctr_device_unref(device);
	end();
}

static void foreign_ioctl_at_the_same_number_is_no_device(void)
{
	struct perfctr_device *device;

	begin();
	fake->info.sample_header_size = 3;
	EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), -ENOTTY);
	end();
}

static void older_kernel_is_named(void)
{
	struct perfctr_device *device;

	begin();
	fake->info.version = 2;
	fake->info.sample_header_size = 64;
	EQUAL(perfctr_device_open(ctx, "/dev/dri/renderD128", &device), -EPROTONOSUPPORT);
	HAS_TEXT(perfctr_ctx_error(ctx), "needs interface version 3");
	end();
}

static int messages;

static void count_message(void *data, int level, const char *text)
{
	CHECK(data == &messages);
	EQUAL(level, PERFCTR_LOG_ERROR);
	HAS_TEXT(text, "no device");
	messages++;
}

static void log_goes_to_the_callback(void)
{
	struct perfctr_device *device;

	begin();
	perfctr_ctx_set_log(ctx, count_message, &messages);
	perfctr_device_open(ctx, "none", &device);
	EQUAL(messages, 0);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_WARNING);
	perfctr_device_open(ctx, "none", &device);
	EQUAL(messages, 1);
	end();
}

static void environment_sets_the_log_level(void)
{
	begin();
	perfctr_ctx_unref(ctx);
	setenv("PERFCTR_LOG", "info", 1);
	perfctr_ctx_new_with(&fake->sys, &ctx);
	unsetenv("PERFCTR_LOG");
	EQUAL(perfctr_ctx_log_level(ctx), PERFCTR_LOG_INFO);
	perfctr_ctx_set_log_level(ctx, PERFCTR_LOG_NONE);
	EQUAL(perfctr_ctx_log_level(ctx), PERFCTR_LOG_INFO);
	end();
}

static const struct test tests[] = {
	{ "opens by what a user knows", opens_by_what_a_user_knows },
	{ "gives the reason why nothing opens", reason_why_nothing_opens },
	{ "a machine without DRM has an empty list", machine_without_drm_has_an_empty_list },
	{ "the list shows nodes without counters too", list_shows_nodes_without_counters_too },
	{ "an open file can be shared", open_file_can_be_shared },
	{ "older and newer kernels are understood", older_and_newer_kernels_are_understood },
	{ "failing queries leave nothing behind", failing_queries_leave_nothing_behind },
	{ "a refresh that fails changes nothing", refresh_that_fails_changes_nothing },
	{ "an older kernel is named", older_kernel_is_named },
	{ "a foreign ioctl at the same number is no device",
	  foreign_ioctl_at_the_same_number_is_no_device },
	{ "the log goes to the callback", log_goes_to_the_callback },
	{ "the environment sets the log level", environment_sets_the_log_level },
};

TEST_MAIN(tests)
