/* SPDX-License-Identifier: MIT */
/* Random jobs and sessions. */
#ifndef IGT_RANDOM_H
#define IGT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "igt_chance.h"
#include "igt_vsoc.h"

#define IGT_RANDOM_COMMANDS 8

/*
 * Up to IGT_RANDOM_COMMANDS commands, with SAMPLEs of @session between them if it is not NULL,
 * and with METHODS for MP counters on product @nv50. Returns their number.
 */
unsigned int igt_random_commands(struct igt_chance *chance, struct drm_vsoc_command *commands,
				 bool nv50, const struct igt_perfctr_session *session,
				 uint64_t user_data);
enum igt_random_kind {
	/* drop random blocks and counters of the session's requests; at least one is left */
	IGT_RANDOM_ANY,
	/* product nv50: counters that may be multiplexed, or that can always be recorded */
	IGT_RANDOM_TURNS,
	IGT_RANDOM_RECORDED,
};
void igt_random_counters(struct igt_chance *chance, struct igt_perfctr_session *s,
			 enum igt_random_kind kind);

#endif
