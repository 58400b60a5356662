/* SPDX-License-Identifier: MIT */
/* Open the device, directly or through the broker, and select what to count on it. */
#pragma once

#include <string.h>

#include "app.h"
#include "option.h"

/* -d of all devices that may be counted without their names */
#define DEVICE_ALL "all"

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

/*
 * Name of a device for people: "renderD128", whatever link it was opened by, or "local".
 * Return: @name.
 */
char *device_node(const struct perfctr_device *device, char *name, size_t size);

/* Whether two are the same device, whatever they were opened by. */
bool device_is_same(const struct perfctr_device *a, const struct perfctr_device *b);

/* The name of the node of the device at a place. Return: false if there is none now. */
bool device_at(const char *place, char *node, size_t size);

/* Open a device for queries only: by the broker if --via names one or the node cannot be opened. */
int device_open_to_look(const struct app *app, const char *which, bool any,
			struct perfctr_device **device);

/* Say that a device sleeps, or has to be named. Return: whether it is so. */
bool device_note_entry(const struct app *app, const struct perfctr_device_entry *entry);

/* If the local device was chosen for want of another: say which sleep, or have to be named. */
void device_note_others(const struct app *app, const char *which,
			const struct perfctr_device *device);

/*
 * Add the defaults to the selection. @machine: with events of the machine, which each device has.
 * Return: 0 or an exit status.
 */
int device_select_defaults(const struct app *app, const struct perfctr_device *device,
			   struct perfctr_selection *selection, bool machine);

/*
 * Add the events to the selection, or the defaults if there are none. Return: 0 or an exit status.
 */
int device_select(const struct app *app, const struct perfctr_device *device,
		  struct perfctr_selection *selection, const char *const *events, size_t count);

/* Whether all that is selected is events of PMUs, which each device has. */
bool device_is_of_machine(const struct perfctr_selection *selection);

/*
 * Whether an event that is selected happens in the kernel alone, as switches and migrations do. For
 * who may not count the kernel, perf counts 0 of it.
 */
bool device_has_event_of_kernel(const struct perfctr_selection *selection);

/*
 * Add those of the events that a device has. @machine: also events of the machine.
 * Return: 0 or an exit status, the message was printed.
 */
int device_select_existing(const struct app *app, struct perfctr_device *device,
			   struct perfctr_selection *selection, const struct option_words *events,
			   bool machine);

/* --per-client: add the engine times of each process that uses a GPU. Return: as device_select() */
int device_select_clients(const struct app *app, struct perfctr_selection *selection);

/*
 * For -A: count events of perf PMUs apart by CPU, where the local device counts the machine.
 * Return: 0 or an exit status, the message was printed.
 */
int device_select_per_cpu(const struct app *app, struct perfctr_selection *selection);
