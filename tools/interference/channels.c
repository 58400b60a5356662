// SPDX-License-Identifier: MIT
/* Channels' events on a device of libperfctr. */
#include <inttypes.h>
#include <string.h>

#include "contention.h"
#include "lib/rows.h"
#include "lib/verdicts.h"

static bool is_time(const char *event)
{
	return !strcmp(event, "time");
}

static bool is_delay(const char *event)
{
	return !strcmp(event, "run-delay");
}

/* Return: how many counters were added; or a negative errno. */
static int select_event(struct perfctr_selection *selection, struct channel *channel,
			const struct verdicts *verdicts, const char *event)
{
	char plain[128];
	unsigned int trust;
	int result;

	if (!*event || is_time(event) || is_delay(event))
		return 0;
	result = perfctr_selection_add(selection, event);
	if (result <= 0)
		return result;
	/* a filter selects some of what the event counts */
	snprintf(plain, sizeof(plain), "%.*s%s", (int)strcspn(event, ","), event,
		 strchr(event, ',') ? "/" : "");
	trust = verdicts_trust(verdicts, verdicts_counter(plain, 0));
	if (trust != PERFCTR_TRUST_TRUSTED && trust != PERFCTR_TRUST_EXPLAINED)
		channel->trust = trust;
	return result;
}

int channels_select(struct contention *c, struct perfctr_selection *selection, bool optional)
{
	struct verdicts *verdicts = verdicts_load(c->app->err);
	int events = 0;

	for (size_t n = 0; n < c->channel_count && !*c->failure.text; n++) {
		struct channel *channel = &c->channels[n];
		int result = 0, before = events;

		channel->trust = PERFCTR_TRUST_TRUSTED;
		for (size_t part = 0; part < CHANNEL_PARTS && result >= 0; part++) {
			result = select_event(selection, channel, verdicts, channel->events[part]);
			events += result > 0;
		}
		/* nobody validated what the scheduler says of the task */
		if (events == before)
			channel->trust = PERFCTR_TRUST_UNVALIDATED;
		if (result < 0 && optional)
			channel->missing =
				arena_printf(&c->arena, "%s", perfctr_ctx_error(c->app->ctx));
		else if (result < 0)
			fail(&c->failure, "channel %s: %s", channel->name,
			     perfctr_ctx_error(c->app->ctx));
	}
	verdicts_free(verdicts);
	return *c->failure.text ? -1 : events;
}

void channels_lack(struct contention *c, const char *reason)
{
	for (size_t n = 0; n < c->channel_count; n++)
		for (size_t part = 0; part < CHANNEL_PARTS; part++) {
			const char *event = c->channels[n].events[part];

			if (*event && !is_time(event) && !is_delay(event) &&
			    !c->channels[n].missing)
				c->channels[n].missing = arena_printf(&c->arena, "%s", reason);
		}
}

void channel_show(const struct channel *channel, const uint64_t values[CHANNEL_PARTS],
		  uint64_t shown[2])
{
	shown[0] = values[COUNTS] > values[MINUS] ? values[COUNTS] - values[MINUS] : 0;
	shown[1] = *channel->events[PER] ? values[PER] : 1;
}

static int take_event(struct contention *c, struct channel *channel, const char *event,
		      const struct rows *types, const struct rows *blocks, const struct load *run,
		      uint64_t *value)
{
	const struct row *row;

	*value = 0;
	if (!*event)
		return 0;
	if (is_time(event)) {
		*value = run->time_ns;
		return 0;
	}
	if (is_delay(event)) {
		*value = run->delay_ns;
		if (run->delay_ns == DELAY_UNKNOWN)
			channel->missing = "run-delay is of programs, and of a kernel with "
					   "CONFIG_SCHED_INFO";
		return 0;
	}
	row = rows_find_counter(types, blocks, event);
	if (row && row->state == PERFCTR_VALUE_NOT_SUPPORTED) {
		channel->missing = arena_printf(&c->arena, "the PMU does not have %s", event);
		return 0;
	}
	if (!row || row->state != PERFCTR_VALUE_OK || row->flags & PERFCTR_VALUE_ESTIMATED)
		return fail(&c->failure,
			    "%s was not measured all the time: measure fewer channels at once",
			    event);
	*value = row->value;
	return 0;
}

int channels_take(struct contention *c, struct perfctr_selection *selection,
		  struct perfctr_totals *totals, bool (*is_of)(enum channel_kind kind),
		  struct load *run)
{
	struct rows blocks = { 0 }, types = { 0 };
	int ret = 0;

	if (totals && (rows_fill(&blocks, totals, selection, true) ||
		       rows_fill(&types, totals, selection, false)))
		ret = fail(&c->failure, "%s", perfctr_ctx_error(c->app->ctx));
	for (size_t n = 0; n < c->channel_count && !ret; n++) {
		struct channel *channel = &c->channels[n];
		uint64_t values[CHANNEL_PARTS];

		if (!is_of(channel->kind))
			continue;
		for (size_t part = 0; part < CHANNEL_PARTS && !ret && !channel->missing; part++)
			ret = take_event(c, channel, channel->events[part], &types, &blocks, run,
					 &values[part]);
		if (!ret && !channel->missing)
			channel_show(channel, values, run->shown[n]);
	}
	rows_free(&blocks);
	rows_free(&types);
	return ret;
}
