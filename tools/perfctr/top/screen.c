// SPDX-License-Identifier: MIT
/* Items over time, their order and groups, bars and lines as text. */
#include "screen.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/number.h"
#include "lib/output.h"

enum {
	/* columns of a line besides name, bar and sparkline */
	VALUE_COLUMNS = 22,
	MIN_NAME_COLUMNS = 18,
	SHORTEST_NAME_COLUMNS = 4,
	MAX_NAME_COLUMNS = 60,
	BAR_COLUMNS = 20,
	MIN_BAR_COLUMNS = 6,
	MAX_SPARK_COLUMNS = TOP_HISTORY,
};

static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
static const char *const steps[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char ascii_steps[] = "_.,-=+*#";

static struct top_item *find_item(struct top_screen *screen, const struct row *row, size_t hint)
{
	struct top_item *items, *item;
	char group[sizeof(items->group)];

	/* a group of each device */
	snprintf(group, sizeof(group), "%.*s%s", (int)(row->prefix < 65 ? row->prefix : 65),
		 row->event, row->metric ? "metrics" : row->label);
	if (hint < screen->count && !strcmp(screen->items[hint].event, row->event))
		return &screen->items[hint];
	for (size_t i = 0; i < screen->count; i++)
		if (!strcmp(screen->items[i].event, row->event))
			return &screen->items[i];

	items = realloc(screen->items, (screen->count + 1) * sizeof(*items));
	if (!items)
		return NULL;
	screen->items = items;
	item = &items[screen->count];
	*item = (struct top_item){ .order = screen->count, .group_order = screen->count + 1 };
	snprintf(item->event, sizeof(item->event), "%s", row->event);
	snprintf(item->group, sizeof(item->group), "%s", group);
	if (row->metric)
		snprintf(item->counter, sizeof(item->counter), "%s.%.180s", row->label,
			 row->counter);
	else
		snprintf(item->counter, sizeof(item->counter), "%s", row->counter);
	/* metrics first: they are the most useful */
	if (row->metric)
		item->group_order = 0;
	for (size_t i = 0; !row->metric && i < screen->count; i++) {
		if (!strcmp(items[i].group, group)) {
			item->group_order = items[i].group_order;
			break;
		}
	}
	screen->count++;
	return item;
}

int top_screen_update(struct top_screen *screen, const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		struct top_item *item = find_item(screen, row, i);
		bool ok = row->state == PERFCTR_VALUE_OK;
		double scale;
		const char *unit = row_rate_unit(row, &scale);
		bool is_rate = !row->metric && isfinite(row->rate);

		if (!item)
			return -ENOMEM;
		item->trust = row->trust;
		unit = is_rate && scale != 1 ? unit : row->unit;
		item->is_rate = is_rate && scale == 1;
		item->is_percent = !strcmp(unit, "%");
		snprintf(item->unit, sizeof(item->unit), "%s", unit);
		item->state = row->state;
		item->flags = row->flags;
		item->now = !ok ? NAN : is_rate ? row->rate * scale : row->number;
		if (!strcmp(unit, "CPUs"))
			item->peak = (double)sysconf(_SC_NPROCESSORS_ONLN);
		else if (ok && item->now > item->peak)
			item->peak = item->now;
		item->history[item->history_at] = item->now;
		item->history_at = (item->history_at + 1) % TOP_HISTORY;
		if (item->history_count < TOP_HISTORY)
			item->history_count++;
	}
	return 0;
}

void top_time_add(struct top_time *time, const struct perfctr_span *span)
{
	time->merged_periods += span->merged_periods;
	time->lost_ns += span->lost_ns;
	time->samples += span->samples;
	time->seconds += (double)span->elapsed_ns * 1e-9;
}

void top_screen_free(struct top_screen *screen)
{
	free(screen->items);
	screen->items = NULL;
	screen->count = 0;
}

static bool is_folded(const struct top_screen *screen, const char *group)
{
	for (size_t i = 0; i < screen->folded_count; i++)
		if (!strcmp(screen->folded[i], group))
			return true;
	return false;
}

void top_screen_fold(struct top_screen *screen, const char *group)
{
	for (size_t i = 0; i < screen->folded_count; i++) {
		if (strcmp(screen->folded[i], group))
			continue;
		memcpy(screen->folded[i], screen->folded[--screen->folded_count],
		       sizeof(screen->folded[i]));
		return;
	}
	if (screen->folded_count < ARRAY_SIZE(screen->folded))
		snprintf(screen->folded[screen->folded_count++], sizeof(screen->folded[0]), "%s",
			 group);
}

static int by_group(const struct top_item *a, const struct top_item *b)
{
	if (a->group_order != b->group_order)
		return a->group_order < b->group_order ? -1 : 1;
	return strcmp(a->group, b->group);
}

static int by_event(const void *x, const void *y)
{
	const struct top_item *a = *(struct top_item *const *)x, *b = *(struct top_item *const *)y;
	int group = by_group(a, b);

	return group ? group : a->order < b->order ? -1 : 1;
}

static int by_name(const void *x, const void *y)
{
	const struct top_item *a = *(struct top_item *const *)x, *b = *(struct top_item *const *)y;
	int group = by_group(a, b);

	return group ? group : strcmp(a->counter, b->counter);
}

static int by_value(const void *x, const void *y)
{
	const struct top_item *a = *(struct top_item *const *)x, *b = *(struct top_item *const *)y;
	int group = by_group(a, b);
	double va = isfinite(a->now) ? a->now : -1, vb = isfinite(b->now) ? b->now : -1;

	if (group)
		return group;
	return va > vb ? -1 : va < vb ? 1 : a->order < b->order ? -1 : 1;
}

/* Whether the filter lets an item be seen. */
static bool is_shown(const struct top_screen *screen, const struct top_item *item)
{
	return strcasestr(item->counter, screen->filter) || strcasestr(item->group, screen->filter);
}

int top_screen_lines(const struct top_screen *screen, struct top_line **lines, size_t *count)
{
	static int (*const compare[])(const void *, const void *) = {
		[TOP_SORT_EVENT] = by_event,
		[TOP_SORT_VALUE] = by_value,
		[TOP_SORT_NAME] = by_name,
	};
	const struct top_item **order = calloc(screen->count + 1, sizeof(*order));
	struct top_line *out = calloc(2 * screen->count + 1, sizeof(*out));
	struct top_line *head = NULL;
	size_t shown = 0;

	*count = 0;
	*lines = out;
	if (!order || !out) {
		free(order);
		free(out);
		*lines = NULL;
		return -ENOMEM;
	}
	for (size_t i = 0; i < screen->count; i++)
		if (is_shown(screen, &screen->items[i]))
			order[shown++] = &screen->items[i];
	qsort(order, shown, sizeof(*order), compare[screen->sort]);
	for (size_t i = 0; i < shown; i++) {
		if (!head || strcmp(head->item->group, order[i]->group)) {
			head = &out[(*count)++];
			*head = (struct top_line){ .kind = TOP_LINE_GROUP, .item = order[i] };
			head->folded = is_folded(screen, order[i]->group);
		}
		head->items++;
		if (!head->folded)
			out[(*count)++] =
				(struct top_line){ .kind = TOP_LINE_ITEM, .item = order[i] };
	}
	free(order);
	return 0;
}

double top_item_fill(const struct top_item *item)
{
	double full = item->is_percent ? 100 : item->peak;

	if (!isfinite(item->now) || full <= 0 || item->now <= 0)
		return 0;
	return item->now < full ? item->now / full : 1;
}

void top_bar(double fill, unsigned int width, bool utf8, char *text)
{
	unsigned int units = (unsigned int)lround(fill * width * 8);

	*text = '\0';
	for (unsigned int i = 0; i < width; i++) {
		unsigned int part = units > 8 * i ? units - 8 * i : 0;

		part = part > 8 ? 8 : part;
		text = stpcpy(text, utf8 ? eighths[part] : part >= 4 ? "#" : " ");
	}
}

void top_spark(const struct top_item *item, unsigned int width, bool utf8, char *text)
{
	double full = item->is_percent ? 100 : item->peak;
	unsigned int shown = item->history_count < width ? item->history_count : width;

	*text = '\0';
	for (unsigned int i = shown; i < width; i++)
		text = stpcpy(text, " ");
	for (unsigned int i = 0; i < shown; i++) {
		unsigned int at = (item->history_at + TOP_HISTORY - shown + i) % TOP_HISTORY;
		double value = item->history[at];
		unsigned int step;

		if (!isfinite(value)) {
			text = stpcpy(text, "?");
			continue;
		}
		step = full > 0 && value > 0 ? (unsigned int)(value / full * 7.999) : 0;
		step = step > 7 ? 7 : step;
		text = utf8 ? stpcpy(text, steps[step]) : stpncpy(text, &ascii_steps[step], 1);
		*text = '\0';
	}
}

void top_value(const struct top_item *item, char *text, size_t size)
{
	char number[32];

	if (item->state != PERFCTR_VALUE_OK)
		snprintf(text, size, "<%s>", perfctr_value_state_text(item->state));
	else if (item->is_percent)
		snprintf(text, size, "%.1f %%", item->now);
	else
		snprintf(text, size, "%s%s%s%s", item->flags & PERFCTR_VALUE_ESTIMATED ? "~" : "",
			 number_short(item->now, number, sizeof(number)), item->unit,
			 item->is_rate ? "/s" : "");
}

/*
 * Columns of a value. In a narrow terminal the name becomes shorter, then the end of the unit is
 * cut: never the number or the prefix behind it, which would read as another number.
 */
static unsigned int fit_value(const char *value, unsigned int name, unsigned int width)
{
	const char *prefix = strchr(value, ' ');
	unsigned int all = (unsigned int)strlen(value), room;
	unsigned int least = *value == '<' || !prefix ? all : (unsigned int)(prefix - value) + 2;

	if (width >= name + VALUE_COLUMNS + 3)
		return VALUE_COLUMNS;
	all = all < VALUE_COLUMNS ? all : VALUE_COLUMNS;
	least = least < all ? least : all;
	room = width > SHORTEST_NAME_COLUMNS + 3 ? width - SHORTEST_NAME_COLUMNS - 3 : 0;
	return room >= all ? all : room > least ? room : least;
}

void top_format(const struct top_line *line, unsigned int width, bool utf8, char *text, size_t size)
{
	unsigned int name = width / 3, bar = BAR_COLUMNS, spark, columns;
	char value[64], bar_text[4 * BAR_COLUMNS + 1], spark_text[4 * MAX_SPARK_COLUMNS + 1];
	unsigned int longer, spare;
	char counter[ROW_EVENT_BYTES];

	if (line->kind == TOP_LINE_GROUP) {
		int items = snprintf(value, sizeof(value), " (%zu)", line->items);

		snprintf(counter, sizeof(counter), "%s", line->item->group);
		name = width > (unsigned int)items + 2 ? width - (unsigned int)items - 2 : 1;
		columns_squeeze(counter, name);
		snprintf(text, size, "%s %s%s", line->folded ? "+" : "-", counter, value);
		return;
	}
	name = name < MIN_NAME_COLUMNS ? MIN_NAME_COLUMNS : name;
	name = name > MAX_NAME_COLUMNS ? MAX_NAME_COLUMNS : name;
	/* the mark and a blank in front of the name, 1 between the columns */
	spark = width > name + VALUE_COLUMNS + bar + 7 ? width - name - VALUE_COLUMNS - bar - 7 : 0;
	spark = spark > MAX_SPARK_COLUMNS ? MAX_SPARK_COLUMNS : spark;
	if (!spark) {
		bar = width > name + VALUE_COLUMNS + 6 ? width - name - VALUE_COLUMNS - 6 : 0;
		bar = bar > BAR_COLUMNS ? BAR_COLUMNS : bar < MIN_BAR_COLUMNS ? 0 : bar;
	}
	top_value(line->item, value, sizeof(value));
	columns = fit_value(value, name, width);
	if (width < name + columns + 3)
		name = width > columns + 3 ? width - columns - 3 : 1;
	top_bar(top_item_fill(line->item), bar, utf8, bar_text);
	top_spark(line->item, spark, utf8, spark_text);
	snprintf(counter, sizeof(counter), "%s", line->item->counter);
	/* a long unit takes what a short name leaves */
	longer = strlen(value) > columns ? (unsigned int)strlen(value) - columns : 0;
	spare = strlen(counter) < name ? name - (unsigned int)strlen(counter) : 0;
	longer = longer < spare ? longer : spare;
	columns += longer;
	name -= longer;
	columns_squeeze(counter, name);
	snprintf(text, size, "%c %-*.*s %*.*s%s%s%s%s%s", verdicts_mark(line->item->trust),
		 (int)name, (int)name, counter, (int)columns, (int)columns, value, bar ? " |" : "",
		 bar_text, bar ? "|" : "", spark ? " " : "", spark_text);
}

void top_status(const struct top_time *time, char *text, size_t size)
{
	int used = snprintf(text, size, "%.1f s, %" PRIu64 " sample%s", time->seconds,
			    time->samples, time->samples == 1 ? "" : "s");

	if (time->merged_periods && used > 0 && (size_t)used < size)
		used += snprintf(text + used, size - (size_t)used, ", %" PRIu64 " period%s merged",
				 time->merged_periods, time->merged_periods == 1 ? "" : "s");
	if (time->lost_ns && used > 0 && (size_t)used < size)
		snprintf(text + used, size - (size_t)used, ", counts of up to %.3f s lost",
			 (double)time->lost_ns * 1e-9);
}
