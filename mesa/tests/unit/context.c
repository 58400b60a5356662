// SPDX-License-Identifier: MIT
/*
 * Sessions of a context: the block of a perf event, and queries that share a session. Built by
 * mesa/tests/groups.
 */
#include <stdio.h>
#include <time.h>

static int sleep_of_model(const struct timespec *wait, struct timespec *rest);
/* time is simulated by the model below */
#define nanosleep sleep_of_model

#include "pctr_context.c"
#include "pctr_passes.c"
#include "pctr_value.c"

struct pctr_library pctr;

enum { TYPE = 9, CONFIG = 5, CONFIG1 = 6 };

/* For each number, two requests that differ in it only. */
static const struct drm_perfctr_block_request requests[] = {
	{ .pmu_type = TYPE, .config = CONFIG, .config1 = CONFIG1 },
	{ .pmu_type = TYPE + 1, .config = CONFIG, .config1 = CONFIG1 },
	{ .pmu_type = TYPE, .config = CONFIG + 1, .config1 = CONFIG1 },
	{ .pmu_type = TYPE, .config = CONFIG, .config1 = CONFIG1 + 1 },
	{ .pmu_type = TYPE, .config = CONFIG, .config1 = CONFIG1, .config2 = 1 },
};
enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };
static struct drm_perfctr_block_request in_selection[REQUESTS];

static const struct drm_perfctr_block_request *request(const struct perfctr_selection *selection,
						       size_t n)
{
	return n < REQUESTS ? &in_selection[n] : NULL;
}

static bool blocks_of_perf_events(void)
{
	int wrong = 0;

	pctr.selection_request = request;
	for (unsigned int n = 0; n < REQUESTS; n++) {
		in_selection[n] = requests[n];
		in_selection[n].type = DRM_PERFCTR_BLOCK_GENERIC_PMU;
		in_selection[n].index = (uint16_t)n;
	}
	for (unsigned int n = 0; n < REQUESTS; n++) {
		struct pctr_counter counter = { .pmu_type = requests[n].pmu_type,
						.config = requests[n].config,
						.config1 = requests[n].config1,
						.config2 = requests[n].config2 };

		wrong += generic_index(NULL, &counter) != n;
	}
	return !wrong;
}

#include "model.c"
#include "tap.h"

/* Create a query as the hook does, with one letter per event. */
static struct pctr_query *query_of(const char *events, unsigned int flags)
{
	unsigned int counters[EVENTS], count = 0;

	for (; *events; events++)
		counters[count++] = (unsigned int)(*events - 'a');
	return pctr_query_new(&hardware, counters, count, flags);
}

static struct pctr_query *monitor_of(const char *events)
{
	return query_of(events, PCTR_QUERY_EXACT);
}

/* Free everything and check that nothing is left. */
static bool all_gone(void)
{
	while (hardware.queries)
		pctr_query_free(hardware.queries);
	drop_sessions(&hardware);
	return !sessions && !counting;
}

static unsigned int bit(char event)
{
	return 1u << (event - 'a');
}

/* Set the events that another process counts from now on. */
static void count_elsewhere(const char *events)
{
	for (others = 0; *events; events++)
		others |= bit(*events);
	select_again();
}

static void let_slots_pass(unsigned int slots)
{
	for (unsigned int n = 0; n < slots; n++) {
		let_pass(SLOT_NS);
		collect();
	}
}

static bool bad_query_fails_alone(void)
{
	struct pctr_query *good, *bad;
	bool ok;

	use_hardware();
	bad = query_of("g", 0);
	good = query_of("a", 0);
	forbidden = bit('g');
	ok = !pctr_query_begin(bad) && !sessions && complaints == 1;
	/* alone, as the other query is not active */
	tries = 0;
	ok = ok && pctr_query_begin(good) && tries == 1 && sessions == 1 && complaints == 1;
	ok = ok && pctr_query_end(good);
	pctr_query_free(bad);
	pctr_query_free(good);
	/* "h" is never multiplexed: the session is tried with it first, then without it */
	forbidden = bit('h');
	bad = query_of("h", 0);
	good = query_of("a", 0);
	tries = 0;
	ok = ok && pctr_query_begin(good) && tries == 2 && sessions == 1 && complaints == 1;
	return all_gone() && ok;
}

static bool multiplexed_monitors_are_refused(void)
{
	struct pctr_query *first, *second, *both;
	bool ok;

	use_hardware();
	first = monitor_of("bcd");
	second = monitor_of("e");
	both = monitor_of("bcde");
	/* inactive queries do not count, so there is no conflict */
	ok = pctr_query_begin(first) && sessions == 1 && pctr_query_end(first);
	ok = ok && pctr_query_begin(second) && pctr_query_end(second);
	ok = ok && !pctr_query_begin(both) && !complaints && !counting;
	return all_gone() && ok;
}

static bool active_monitors_stay_exact(void)
{
	struct pctr_query *a, *b, *single, *waits, *fitting, *pmu;
	uint64_t begin_ns, value;
	bool ok;

	use_hardware();
	a = monitor_of("de");
	fitting = monitor_of("f");
	/* "b" and "c" would never wait, but would make "e" and "f" wait */
	b = monitor_of("bc");
	single = monitor_of("b");
	waits = monitor_of("g");
	pmu = monitor_of("ah");
	ok = pctr_query_begin(a);
	begin_ns = now.enabled_ns;
	let_slots_pass(5);
	ok = ok && !pctr_query_begin(b);
	/* the same with a separate session */
	most_events = 2;
	ok = ok && !pctr_query_begin(b);
	most_events = EVENTS;
	ok = ok && pctr_query_begin(fitting) && pctr_query_begin(pmu);
	ok = ok && !pctr_query_begin(single) && !pctr_query_begin(waits);
	ok = ok && pctr_query_end(fitting) && pctr_query_end(pmu);
	/* now it fits */
	ok = ok && pctr_query_begin(single) && pctr_query_end(single);
	let_slots_pass(3);
	ok = ok && pctr_query_end(a) && !complaints;
	/* not extrapolated: only a part of the trials' time is missing */
	value = pctr_query_value(a, 1).integer;
	ok = ok && value >= 8 * SLOT_NS && value % IOCTL_NS == 0 &&
	     value < now.enabled_ns - begin_ns;
	return all_gone() && ok;
}

/* The HUD's counters are multiplexed, among themselves or with others. */
static bool hud_begins_always(void)
{
	struct pctr_query *hud, *monitor, *other;
	bool ok;

	use_hardware();
	hud = query_of("bcdefg", 0);
	monitor = monitor_of("ef");
	other = monitor_of("e");
	ok = pctr_query_begin(hud) && !pctr_query_begin(monitor) && pctr_query_end(hud);
	ok = ok && pctr_query_begin(monitor) && pctr_query_begin(other) && !complaints;
	/* in the reverse order a message is printed */
	ok = ok && pctr_query_begin(hud);
	let_slots_pass(6);
	ok = ok && pctr_query_end(monitor) && complaints == 1 && pctr_query_end(other) &&
	     complaints == 1;
	return all_gone() && ok;
}

static bool monitors_are_in_all_passes(void)
{
	struct pctr_query *hud, *monitor, *next;
	bool ok;

	use_hardware();
	/*
	 * first the monitor's three events, then the HUD's: in the first slot the monitor does not
	 * wait
	 */
	hud = query_of("efg", 0);
	monitor = monitor_of("bcd");
	ok = pctr_query_begin(hud) && !pctr_query_begin(monitor);
	all_gone();
	/* only the HUD's events wait; they run now, but not in later slots */
	hud = query_of("bde", 0);
	monitor = monitor_of("b");
	next = monitor_of("c");
	ok = ok && pctr_query_begin(hud) && pctr_query_begin(monitor) && pctr_query_begin(next);
	let_slots_pass(4);
	ok = ok && pctr_query_end(monitor) && pctr_query_end(next) && !complaints;
	/* events that already wait continue to wait */
	ok = ok && pctr_query_begin(monitor) && pctr_query_begin(next);
	return all_gone() && ok;
}

static bool another_process_is_reported(void)
{
	struct pctr_query *single, *both, *later;
	bool ok;

	use_hardware();
	single = monitor_of("g");
	both = monitor_of("bg");
	count_elsewhere("def");
	/* a single counter begins and is extrapolated */
	ok = !pctr_query_begin(both) && pctr_query_begin(single);
	let_slots_pass(20);
	ok = ok && pctr_query_end(single) && complaints == 1;
	hardware.said_waits = false;
	/* Begin cannot detect a session that starts later */
	count_elsewhere("");
	later = monitor_of("fg");
	ok = ok && pctr_query_begin(later);
	count_elsewhere("bcd");
	let_slots_pass(20);
	ok = ok && pctr_query_end(later) && complaints == 2;
	return all_gone() && ok;
}

/* The hardware counts ns, so that each extrapolated count is a multiple of IOCTL_NS, too. */
static bool extrapolated_counts_are_rounded(void)
{
	struct pctr_query *single;
	bool ok = true;

	use_hardware();
	single = monitor_of("g");
	count_elsewhere("def");
	/* for some of these times (enabled / running) * running is not whole */
	for (unsigned int n = 0; n < 400; n++) {
		ok = ok && pctr_query_begin(single);
		for (unsigned int i = 0; i < 3 + n % 11; i++) {
			let_pass(SLOT_NS + (n + i) * IOCTL_NS);
			collect();
		}
		ok = ok && pctr_query_end(single) &&
		     pctr_query_value(single, 0).integer % IOCTL_NS == 0;
	}
	return all_gone() && ok && complaints;
}

/* A new monitor has the first of two slots, because the other events had theirs before. */
static bool monitors_of_two_passes_are_refused(void)
{
	struct pctr_query *hud, *newcomers;
	bool ok;

	use_hardware();
	newcomers = monitor_of("bc");
	count_elsewhere("def");
	let_slots_pass(1);
	ok = !pctr_query_begin(newcomers) && !complaints && !counting;
	/* it fits, then another process starts between two monitors */
	count_elsewhere("d");
	ok = ok && pctr_query_begin(newcomers) && pctr_query_end(newcomers);
	count_elsewhere("def");
	ok = ok && !pctr_query_begin(newcomers) && !complaints;
	pctr_query_free(newcomers);
	/* beside the HUD in the same pass: no event of the context waits in the first slot */
	count_elsewhere("efg");
	hud = query_of("bd", 0);
	newcomers = monitor_of("bc");
	ok = ok && pctr_query_begin(hud) && !pctr_query_begin(newcomers) && !complaints;
	return all_gone() && ok;
}

/* Slots are measured in the device's time. */
static bool slow_devices_are_waited_for(void)
{
	struct pctr_query *monitor;
	bool ok;

	use_hardware();
	slowness = 4;
	monitor = monitor_of("bc");
	count_elsewhere("def");
	let_slots_pass(1);
	ok = !pctr_query_begin(monitor) && !complaints;
	count_elsewhere("d");
	ok = ok && pctr_query_begin(monitor) && pctr_query_end(monitor) && !complaints;
	return all_gone() && ok;
}

/* A HUD frame of @ns; returns the first counter's value, ~0 if the values differ. */
static uint64_t hud_frame(struct pctr_query *query, uint64_t ns)
{
	uint64_t value;

	if (!pctr_query_begin(query))
		return UINT64_MAX;
	let_pass(ns);
	if (!pctr_query_end(query))
		return UINT64_MAX;
	value = pctr_query_value(query, 0).integer;
	for (unsigned int n = 1; n < query->count; n++)
		if (pctr_query_value(query, n).integer != value)
			return UINT64_MAX;
	return value;
}

/* The last of @frames frames whose value is not @value, 0 if there is none. */
static unsigned int last_other(struct pctr_query *query, unsigned int frames, uint64_t ns,
			       uint64_t value)
{
	unsigned int last = 0;

	for (unsigned int n = 1; n <= frames; n++)
		if (hud_frame(query, ns) != value)
			last = n;
	return last;
}

static bool short_frames_are_put_together(void)
{
	/* the end of a frame also takes an ioctl; a window has two passes of eight slots each */
	enum { FRAME_NS = SLOT_NS / 4, WINDOW = 2 * 8 * 4, FRAMES = 3 * WINDOW };
	uint64_t frame = FRAME_NS + IOCTL_NS;
	struct pctr_query *hud;
	unsigned int first = 0;
	bool ok;

	use_hardware();
	hud = query_of("bcdefg", PCTR_QUERY_FRAME);
	/* values appear after all counters had their slots; each event counts 1 per ns */
	while (first < FRAMES && hud_frame(hud, FRAME_NS) != frame)
		first++;
	ok = first > WINDOW / 2 && first <= WINDOW && !last_other(hud, FRAMES, FRAME_NS, frame);
	pctr_query_free(hud);
	ok = ok && !hardware.windows;
	/*
	 * alone each frame has its own value, with another process a mean; later again its own
	 * after a window
	 */
	hud = query_of("bcd", PCTR_QUERY_FRAME);
	ok = ok && !last_other(hud, 9, FRAME_NS, frame) &&
	     !last_other(hud, 9, 2 * FRAME_NS, 2 * FRAME_NS + IOCTL_NS);
	count_elsewhere("efg");
	ok = ok && last_other(hud, FRAMES, FRAME_NS, frame) < FRAMES / 2;
	count_elsewhere("");
	first = last_other(hud, FRAMES, 2 * FRAME_NS, 2 * FRAME_NS + IOCTL_NS);
	ok = ok && !last_other(hud, 9, FRAME_NS, frame);
	return all_gone() && ok && first && first <= WINDOW && !hardware.windows && !complaints;
}

/* the device is idle: division by zero */
static bool idle;

static int metric_of_model(const struct perfctr_totals *totals,
			   const struct perfctr_metric_desc *metric,
			   const struct perfctr_totals_block *block, struct perfctr_value *value)
{
	*value = (struct perfctr_value){ .number = 7,
					 .state = idle ? PERFCTR_VALUE_ZERO_DENOMINATOR :
							 PERFCTR_VALUE_OK };
	return 0;
}

/* Without waiting: a window with a zero denominator must not hide later values. */
static bool ratios_of_nothing_are_forgotten(void)
{
	enum { FRAMES = 100 };
	static const struct perfctr_metric_desc ratio = { .unit = "samples/cycle" };
	struct pctr_query *hud;
	bool ok;

	use_hardware();
	pctr.totals_metric = metric_of_model;
	letters[1].metric = &ratio;
	hud = query_of("b", PCTR_QUERY_FRAME);
	idle = true;
	ok = !last_other(hud, FRAMES, SLOT_NS, 0);
	idle = false;
	ok = ok && !last_other(hud, 1, SLOT_NS, 7);
	return all_gone() && ok;
}

int main(void)
{
	puts("1..12");
	check(blocks_of_perf_events(), "each field of a request distinguishes perf events");
	check(bad_query_fails_alone(),
	      "a query that cannot be opened does not prevent others from counting");
	check(multiplexed_monitors_are_refused(),
	      "a monitor that would be multiplexed does not begin; inactive ones do not conflict");
	check(active_monitors_stay_exact(),
	      "a monitor that would cause an active one to be multiplexed does not begin");
	check(hud_begins_always(), "the HUD always begins, and its effect on monitors is reported");
	check(monitors_are_in_all_passes(),
	      "a monitor begins if its counters are in all passes, not only in the first");
	check(another_process_is_reported(),
	      "beside another process one counter is extrapolated, more are refused");
	check(extrapolated_counts_are_rounded(), "an extrapolated count is rounded, not cut off");
	check(monitors_of_two_passes_are_refused(),
	      "a monitor that has the first slot beside another process is observed for longer");
	check(slow_devices_are_waited_for(),
	      "samples of a trial are a slot of the device's time apart");
	check(short_frames_are_put_together(),
	      "frames of the HUD that are shorter than slots are averaged");
	check(ratios_of_nothing_are_forgotten(),
	      "a window whose denominator is zero does not hide later values");
	return failed != 0;
}
