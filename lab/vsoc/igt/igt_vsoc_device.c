// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "minigt.h"
#include "igt_vsoc.h"
#include "igt_sys.h"

int igt_vsoc_driver(const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), IGT_VSOC_DRIVER "/%s", file);
	return igt_write(path, text);
}

void igt_vsoc_add(struct igt_perfctr_device *dev, const char *shape)
{
	char name[24];

	snprintf(name, sizeof(name), "vsoc.%lu", strtoul(shape, NULL, 10));
	igt_assert_eq(igt_vsoc_driver("new_device", shape), 0);
	igt_assert(igt_perfctr_open_device(dev, name));
}

void igt_vsoc_remove(struct igt_perfctr_device *dev, unsigned int number)
{
	char text[16];

	igt_perfctr_close(dev);
	snprintf(text, sizeof(text), "%u", number);
	igt_assert_eq(igt_vsoc_driver("del_device", text), 0);
}

void igt_fault_arm(const struct igt_perfctr_device *dev, const char *name, unsigned int times)
{
	char file[64], text[24];

	snprintf(file, sizeof(file), "fail_%s", name);
	snprintf(text, sizeof(text), "1000 %u", times);
	igt_vsoc_debugfs(dev, file, text);
}

unsigned int igt_fault_hits(const struct igt_perfctr_device *dev, const char *name)
{
	unsigned int permille, times, hits;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/vsoc/fail_%s", dev->minor, name);
	f = fopen(path, "re");
	igt_assert_f(f, "%s: %m\n", path);
	igt_assert_eq(fscanf(f, "%u %u %u", &permille, &times, &hits), 3);
	fclose(f);
	return hits;
}

unsigned int igt_fault_disarm(const struct igt_perfctr_device *dev, const char *name)
{
	unsigned int hits = igt_fault_hits(dev, name);
	char file[64];

	snprintf(file, sizeof(file), "fail_%s", name);
	igt_vsoc_debugfs(dev, file, "0");
	return hits;
}

#define TEST_PMU "/sys/module/perfctr_test_pmu/parameters/"
#define TEST_PMU_TYPE "/sys/bus/event_source/devices/perfctr_test/type"

uint32_t igt_test_pmu(void)
{
	const char *directory = getenv("PERFCTR_KMOD");
	char command[256];

	if (igt_read_int(TEST_PMU_TYPE) < 0) {
		snprintf(command, sizeof(command), "insmod '%s/perfctr_test_pmu.ko'",
			 directory ?: ".");
		igt_require_f(!system(command), "no module perfctr_test_pmu\n");
	}
	return igt_read_int(TEST_PMU_TYPE);
}

void igt_test_pmu_set(const char *name, const char *value)
{
	char path[96];

	snprintf(path, sizeof(path), TEST_PMU "%s", name);
	igt_assert_eq(igt_write(path, value), 0);
}
