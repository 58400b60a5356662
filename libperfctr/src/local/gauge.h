/* SPDX-License-Identifier: MIT */
/*
 * Values that a device shows as a table: read as a whole, each an event of a PMU that exists only
 * in this library. A source has the tables of one interface.
 */
#pragma once

#include "meter.h"
#include "base/device.h"

/* How a value of a table becomes one of an event. */
struct gauge_kind {
	unsigned int config; /* what it is, as in the page of the PMU */
	bool is_count;
	/* the event's value is that of the table times this over that */
	uint32_t factor, divisor;
	/* the largest growth of a count in a second, of the table's value; 0: not known */
	uint64_t most_per_s;
};

/* an event of a session */
struct gauge {
	const struct gauge_kind *kind;
	struct meter meter; /* of a count */
	uint64_t changed_ns; /* when it was found to be another value */
	bool began; /* START's reading is over: a count that is first read now is late */
	/* as of the last reading: count since START, or level */
	uint64_t value;
	bool measured;
	bool lost; /* something may be missing; the user resets it */
};

/* Begin to count with the next reading. */
static inline void gauge_start(struct gauge *g)
{
	*g = (struct gauge){ .kind = g->kind };
}

/* Bring an event up to date, with a value of the table that was read at a time. */
static inline void gauge_take(struct gauge *g, uint64_t value, uint64_t now_ns)
{
	const struct gauge_kind *k = g->kind;
	const uint64_t before = g->meter.total;
	double seconds;

	g->measured = true;
	if (!k->is_count) {
		g->value = value * k->factor / k->divisor;
		return;
	}
	if (!g->meter.read) {
		g->lost |= g->began;
		meter_begin(&g->meter, value);
		g->changed_ns = now_ns;
	}
	/* a table may be a second late */
	seconds = (double)(now_ns - g->changed_ns) / NS_PER_S + 1;
	if (g->meter.last != value)
		g->changed_ns = now_ns;
	g->lost |= meter_step(&g->meter, value);
	if (k->most_per_s && (double)(g->meter.total - before) > seconds * (double)k->most_per_s) {
		g->meter.total = before;
		g->lost = true;
	}
	g->value = g->meter.total / k->divisor * k->factor +
		   g->meter.total % k->divisor * k->factor / k->divisor;
}

/* Return: 0; else the walk ends with it. */
typedef int (*gauge_fn)(void *arg, const char *name, const struct gauge_kind *kind);

struct gauge_source {
	const char *pmu;
	/* Whether the machine has such a device; wakes none, and runs no code of a vendor. */
	bool (*exists)(struct perfctr_ctx *ctx);
	/*
	 * Call fn for each event; wakes no device. @reason: why a device shows none, in a text of
	 * GAUGE_REASON_BYTES; untouched if all do.
	 */
	int (*list)(struct perfctr_ctx *ctx, gauge_fn fn, void *arg, char *reason);
	/*
	 * Begin to read an event. @state: of the session, NULL at first; @name: perfctr_hash() of
	 * it; @pid: of the process to count, 0: all; @gauge: set to the event's, which the state
	 * owns. Return: 0; -ENOENT there is none; -EOPNOTSUPP the device does not measure it;
	 * another negative errno.
	 */
	int (*open)(struct perfctr_ctx *ctx, void **state, uint64_t name, long pid,
		    struct gauge **gauge, char *reason);
	/* Call fn for each process that has an event; NULL: no event is of a process. */
	int (*pids)(struct perfctr_ctx *ctx, const char *name, int (*fn)(void *arg, long pid),
		    void *arg, char *reason);
	/* Read all events of a session; a device that sleeps or fails is not measured. */
	void (*read)(struct perfctr_ctx *ctx, void *state);
	/* Begin to count: the next reading is that of START. */
	void (*start)(void *state);
	void (*close)(void *state);
};

enum { GAUGE_REASON_BYTES = 320 };

extern const struct gauge_source amdgpu_source, nvml_source, gpu_stats_source;
