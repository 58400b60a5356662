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
	(void)selection;
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

/* --- a library whose hardware counts ROOM events at a time ---------------------- */

static int sessions, tries, complaints;

static void say(const char *what)
{
	(void)what;
	complaints++;
}

static const char *ctx_error(const struct perfctr_ctx *ctx)
{
	(void)ctx;
	return "not permitted";
}

/*
 * Events are one letter. "a" and "h" are of perf PMUs and never wait. A pass has a multiplexing
 * slot of the length in docs/pcounter.md.
 */
enum { EVENTS = 8, ROOM = 3, TURN_NS = 2000000, IOCTL_NS = 50000 };
#define ALWAYS (1u << ('a' - 'a') | 1u << ('h' - 'a'))

/* Times and counts of each event; an event counts 1 per ns in which it runs. */
struct counts {
	uint64_t enabled_ns, running_ns[EVENTS];
};

struct perfctr_session {
	struct perfctr_session *next;
	unsigned int events;
	struct counts base;
	/* the unread sample */
	struct counts sample;
	bool has_sample;
};

struct perfctr_totals {
	unsigned int events;
	struct counts counts;
	struct perfctr_totals_block_info info;
	struct perfctr_total total;
};

static struct counts now;
static struct perfctr_session *counting;
/* the running pass, and the time of its current slot */
static unsigned int current_pass;
static uint64_t slice_ns;
/* number of the last slot of each event, and of the current slot */
static unsigned int last_turn[EVENTS], turn;
/* events that another process counts */
static unsigned int others;
/* the device's time advances by 1 / slowness of the time that callers sleep */
static unsigned int slowness;
static const struct counts *sample_read;
static unsigned int sample_events;

static unsigned int wanted_events(void)
{
	unsigned int wanted = others;

	for (const struct perfctr_session *s = counting; s; s = s->next)
		wanted |= s->events;
	return wanted & ~ALWAYS;
}

static unsigned int pass_count(void)
{
	unsigned int count = (unsigned int)__builtin_popcount(wanted_events());

	return count ? (count + ROOM - 1) / ROOM : 1;
}

/*
 * A pass has the next ROOM wanted events in alphabetical order; the last pass is filled up with the
 * first events again.
 */
static unsigned int events_of_pass(unsigned int pass)
{
	unsigned int wanted = wanted_events(), events = 0, rank = 0;
	unsigned int count = (unsigned int)__builtin_popcount(wanted), passes = pass_count();

	for (unsigned int n = 0; n < EVENTS; n++) {
		if (!(wanted >> n & 1))
			continue;
		if (rank / ROOM == pass || (pass == passes - 1 && rank < passes * ROOM - count))
			events |= 1u << n;
		rank++;
	}
	return events;
}

static void begin_turn(unsigned int pass)
{
	unsigned int events = events_of_pass(pass);

	current_pass = pass;
	slice_ns = 0;
	turn++;
	for (unsigned int n = 0; n < EVENTS; n++)
		if (events >> n & 1)
			last_turn[n] = turn;
}

/*
 * As in the kernel: the pass of the event that has waited longest, usually a new one, has the first
 * slot.
 */
static void select_again(void)
{
	unsigned int wanted = wanted_events(), first = EVENTS, pass = 0;

	for (unsigned int n = 0; n < EVENTS; n++)
		if (wanted >> n & 1 && (first == EVENTS || last_turn[n] < last_turn[first]))
			first = n;
	while (first < EVENTS && !(events_of_pass(pass) >> first & 1))
		pass++;
	begin_turn(pass);
}

static void let_pass(uint64_t ns)
{
	unsigned int running = events_of_pass(current_pass) | ALWAYS;

	now.enabled_ns += ns;
	slice_ns += ns;
	for (unsigned int n = 0; n < EVENTS; n++)
		if (running >> n & 1)
			now.running_ns[n] += ns;
}

/* Slots end only at collections. */
static void collect(void)
{
	if (slice_ns >= TURN_NS && pass_count() > 1)
		begin_turn((current_pass + 1) % pass_count());
}

/* The kernel's own collections may be late. */
static int sleep_of_model(const struct timespec *wait, struct timespec *rest)
{
	(void)rest;
	let_pass((uint64_t)wait->tv_nsec / slowness);
	return 0;
}

/* events of the selection, and events without permission */
static unsigned int selected, forbidden;
static int most_events;

static int select_event(struct perfctr_selection *selection, const char *event)
{
	(void)selection;
	selected |= 1u << (event[0] - 'a');
	return 1;
}

static int select_nothing(struct perfctr_device *device, struct perfctr_selection **selection)
{
	(void)device;
	selected = 0;
	*selection = (struct perfctr_selection *)&selected;
	return 0;
}

static struct perfctr_selection *selection_unref(struct perfctr_selection *selection)
{
	(void)selection;
	return NULL;
}

static int open_session(struct perfctr_selection *selection,
			const struct perfctr_session_opts *opts, struct perfctr_session **session)
{
	struct perfctr_session *s;

	(void)selection;
	(void)opts;
	tries++;
	if (selected & forbidden)
		return -EACCES;
	if (__builtin_popcount(selected) > most_events)
		return -E2BIG;
	s = calloc(1, sizeof(*s));
	s->events = selected;
	*session = s;
	sessions++;
	return 0;
}

static struct perfctr_session *close_session(struct perfctr_session *session)
{
	struct perfctr_session **link = &counting;

	while (*link && *link != session)
		link = &(*link)->next;
	if (*link) {
		*link = session->next;
		select_again();
	}
	sessions -= session != NULL;
	free(session);
	return NULL;
}

static int start_session(struct perfctr_session *session, uint64_t user_data)
{
	(void)user_data;
	session->base = now;
	session->next = counting;
	counting = session;
	select_again();
	return 0;
}

static int take_sample(struct perfctr_session *session, uint64_t user_data)
{
	(void)user_data;
	let_pass(IOCTL_NS);
	session->sample.enabled_ns = now.enabled_ns - session->base.enabled_ns;
	for (unsigned int n = 0; n < EVENTS; n++)
		session->sample.running_ns[n] = now.running_ns[n] - session->base.running_ns[n];
	session->base = now;
	session->has_sample = true;
	collect();
	return 0;
}

static int open_cursor(struct perfctr_session *session, struct perfctr_cursor **cursor)
{
	*cursor = (struct perfctr_cursor *)session;
	return 0;
}

static struct perfctr_cursor *cursor_unref(struct perfctr_cursor *cursor)
{
	(void)cursor;
	return NULL;
}

static int next_sample(struct perfctr_cursor *cursor, struct perfctr_sample *sample)
{
	struct perfctr_session *s = (struct perfctr_session *)cursor;

	(void)sample;
	if (!s->has_sample)
		return 0;
	s->has_sample = false;
	sample_read = &s->sample;
	sample_events = s->events;
	return 1;
}

static int advance(struct perfctr_cursor *cursor, size_t count)
{
	(void)cursor;
	(void)count;
	return 0;
}

static bool block_returned;

static void rewind_sample(struct perfctr_sample *sample)
{
	(void)sample;
	block_returned = false;
}

static int next_block(struct perfctr_sample *sample, struct perfctr_block *block)
{
	(void)sample;
	if (block_returned)
		return 0;
	block_returned = true;
	*block = (struct perfctr_block){ .format = DRM_PERFCTR_FORMAT_RUNNING_TIMES };
	return 1;
}

static uint64_t least_running(const struct counts *counts, unsigned int events)
{
	uint64_t least = counts->enabled_ns;

	for (unsigned int n = 0; n < EVENTS; n++)
		if (events >> n & 1 && counts->running_ns[n] < least)
			least = counts->running_ns[n];
	return least;
}

static bool read_times(const struct perfctr_block *block, uint64_t *enabled_ns,
		       uint64_t *running_ns)
{
	(void)block;
	*enabled_ns = sample_read->enabled_ns;
	*running_ns = least_running(sample_read, sample_events);
	return true;
}

static int new_totals(struct perfctr_ctx *ctx, struct perfctr_totals **totals)
{
	(void)ctx;
	*totals = calloc(1, sizeof(**totals));
	return 0;
}

static struct perfctr_totals *unref_totals(struct perfctr_totals *totals)
{
	free(totals);
	return NULL;
}

static void reset_totals(struct perfctr_totals *totals)
{
	memset(totals, 0, sizeof(*totals));
}

static int add_sample(struct perfctr_totals *totals, struct perfctr_sample *sample)
{
	(void)sample;
	totals->events = sample_events;
	totals->counts.enabled_ns += sample_read->enabled_ns;
	for (unsigned int n = 0; n < EVENTS; n++)
		totals->counts.running_ns[n] += sample_read->running_ns[n];
	return 0;
}

static int sum_totals(const struct perfctr_totals *totals, struct perfctr_totals **sum)
{
	*sum = malloc(sizeof(**sum));
	**sum = *totals;
	return 0;
}

/* All events are in one block. */
static const struct perfctr_totals_block *totals_block(const struct perfctr_totals *totals,
						       size_t n)
{
	return n || !totals->events ? NULL : (const struct perfctr_totals_block *)totals;
}

static const struct perfctr_totals_block_info *block_info(const struct perfctr_totals_block *block)
{
	struct perfctr_totals *t = (struct perfctr_totals *)block;

	t->info.format = DRM_PERFCTR_FORMAT_RUNNING_TIMES;
	t->info.time_enabled = t->counts.enabled_ns;
	t->info.states = least_running(&t->counts, t->events) < t->counts.enabled_ns ?
				 DRM_PERFCTR_STATE_MULTIPLEXED :
				 0;
	return &t->info;
}

static const struct perfctr_total *totals_counter(const struct perfctr_totals_block *block,
						  size_t n)
{
	struct perfctr_totals *t = (struct perfctr_totals *)block;

	for (unsigned int event = 0; event < EVENTS; event++) {
		if (!(t->events >> event & 1) || n--)
			continue;
		t->total = (struct perfctr_total){ .position = (uint16_t)event,
						   .measured = t->counts.running_ns[event] != 0,
						   .sum = t->counts.running_ns[event],
						   .running_ns = t->counts.running_ns[event] };
		return &t->total;
	}
	return NULL;
}

static struct pctr_counter letters[EVENTS];
static struct pctr_catalogue alphabet = { .counters = letters, .counter_count = EVENTS };
static struct pctr_context hardware = { .catalogue = &alphabet, .say = say, .words = 1 };

static void use_hardware(void)
{
	static const char names[EVENTS][2] = { "a", "b", "c", "d", "e", "f", "g", "h" };

	pctr = (struct pctr_library){
		.block_read_times = read_times,
		.ctx_error = ctx_error,
		.cursor_advance = advance,
		.cursor_new = open_cursor,
		.cursor_next = next_sample,
		.cursor_unref = cursor_unref,
		.decode_block = next_block,
		.decode_rewind = rewind_sample,
		.selection_add = select_event,
		.selection_new = select_nothing,
		.selection_unref = selection_unref,
		.session_new = open_session,
		.session_sample = take_sample,
		.session_start = start_session,
		.session_unref = close_session,
		.totals_add = add_sample,
		.totals_block = totals_block,
		.totals_block_info = block_info,
		.totals_counter = totals_counter,
		.totals_new = new_totals,
		.totals_reset = reset_totals,
		.totals_sum = sum_totals,
		.totals_unref = unref_totals,
	};
	for (unsigned int n = 0; n < EVENTS; n++)
		letters[n] = (struct pctr_counter){
			.event = (char *)names[n],
			.format = ALWAYS >> n & 1 ? 0 : DRM_PERFCTR_FORMAT_RUNNING_TIMES,
			.position = (uint16_t)n,
			.scale = 1,
		};
	complaints = 0;
	others = forbidden = 0;
	slowness = 1;
	most_events = EVENTS;
	hardware.said = hardware.said_waits = false;
}

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

static void let_turns_pass(unsigned int turns)
{
	for (unsigned int n = 0; n < turns; n++) {
		let_pass(TURN_NS);
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

static bool turns_are_refused(void)
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

static bool others_of_the_context_are_not_ruined(void)
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
	let_turns_pass(5);
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
	let_turns_pass(3);
	ok = ok && pctr_query_end(a) && !complaints;
	/* not extrapolated: only a part of the trials' time is missing */
	value = pctr_query_value(a, 1).integer;
	ok = ok && value >= 8 * TURN_NS && value % IOCTL_NS == 0 &&
	     value < now.enabled_ns - begin_ns;
	return all_gone() && ok;
}

/* Its counters are multiplexed, among themselves or with others. */
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
	let_turns_pass(6);
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
	let_turns_pass(4);
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
	let_turns_pass(20);
	ok = ok && pctr_query_end(single) && complaints == 1;
	hardware.said_waits = false;
	/* Begin cannot detect a session that starts later */
	count_elsewhere("");
	later = monitor_of("fg");
	ok = ok && pctr_query_begin(later);
	count_elsewhere("bcd");
	let_turns_pass(20);
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
		for (unsigned int turn = 0; turn < 3 + n % 11; turn++) {
			let_pass(TURN_NS + (n + turn) * IOCTL_NS);
			collect();
		}
		ok = ok && pctr_query_end(single) &&
		     pctr_query_value(single, 0).integer % IOCTL_NS == 0;
	}
	return all_gone() && ok && complaints;
}

/* A new monitor has the first of two slots, because the other events had theirs before. */
static bool newcomers_are_refused(void)
{
	struct pctr_query *hud, *newcomers;
	bool ok;

	use_hardware();
	newcomers = monitor_of("bc");
	count_elsewhere("def");
	let_turns_pass(1);
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
	let_turns_pass(1);
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
	enum { FRAME_NS = TURN_NS / 4, WINDOW = 2 * 8 * 4, FRAMES = 3 * WINDOW };
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
	(void)totals;
	(void)metric;
	(void)block;
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
	ok = !last_other(hud, FRAMES, TURN_NS, 0);
	idle = false;
	ok = ok && !last_other(hud, 1, TURN_NS, 7);
	return all_gone() && ok;
}

static int number, failed;

static void check(bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++number, name);
	failed += !ok;
}

int main(void)
{
	puts("1..12");
	check(blocks_of_perf_events(), "perf events are told apart by all that makes them");
	check(bad_query_fails_alone(),
	      "a query that cannot be had does not keep the others from counting");
	check(turns_are_refused(),
	      "what would take turns does not begin; what is not active has none");
	check(others_of_the_context_are_not_ruined(),
	      "a monitor that would cause an active one to be multiplexed does not begin");
	check(hud_begins_always(), "the HUD always begins, and its effect on monitors is reported");
	check(monitors_are_in_all_passes(),
	      "a monitor begins if it is in all passes, not in the first");
	check(another_process_is_reported(),
	      "beside another process one counter is extrapolated, more are refused");
	check(extrapolated_counts_are_rounded(), "an extrapolated count is rounded, not cut off");
	check(newcomers_are_refused(),
	      "a monitor that has the first turn beside another process is looked at for longer");
	check(slow_devices_are_waited_for(),
	      "looks are as far apart as turns of the device are long");
	check(short_frames_are_put_together(),
	      "frames of the HUD that are shorter than slots are averaged");
	check(ratios_of_nothing_are_forgotten(),
	      "a window in which there was nothing to divide by does not hide what comes");
	return failed != 0;
}
