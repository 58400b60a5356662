// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "minigt.h"
#include "igt_vsoc_device.h"
#include "igt_sys.h"

#define POWER "/sys/bus/platform/devices/vsoc.%u/power/"

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

void igt_vsoc_bind_again(struct igt_perfctr_device *dev)
{
	igt_perfctr_close(dev);
	igt_require_write(IGT_VSOC_DRIVER "/bind", "vsoc.0");
	igt_assert(igt_perfctr_open(dev, "vsoc"));
}

int igt_vsoc_power_try(unsigned int number, const char *how)
{
	char path[64];

	snprintf(path, sizeof(path), POWER "control", number);
	return igt_write(path, how);
}

void igt_vsoc_power(unsigned int number, const char *how)
{
	char path[64];

	snprintf(path, sizeof(path), POWER "control", number);
	igt_require_write(path, how);
}

bool igt_vsoc_power_is(unsigned int number, const char *status)
{
	char path[64], word[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), POWER "runtime_status", number);
	f = fopen(path, "re");
	igt_assert_f(f, "%s: %m\n", path);
	igt_assert_eq(fscanf(f, "%15s", word), 1);
	fclose(f);
	return !strcmp(word, status);
}

void igt_vsoc_await_power(unsigned int number, const char *status)
{
	for (unsigned int i = 0; !igt_vsoc_power_is(number, status); i++) {
		igt_assert_lt(i, 1000);
		igt_sleep_ms(10);
	}
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
