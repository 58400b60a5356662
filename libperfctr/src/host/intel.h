/* SPDX-License-Identifier: MIT */
/* Counters of Intel's GPUs: what the drivers i915 and xe have in common. */
#pragma once

#include "host.h"
#include "oa_report.h"
#include "stream_time.h"

/* a generation, whose GPUs are counted with one list */
struct intel_generation {
	u16 product;
	const struct oa_format *format;
	const struct oa_list *list;
	u8 eu_threads; /* that an execution unit can hold */
	u8 counters;
};

struct intel;

/* what a driver does its own way; errors are those of the system call */
struct intel_calls {
	/* Fill in device_id, eus if they are known, and hz. -ENOTTY: no such driver. */
	int (*identify)(struct intel *i);
	/* Return: number of the configuration with the list's registers; -EADDRINUSE: it exists. */
	int (*add_config)(struct intel *i);
	/* Open a stream that does not count yet. Return: its file, close-on-exec, non-blocking. */
	int (*open)(struct intel *i);
	/*
	 * Read what there is into i->buffer, whole reports.
	 * Return: bytes, 0: nothing; *lost: reports, or the buffer, were overwritten before.
	 */
	ssize_t (*read)(struct intel *i, bool *overflow);
	/* The next report of the buffer, NULL: no more; *restarted: the unit has before it. */
	const void *(*next)(struct intel *i, bool *restarted);
	const char *needs, *stream_name;
};

struct intel {
	struct host_source hs;
	const struct intel_calls *calls;
	const struct intel_generation *generation;
	char name[32], why[192];
	struct drm_perfctr_clock_desc clock;
	struct drm_perfctr_block_desc desc;
	u16 device_id;
	unsigned int eus; /* execution units, 0: unknown */
	u64 hz; /* of timestamps */
	u32 exponent; /* a report each 2^(exponent + 1) of them */
	u64 period_ns; /* longest of reports, as the stream was opened */
	u32 unit, revision; /* of the OA unit of xe; of i915's interface */
	u32 config; /* number of the list's configuration, 0: unknown */

	int stream; /* -1: none */
	size_t bytes, at; /* in the buffer */
	bool has_last;
	struct oa_values last; /* of the last report */
	u64 ticks; /* of the timestamp since the stream began */
	struct stream_time time;
	u64 counted_ns; /* RAW up to which counts are in the totals, or their time is lost */
	_Alignas(8) unsigned char buffer[1 << 16];
};

int intel_ioctl(const struct intel *i, int fd, unsigned long request, void *argument);
int intel_probe(struct host *host, const struct intel_calls *calls);
void intel_remove(struct host *host);
