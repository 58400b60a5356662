/* SPDX-License-Identifier: MIT */
/* Random numbers that depend only on a seed and the number of a step. */
#ifndef IGT_CHANCE_H
#define IGT_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

struct igt_chance {
	uint64_t seed, state;
};

/* draws of a step do not depend on the number of draws in earlier steps */
void igt_chance_begin(struct igt_chance *chance, uint64_t step);
uint32_t igt_chance_any(struct igt_chance *chance, uint32_t below);
bool igt_chance_one_in(struct igt_chance *chance, uint32_t n);

#endif
