/* SPDX-License-Identifier: MIT */
/* The animated scene of the tests: a rotating, pulsating ring of lit blocks. */
#pragma once

/* Set GL's state for it. */
void ring_set_up(void);

/* Draw a frame of up to @most_blocks blocks. The result depends on the arguments only. */
void ring_draw(int most_blocks, double width_by_height, int frame);
