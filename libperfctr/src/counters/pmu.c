// SPDX-License-Identifier: MIT
/* perf PMUs: from event text to the arguments of perf_event_open(). */
#include "catalogue.h"
#include "pmu.h"

#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generic.h"

#define PMU_PATH "/sys/bus/event_source/devices"
#define TRACEFS "/sys/kernel/tracing"
#define TRACEFS_PATH TRACEFS "/events"
#define DRM_CLASS_PATH "/sys/class/drm"
#define DEBUGFS_TRACE_PATH "/sys/kernel/debug/tracing/events"

enum {
	TEXT_BYTES = 256,
	PMUS_KEPT_NS = NS_PER_S / 10, /* modules and devices bring PMUs at any time */
};

/* --- kinds ------------------------------------------------------------------- */

struct kind_check {
	struct perfctr_ctx *ctx;
	const struct pmu *pmu;
};

/* Return: 1 if the event has the number of another one in the database. */
static int is_other(void *arg, const char *name)
{
	const struct kind_check *c = arg;
	struct pmu_event event = { .cpu = DRM_PERFCTR_CPU_ANY };
	const struct perfctr_counter_desc *desc;

	if (pmu_add_term(c->ctx, c->pmu, name, &event))
		return 0;
	desc = pmu_typed_event(c->pmu, event.config);
	return desc && strcmp(desc->name, name);
}

/*
 * Find its kind by name and identifier, or name and events. A kernel that is older than the chip
 * can give a PMU the name and the events of another one, as those before 7.1 do on Tegra410 with
 * Tegra241's.
 */
static void classify(struct perfctr_ctx *ctx, struct pmu *pmu)
{
	const char *identifier = pmu_set_kind(pmu);
	struct kind_check c = { ctx, pmu };
	char path[PATH_BYTES], text[32];

	if (!identifier)
		return;
	snprintf(path, sizeof(path), PMU_PATH "/%s/identifier", pmu->name);
	if (perfctr_sys_read_text(ctx->sys, path, text, sizeof(text)) >= 0 ?
		    strcmp(text, identifier) != 0 :
		    pmu_list_events(ctx, pmu, is_other, &c) == 1)
		pmu_make_generic(pmu);
}

/* Length of a file of a PMU; negative: it has none. */
static int length_of(struct perfctr_ctx *ctx, const char *name, const char *file)
{
	char path[PATH_BYTES], *text;
	int length;

	snprintf(path, sizeof(path), PMU_PATH "/%s/%s", name, file);
	length = perfctr_sys_read_all(ctx->sys, path, &text);
	free(text);
	return length;
}

/*
 * Find out what it counts for.
 * Return: false: the driver has lost its device. The PMU stays registered, without a CPU.
 */
static bool find_scope(struct perfctr_ctx *ctx, struct pmu *pmu)
{
	/* cpum_cf: of s390, whose other PMUs cpum_sf, cpum_cf_diag, pai_... take samples or more */
	static const char *const names[] = { "cpu", "cpum_cf" }, *const kinds[] = { "armv",
										    "apple_" };
	int length = length_of(ctx, pmu->name, "cpumask");

	pmu->is_uncore = length > 0;
	pmu->is_core = length < 0 && length_of(ctx, pmu->name, "cpus") >= 0;
	for (size_t n = 0; length < 0 && n < ARRAY_SIZE(names); n++)
		pmu->is_core |= !strcmp(pmu->name, names[n]);
	for (size_t n = 0; length < 0 && n < ARRAY_SIZE(kinds); n++)
		pmu->is_core |= !strncmp(pmu->name, kinds[n], strlen(kinds[n]));
	return length;
}

struct load {
	struct perfctr_ctx *ctx;
	struct pmu_list *list;
};

static int append(struct load *load, const struct pmu *pmu)
{
	struct pmu *more = realloc(load->list->pmus, (load->list->count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	load->list->pmus = more;
	more[load->list->count++] = *pmu;
	return 0;
}

static int load_readings(void *arg, const char *name, uint32_t type)
{
	struct pmu pmu = { .type = type };

	strcpy(pmu.name, name);
	pmu_make_generic(&pmu);
	return append(arg, &pmu);
}

static int load_one(void *arg, const char *name)
{
	struct load *load = arg;
	struct pmu pmu = { 0 };
	char path[PATH_BYTES], text[32];
	char *end;

	if (strlen(name) >= sizeof(pmu.name))
		return 0;
	strcpy(pmu.name, name);
	snprintf(path, sizeof(path), PMU_PATH "/%s/type", name);
	if (perfctr_sys_read_text(load->ctx->sys, path, text, sizeof(text)) < 0)
		return 0;
	pmu.type = (uint32_t)strtoul(text, &end, 10);
	if (end == text || *end || !find_scope(load->ctx, &pmu))
		return 0;
	classify(load->ctx, &pmu);
	return append(load, &pmu);
}

/* Return: 1, one was found; 0 or a negative errno. */
static int load_first(void *arg, const char *name)
{
	struct load *load = arg;
	int error = load_one(load, name);

	return error ? error : load->list->count > 0;
}

static int load_first_readings(void *arg, const char *name, uint32_t type)
{
	int error = load_readings(arg, name, type);

	return error ? error : 1;
}

int pmu_any(struct perfctr_ctx *ctx)
{
	struct pmu_list list = { 0 };
	struct load load = { ctx, &list };
	int found = ctx->sys->list(ctx->sys->data, PMU_PATH, load_first, &load);

	if (!found || found == -ENOENT)
		found = ctx->readings->pmus(ctx, load_first_readings, &load);
	pmu_list_free(&list);
	return found < 0 ? perfctr_fail(ctx, found, PMU_PATH ": %s", strerror(-found)) : found;
}

int pmu_list_load(struct perfctr_ctx *ctx, struct pmu_list *list)
{
	struct load load = { ctx, list };
	int error;

	*list = (struct pmu_list){ 0 };
	error = ctx->sys->list(ctx->sys->data, PMU_PATH, load_one, &load);
	if (!error || error == -ENOENT)
		error = ctx->readings->pmus(ctx, load_readings, &load);
	if (error) {
		pmu_list_free(list);
		return perfctr_fail(ctx, error, PMU_PATH ": %s", strerror(-error));
	}
	return 0;
}

int pmu_list_recent(struct perfctr_ctx *ctx, struct pmu_list *list)
{
	const uint64_t now_ns = perfctr_time_raw_ns();
	size_t bytes;
	int error;

	if (!ctx->pmus || now_ns - ctx->pmus_ns > PMUS_KEPT_NS) {
		error = pmu_list_load(ctx, list);
		if (error)
			return error;
		free(ctx->pmus);
		ctx->pmus = list->pmus;
		ctx->pmu_count = list->count;
		ctx->pmus_ns = now_ns;
	}
	bytes = ctx->pmu_count * sizeof(*list->pmus);
	*list = (struct pmu_list){ .pmus = malloc(bytes + 1) };
	if (!list->pmus)
		return perfctr_no_memory(ctx);
	if (bytes)
		memcpy(list->pmus, ctx->pmus, bytes);
	list->count = ctx->pmu_count;
	return 0;
}

void pmu_list_free(struct pmu_list *list)
{
	free(list->pmus);
	*list = (struct pmu_list){ 0 };
}

/* --- PMUs of other devices ------------------------------------------------------ */

/* Where a link in sysfs leads, below /sys/devices. Return: whether there is one. */
static bool read_place(struct perfctr_ctx *ctx, const char *path, char *place)
{
	char target[PATH_BYTES], *rest = target, *up;

	if (ctx->sys->readlink(ctx->sys->data, path, target, sizeof(target)) < 0)
		return false;
	while ((up = strstr(rest, "../")))
		rest = up + strlen("../");
	snprintf(place, PATH_BYTES, "%s",
		 strncmp(rest, "devices/", strlen("devices/")) ? rest : strchr(rest, '/') + 1);
	return true;
}

static bool read_drm_place(struct perfctr_ctx *ctx, const char *node, char *place)
{
	char path[PATH_BYTES], *end;

	snprintf(path, sizeof(path), DRM_CLASS_PATH "/%.64s", node);
	if (!read_place(ctx, path, place))
		return false;
	end = strstr(place, "/drm/");
	if (end)
		*end = '\0';
	return end;
}

static bool is_below(const char *place, const char *device)
{
	size_t length = strlen(device);

	return !strncmp(place, device, length) && place[length] == '/';
}

static bool belongs_to(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *device)
{
	const char *name = strrchr(device, '/');
	char path[PATH_BYTES], place[PATH_BYTES], address[PATH_BYTES];

	snprintf(path, sizeof(path), PMU_PATH "/%s/device", pmu->name);
	if (read_place(ctx, path, place) && is_below(place, device))
		return true;
	snprintf(path, sizeof(path), PMU_PATH "/%s", pmu->name);
	if (read_place(ctx, path, place) && is_below(place, device))
		return true;
	/* as of i915_0000_03_00.0 */
	snprintf(address, sizeof(address), "%s", name ? name + 1 : device);
	for (char *c = address; *c; c++)
		*c = *c == ':' ? '_' : *c;
	return strchr(address, '_') && strstr(pmu->name, address);
}

struct judge {
	struct perfctr_ctx *ctx;
	struct pmu_list *list;
	char own[PATH_BYTES];
};

static int judge_node(void *arg, const char *node)
{
	struct judge *j = arg;
	char place[PATH_BYTES];

	if (!read_drm_place(j->ctx, node, place) || !strcmp(place, j->own))
		return 0;
	for (size_t n = 0; n < j->list->count; n++)
		j->list->pmus[n].is_foreign |= belongs_to(j->ctx, &j->list->pmus[n], place);
	return 0;
}

void pmu_list_judge(const struct perfctr_device *device, struct pmu_list *list)
{
	struct judge j = { device->ctx, list, "" };
	const char *node = strrchr(device->path, '/');
	bool has_own = false;

	/* no kernel module has block types of these PMUs */
	for (size_t n = 0; device_is(device, LINK_KERNEL) && n < list->count; n++)
		if (product_of_pmu(list->pmus[n].block_type) == DRM_PERFCTR_TEGRA241_PRODUCT)
			pmu_make_generic(&list->pmus[n]);
	/* a device for the PMUs of the whole machine has no blocks of its own */
	for (size_t n = 0; n < device->block_count; n++)
		has_own |= !block_is_pmu(&device->blocks[n]);
	if (has_own && node && device->ctx->sys->readlink &&
	    read_drm_place(device->ctx, node + 1, j.own))
		device->ctx->sys->list(device->ctx->sys->data, DRM_CLASS_PATH, judge_node, &j);
}

/* of its numbers, those that a processor gives are of this type */
const struct pmu pmu_unseen_core = {
	.name = "cpu",
	.label = "cpu",
	.type = PERF_TYPE_RAW,
	.block_type = DRM_PERFCTR_BLOCK_GENERIC_PMU,
	.is_core = true,
};

const struct pmu *pmu_of_event(const struct pmu_list *list, uint32_t type, uint64_t config)
{
	const bool is_generic = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE;
	const uint32_t wanted = is_generic ? (uint32_t)(config >> 32) : type;

	for (size_t n = 0; n < list->count; n++) {
		const struct pmu *pmu = &list->pmus[n];

		if (is_generic && !wanted ? pmu->is_core : pmu->type == wanted)
			return pmu;
	}
	return is_generic || type == PERF_TYPE_RAW ? &pmu_unseen_core : NULL;
}

void pmu_name_of_type(struct perfctr_ctx *ctx, uint32_t type, uint64_t config, char *name,
		      size_t size)
{
	struct pmu_list list = { 0 };
	const struct pmu *pmu;

	snprintf(name, size, "pmu_type=%u", type);
	if (pmu_list_load(ctx, &list))
		return;
	pmu = pmu_of_event(&list, type, config);
	if (pmu)
		snprintf(name, size, "%s", pmu->name);
	pmu_list_free(&list);
}

int pmu_cpus(struct perfctr_ctx *ctx, const struct pmu *pmu, struct cpu_list *cpus)
{
	struct cpu_list own = { 0 }, online = { 0 };
	char path[PATH_BYTES];
	int error;

	snprintf(path, sizeof(path), PMU_PATH "/%s/%s", pmu->name,
		 pmu->is_uncore ? "cpumask" : "cpus");
	error = cpu_list_read(ctx->sys, path, &own);
	error = error == -ENOENT ? 0 : error;
	if (!error && !pmu->is_uncore)
		error = cpu_list_online(ctx->sys, &online);
	if (error)
		perfctr_fail(ctx, error, "cannot read the CPUs of the PMU %s: %s", pmu->name,
			     strerror(-error));
	if (own.count && online.count)
		cpu_list_intersect(&own, &online);
	*cpus = own.count || pmu->is_uncore ? own : online;
	cpu_list_free(own.count || pmu->is_uncore ? &online : &own);
	return error;
}

struct names {
	sys_list_fn fn;
	void *arg;
};

static int event_name(void *arg, const char *name)
{
	const struct names *names = arg;

	/* names with a dot (event.unit, event.scale) are attributes of events */
	return strchr(name, '.') ? 0 : names->fn(names->arg, name);
}

static const struct perfctr_counter_desc *database_event(const struct pmu *pmu,
							 const struct perfctr_counter_desc *prev)
{
	while ((prev = database_next_of_pmus(prev)))
		if (prev->block_type == pmu->block_type &&
		    (pmu->block_type != DRM_PERFCTR_BLOCK_GENERIC_PMU ||
		     !strcmp(prev->pmu, pmu->name)))
			return prev;
	return NULL;
}

const struct perfctr_counter_desc *pmu_typed_event(const struct pmu *pmu, uint64_t config)
{
	const struct perfctr_counter_desc *c = NULL;

	while (pmu->block_type != DRM_PERFCTR_BLOCK_GENERIC_PMU && (c = database_event(pmu, c)))
		if (c->event == config)
			return c;
	return NULL;
}

int pmu_list_events(struct perfctr_ctx *ctx, const struct pmu *pmu, sys_list_fn fn, void *arg)
{
	const struct perfctr_counter_desc *desc = NULL;
	struct names names = { fn, arg };
	char path[PATH_BYTES];
	int error;

	if (is_reading(pmu->type))
		return ctx->readings->list(ctx, pmu, fn, arg);
	snprintf(path, sizeof(path), PMU_PATH "/%s/events", pmu->name);
	error = ctx->sys->list(ctx->sys->data, path, event_name, &names);
	if (error != -ENOENT)
		return error;
	while ((desc = database_event(pmu, desc))) {
		error = fn(arg, desc->name);
		if (error)
			return error;
	}
	return 0;
}

static int is_name(void *wanted, const char *name)
{
	return !strcmp(wanted, name);
}

bool pmu_has_event(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name)
{
	return pmu_list_events(ctx, pmu, is_name, (void *)name) == 1;
}

static int parse_number(const char *text, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return errno || *end ? -EINVAL : 0;
}

/*
 * Distribute value over the bits that a format file names: "config1:0-7,32-35".
 * With value NULL collect the bits in *field instead. -EOPNOTSUPP: a later word than config2.
 */
static int apply_format(const char *format, const uint64_t *value, struct pmu_event *event,
			uint64_t *mask)
{
	uint64_t rest = value ? *value : 0;
	unsigned int word = 0, low, high;
	uint64_t *target;
	int used = 0;

	if (sscanf(format, "config%u:%n", &word, &used) != 1 || !used) {
		word = 0;
		sscanf(format, "config:%n", &used);
	}
	if (!used || word > 2)
		return used ? -EOPNOTSUPP : -EINVAL;
	target = word == 0 ? &event->config : word == 1 ? &event->config1 : &event->config2;
	if (mask && word)
		return -EINVAL;

	format += used;
	while (*format) {
		unsigned int bits;
		uint64_t field;

		used = 0;
		if (sscanf(format, "%u-%u%n", &low, &high, &used) != 2) {
			if (sscanf(format, "%u%n", &low, &used) != 1)
				return -EINVAL;
			high = low;
		}
		if (high > 63 || low > high)
			return -EINVAL;
		bits = high - low + 1;
		field = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
		if (mask)
			*mask |= field << low;
		/* a later term replaces the field of an earlier one, as in perf */
		*target &= ~(field << low);
		*target |= (rest & field) << low;
		rest = bits == 64 ? 0 : rest >> bits;
		format += used;
		if (*format == ',')
			format++;
		else if (*format)
			return -EINVAL;
	}
	return rest ? -ERANGE : 0;
}

static int add_field(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name,
		     uint64_t value, struct pmu_event *event)
{
	static const char *const words[] = { "config", "config1", "config2" };
	uint64_t *const to[] = { &event->config, &event->config1, &event->config2 };
	char path[PATH_BYTES], *format;
	int error;

	for (size_t n = 0; n < ARRAY_SIZE(words); n++) {
		if (!strcmp(name, words[n])) {
			*to[n] = value;
			return 0;
		}
	}
	if (!strcmp(name, "cpu")) {
		if (value > INT32_MAX)
			return perfctr_fail(ctx, -EINVAL, "cpu=%llu is no CPU",
					    (unsigned long long)value);
		event->cpu = (int32_t)value;
		return 0;
	}

	snprintf(path, sizeof(path), PMU_PATH "/%s/format/%s", pmu->name, name);
	error = strchr(name, '/') ? -ENOENT : perfctr_sys_read_all(ctx->sys, path, &format);
	if (error < 0)
		return perfctr_fail(
			ctx, error == -ENOENT ? -ENOENT : -EINVAL,
			error == -ENOENT ? "the PMU %s has no event or field \"%s\"; see " PMU_PATH
					   "/%s/events and /format" :
					   "the PMU %s: cannot read the format of \"%s\", " PMU_PATH
					   "/%s/format",
			pmu->name, name, pmu->name);
	error = apply_format(format, &value, event, NULL);
	if (error == -ERANGE)
		perfctr_fail(ctx, -EINVAL, "%s: %s=0x%llx does not fit its field %s", pmu->name,
			     name, (unsigned long long)value, format);
	else if (error == -EOPNOTSUPP)
		perfctr_fail(ctx, -EINVAL,
			     "%s: %s is in %.*s of perf's events, and perfctr counts events by "
			     "config, config1 and config2 only: use perf for it",
			     pmu->name, name, (int)strcspn(format, ":"), format);
	else if (error)
		perfctr_fail(ctx, -EINVAL, "%s: cannot read the format \"%s\" of %s", pmu->name,
			     format, name);
	free(format);
	return error ? -EINVAL : 0;
}

/* Append ",name" to a list of fields. Return: whether there is room. */
static bool note_field(char *list, const char *name)
{
	size_t length = strlen(list);

	return snprintf(list + length, EVENT_BYTES - length, ",%s", name) <
	       (int)(EVENT_BYTES - length);
}

/* Whether a list of fields has the first @length bytes of @name. */
static bool has_field(const char *list, const char *name, size_t length)
{
	for (; *list; list += strcspn(list, ",")) {
		list++;
		if (strcspn(list, ",") == length && !strncmp(list, name, length))
			return true;
	}
	return false;
}

int pmu_check_params(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *terms,
		     const struct pmu_event *event)
{
	char missing[EVENT_BYTES] = "", example[2 * EVENT_BYTES] = "";

	for (const char *at = event->params; *at;) {
		size_t length = strcspn(++at, ","), used = strlen(missing), end = strlen(example);

		if (!has_field(event->given, at, length)) {
			snprintf(missing + used, sizeof(missing) - used, "%s%.*s", used ? ", " : "",
				 (int)length, at);
			snprintf(example + end, sizeof(example) - end, ",%.*s=N", (int)length, at);
		}
		at += length;
	}
	if (!*missing)
		return 0;
	return perfctr_fail(ctx, -EINVAL,
			    "%s/%s/ leaves values to you: give %s, as %s/%s%s/ with numbers N; "
			    "their bits are in " PMU_PATH "/%s/format",
			    pmu->label, terms, missing, pmu->label, terms, example, pmu->name);
}

/* What perf's other terms are about: it would be wrong to count as if they were not there. */
static int refuse_term(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name)
{
	static const char *const terms[] = {
		"period",	   "freq",	 "branch_type",	  "time",      "call-graph",
		"stack-size",	   "no-inherit", "inherit",	  "max-stack", "nr",
		"no-overwrite",	   "overwrite",	 "driver-config", "percore",   "aux-output",
		"aux-sample-size", "metric-id",
	};

	for (size_t n = 0; n < ARRAY_SIZE(terms); n++)
		if (!strcmp(terms[n], name))
			return perfctr_fail(
				ctx, -EINVAL,
				"%s: perf's term \"%s\" is not supported: perfctr counts "
				"events and takes no samples of them",
				pmu->name, name);
	return 0;
}

/* "name=foo", "name='my foo'". */
static int take_event_name(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *text,
			   struct pmu_event *event)
{
	char unquoted[EVENT_BYTES];
	const size_t length = strlen(text);

	if (length > 2 && length < sizeof(unquoted) && strchr("'\"", *text) &&
	    text[length - 1] == *text) {
		snprintf(unquoted, sizeof(unquoted), "%.*s", (int)length - 2, text + 1);
		text = unquoted;
	}
	if (!*text || text[strcspn(text, "/=:*?[]{}\"'")] || strlen(text) >= sizeof(event->name))
		return perfctr_fail(ctx, -EINVAL, "%s: \"%s\" is no name for an event", pmu->name,
				    text);
	strcpy(event->name, text);
	return 0;
}

/* "name=value" or "name", which means 1. */
static int add_assignment(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *term,
			  bool of_user, struct pmu_event *event)
{
	char name[TEXT_BYTES];
	const char *equals = strchr(term, '=');
	size_t length = equals ? (size_t)(equals - term) : strlen(term);
	uint64_t value = 1;
	int error;

	if (!length || length >= sizeof(name))
		return perfctr_fail(ctx, -EINVAL, "%s: \"%s\" is no term", pmu->name, term);
	memcpy(name, term, length);
	name[length] = '\0';
	if (of_user && equals && !strcmp(name, "name"))
		return take_event_name(ctx, pmu, equals + 1, event);
	if (equals && !strcmp(equals, "=?"))
		return of_user ? perfctr_fail(ctx, -EINVAL,
					      "%s: give a number for \"%s\" "
					      "instead of the question mark",
					      pmu->name, name) :
		       note_field(event->params, name) ?
				 0 :
				 perfctr_fail(ctx, -EINVAL, "%s: too many fields", pmu->name);
	if (equals && parse_number(equals + 1, &value))
		return perfctr_fail(ctx, -EINVAL, "%s: \"%s\" is no number in \"%s\"", pmu->name,
				    equals + 1, term);
	if (of_user && !note_field(event->given, name))
		return perfctr_fail(ctx, -EINVAL, "%s: too many fields", pmu->name);
	error = add_field(ctx, pmu, name, value, event);
	return error == -ENOENT && of_user && refuse_term(ctx, pmu, name) ? -EINVAL : error;
}

/* The content of an event's file: assignments separated by commas. */
static int add_event_text(struct perfctr_ctx *ctx, const struct pmu *pmu, char *text,
			  struct pmu_event *event)
{
	char *term, *rest = text;
	int error = 0;

	while (!error && (term = strsep(&rest, ",")))
		if (*term)
			error = add_assignment(ctx, pmu, term, false, event);
	return error;
}

/* The file "EVENT.unit" or alike. Return: its length, 0: there is none; a negative errno. */
static int read_attribute(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name,
			  const char *attribute, char *path, char **text)
{
	int length;

	snprintf(path, PATH_BYTES, PMU_PATH "/%s/events/%s.%s", pmu->name, name, attribute);
	length = perfctr_sys_read_all(ctx->sys, path, text);
	if (length >= 0 || length == -ENOENT)
		return length < 0 ? 0 : length;
	return perfctr_fail(ctx, length == -ENOMEM ? length : -EINVAL, "%s: %s", path,
			    strerror(-length));
}

static int read_scale(struct perfctr_ctx *ctx, const char *path, const char *text, double *scale)
{
	char *end;

	*scale = perfctr_strtod(text, &end);
	while (*end == ' ')
		end++;
	if (end == text || *end || !(*scale > 0 && *scale < 1e30))
		return perfctr_fail(ctx, -EINVAL, "%s: \"%.64s\" is no factor", path, text);
	return 0;
}

/* Unit and scale of an event of sysfs, and whether it is a level. */
static int read_attributes(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name,
			   struct pmu_event *event)
{
	char path[PATH_BYTES], *text;
	int length = read_attribute(ctx, pmu, name, "unit", path, &text), error = 0;

	if (length >= (int)sizeof(event->unit))
		error = perfctr_fail(ctx, -EINVAL, "%s: a unit of %d characters", path, length);
	else if (length > 0)
		strcpy(event->unit, text);
	if (length >= 0)
		free(text);
	if (length < 0 || error)
		return length < 0 ? length : error;

	length = read_attribute(ctx, pmu, name, "scale", path, &text);
	if (length > 0)
		error = read_scale(ctx, path, text, &event->scale);
	if (length >= 0)
		free(text);
	if (length < 0 || error)
		return length < 0 ? length : error;

	snprintf(path, sizeof(path), PMU_PATH "/%s/events/%s.snapshot", pmu->name, name);
	length = perfctr_sys_read_all(ctx->sys, path, &text);
	if (length > 0 && strcmp(text, "0") != 0)
		event->flags |= LOCAL_REQUEST_LEVEL;
	free(text);
	return 0;
}

/* The name of an event of sysfs. Return: -ENOENT there is none; -EINVAL it makes no sense. */
static int add_named(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *name,
		     struct pmu_event *event)
{
	char path[PATH_BYTES], *text, *rest;
	int length, error;

	if (strpbrk(name, "/."))
		return -ENOENT;
	snprintf(path, sizeof(path), PMU_PATH "/%s/events/%s", pmu->name, name);
	length = perfctr_sys_read_all(ctx->sys, path, &text);
	if (length < 0)
		return length == -ENOENT || length == -ENOMEM || length == -EISDIR ?
			       length :
			       perfctr_fail(ctx, -EINVAL, "%s: %s", path, strerror(-length));
	rest = strdup(text);
	error = rest ? add_event_text(ctx, pmu, rest, event) : perfctr_no_memory(ctx);
	if (error && error != -ENOMEM)
		error = perfctr_fail(ctx, -EINVAL, "%s/%s/ is \"%.200s\" by sysfs: %s", pmu->label,
				     name, text, perfctr_ctx_error(ctx));
	free(rest);
	free(text);
	return error ? error : read_attributes(ctx, pmu, name, event);
}

/* "sched:sched_switch" of the PMU "tracepoint". */
static int add_tracepoint(struct perfctr_ctx *ctx, const char *term, struct pmu_event *event)
{
	static const char *const roots[] = { TRACEFS_PATH, DEBUGFS_TRACE_PATH };
	const char *colon = strchr(term, ':');
	char path[PATH_BYTES], text[32] = "";
	bool refused = false;
	int error = -ENOENT;

	for (size_t n = 0; n < ARRAY_SIZE(roots) && error < 0; n++) {
		snprintf(path, sizeof(path), "%s/%.*s/%s/id", roots[n], (int)(colon - term), term,
			 colon + 1);
		error = perfctr_sys_read_text(ctx->sys, path, text, sizeof(text));
		refused |= error == -EACCES || error == -EPERM;
	}
	/* that the second root does not exist says nothing of the first */
	error = error < 0 && refused ? -EACCES : error;
	if (error == -EACCES)
		return perfctr_fail(
			ctx, error,
			"tracepoint %s: cannot read its id below " TRACEFS_PATH
			": %s; only root may, or: sudo mount -o remount,mode=755 " TRACEFS,
			term, strerror(-error));
	if (error < 0)
		return perfctr_fail(ctx, error,
				    "tracepoint %s: cannot read its id below " TRACEFS_PATH
				    ": %s%s; modifiers of an event are u, k, h, G, H and I",
				    term, strerror(-error),
				    perfctr_sys_read_text(ctx->sys, TRACEFS_PATH "/enable", text,
							  sizeof(text)) == -ENOENT ?
					    "; sudo mount -t tracefs nodev /sys/kernel/tracing" :
					    "");
	return parse_number(text, &event->config) ?
		       perfctr_fail(ctx, -EINVAL, "tracepoint %s: its id \"%s\" is no number", term,
				    text) :
		       0;
}

int pmu_add_term(struct perfctr_ctx *ctx, const struct pmu *pmu, const char *term,
		 struct pmu_event *event)
{
	const struct perfctr_counter_desc *desc = NULL;
	uint64_t raw;
	int error;

	if (is_reading(pmu->type))
		return ctx->readings->add_term(ctx, pmu, term, event);
	if (strchr(term, '='))
		return add_assignment(ctx, pmu, term, true, event);
	if (!strcmp(pmu->name, "tracepoint") && strchr(term, ':') && !strchr(term, '/'))
		return add_tracepoint(ctx, term, event);

	error = add_named(ctx, pmu, term, event);
	if (error != -ENOENT)
		return error;
	while ((desc = database_event(pmu, desc))) {
		if (!strcmp(desc->name, term)) {
			event->config = desc->event;
			return 0;
		}
	}
	error = add_assignment(ctx, pmu, term, true, event);
	if (error != -ENOENT || !raw_event_parse(term, &raw))
		return error;
	event->config = raw;
	return 0;
}

uint64_t pmu_event_bits(struct perfctr_ctx *ctx, const struct pmu *pmu)
{
	char path[PATH_BYTES], *format;
	struct pmu_event unused = { 0 };
	uint64_t mask = 0;

	snprintf(path, sizeof(path), PMU_PATH "/%s/format/event", pmu->name);
	if (perfctr_sys_read_all(ctx->sys, path, &format) < 0 ||
	    apply_format(format, NULL, &unused, &mask))
		mask = UINT64_MAX;
	free(format);
	return mask;
}
