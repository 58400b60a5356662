// SPDX-License-Identifier: MIT
/* Events of a text that are counters of GPU blocks. */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "C9" or "9". Return: whether it is a position. */
static bool parse_position(const char *text, unsigned int *position)
{
	char *end;
	unsigned long value;

	if (*text == 'C' || *text == 'c')
		text++;
	if (*text < '0' || *text > '9')
		return false;
	value = strtoul(text, &end, 10);
	if (*end || value > UINT16_MAX)
		return false;
	*position = (unsigned int)value;
	return true;
}

/* "shader", or "type128" of a driver that is newer than the library. */
static bool is_type(const struct drm_perfctr_block_info *b, const char *name)
{
	char type[LABEL_BYTES];

	perfctr_block_label(b->type, DRM_PERFCTR_INDEX_ALL, type, sizeof(type));
	return !strcasecmp(name, type);
}

static bool block_matches(const struct drm_perfctr_block_info *b, const char *pattern)
{
	char label[LABEL_BYTES];

	if (block_is_pmu(b))
		return false;
	perfctr_block_label(b->type, b->index, label, sizeof(label));
	return event_matches(pattern, label) || is_type(b, pattern);
}

/* Whether a pattern for blocks selects individual blocks instead of a whole type. */
static bool selects_some(const struct event_parser *p, const struct drm_perfctr_block_info *b,
			 const char *pattern)
{
	if (!pattern || is_type(b, pattern))
		return false;
	for (size_t n = 0; event_is_glob(pattern) && n < p->device->block_count; n++)
		if (p->device->blocks[n].type == b->type &&
		    !block_matches(&p->device->blocks[n], pattern))
			return true;
	return !event_is_glob(pattern);
}

bool event_is_gpu_block(const struct event_parser *p, const char *pattern)
{
	for (size_t n = 0; n < p->device->block_count; n++)
		if (block_matches(&p->device->blocks[n], pattern))
			return true;
	return false;
}

bool event_is_gpu_block_alone(const struct event_parser *p, const char *pattern)
{
	for (size_t n = 0; n < p->device->block_count; n++) {
		char type[LABEL_BYTES];

		perfctr_block_label(p->device->blocks[n].type, DRM_PERFCTR_INDEX_ALL, type,
				    sizeof(type));
		if (!strncasecmp(pattern, type, strlen(type)) &&
		    block_matches(&p->device->blocks[n], pattern))
			return true;
	}
	return false;
}

static bool is_in_set(const struct drm_perfctr_block_info *b, unsigned int position,
		      unsigned int set)
{
	unsigned int section = position / DRM_PERFCTR_SECTION_COUNTERS;
	const __u64 *available = set ? b->set_available[set - 1] : b->available;

	return section < DRM_PERFCTR_BLOCK_INFO_SECTIONS &&
	       available[section] >> position % DRM_PERFCTR_SECTION_COUNTERS & 1;
}

static bool position_exists(const struct event_parser *p, const struct drm_perfctr_block_info *b,
			    unsigned int position)
{
	return position < b->counters && is_in_set(b, position, p->selection->set);
}

static bool position_matches(const struct event_parser *p, const struct drm_perfctr_block_info *b,
			     unsigned int position, const char *pattern)
{
	const struct perfctr_counter_desc *desc =
		perfctr_counter_at(b->product, b->type, p->selection->set, position);
	unsigned int wanted;
	char name[16];

	if (parse_position(pattern, &wanted))
		return wanted == position;
	if (desc)
		return event_matches(pattern, desc->name);
	snprintf(name, sizeof(name), "C%u", position);
	return event_matches(pattern, name);
}

/* Return: counters of the block that match, or an error. */
static int add_block_counters(struct event_parser *p, const struct drm_perfctr_block_info *b,
			      const char *pattern, bool single)
{
	int found = 0;

	for (unsigned int position = 0; position < b->counters; position++) {
		struct drm_perfctr_block_request r = {
			.type = b->type,
			.index = b->index,
			.section = (uint16_t)(position / DRM_PERFCTR_SECTION_COUNTERS),
			.set = (uint8_t)p->selection->set,
			.mask = UINT64_C(1) << position % DRM_PERFCTR_SECTION_COUNTERS,
		};
		int error;

		if (!position_exists(p, b, position) || !position_matches(p, b, position, pattern))
			continue;
		error = selection_add_gpu(p->selection, &r, single);
		if (error)
			return error;
		found++;
	}
	return found;
}

int event_add_gpu_counters(struct event_parser *p, const char *blocks, const char *counters)
{
	int found = 0;

	/* none has modifiers */
	for (size_t n = 0; !p->flags && n < p->device->block_count; n++) {
		const struct drm_perfctr_block_info *b = &p->device->blocks[n];
		int result;

		if (blocks ? !block_matches(b, blocks) : block_is_pmu(b))
			continue;
		result = add_block_counters(p, b, counters, selects_some(p, b, blocks));
		if (result < 0)
			return result;
		found += result;
	}
	p->found += found;
	return found;
}

int event_fail_other_set(const struct event_parser *p, const char *blocks, const char *name)
{
	const struct perfctr_counter_desc *desc = NULL;

	while ((desc = perfctr_counter_next(desc))) {
		if (strcasecmp(desc->name, name))
			continue;
		for (size_t n = 0; n < p->device->block_count; n++) {
			const struct drm_perfctr_block_info *b = &p->device->blocks[n];

			if (b->type != desc->block_type || b->product != desc->product ||
			    (blocks && !block_matches(b, blocks)))
				continue;
			for (unsigned int set = 0; set <= ARRAY_SIZE(b->set_available); set++)
				if (set != p->selection->set && desc->sets >> set & 1 &&
				    is_in_set(b, desc->position, set))
					return perfctr_fail(
						p->ctx, -ENOENT,
						"%s is in counter set %u, and set %u is "
						"chosen: choose with --set %u",
						name, set, p->selection->set, set);
		}
	}
	return 0;
}

int event_add_gpu(struct event_parser *p, const char *blocks, const char *counters)
{
	int found = event_add_gpu_counters(p, blocks, *counters ? counters : "*");

	if (found)
		return found < 0 ? found : 0;
	found = event_fail_other_set(p, blocks, counters);
	return found ? found : event_fail_unknown(p, blocks, counters, false);
}
