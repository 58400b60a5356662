/* SPDX-License-Identifier: MIT */
/*
 * Jobs and sessions at random.
 */
#ifndef IGT_RANDOM_H
#define IGT_RANDOM_H

#include "igt_chance.h"
#include "igt_vsoc.h"

#define IGT_RANDOM_COMMANDS 8

/*
 * Up to IGT_RANDOM_COMMANDS commands, with SAMPLEs for a session between them if its handle is not
 * zero, and with METHODS for MP counters on product @nv50. Returns how many.
 */
unsigned int igt_random_commands(struct igt_chance *chance, struct drm_vsoc_command *commands,
				 bool nv50, uint32_t session, uint64_t user_data);
enum igt_random_kind {
	/* blocks and counters of those that the session wants, at least one */
	IGT_RANDOM_ANY,
	/* product nv50: what may have to take turns, or can be recorded whoever else counts so */
	IGT_RANDOM_TURNS,
	IGT_RANDOM_RECORDED,
};
void igt_random_counters(struct igt_chance *chance, struct igt_perfctr_session *s,
			 enum igt_random_kind kind);

#endif
