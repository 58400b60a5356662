/* SPDX-License-Identifier: MIT */
/* Synthetic jobs: random ones from a seed, and those of the demo. */
#pragma once

#include <stdint.h>

#include "command.h"

/* source of random jobs */
struct workload_random {
	uint64_t state; /* initially the seed */
	const struct drm_vsoc_info *info; /* of the device, so that it accepts every command */
};

/*
 * Make the next random job.
 * @random: source; same seed and device: same jobs; @job: cleared, then filled.
 * Return: 0 or -ENOMEM.
 */
int workload_random_job(struct workload_random *random, struct job *job);

/*
 * Make the demo's job of one frame. The load varies: a scene that grows and shrinks, occasional
 * particles, CPU streams and disk bursts.
 * @frame: number of the frame, from 0 on; @frame_ns: time between frames; @info: of the device;
 * @job: cleared, then filled.
 * Return: 0 or -ENOMEM.
 */
int workload_demo_job(uint64_t frame, uint64_t frame_ns, const struct drm_vsoc_info *info,
		      struct job *job);
