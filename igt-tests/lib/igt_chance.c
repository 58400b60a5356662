// SPDX-License-Identifier: MIT
#include "igt_chance.h"

void igt_chance_begin(struct igt_chance *chance, uint64_t step)
{
	uint64_t mixed = chance->seed + step * 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
	mixed ^= mixed >> 31;
	/* zero would repeat itself */
	chance->state = mixed ? mixed : 1;
}

uint32_t igt_chance_any(struct igt_chance *chance, uint32_t below)
{
	chance->state ^= chance->state << 13;
	chance->state ^= chance->state >> 7;
	chance->state ^= chance->state << 17;
	return (chance->state * 0x2545f4914f6cdd1dull >> 32) % below;
}

bool igt_chance_one_in(struct igt_chance *chance, uint32_t n)
{
	return !igt_chance_any(chance, n);
}
