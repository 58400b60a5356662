// SPDX-License-Identifier: MIT
/*
 * The command perfctr on a GPU whose driver is newer than the library: its blocks, counters 0 and 1
 * of each, have a type without a name.
 */
#include "fake.h"
#include "live.h"

enum { TYPE = 200, BLOCKS = 2 };

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx);

static struct fake *fake;
static int (*list_known)(void *data, const char *path, sys_list_fn fn, void *arg);

void test_fail(const char *file, int line, const char *format, ...)
{
	abort();
}

/* a machine has more directories than the fake one */
static int list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	int error = list_known(data, path, fn, arg);

	return error == -ENOENT ? 0 : error;
}

int __wrap_perfctr_ctx_new(struct perfctr_ctx **ctx)
{
	if (fake)
		return perfctr_ctx_new_with(&fake->sys, ctx);
	fake = fake_new();
	list_known = fake->sys.list;
	fake->sys.list = list;
	fake->info.product = DRM_PERFCTR_PRODUCT_UNKNOWN;
	fake->block_count = BLOCKS;
	for (unsigned int n = 0; n < BLOCKS; n++) {
		fake->blocks[n].type = TYPE;
		fake->blocks[n].index = (uint16_t)n;
		fake->blocks[n].product = DRM_PERFCTR_PRODUCT_UNKNOWN;
		fake->blocks[n].counters = 2;
		fake->blocks[n].available[0] = 3;
	}
	return perfctr_ctx_new_with(&fake->sys, ctx);
}
