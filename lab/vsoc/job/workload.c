// SPDX-License-Identifier: MIT
#include "workload.h"

#include <math.h>

enum {
	RANDOM_MAX_COMMANDS = 8,
	RANDOM_MAX_VERTICES = 4096,
	RANDOM_MAX_FRAGMENTS = 65536,
	RANDOM_MAX_THREADS = 8192,
	RANDOM_MAX_INSTRUCTIONS = 200,
	RANDOM_MAX_LINES = 4096,
	RANDOM_MAX_WAIT_NS = 200000,
	RANDOM_MAX_WINDOW = 128,
	RANDOM_ADDRESS_LINES = 1 << 20,
};

/* splitmix64: accepts any seed, zero included */
static uint64_t next_random(struct workload_random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* random number in 0..limit - 1 */
static uint64_t below(struct workload_random *random, uint64_t limit)
{
	return limit ? next_random(random) % limit : 0;
}

static void random_draw(struct workload_random *random, struct drm_vsoc_cmd_draw *draw)
{
	draw->vertices = below(random, RANDOM_MAX_VERTICES + 1);
	draw->primitives = below(random, RANDOM_MAX_VERTICES + 1);
	draw->primitives_culled = below(random, draw->primitives + 1);
	draw->fragments = below(random, RANDOM_MAX_FRAGMENTS + 1);
	draw->texels = below(random, 4 * draw->fragments + 1);
}

static void random_copy(struct workload_random *random, struct drm_vsoc_cmd_copy *copy)
{
	copy->bytes = below(random, RANDOM_MAX_LINES + 1) * DRM_VSOC_LINE_BYTES;
	copy->address = below(random, RANDOM_ADDRESS_LINES) * DRM_VSOC_LINE_BYTES;
	copy->flags = (uint32_t)(1 + below(random, 3));
	copy->initiator = (uint32_t)below(random, DRM_VSOC_INITIATOR_REMOTE + 1);
	copy->home = (uint32_t)below(random, DRM_VSOC_HOME_REMOTE + 1);
	/* this GPU is number 0 of socket 0 */
	if (copy->initiator != DRM_VSOC_INITIATOR_GPU)
		copy->socket = (uint32_t)below(random, random->info->sockets);
	if (copy->home == DRM_VSOC_HOME_GMEM)
		copy->gpu = (uint32_t)below(random, random->info->gpus);
	copy->window = (uint32_t)below(random, RANDOM_MAX_WINDOW);
	/* one of the accesses in the caches */
	if (copy->initiator != DRM_VSOC_INITIATOR_GPU && !below(random, 4))
		copy->flags = DRM_VSOC_COPY_ATOMIC << below(random, 2);
}

static void random_pcie(struct workload_random *random, struct drm_vsoc_cmd_pcie *pcie)
{
	pcie->bytes = below(random, RANDOM_MAX_LINES + 1) * DRM_VSOC_LINE_BYTES;
	pcie->address = below(random, RANDOM_ADDRESS_LINES) * DRM_VSOC_LINE_BYTES;
	pcie->flags = (uint32_t)below(random, 4);
	pcie->socket = (uint32_t)below(random, random->info->sockets);
	pcie->root_complex = (uint32_t)below(random, random->info->root_complexes);
	pcie->root_port = (uint32_t)below(random, random->info->root_ports);
	pcie->bdf = (uint32_t)below(random, 65536);
	pcie->window = (uint32_t)below(random, RANDOM_MAX_WINDOW);
	if (pcie->flags & DRM_VSOC_PCIE_TARGET) {
		pcie->home = below(random, 2) ? DRM_VSOC_HOME_CXL : DRM_VSOC_HOME_PCIE_PEER;
		pcie->initiator = (uint32_t)(DRM_VSOC_INITIATOR_CPU + below(random, 3));
	} else {
		pcie->home = (uint32_t)below(random, DRM_VSOC_HOME_REMOTE + 1);
	}
}

int workload_random_job(struct workload_random *random, struct job *job)
{
	uint64_t commands = 1 + below(random, RANDOM_MAX_COMMANDS);

	job_clear(job);
	while (commands--) {
		struct drm_vsoc_command command = {
			.type = (uint32_t)(DRM_VSOC_CMD_DRAW + below(random, 5)),
		};
		int ret;

		switch (command.type) {
		case DRM_VSOC_CMD_DRAW:
			random_draw(random, &command.draw);
			break;
		case DRM_VSOC_CMD_COMPUTE:
			command.compute.threads = below(random, RANDOM_MAX_THREADS + 1);
			command.compute.instructions =
				(uint32_t)below(random, RANDOM_MAX_INSTRUCTIONS + 1);
			break;
		case DRM_VSOC_CMD_COPY:
			random_copy(random, &command.copy);
			break;
		case DRM_VSOC_CMD_PCIE:
			random_pcie(random, &command.pcie);
			break;
		default:
			command.wait.duration_ns = below(random, RANDOM_MAX_WAIT_NS + 1);
			break;
		}
		ret = job_add(job, &command);
		if (ret)
			return ret;
	}
	return 0;
}

/* sine in 0..1 with a period of period_s */
static double wave(double seconds, double period_s)
{
	return 0.5 - 0.5 * cos(2 * 3.14159265358979 * seconds / period_s);
}

static uint64_t lines(double bytes)
{
	return (uint64_t)(bytes / DRM_VSOC_LINE_BYTES) * DRM_VSOC_LINE_BYTES;
}

int workload_demo_job(uint64_t frame, uint64_t frame_ns, const struct drm_vsoc_info *info,
		      struct job *job)
{
	const double frame_s = (double)frame_ns * 1e-9;
	const double seconds = (double)frame * frame_s;
	const double scene = 0.15 + 0.85 * wave(seconds, 7);
	const double particles = fmod(seconds, 5) < 1.5 ? wave(fmod(seconds, 5), 1.5) : 0;
	const double stream = wave(seconds + 2, 11);
	const bool disk = fmod(seconds, 4) < 0.8;
	/* amounts that keep four cores at 500 MHz busy for about half a frame */
	const double fragments = 120e6 * frame_s * scene;
	struct drm_vsoc_command command;
	int ret;

	job_clear(job);
	/* several draws per frame, as in a real workload */
	for (int i = 0; i < 4; i++) {
		command = (struct drm_vsoc_command){ .type = DRM_VSOC_CMD_DRAW };
		command.draw.fragments = (uint64_t)(fragments / 4);
		command.draw.texels = 3 * command.draw.fragments;
		command.draw.primitives = command.draw.fragments / 24;
		command.draw.primitives_culled = command.draw.primitives / 3;
		command.draw.vertices = command.draw.primitives * 2 / 3;
		ret = job_add(job, &command);
		if (ret)
			return ret;
	}

	if (particles > 0) {
		command = (struct drm_vsoc_command){ .type = DRM_VSOC_CMD_COMPUTE };
		command.compute.threads = (uint64_t)(12e6 * frame_s * particles);
		command.compute.instructions = 48;
		ret = job_add(job, &command);
		if (ret)
			return ret;
	}

	command = (struct drm_vsoc_command){ .type = DRM_VSOC_CMD_COPY };
	command.copy.bytes = lines(1.5e9 * frame_s * stream);
	command.copy.flags = DRM_VSOC_COPY_READ;
	command.copy.initiator = DRM_VSOC_INITIATOR_CPU;
	ret = job_add(job, &command);
	if (ret)
		return ret;

	command.copy.flags = DRM_VSOC_COPY_WRITE;
	command.copy.bytes = lines(0.6e9 * frame_s * stream);
	command.copy.socket = info->sockets > 1;
	ret = job_add(job, &command);
	if (ret || !disk || !info->root_complexes || !info->root_ports)
		return ret;

	command = (struct drm_vsoc_command){ .type = DRM_VSOC_CMD_PCIE };
	command.pcie.bytes = lines(2.0e9 * frame_s);
	command.pcie.bdf = 1 << 8;
	return job_add(job, &command);
}
