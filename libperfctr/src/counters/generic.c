// SPDX-License-Identifier: MIT
#include "generic.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MODES_OF_CPU (LOCAL_REQUEST_NO_USER | LOCAL_REQUEST_NO_KERNEL | LOCAL_REQUEST_NO_HV)
#define MODES_OF_GUEST (LOCAL_REQUEST_NO_GUEST | LOCAL_REQUEST_NO_HOST)

enum { MAX_NAMES = 5 };

/*
 * perf's names, and the names in sysfs: as on x86, on arm64 (armv8_pmuv3_perf_map in the kernel),
 * on Apple's cores.
 */
static const struct {
	const char *name, *alias;
	uint64_t config;
	const char *sysfs[MAX_NAMES];
} events[] = {
	{ "cycles",
	  "cpu-cycles",
	  PERF_COUNT_HW_CPU_CYCLES,
	  { "cpu-cycles", "cpu_cycles", "cycles" } },
	{ "instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, { "instructions", "inst_retired" } },
	{ "cache-references",
	  NULL,
	  PERF_COUNT_HW_CACHE_REFERENCES,
	  { "cache-references", "l1d_cache" } },
	{ "cache-misses",
	  NULL,
	  PERF_COUNT_HW_CACHE_MISSES,
	  { "cache-misses", "l1d_cache_refill", NULL } },
	{ "branches",
	  "branch-instructions",
	  PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	  { "branch-instructions", "branches", "br_retired", "pc_write_retired" } },
	{ "branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES, { "branch-misses", "br_mis_pred" } },
	{ "bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES, { "bus-cycles", "bus_cycles" } },
	{ "stalled-cycles-frontend",
	  "idle-cycles-frontend",
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
	  { "stalled-cycles-frontend", "stall_frontend" } },
	{ "stalled-cycles-backend",
	  "idle-cycles-backend",
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
	  { "stalled-cycles-backend", "stall_backend" } },
	{ "ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, { "ref-cycles" } },
};

/* "L1-dcache" and "-load-misses" */
static const struct {
	const char *name;
	uint64_t config;
} caches[] = {
	{ "L1-dcache", PERF_COUNT_HW_CACHE_L1D },
	{ "L1-d", PERF_COUNT_HW_CACHE_L1D },
	{ "l1d", PERF_COUNT_HW_CACHE_L1D },
	{ "L1-icache", PERF_COUNT_HW_CACHE_L1I },
	{ "L1-i", PERF_COUNT_HW_CACHE_L1I },
	{ "l1i", PERF_COUNT_HW_CACHE_L1I },
	{ "LLC", PERF_COUNT_HW_CACHE_LL },
	{ "dTLB", PERF_COUNT_HW_CACHE_DTLB },
	{ "iTLB", PERF_COUNT_HW_CACHE_ITLB },
	{ "branch", PERF_COUNT_HW_CACHE_BPU },
	{ "node", PERF_COUNT_HW_CACHE_NODE },
}, actions[] = {
	{ "-loads", PERF_COUNT_HW_CACHE_OP_READ << 8 },
	{ "-misses", PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
	{ "-load-misses",
	  PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
	{ "-stores", PERF_COUNT_HW_CACHE_OP_WRITE << 8 },
	{ "-store-misses",
	  PERF_COUNT_HW_CACHE_OP_WRITE << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
	{ "-prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 },
	{ "-prefetch-misses",
	  PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 },
};

static bool find_cache_event(const char *name, struct generic_event *event)
{
	static const char *const none[] = { NULL };

	for (size_t n = 0; n < ARRAY_SIZE(caches) * ARRAY_SIZE(actions); n++) {
		size_t cache = n / ARRAY_SIZE(actions), action = n % ARRAY_SIZE(actions);
		size_t length = strlen(caches[cache].name);

		if (strncmp(name, caches[cache].name, length) != 0 ||
		    strcmp(name + length, actions[action].name) != 0)
			continue;
		*event = (struct generic_event){
			.type = PERF_TYPE_HW_CACHE,
			.config = caches[cache].config | actions[action].config,
			.names = none,
		};
		return true;
	}
	return false;
}

bool generic_event_find(const char *name, struct generic_event *event)
{
	for (size_t n = 0; n < ARRAY_SIZE(events); n++) {
		if (strcasecmp(events[n].name, name) != 0 &&
		    (!events[n].alias || strcasecmp(events[n].alias, name) != 0))
			continue;
		*event = (struct generic_event){
			.type = PERF_TYPE_HARDWARE,
			.config = events[n].config,
			.names = events[n].sysfs,
		};
		return true;
	}
	return find_cache_event(name, event);
}

bool raw_event_parse(const char *name, uint64_t *config)
{
	const char *digits = name + 1;

	if (*name != 'r')
		return false;
	if (digits[0] == '0' && digits[1] == 'x')
		digits += 2;
	if (!*digits || strlen(digits) > 16 ||
	    digits[strspn(digits, "0123456789abcdefABCDEF")] != '\0')
		return false;
	*config = strtoull(digits, NULL, 16);
	return true;
}

/* a letter: the bits that the first of its kind sets, and the one that it takes back */
static const struct mode {
	char letter;
	uint32_t kind, own;
} modes[] = {
	{ 'u', MODES_OF_CPU, LOCAL_REQUEST_NO_USER },
	{ 'k', MODES_OF_CPU, LOCAL_REQUEST_NO_KERNEL },
	{ 'h', MODES_OF_CPU, LOCAL_REQUEST_NO_HV },
	{ 'G', MODES_OF_GUEST, LOCAL_REQUEST_NO_GUEST },
	{ 'H', MODES_OF_GUEST, LOCAL_REQUEST_NO_HOST },
	{ 'I', LOCAL_REQUEST_NO_IDLE, 0 },
};

static const struct mode *find_mode(char letter)
{
	for (size_t n = 0; n < ARRAY_SIZE(modes); n++)
		if (modes[n].letter == letter)
			return &modes[n];
	return NULL;
}

int modifiers_parse(struct perfctr_ctx *ctx, const char *event, const char *text, uint32_t *flags)
{
	uint32_t excluded = 0, chosen = 0;

	for (; *text; text++) {
		const struct mode *mode = find_mode(*text);

		if (!mode)
			return perfctr_fail(
				ctx, -EINVAL,
				"%s: the modifier \"%c\" is not supported%s; modifiers are u, k, h "
				"(count in user space, the kernel, the hypervisor only), G, H (in "
				"guests, on the host only) and I (not while idle)",
				event, *text,
				strchr("pP", *text) ? ": it is for sampling, and perfctr counts" :
						      "");
		excluded |= mode->kind;
		chosen |= mode->own;
	}
	*flags = excluded & ~chosen;
	return 0;
}
