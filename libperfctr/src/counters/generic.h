/* SPDX-License-Identifier: MIT */
/* perf's generic events: names that mean the same on every CPU. */
#pragma once

#include "base/device.h"

/* an event by its names in sysfs, or by its number for the kernel, which knows each CPU's event */
struct generic_event {
	uint32_t type; /* PERF_TYPE_HARDWARE or PERF_TYPE_HW_CACHE */
	uint64_t config;
	/* in the order of preference, up to a NULL; some PMUs have several */
	const char *const *names;
};

/* "cycles", "branches", "L1-dcache-load-misses". Return: whether it is one. */
bool generic_event_find(const char *name, struct generic_event *event);

/* "r1c0": the config of a raw event in hexadecimal. Return: whether it is one. */
bool raw_event_parse(const char *name, uint64_t *config);

/* all letters that perf takes behind an event, also those that are refused */
#define PERF_MODIFIERS "ukhGHIpPSDWebR"

/*
 * Read perf's modifiers, "u".
 * @event: for the message; @flags: set to LOCAL_REQUEST_... bits.
 * Return: 0; -EINVAL one is not supported, the reason is kept.
 */
int modifiers_parse(struct perfctr_ctx *ctx, const char *event, const char *text, uint32_t *flags);
