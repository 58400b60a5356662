// SPDX-License-Identifier: MIT
/* perfctr list: list what can be counted. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "lib/device.h"
#include "lib/output.h"
#include "lib/json.h"
#include "lib/option.h"
#include "lib/rows.h"
#include "lib/verdicts.h"

static const char help[] =
	"usage: perfctr list [-lj] [-d DEVICE] [PATTERN...]\n"
	"       perfctr list --check [-j] FILE...\n"
	"\n"
	"Lists the events and metrics that can be counted here, as -e of perfctr stat\n"
	"takes them. A PATTERN is the name of a GPU or of a product, or the first part of\n"
	"one (G610, G1, mali), a name or an id with * ? [], or text that names and short\n"
	"descriptions have.\n"
	"\n"
	"  -l, --long           unit, kind, trust, formula and full description of each,\n"
	"                       and the units of a GPU, with what helps if one limits\n"
	"  -a, --all            everything in the database, of all products\n"
	"  -d, --device DEVICE  node (/dev/dri/renderD128, renderD128), driver, name, local\n"
	"      --via SOCKET     what the broker (perfctr serve) there lets this user count\n"
	"  -j, --json           as JSON, always with descriptions\n"
	"      --check FILE...  check pages of counters, as in ~/.config/perfctr/counters.d\n"
	"      --trusted-only   only what perfctr validate found to be as documented\n"
	"\n"
	"Tracepoints are counted as tracepoint/SUBSYSTEM:EVENT/, for their names see\n"
	"/sys/kernel/tracing/events. Any perf PMU takes pmu/event=0x3c,config1=1,cpu=2/.\n"
	"Exit: 0 something is listed, 1 error or nothing found, 2 usage, 4 no device.\n";

enum naming { NO_NAME, PART_OF_NAME, NAME };

struct lister {
	struct app *app;
	struct perfctr_device *device;
	char **patterns;
	int pattern_count;
	bool is_long;
	bool all;
	int width;
	size_t found;
	/* heading of the next event, and the last heading printed */
	char heading[128];
	const char *by; /* the device that counts it, "" with --all */
	char printed[128];
	/* by type of block */
	bool filters_printed[64];
	struct json_object *events;
	struct json_object *metrics;
	struct json_object *units;
	struct verdicts *verdicts;
	bool trusted_only;
	/* counters that need a footnote, and whether any counter has a mark */
	const struct perfctr_counter_desc **notes;
	size_t note_count;
	bool marks;
	char *tried; /* last PMU of which the broker was asked */
	bool refused; /* the broker's policy leaves it out */
	const char *page; /* that is checked */
	bool is_unknown; /* no page has the product of a block */
	enum naming *products; /* which patterns are names of products */
	int product_count;
};

static bool contains(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

/*
 * Whether a pattern is a name of a product or of its GPUs, which "Mali-" may precede, or the first
 * part of one: "G1" of "G1-Ultra", but not "te" of "tegra410".
 */
static enum naming names_product(const char *pattern, unsigned int product)
{
	const char *name = perfctr_product_name(product);
	enum naming found = NO_NAME;
	char names[256], *rest = names;
	size_t length;

	if (!strncasecmp(pattern, "mali-", 5) || !strncasecmp(pattern, "mali ", 5))
		pattern += 5;
	length = strlen(pattern);
	snprintf(names, sizeof(names), "%s, %s", name ? name : "", perfctr_product_gpus(product));
	while ((name = strsep(&rest, ","))) {
		name += *name == ' ';
		if (!fnmatch(pattern, name, FNM_CASEFOLD))
			return NAME;
		if (length > 1 && !strncasecmp(pattern, name, length) &&
		    !isalpha((unsigned char)name[length]))
			found = PART_OF_NAME;
	}
	return found;
}

static bool is_glob(const char *pattern)
{
	return strpbrk(pattern, "*?[");
}

static bool has_product(const struct lister *l, unsigned int product)
{
	for (size_t i = 0; i < perfctr_device_block_count(l->device); i++)
		if (perfctr_device_block(l->device, i)->product == product)
			return true;
	return false;
}

/* Parts of names count only for products that are listed. */
static enum naming find_product(const struct lister *l, const char *pattern, bool all)
{
	const struct perfctr_counter_desc *c = NULL;
	enum naming best = NO_NAME;

	while (!is_glob(pattern) && best != NAME && (c = perfctr_counter_next(c))) {
		enum naming found = names_product(pattern, c->product);

		if (found > best && (found == NAME || all || has_product(l, c->product)))
			best = found;
	}
	return best;
}

static bool wanted(const struct lister *l, unsigned int product, const char *id, const char *text,
		   const char *name, const char *shorter)
{
	bool of_product = !l->product_count, named = l->product_count == l->pattern_count;

	for (int i = 0; i < l->pattern_count; i++) {
		const char *p = l->patterns[i];

		if (l->products[i])
			of_product |= names_product(p, product) >= l->products[i];
		else if (is_glob(p))
			named |= !fnmatch(p, text, FNM_CASEFOLD) ||
				 !fnmatch(p, name, FNM_CASEFOLD) || !fnmatch(p, id, FNM_CASEFOLD) ||
				 names_product(p, product) == NAME;
		else
			named |= contains(text, p) || contains(shorter, p);
	}
	return of_product && named;
}

static void print_heading(struct lister *l)
{
	if (!strcmp(l->heading, l->printed))
		return;
	fprintf(l->app->out, "%s%s%s%s:\n", l->found ? "\n" : "", l->heading,
		*l->by ? ", counted by " : "", l->by);
	memcpy(l->printed, l->heading, sizeof(l->printed));
}

/* "tiler of mali_v10 (G310, G510, G610, G710)" */
static void set_heading(struct lister *l, const char *what, unsigned int product)
{
	const char *gpus = perfctr_product_gpus(product);

	snprintf(l->heading, sizeof(l->heading), *gpus ? "%s of %s (%s)" : "%s of %s", what,
		 perfctr_product_name(product), gpus);
}

static void print_entry(struct lister *l, const char *text, const char *unit, const char *shorter,
			unsigned int trust)
{
	enum { COLUMN = 39, NARROW = 60, NARROW_COLUMN = 6 };
	const int columns = terminal_columns(l->app->out, INT_MAX);
	const int column = columns < NARROW ? NARROW_COLUMN : COLUMN;
	const int length = (int)strlen(text);
	char description[512];

	print_heading(l);
	snprintf(description, sizeof(description), *unit ? "%s [%s]" : "%s", shorter, unit);
	l->marks |= trust != PERFCTR_TRUST_UNVALIDATED;
	fprintf(l->app->out, "%c %s", verdicts_mark(trust), text);
	if (!*description) {
		fputc('\n', l->app->out);
		return;
	}
	/* the description of a long name is below it */
	if (length + 3 > column)
		fprintf(l->app->out, "\n%*s", column, "");
	else
		fprintf(l->app->out, "%*s", column - length - 2, "");
	columns_wrap(l->app->out, description, column, column, columns);
}

/* Keep a counter for the footnotes. */
static void add_note(struct lister *l, const struct perfctr_counter_desc *c)
{
	const struct perfctr_counter_desc **notes =
		realloc(l->notes, (l->note_count + 1) * sizeof(*notes));

	if (!notes)
		return;
	l->notes = notes;
	l->notes[l->note_count++] = c;
}

static void print_notes(struct lister *l)
{
	if (l->marks) {
		fputc('\n', l->app->out);
		columns_wrap(l->app->out, VERDICTS_LEGEND, 0, 0, l->width);
	}
	for (size_t i = 0; i < l->note_count; i++)
		verdicts_print_note(l->verdicts, l->app->out, l->notes[i]->name, l->notes[i]);
}

static bool is_hidden(const struct lister *l, unsigned int trust)
{
	return l->trusted_only && trust != PERFCTR_TRUST_TRUSTED;
}

/* --- counters of the database --------------------------------------------- */

/* @unit: of the value as stat shows it, which may be scaled; @title: a sensor's, or empty */
static void show_counter(struct lister *l, const char *text, const struct perfctr_counter_desc *c,
			 const char *unit, const char *blocks, const char *title)
{
	char shorter[192];
	const char *kind = rows_kind_name(c);
	unsigned int verdict = verdicts_trust(l->verdicts, c);
	const char *trust = verdicts_trust_name(verdict);
	struct verdict_note note = { 0 };
	char lapsed[512];

	snprintf(shorter, sizeof(shorter), "%s%s%.100s%s", c->short_text, *title ? " (" : "", title,
		 *title ? ")" : "");
	if (!wanted(l, c->product, c->id, text, c->name, shorter) || is_hidden(l, verdict))
		return;
	if (!verdicts_find(l->verdicts, c, &note))
		note.definition = c->definition;
	if (l->events) {
		struct json_object *e = json_append(l->events);

		json_add_text(e, "event", text);
		json_add_text(e, "counted_by", *l->by ? l->by : NULL);
		json_add_text(e, "id", c->id);
		json_add_text(e, "name", c->name);
		json_add_text(e, "block", perfctr_block_type_name(c->block_type));
		json_add_words(e, "blocks", blocks);
		json_add_text(e, "product", perfctr_product_name(c->product));
		json_add_text(e, "gpus", perfctr_product_gpus(c->product));
		json_add_u64(e, "position", c->position);
		json_add_u64(e, "sets", c->sets);
		json_add_text(e, "unit", unit);
		json_add_text(e, "kind", kind ? kind : "unknown");
		json_add_text(e, "trust", trust);
		json_add_text(e, "lapsed", verdicts_lapsed(l->verdicts, c, lapsed, sizeof(lapsed)));
		json_add_text(e, "definition", note.definition);
		json_add_text(e, "short", c->short_text);
		json_add_text(e, "long", c->long_text);
		json_add_text(e, "title", *title ? title : NULL);
	} else {
		print_entry(l, text, unit, shorter, verdict);
		add_note(l, c);
		if (l->is_long) {
			columns_wrap(l->app->out, c->long_text, 0, 6, l->width);
			fprintf(l->app->out, "      kind %s, %s, id %s%s%s\n",
				kind ? kind : "unknown", trust, c->id, *blocks ? ", in " : "",
				blocks);
		}
	}
	l->found++;
}

static const __u64 *available_in(const struct drm_perfctr_block_info *b, unsigned int set)
{
	return set == DRM_PERFCTR_SET_PRIMARY ? b->available : b->set_available[set - 1];
}

/* Labels of the device's blocks that have a counter in a set, "shader0,shader2". */
static void blocks_with(const struct lister *l, const struct perfctr_counter_desc *c,
			unsigned int set, char *text, size_t size)
{
	unsigned int section = c->position / DRM_PERFCTR_SECTION_COUNTERS;
	uint64_t bit = UINT64_C(1) << c->position % DRM_PERFCTR_SECTION_COUNTERS;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; l->device && i < perfctr_device_block_count(l->device); i++) {
		const struct drm_perfctr_block_info *b = perfctr_device_block(l->device, i);
		char label[64];

		if (b->type != c->block_type || b->product != c->product ||
		    section >= DRM_PERFCTR_BLOCK_INFO_SECTIONS ||
		    !(available_in(b, set)[section] & bit))
			continue;
		perfctr_block_label(b->type, b->index, label, sizeof(label));
		used += (size_t)snprintf(text + used, used < size ? size - used : 0, "%s%s",
					 used ? "," : "", label);
		if (used >= size)
			break;
	}
}

/* Counters whose first set is @set. */
static void list_counters(struct lister *l, unsigned int set)
{
	const struct perfctr_counter_desc *c = NULL;

	while ((c = perfctr_counter_next(c))) {
		const char *type = perfctr_block_type_name(c->block_type);
		char blocks[512], text[192];

		if ((c->sets & -c->sets) != 1u << set)
			continue;
		/* of a PMU of this machine: listed below under the PMU's name */
		if (c->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU && !l->all)
			continue;
		blocks_with(l, c, set, blocks, sizeof(blocks));
		if (!*blocks && !l->all)
			continue;
		if (c->block_type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
			snprintf(text, sizeof(text), "%s/%s/", c->pmu, c->name);
		else
			snprintf(text, sizeof(text), "%s/%s", type, c->name);
		set_heading(l, type, c->product);
		if (set != DRM_PERFCTR_SET_PRIMARY)
			snprintf(l->heading + strlen(l->heading),
				 sizeof(l->heading) - strlen(l->heading), " in counter set %u",
				 set);
		show_counter(l, text, c, c->unit, blocks, "");
	}
}

static bool has_names(const struct drm_perfctr_block_info *b)
{
	const struct perfctr_counter_desc *c = NULL;

	while ((c = perfctr_counter_next(c)))
		if (c->product == b->product && c->block_type == b->type)
			return true;
	return false;
}

/* Types of GPU block whose counters the database does not name: they are selected by number. */
static void list_unnamed(struct lister *l)
{
	unsigned int last = 0;

	for (size_t i = 0; l->device && i < perfctr_device_block_count(l->device); i++) {
		const struct drm_perfctr_block_info *b = perfctr_device_block(l->device, i);
		const char *product = perfctr_product_name(b->product);
		unsigned int first = 0;
		char type[40], text[64], range[96];

		/* blocks of a type are neighbours */
		if (b->type == last || b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY || has_names(b))
			continue;
		perfctr_block_label(b->type, DRM_PERFCTR_INDEX_ALL, type, sizeof(type));
		last = b->type;
		while (first < DRM_PERFCTR_SECTION_COUNTERS && !(b->available[0] >> first & 1))
			first++;
		snprintf(text, sizeof(text), "%s/C%u", type, first);
		snprintf(range, sizeof(range), "to %s/C%u: counters without names", type,
			 b->counters - 1);
		if (!wanted(l, b->product, text, text, text, range) ||
		    is_hidden(l, PERFCTR_TRUST_UNVALIDATED))
			continue;
		snprintf(l->heading, sizeof(l->heading), "%s of %s", type,
			 product ? product : "a GPU without a page");
		l->is_unknown |= !product;
		if (!l->events)
			print_entry(l, text, "", range, PERFCTR_TRUST_UNVALIDATED);
		l->found++;
	}
}

/* How to add what is missing. */
static void explain_unknown(const struct lister *l)
{
	const struct drm_perfctr_device_info *info = perfctr_device_info(l->device);

	if (info->gpu_id)
		fprintf(l->app->out,
			"\nNo page of counters has the GPU_ID 0x%" PRIx64 ". Add one to\n"
			"~/.config/perfctr/counters.d or /etc/perfctr/counters.d, with\n"
			"gpu_id = 0x%" PRIx64 "; see perfctr-list(1).\n",
			(uint64_t)info->gpu_id, (uint64_t)info->gpu_id);
	else
		fputs("\nThe driver does not say which GPU it is, so no page can name its "
		      "counters.\n",
		      l->app->out);
}

/* --- perf PMUs of the machine --------------------------------------------- */

/* Filters of a type of SoC block, once below its first PMU. */
static void print_filters(struct lister *l, unsigned int block_type)
{
	const struct perfctr_filter_desc *f = NULL;
	bool any = false;

	if (block_type >= ARRAY_SIZE(l->filters_printed) || l->filters_printed[block_type])
		return;
	l->filters_printed[block_type] = true;
	while ((f = perfctr_filter_next(f))) {
		char text[64];

		if (f->block_type != block_type)
			continue;
		if (!any)
			fprintf(l->app->out, "      filters, behind the event: %s0/EVENT,%s=.../\n",
				perfctr_block_type_name(block_type), f->name);
		any = true;
		if (f->width == 1)
			snprintf(text, sizeof(text), "%s=0..1", f->name);
		else
			snprintf(text, sizeof(text), "%s (%u bits%s)", f->name, f->width,
				 f->hex ? ", hex" : "");
		fprintf(l->app->out, "        %-28s %s\n", text, f->short_text);
	}
}

static bool is_of_library(const struct perfctr_pmu_event *event)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s", event->pmu);
	return access(path, F_OK) != 0;
}

/* Whether the broker of --via counts no event of that PMU for this user. */
static bool is_refused(struct lister *l, const struct perfctr_pmu_event *event)
{
	struct perfctr_selection *selection;
	int error;

	if (!l->app->via || !event->event)
		return false;
	if (l->tried && !strcmp(l->tried, event->pmu))
		return l->refused;
	free(l->tried);
	l->tried = strdup(event->pmu);
	error = perfctr_selection_new(l->device, &selection);
	if (!error) {
		error = perfctr_selection_add(selection, event->text);
		if (error > 0)
			error = perfctr_session_check(selection, NULL, NULL);
		perfctr_selection_unref(selection);
	}
	l->refused = error == -EACCES || error == -EPERM;
	return l->refused;
}

static int show_pmu_event(void *data, const struct perfctr_pmu_event *event)
{
	struct lister *l = data;
	const char *shorter = event->desc ? event->desc->short_text : "";
	const bool of_library = is_of_library(event);

	if (is_refused(l, event))
		return 0;
	l->by = of_library ? PERFCTR_DEVICE_LOCAL : perfctr_device_driver(l->device);
	snprintf(l->heading, sizeof(l->heading), "%s%s", of_library ? "" : "perf PMU ", event->pmu);
	if (event->desc) {
		size_t before = l->found;

		show_counter(l, event->text, event->desc, event->unit, event->label, event->title);
		if (l->found > before && l->is_long && !l->events)
			print_filters(l, event->block_type);
		return 0;
	}
	if (!wanted(l, DRM_PERFCTR_PRODUCT_PERF_PMU, event->text, event->text,
		    event->event ? event->event : event->pmu, shorter) ||
	    is_hidden(l, PERFCTR_TRUST_UNVALIDATED))
		return 0;
	if (!event->event) {
		/* no events: print only if the user looks for the PMU */
		if (!l->pattern_count || l->events)
			return 0;
		print_entry(l, event->text, "", "names no events: give its format fields",
			    PERFCTR_TRUST_UNVALIDATED);
	} else if (l->events) {
		struct json_object *e = json_append(l->events);

		json_add_text(e, "event", event->text);
		json_add_text(e, "counted_by", l->by);
		json_add(e, "id", NULL);
		json_add_text(e, "name", event->event);
		json_add_text(e, "block", perfctr_block_type_name(event->block_type));
		json_add_words(e, "blocks", event->label);
		json_add_text(e, "product", "perf_pmu");
		json_add(e, "gpus", NULL);
		json_add(e, "position", NULL);
		json_add(e, "sets", NULL);
		json_add_text(e, "unit", event->unit);
		json_add_text(e, "kind", "count");
		json_add_text(e, "trust", verdicts_trust_name(PERFCTR_TRUST_UNVALIDATED));
		json_add(e, "lapsed", NULL);
		json_add(e, "definition", NULL);
		json_add_text(e, "short", NULL);
		json_add_text(e, "long", NULL);
		json_add(e, "title", NULL);
	} else {
		print_entry(l, event->text, event->unit, "", PERFCTR_TRUST_UNVALIDATED);
	}
	l->found++;
	return 0;
}

/* --- metrics --------------------------------------------------------------- */

/* Whether a perf PMU counts what a metric needs. Each page of one has a counter at position 0. */
static bool is_of_pmu(const struct perfctr_metric_desc *m)
{
	const struct perfctr_counter_desc *c = perfctr_counter_at(m->product, m->block_type, 0, 0);

	return m->product == DRM_PERFCTR_PRODUCT_PERF_PMU || (c && c->pmu && *c->pmu);
}

/* Whether everything that a metric needs can be selected here. */
static bool can_compute(struct lister *l, const struct perfctr_metric_desc *m)
{
	struct perfctr_selection *selection;
	char text[192];
	int result;

	if (l->all || !l->device)
		return l->all;
	/* without the block: no need to look for its counters */
	if (!is_of_pmu(m) && !has_product(l, m->product))
		return false;
	if (perfctr_selection_new(l->device, &selection))
		return false;
	snprintf(text, sizeof(text), "metric:%s", m->id);
	result = perfctr_selection_add(selection, text);
	perfctr_selection_unref(selection);
	return result > 0;
}

/* "metric:NAME", which perfctr stat accepts too, for "metric:BLOCK.NAME". */
static bool wanted_metric(const struct lister *l, const char *text,
			  const struct perfctr_metric_desc *m)
{
	char without_block[192];

	snprintf(without_block, sizeof(without_block), "metric:%s", m->name);
	return wanted(l, m->product, m->id, text, m->name, m->short_text) ||
	       wanted(l, m->product, m->id, without_block, without_block, "");
}

static void list_metrics(struct lister *l)
{
	const struct perfctr_metric_desc *m = NULL;

	while ((m = perfctr_metric_next(m))) {
		unsigned int verdict;
		const char *trust;
		char text[192];

		snprintf(text, sizeof(text), "metric:%s.%s", perfctr_block_type_name(m->block_type),
			 m->name);
		if (!wanted_metric(l, text, m) || !can_compute(l, m))
			continue;
		set_heading(l, "metrics", m->product);
		verdict = verdicts_metric_trust(l->verdicts, l->app->ctx, m);
		trust = verdicts_trust_name(verdict);
		if (is_hidden(l, verdict))
			continue;
		if (l->metrics) {
			struct json_object *e = json_append(l->metrics);

			json_add_text(e, "metric", text);
			json_add_text(e, "id", m->id);
			json_add_text(e, "name", m->name);
			json_add_text(e, "block", perfctr_block_type_name(m->block_type));
			json_add_text(e, "product", perfctr_product_name(m->product));
			json_add_text(e, "gpus", perfctr_product_gpus(m->product));
			json_add_text(e, "scope",
				      m->scope == PERFCTR_SCOPE_DEVICE ? "device" : "block");
			json_add_text(e, "unit", m->unit);
			json_add_text(e, "formula", m->formula);
			json_add_text(e, "trust", trust);
			json_add_text(e, "short", m->short_text);
			json_add_text(e, "long", m->long_text);
		} else {
			print_entry(l, text, m->unit, m->short_text, verdict);
			if (l->is_long) {
				columns_wrap(l->app->out, m->long_text, 0, 6, l->width);
				fprintf(l->app->out, "      = %s, %s, id %s\n", m->formula, trust,
					m->id);
			}
		}
		l->found++;
	}
}

/* --- units of GPUs, which perfkit, report and top compute ------------------ */

static void list_units(struct lister *l)
{
	const struct perfctr_metric_desc *m = NULL;

	while ((l->is_long || l->units) && (m = perfctr_unit_next(m))) {
		const char *end = strstr(m->name, " Bottleneck");
		char text[64];

		snprintf(text, sizeof(text), "%.*s", end ? (int)(end - m->name) : 0, m->name);
		if (!end || !(l->all || (l->device && has_product(l, m->product))) ||
		    !wanted(l, m->product, text, text, text, m->short_text) ||
		    is_hidden(l, PERFCTR_TRUST_UNVALIDATED))
			continue;
		set_heading(l, "units", m->product);
		if (l->units) {
			struct json_object *e = json_append(l->units);

			json_add_text(e, "unit", text);
			json_add_text(e, "block", perfctr_block_type_name(m->block_type));
			json_add_text(e, "product", perfctr_product_name(m->product));
			json_add_text(e, "gpus", perfctr_product_gpus(m->product));
			json_add_text(e, "formula", m->formula);
			json_add_text(e, "short", m->short_text);
			json_add_text(e, "advice", m->long_text);
		} else {
			print_entry(l, text, m->unit, m->short_text, PERFCTR_TRUST_UNVALIDATED);
			if (*m->long_text)
				columns_wrap(l->app->out, m->long_text, 0, 6, l->width);
			fprintf(l->app->out, "      = %s\n", m->formula);
		}
		l->found++;
	}
}

static int list_all(struct lister *l, bool json)
{
	struct json_object *root = NULL;
	int error = 0;

	l->by = l->device ? perfctr_device_driver(l->device) : "";
	if (json) {
		root = json_object_new_object();
		l->events = json_object_new_array();
		l->metrics = json_object_new_array();
		json_add_u64(root, "version", 1);
		json_add(root, "events", l->events);
		json_add(root, "metrics", l->metrics);
		l->units = json_object_new_array();
		json_add(root, "units", l->units);
	}
	for (unsigned int set = DRM_PERFCTR_SET_PRIMARY; set <= DRM_PERFCTR_SET_TERTIARY; set++)
		list_counters(l, set);
	list_unnamed(l);
	if (l->device && !l->all)
		error = perfctr_device_pmu_events(l->device, show_pmu_event, l);
	else if (!l->all)
		error = perfctr_pmu_events(l->app->ctx, show_pmu_event, l);
	free(l->tried);
	l->tried = NULL;
	l->by = "";
	list_metrics(l);
	list_units(l);
	if (json) {
		json_write(l->app->out, root, true);
	} else {
		print_notes(l);
		if (l->is_unknown)
			explain_unknown(l);
	}
	if (error)
		return app_failed(l->app, error);
	if (l->found && l->is_long && !json)
		fputs("\nTrust: unvalidated: as documented, nobody has compared it yet; trusted,\n"
		      "explained, quarantined, untrusted: what perfctr validate found.\n",
		      l->app->out);
	if (l->found)
		return EXIT_FINE;
	for (int i = 0; !l->all && i < l->pattern_count; i++)
		if (find_product(l, l->patterns[i], true)) {
			app_error(l->app,
				  "nothing here has such a name; the database has it: "
				  "perfctr list --all %s",
				  l->patterns[i]);
			return EXIT_FAILED;
		}
	app_error(l->app, l->trusted_only  ? "nothing of that is known to be trusted; perfctr "
					     "validate --save finds out" :
			  l->all	   ? "nothing in the database has such a name" :
			  l->pattern_count ? "nothing here has such a name; perfctr list --all "
					     "shows the whole database" :
					     "nothing can be counted here");
	return EXIT_FAILED;
}

static void note_mistake(void *data, unsigned int line, unsigned int column, const char *text)
{
	const struct lister *l = data;
	struct json_object *e = json_append(l->events);

	json_add_text(e, "file", l->page);
	json_add_u64(e, "line", line);
	json_add_u64(e, "column", column);
	json_add_text(e, "text", text);
}

static const char *member(const struct json_object *mistake, const char *name)
{
	return json_object_get_string(json_object_object_get(mistake, name));
}

static int compare_places(const void *left, const void *right)
{
	struct json_object *const *a = left, *const *b = right;
	int lines = atoi(member(*a, "line")) - atoi(member(*b, "line"));

	return lines ? lines : atoi(member(*a, "column")) - atoi(member(*b, "column"));
}

static int check_page(struct lister *l, const char *page, struct json_object *all)
{
	int problems;

	l->page = page;
	l->events = json_object_new_array();
	problems = perfctr_page_check(l->app->ctx, page, note_mistake, l);
	json_object_array_sort(l->events, compare_places);
	for (size_t n = 0; n < json_object_array_length(l->events); n++) {
		struct json_object *e = json_object_array_get_idx(l->events, n);

		if (all)
			json_object_array_add(all, json_object_get(e));
		else
			fprintf(l->app->err, "%s:%s:%s: %s\n", page, member(e, "line"),
				member(e, "column"), member(e, "text"));
	}
	json_object_put(l->events);
	if (problems < 0)
		return app_failed(l->app, problems);
	if (!problems && !all)
		fprintf(l->app->out, "%s: no mistake found\n", page);
	return problems ? EXIT_FAILED : EXIT_FINE;
}

static int check_pages(struct lister *l, char **pages, bool json)
{
	struct json_object *root, *all = json ? json_object_new_array() : NULL;
	int status = EXIT_FINE;

	for (; *pages; pages++)
		status |= check_page(l, *pages, all);
	if (json) {
		root = json_object_new_object();
		json_add_u64(root, "version", 1);
		json_add(root, "mistakes", all);
		json_write(l->app->out, root, true);
	}
	return status;
}

/* width for a pipe; smallest width at which a description is wrapped */
enum { LIST_COLUMNS = 100, LEAST_COLUMNS = 40 };

int list_run(struct app *app, int argc, char **argv)
{
	struct lister l = { .app = app, .width = terminal_columns(app->out, LIST_COLUMNS) };
	const char *which = NULL;
	bool json = false, check = false;
	const struct option_spec options[] = {
		OPTION('l', "long", FLAG, &l.is_long),
		OPTION('a', "all", FLAG, &l.all),
		OPTION('d', "device", TEXT, &which),
		OPTION(0, "via", TEXT, &app->via),
		OPTION('j', "json", FLAG, &json),
		OPTION(0, "check", FLAG, &check),
		OPTION(0, "trusted-only", FLAG, &l.trusted_only),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_WORDS);

	if (l.width < LEAST_COLUMNS)
		l.width = LIST_COLUMNS;
	if (status)
		return status < 0 ? EXIT_FINE : status;
	if (check && optind == argc)
		return app_usage(app, "--check: name the pages to check");
	if (check)
		return check_pages(&l, argv + optind, json);
	l.patterns = argv + optind;
	l.pattern_count = argc - optind;
	l.products = calloc((size_t)l.pattern_count + 1, sizeof(*l.products));
	if (!l.products)
		return app_failed(app, -ENOMEM);
	if (!l.all) {
		status = device_open_to_look(app, which, true, &l.device);
		if (status)
			return status;
		device_note_others(app, which, l.device);
	}
	for (int i = 0; i < l.pattern_count; i++) {
		l.products[i] = find_product(&l, l.patterns[i], l.all);
		l.product_count += l.products[i] != NO_NAME;
	}
	l.verdicts = verdicts_load(app->err);
	status = list_all(&l, json);
	verdicts_free(l.verdicts);
	free(l.notes);
	free(l.products);
	perfctr_device_unref(l.device);
	return status;
}
