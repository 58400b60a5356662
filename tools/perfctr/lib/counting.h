/* SPDX-License-Identifier: MIT */
/* What stat and record count, and beside what: the options that both have. */
#ifndef PERFCTR_COUNTING_H
#define PERFCTR_COUNTING_H

#include <getopt.h>

#include "option.h"

/**
 * struct counting - the options that stat and record share
 */
struct counting {
	/** @device: node, driver or name; NULL: the first. */
	const char *device;
	/** @events: names; empty: those that tell most. */
	struct option_words events;
	/** @period_ns: time between samples. */
	uint64_t period_ns;
	/** @has_period: it was given. */
	bool has_period;
	/** @timeout_ns: counting ends after that, 0: never. */
	uint64_t timeout_ns;
	/** @set: counter set. */
	unsigned int set;
	bool keep_awake;
	/** @output: file, NULL: not given. */
	const char *output;
	bool json;
	/** @command: to count beside, NULL: none. */
	char **command;
};

/* values of long options, behind all letters and the commands' own */
enum { COUNTING_TIMEOUT = 512, COUNTING_SET, COUNTING_KEEP_AWAKE, COUNTING_VIA };

/* for getopt_long(): letters, and elements of the array */
#define COUNTING_LETTERS "e:p:o:jd:ah"
/* clang-format off */
#define COUNTING_LONG_OPTIONS \
	{ "event", required_argument, NULL, 'e' }, \
	{ "period", required_argument, NULL, 'p' }, \
	{ "output", required_argument, NULL, 'o' }, \
	{ "json", no_argument, NULL, 'j' }, \
	{ "device", required_argument, NULL, 'd' }, \
	{ "all-cpus", no_argument, NULL, 'a' }, \
	{ "timeout", required_argument, NULL, COUNTING_TIMEOUT }, \
	{ "set", required_argument, NULL, COUNTING_SET }, \
	{ "keep-awake", no_argument, NULL, COUNTING_KEEP_AWAKE }, \
	{ "via", required_argument, NULL, COUNTING_VIA }, \
	{ "help", no_argument, NULL, 'h' }
/* clang-format on */

/**
 * counting_option() - take an option that both commands have
 * @app: for messages; gets --via
 * @counting: filled
 * @c: what getopt_long() gave
 * @period_or_zero: whether a period of zero means something
 *
 * Return: 0 or an exit status, EXIT_USAGE also for what nobody knows; the reason was told.
 */
int counting_option(struct app *app, struct counting *counting, int c, bool period_or_zero);

/**
 * counting_open() - the device and what to count on it
 * @app: for messages
 * @counting: options
 * @device: set to the device
 * @selection: set to the selection
 *
 * Return: 0 or an exit status, the reason was told; what was set is the caller's in any case.
 */
int counting_open(const struct app *app, const struct counting *counting,
		  struct perfctr_device **device, struct perfctr_selection **selection);

/**
 * counting_in_stream_session() - a session for samples that jobs carry
 * @selection: what to count
 * @opts: options; slots and watermark do not matter
 * @session: set to the session on success
 *
 * Its ring is as large as the device has for many jobs at once.
 *
 * Return: 0 or a negative errno.
 */
int counting_in_stream_session(struct perfctr_selection *selection,
			       const struct perfctr_session_opts *opts,
			       struct perfctr_session **session);

#endif /* PERFCTR_COUNTING_H */
