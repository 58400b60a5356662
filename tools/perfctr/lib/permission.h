/* SPDX-License-Identifier: MIT */
/* Whether this user may see counters, and if not, how to fix it. */
#pragma once

#include "app.h"

#define PARANOID_PATH "/proc/sys/dev/perfctr/paranoid"

/* what a user may do with a device */
struct permission {
	bool may_count; /* a session with the device's counters is accepted */
	bool own_only; /* else not, but the local device may count this user's processes */
	bool cap_perfmon; /* the process has CAP_PERFMON or CAP_SYS_ADMIN */
	int error; /* reason if not, a negative errno */
	char text[256]; /* the reason as a sentence */
	char fix[512]; /* command that fixes it, empty if nothing has to be changed */
};

/* Find out by asking the kernel to check a session. */
void permission_of(const struct app *app, struct perfctr_device *device,
		   struct permission *permission);

/*
 * Whether the kernel would accept a session with a block of the device.
 * Return: 0 or a negative errno, -EACCES above all.
 */
int permission_to_count(struct perfctr_device *device);

/* Commands that let this user open a node, by its group and mode; valid until the next call. */
const char *permission_node_fix(const char *path);

/* Whether this user may not open a node; if the driver is known, it is open and refuses. */
bool permission_entry_denied(const struct perfctr_device_entry *entry);

/* Why a node offers no counters. @entry: with an error. Return: text, valid until the next call. */
const char *permission_entry_text(const struct perfctr_device_entry *entry);
