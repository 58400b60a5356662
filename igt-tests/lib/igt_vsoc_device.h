/* SPDX-License-Identifier: MIT */
/* Create, remove and break virtual SoCs. */
#ifndef IGT_VSOC_DEVICE_H
#define IGT_VSOC_DEVICE_H

#include "igt_vsoc.h"

#define IGT_VSOC_DRIVER "/sys/bus/platform/drivers/vsoc"

/* write one of the driver's files, new_device for example; 0 or -errno */
int igt_vsoc_driver(const char *file, const char *text);
/* create a device "NUMBER [key=value]..." and open it; fails if that fails */
void igt_vsoc_add(struct igt_perfctr_device *dev, const char *shape);
/* close it, if it is open, and remove it */
void igt_vsoc_remove(struct igt_perfctr_device *dev, unsigned int number);

/* the fault @name (without "fail_") happens the next @times times that its code is reached */
void igt_fault_arm(const struct igt_perfctr_device *dev, const char *name, unsigned int times);
/* disarm it; returns how often it happened */
unsigned int igt_fault_disarm(const struct igt_perfctr_device *dev, const char *name);
/* how often it has happened since it was armed */
unsigned int igt_fault_hits(const struct igt_perfctr_device *dev, const char *name);

#endif
