/* SPDX-License-Identifier: MIT */
/*
 * perfkit: experiments with more counters than the hardware has.
 *
 * Modelled on NVPerfKit: counters are added by name; the device determines the number
 * of passes; the application does the same work once per pass; then every counter has
 * a value for every object. Alternatively the application does its work once, and each
 * sample updates the counters of the next pass. nvperfkit.md has the calls of NVPerfKit
 * and their equivalents.
 *
 *	counter     of the database or of a perf PMU, a metric, or of a unit of the GPU
 *		    "SHD SOL" (speed of light: busy time) and "SHD Bottleneck"
 *	experiment  from begin_experiment to end_experiment: all passes once
 *	pass        counters that the device counts at the same time
 *	object      a part of the work; a pass without objects is object 0
 *
 * Values are fractions of integers in lowest terms and never rounded. A value that was
 * not measured, or that shared its hardware counter, is marked.
 *
 * The library does not know the application's queue: wait for the device (glFinish())
 * before an object begins and before it ends.
 *
 *	struct perfctr_ctx *ctx = NULL;
 *	struct perfctr_device *device = NULL;
 *	struct perfctr_perfkit *kit = NULL;
 *	struct perfctr_perfkit_value value;
 *	unsigned int pass, passes;
 *
 *	if (perfctr_ctx_new(&ctx) || perfctr_device_open(ctx, NULL, &device) ||
 *	    perfctr_perfkit_new(device, &kit) ||
 *	    perfctr_perfkit_add(kit, "shader/FRAGMENTS,gpu_utilization,L2_HITS") < 0 ||
 *	    perfctr_perfkit_begin_experiment(kit, &passes))
 *		return 1;
 *	for (pass = 0; pass < passes; pass++) {
 *		perfctr_perfkit_begin_pass(kit, pass);
 *		sleep(1);
 *		perfctr_perfkit_end_pass(kit);
 *	}
 *	if (!perfctr_perfkit_end_experiment(kit))
 *		perfctr_perfkit_value(kit, 0, 0, &value);
 */
#ifndef PERFCTR_PERFKIT_H
#define PERFCTR_PERFKIT_H

#include <perfctr/perfctr.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct perfctr_perfkit;

/** enum perfctr_perfkit_kind - source of the value of a counter */
enum perfctr_perfkit_kind {
	PERFCTR_PERFKIT_COUNTER = 0, /* it is counted */
	PERFCTR_PERFKIT_METRIC = 1, /* computed from counters by a formula of the database */
	PERFCTR_PERFKIT_SOL = 2, /* cycles in which a unit of the GPU was busy, in % of all */
	/*
	 * cycles in which a unit was busy and did not wait for another unit, in % of all. Waits of
	 * a domain with another clock are converted by the frequencies of perfctr_device_clock().
	 */
	PERFCTR_PERFKIT_BOTTLENECK = 3,
};

/** enum perfctr_perfkit_flags - accuracy of a value */
enum perfctr_perfkit_flags {
	PERFCTR_PERFKIT_UPDATED = 1u << 0, /* measured by the experiment, or by the last sample */
	/* a counter saturated or the hardware lost counts: the value is a lower bound */
	PERFCTR_PERFKIT_OVERFLOW = 1u << 1,
	/*
	 * another session used the hardware counter for part of the time; the value is extrapolated
	 */
	PERFCTR_PERFKIT_ESTIMATED = 1u << 2,
	PERFCTR_PERFKIT_PARTIAL = 1u << 3, /* only some blocks measured it */
};

/** struct perfctr_perfkit_counter - a counter that was added */
struct perfctr_perfkit_counter {
	/* name with its block, "shader/FRAGMENTS", "shader16/FRAGMENTS", "SHD SOL" */
	const char *name;
	const char *text; /* a few words */
	/* unit of the value, "fragments", "%"; events of perf have that of perfctr list, "J" */
	const char *unit;
	/* its description in the database, NULL without one or if it is computed */
	const struct perfctr_counter_desc *desc;
	const struct perfctr_metric_desc *metric; /* formula, NULL if it is counted */
	uint32_t kind; /* enum perfctr_perfkit_kind */
	uint32_t passes; /* number of its passes, after perfctr_perfkit_passes(); else 0 */
	uint32_t first_pass; /* its first pass */
	uint32_t reserved; /* zero */
};

/** struct perfctr_perfkit_value - value of a counter */
struct perfctr_perfkit_value {
	int64_t numerator; /* the value is @numerator / @denominator, in lowest terms */
	int64_t denominator; /* at least 1; 1 for counters without a scale */
	/* cycles of the blocks' clock in that time, 0 without a clock or if unknown */
	uint64_t cycles;
	uint64_t elapsed_ns; /* time in which it was measured */
	uint32_t state; /* enum perfctr_value_state; the numbers are valid only if it is OK */
	uint32_t flags; /* enum perfctr_perfkit_flags */
};

/**
 * perfctr_perfkit_new() - create a kit without counters
 * @device: device to count on
 * @kit: set to the kit on success
 *
 * Return: 0 or -ENOMEM.
 */
int perfctr_perfkit_new(struct perfctr_device *device, struct perfctr_perfkit **kit);
struct perfctr_perfkit *perfctr_perfkit_ref(struct perfctr_perfkit *kit);
struct perfctr_perfkit *perfctr_perfkit_unref(struct perfctr_perfkit *kit);

/**
 * perfctr_perfkit_add() - add counters by name
 * @kit: kit, neither in an experiment nor sampling
 * @text: events separated by commas as perfctr_selection_add() takes them; names of metrics
 *	  with or without "metric:"; names of units, "SHD SOL", "* Bottleneck"
 *
 * Unlike a selection, a kit can have counters of several counter sets. Counters that it
 * already has are not added again.
 *
 * Return: counters that the text names, at least 1; -ENOENT no counter has that name;
 * -EINVAL the text is malformed; -EBUSY an experiment or sampling is active; another
 * negative errno. On failure the kit is unchanged.
 */
int perfctr_perfkit_add(struct perfctr_perfkit *kit, const char *text);

/**
 * perfctr_perfkit_add_all() - add every counter, metric and unit of the GPU
 * @kit: kit, neither in an experiment nor sampling
 *
 * The perf PMUs of the machine are not included, as they have too many events.
 *
 * Return: as perfctr_perfkit_add().
 */
int perfctr_perfkit_add_all(struct perfctr_perfkit *kit);

/**
 * perfctr_perfkit_remove() - remove a counter
 * @kit: kit, neither in an experiment nor sampling
 * @n: 0..count - 1; the counters after it move up by one
 *
 * Return: 0; -ERANGE no such counter; -EBUSY an experiment or sampling is active.
 */
int perfctr_perfkit_remove(struct perfctr_perfkit *kit, size_t n);

/**
 * perfctr_perfkit_count() - counters in a kit
 *
 * Return: the number.
 */
size_t perfctr_perfkit_count(const struct perfctr_perfkit *kit);

/**
 * perfctr_perfkit_counter() - one counter of a kit
 * @n: 0..count - 1
 *
 * Return: the counter, valid until one is added or removed; NULL if out of range.
 */
const struct perfctr_perfkit_counter *perfctr_perfkit_counter(const struct perfctr_perfkit *kit,
							      size_t n);

/**
 * perfctr_perfkit_find() - number of a counter by its name
 * @name: with or without its block, not case-sensitive
 *
 * Return: the number; -ENOENT there is none.
 */
long perfctr_perfkit_find(const struct perfctr_perfkit *kit, const char *name);

/**
 * perfctr_perfkit_passes() - number of passes that the counters need
 * @passes: set to the number on success, at least 1
 *
 * Determined by trial: counters that run at the same time when requested together share
 * a pass. If the device multiplexes counters, this takes a short session for each pass.
 * Other active sessions can increase the number.
 *
 * Return: 0; -ENODATA there are no counters; -ETIMEDOUT the device's time stands still; errors
 * of perfctr_session_new() and perfctr_session_start().
 */
int perfctr_perfkit_passes(struct perfctr_perfkit *kit, unsigned int *passes);

/**
 * perfctr_perfkit_begin_experiment() - begin to measure all counters
 * @kit: kit, neither in an experiment nor sampling
 * @passes: set to the number of passes on success
 *
 * Drops all earlier values.
 *
 * Return: as perfctr_perfkit_passes(); -EBUSY an experiment or sampling is active.
 */
int perfctr_perfkit_begin_experiment(struct perfctr_perfkit *kit, unsigned int *passes);

/**
 * perfctr_perfkit_begin_pass() - count the counters of a pass
 * @kit: kit in an experiment, not in a pass
 * @pass: 0..passes - 1, in any order; repeating a pass replaces its values
 *
 * Return: 0; -EPROTO no experiment, or a pass is active; -ERANGE no such pass; errors of
 * perfctr_session_new() and perfctr_session_start().
 */
int perfctr_perfkit_begin_pass(struct perfctr_perfkit *kit, unsigned int pass);

/**
 * perfctr_perfkit_begin_object() - begin a part of the work
 * @kit: kit in a pass, not in an object
 * @object: number of the part, below 65536; if repeated in the same pass, its counts add up
 *
 * Return: 0; -EPROTO no pass, or an object is active; -ERANGE; another negative errno.
 */
int perfctr_perfkit_begin_object(struct perfctr_perfkit *kit, unsigned int object);

/**
 * perfctr_perfkit_end_object() - end a part of the work
 * @kit: kit in an object
 *
 * Return: 0; -EPROTO no object was begun; another negative errno.
 */
int perfctr_perfkit_end_object(struct perfctr_perfkit *kit);

/**
 * perfctr_perfkit_end_pass() - stop counting
 * @kit: kit in a pass, not in an object
 *
 * Return: 0; -EPROTO no pass, or an object is active; another negative errno: the pass
 * must be repeated.
 */
int perfctr_perfkit_end_pass(struct perfctr_perfkit *kit);

/**
 * perfctr_perfkit_end_experiment() - end an experiment
 * @kit: kit in an experiment
 *
 * Ends it in any state.
 *
 * Return: 0; -EPROTO no experiment; -ENODATA a pass is missing: its counters are
 * PERFCTR_VALUE_NOT_MEASURED.
 */
int perfctr_perfkit_end_experiment(struct perfctr_perfkit *kit);

/**
 * perfctr_perfkit_object_count() - objects that were measured
 *
 * Return: the highest number of an object plus 1; 0 before the first object.
 */
unsigned int perfctr_perfkit_object_count(const struct perfctr_perfkit *kit);

/**
 * perfctr_perfkit_value() - value of a counter
 * @n: counter, 0..count - 1
 * @object: part of the work; 0 for samples
 * @value: filled on success; check its state
 *
 * Return: 0; -ERANGE no such counter.
 */
int perfctr_perfkit_value(const struct perfctr_perfkit *kit, size_t n, unsigned int object,
			  struct perfctr_perfkit_value *value);

/**
 * perfctr_perfkit_time() - a unit's share as a time in ns
 * @n: counter of kind PERFCTR_PERFKIT_SOL or PERFCTR_PERFKIT_BOTTLENECK
 * @object: part of the work; 0 for samples
 * @time_ns: filled on success; check its state
 *
 * The time is value / 100 * cycles / frequency of the unit's clock. Passes with the same
 * work differ in length: compare times of different passes, not shares.
 *
 * Return: 0; -ERANGE no such counter; -EINVAL it is of another kind.
 */
int perfctr_perfkit_time(const struct perfctr_perfkit *kit, size_t n, unsigned int object,
			 struct perfctr_perfkit_value *time_ns);

/**
 * perfctr_perfkit_sample() - end a frame, begin the next one
 * @kit: kit, not in an experiment
 *
 * The first call begins to count the first pass. Each further call updates the counters of
 * one pass, marks only these values PERFCTR_PERFKIT_UPDATED, and continues with the next
 * pass; the last pass is followed by the first. With one pass there is no gap between frames.
 *
 * Return: counters that were updated, 0 for the first call; -EBUSY in an experiment; as
 * perfctr_perfkit_passes(); another negative errno.
 */
int perfctr_perfkit_sample(struct perfctr_perfkit *kit);

/**
 * perfctr_perfkit_end_sampling() - stop sampling
 * @kit: kit; values stay
 */
void perfctr_perfkit_end_sampling(struct perfctr_perfkit *kit);

/**
 * perfctr_perfkit_bottleneck() - the unit that limits the others
 * @kit: kit with counters of kind PERFCTR_PERFKIT_BOTTLENECK
 * @object: part of the work; 0 for samples
 *
 * Return: number of the counter with the longest perfctr_perfkit_time(); -ENODATA no counter
 * has a time, or all are 0.
 */
long perfctr_perfkit_bottleneck(const struct perfctr_perfkit *kit, unsigned int object);

#if defined(__cplusplus)
}
#endif

#endif /* PERFCTR_PERFKIT_H */
