// SPDX-License-Identifier: MIT
/*
 * A fake libperfctr, whose hardware counts ROOM events at a time. context.c includes it, after the
 * sources of the provider.
 */

static int sessions, tries, complaints;

static void say(const char *what)
{
	complaints++;
}

static const char *ctx_error(const struct perfctr_ctx *ctx)
{
	return "not permitted";
}

/*
 * Events are one letter. "a" and "h" are of perf PMUs and never wait. A pass has a multiplexing
 * slot of the length in docs/pcounter.md.
 */
enum { EVENTS = 8, ROOM = 3, SLOT_NS = 2000000, IOCTL_NS = 50000 };
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
static unsigned int last_slot[EVENTS], slot;
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

static void begin_slot(unsigned int pass)
{
	unsigned int events = events_of_pass(pass);

	current_pass = pass;
	slice_ns = 0;
	slot++;
	for (unsigned int n = 0; n < EVENTS; n++)
		if (events >> n & 1)
			last_slot[n] = slot;
}

/*
 * As in the kernel: the pass of the event that has waited longest, usually a new one, has the first
 * slot.
 */
static void select_again(void)
{
	unsigned int wanted = wanted_events(), first = EVENTS, pass = 0;

	for (unsigned int n = 0; n < EVENTS; n++)
		if (wanted >> n & 1 && (first == EVENTS || last_slot[n] < last_slot[first]))
			first = n;
	while (first < EVENTS && !(events_of_pass(pass) >> first & 1))
		pass++;
	begin_slot(pass);
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
	if (slice_ns >= SLOT_NS && pass_count() > 1)
		begin_slot((current_pass + 1) % pass_count());
}

/* Only advances time: the kernel's own collections may be late, so they end no slot. */
static int sleep_of_model(const struct timespec *wait, struct timespec *rest)
{
	let_pass((uint64_t)wait->tv_nsec / slowness);
	return 0;
}

/* events of the selection, and events without permission */
static unsigned int selected, forbidden;
static int most_events;

static int select_event(struct perfctr_selection *selection, const char *event)
{
	selected |= 1u << (event[0] - 'a');
	return 1;
}

static int select_nothing(struct perfctr_device *device, struct perfctr_selection **selection)
{
	selected = 0;
	*selection = (struct perfctr_selection *)&selected;
	return 0;
}

static struct perfctr_selection *selection_unref(struct perfctr_selection *selection)
{
	return NULL;
}

static int open_session(struct perfctr_selection *selection,
			const struct perfctr_session_opts *opts, struct perfctr_session **session)
{
	struct perfctr_session *s;

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
	session->base = now;
	session->next = counting;
	counting = session;
	select_again();
	return 0;
}

static int take_sample(struct perfctr_session *session, uint64_t user_data)
{
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
	return NULL;
}

static int next_sample(struct perfctr_cursor *cursor, struct perfctr_sample *sample)
{
	struct perfctr_session *s = (struct perfctr_session *)cursor;

	if (!s->has_sample)
		return 0;
	s->has_sample = false;
	sample_read = &s->sample;
	sample_events = s->events;
	return 1;
}

static int advance(struct perfctr_cursor *cursor, size_t count)
{
	return 0;
}

static bool block_returned;

static void rewind_sample(struct perfctr_sample *sample)
{
	block_returned = false;
}

static int next_block(struct perfctr_sample *sample, struct perfctr_block *block)
{
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
	*enabled_ns = sample_read->enabled_ns;
	*running_ns = least_running(sample_read, sample_events);
	return true;
}

static int new_totals(struct perfctr_ctx *ctx, struct perfctr_totals **totals)
{
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
