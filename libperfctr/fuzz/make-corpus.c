// SPDX-License-Identifier: MIT
/* usage: make-corpus DIRECTORY: writes the seeds of fuzz-decode. */
#include <stdio.h>
#include <stdlib.h>

#include "samples.h"

static struct sample_writer w;
static const uint64_t values[64] = { 1, 2, 3, UINT64_MAX };

static void save(const char *directory, const char *name)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "wb");
	if (!file || fwrite(w.bytes, 1, w.size, file) != w.size || fclose(file)) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *directory = argc == 2 ? argv[1] : ".";

	sample_begin(&w);
	save(directory, "empty");
	sample_add_block(&w, DRM_PERFCTR_MALI_BLOCK_SHADER, 16, 0xf0, values);
	save(directory, "shader");
	sample_add_pmu(&w, DRM_PERFCTR_TEGRA410_BLOCK_UCF, 1, 0x3, values, NULL, 1000);
	save(directory, "shader-ucf");
	sample_add_block(&w, 900, 0, 1, values);
	sample_grow_block_header(&w, 16);
	sample_grow_header(&w, 8);
	save(directory, "grown-unknown");
	sample_begin(&w);
	sample_add_pmu(&w, DRM_PERFCTR_BLOCK_GENERIC_PMU, 0, 1, values, NULL, 1000);
	save(directory, "generic");
	return 0;
}
