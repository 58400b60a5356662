/* SPDX-License-Identifier: MIT */
/* Open the device, directly or through the broker, and select what to count on it. */
#pragma once

#include <string.h>

#include "app.h"

/* of one that is never the first choice; the driver's name follows */
#define DEVICE_BY_NAME "only counted by -d %s"

/* Whether it is the local device: this machine's perf PMUs, without a DRM node. */
static inline bool device_is_local(const struct perfctr_device *device)
{
	return !strcmp(perfctr_device_driver(device), PERFCTR_DEVICE_LOCAL);
}

/*
 * Open a device to count on, or print why there is none. Uses the broker if --via names one, or if
 * this user may not count and the system's broker accepts the user.
 * @any: no event was named: a user without permission for the GPU gets the local device.
 * Return: 0 or an exit status.
 */
int device_open(const struct app *app, const char *which, bool any, struct perfctr_device **device);

/* Whether the system's broker runs and lets this user count something. */
bool device_broker_accepts(const struct app *app);

/*
 * Where a device is: a pattern of its nodes in sysfs, so that it is found again after it was lost.
 * The caller frees it. Return: NULL if it has no node.
 */
char *device_place(const struct perfctr_device *device);

/* The name of the node of the device at a place. Return: false if there is none now. */
bool device_at(const char *place, char *node, size_t size);

/* Open a device for queries only: by the broker if --via names one or the node cannot be opened. */
int device_open_to_look(const struct app *app, const char *which, bool any,
			struct perfctr_device **device);

/* If the local device was chosen for want of another: say which sleep, or have to be named. */
void device_note_others(const struct app *app, const char *which,
			const struct perfctr_device *device);

/*
 * Add the events to the selection, or the defaults if there are none. Return: 0 or an exit status.
 */
int device_select(const struct app *app, const struct perfctr_device *device,
		  struct perfctr_selection *selection, const char *const *events, size_t count);

/* --per-client: add the engine times of each process that uses a GPU. Return: as device_select() */
int device_select_clients(const struct app *app, struct perfctr_selection *selection);

/*
 * For -A: count events of perf PMUs apart by CPU, where the local device counts the machine.
 * Return: 0 or an exit status, the message was printed.
 */
int device_select_per_cpu(const struct app *app, struct perfctr_selection *selection);
