/* SPDX-License-Identifier: MIT */
/* Processes of other users that try to delay this one. */
#ifndef IGT_ATTACK_H
#define IGT_ATTACK_H

#include "igt_perfctr.h"

/*
 * Ends the last attack, forks processes that each call @attack with their number from 0, and waits
 * until all of them are ready. Fails if one ends before that.
 */
void igt_attack_begin(unsigned int attackers, void (*attack)(unsigned int number));
void igt_attack_end(void);
/* in an attacker */
void igt_attack_ready(void);
/* in an attacker: its own file of @dev, and a user of its own */
void igt_attack_drop(struct igt_perfctr_device *mine, const struct igt_perfctr_device *dev,
		     unsigned int number);

#endif /* IGT_ATTACK_H */
