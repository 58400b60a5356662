/* SPDX-License-Identifier: MIT */
/* What the files of perfkit share. */
#pragma once

#include <perfctr/perfkit.h>

#include "counters/fraction.h"
#include "base/device.h"

enum {
	KIT_NAME_BYTES = EVENT_BYTES + 2 * LABEL_BYTES,
	KIT_MOST_OBJECTS = 65536,
	KIT_NO_PASS = ~0u
};

/* one counter of one block, as requested from the kernel; mask has one bit */
struct kit_need {
	struct drm_perfctr_block_request request;
	unsigned int pass;
};

/* an added counter */
struct kit_entry {
	struct perfctr_perfkit_counter info;
	char name[KIT_NAME_BYTES];
	char unit[UNIT_BYTES]; /* of a perf event */
	struct fraction scale; /* from a count to the unit, 1 for most */
	/* indices of the needs that its value is computed from */
	size_t *needs;
	size_t need_count;
	bool updated; /* updated by the last sample, or by the experiment */
};

enum kit_state { KIT_IDLE, KIT_EXPERIMENT, KIT_PASS, KIT_OBJECT, KIT_SAMPLING };

struct kit_pass {
	struct perfctr_selection *selection;
	bool done; /* measured in this experiment, or since sampling began */
};

struct perfctr_perfkit {
	atomic_uint refs;
	struct perfctr_device *device;
	enum kit_state state;
	struct kit_entry **entries;
	size_t entry_count;
	struct kit_need *needs;
	size_t need_count;
	/* valid if planned */
	bool planned;
	struct kit_pass *passes;
	unsigned int pass_count;
	/* totals[object * pass_count + pass], NULL if not measured */
	struct perfctr_totals **totals;
	unsigned int object_count;
	/* the active pass */
	unsigned int pass, object;
	bool had_object;
	struct perfctr_session *session;
	struct perfctr_cursor *cursor;
};

static inline struct perfctr_ctx *kit_ctx(const struct perfctr_perfkit *kit)
{
	return kit->device->ctx;
}

/* Flags of a session: a GPU must not fall asleep. Devices without this feature do not sleep. */
static inline uint32_t kit_setup_flags(const struct perfctr_perfkit *kit)
{
	return kit->device->info.features & DRM_PERFCTR_FEATURE_KEEP_AWAKE ?
		       DRM_PERFCTR_OPEN_KEEP_AWAKE :
		       0;
}

/* Units of GPUs as metrics whose names end in " SOL" or " Bottleneck"; NULL after the last one. */
const struct perfctr_metric_desc *kit_unit_next(const struct perfctr_metric_desc *prev);

/* Find the needs that can be counted together. Return: 0 or a negative errno. */
int kit_plan(struct perfctr_perfkit *kit);
void kit_forget_plan(struct perfctr_perfkit *kit);

void kit_forget_values(struct perfctr_perfkit *kit);

void kit_close_session(struct perfctr_perfkit *kit);
