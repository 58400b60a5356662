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
/* after an unplug of vsoc.0: bind and open it again; closing the file ends its sessions */
void igt_vsoc_bind_again(struct igt_perfctr_device *dev);

/*
 * @how: "auto" suspends an idle device, "on" keeps it active. The first returns 0 or -errno, the
 * second skips on kernels without runtime PM.
 */
int igt_vsoc_power_try(unsigned int number, const char *how);
void igt_vsoc_power(unsigned int number, const char *how);
/* whether the device's runtime status is @status: "active", "suspended", ... */
bool igt_vsoc_power_is(unsigned int number, const char *status);
/* wait for that status; fails after ten seconds */
void igt_vsoc_await_power(unsigned int number, const char *status);

/* the fault @name (without "fail_") happens the next @times times that its code is reached */
void igt_fault_arm(const struct igt_perfctr_device *dev, const char *name, unsigned int times);
/* disarm it; returns how often it happened */
unsigned int igt_fault_disarm(const struct igt_perfctr_device *dev, const char *name);
/* how often it has happened since it was armed */
unsigned int igt_fault_hits(const struct igt_perfctr_device *dev, const char *name);

#endif
