// SPDX-License-Identifier: MIT
/* The campaigns, listings and modules that the installed program has. */
#include "builtin.h"

#include <string.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

EMBED(xavier_gpu, "campaigns/xavier-gpu.json");
EMBED(cpu, "campaigns/cpu.json");
EMBED(a53_copy, "campaigns/a53-copy.json");
EMBED(gpu_no_shfl, "campaigns/gpu-no-shfl.json");
EMBED(nvidia_warp, "campaigns/nvidia-warp.json");
EMBED(nvidia_thread, "campaigns/nvidia-thread.json");
EMBED(nvidia_memory, "campaigns/nvidia-memory.json");
EMBED(nvidia_sm90, "listings/nvidia-sm90.lst");
EMBED(nvidia_sm90_cubin, "listings/nvidia-sm90.cubin");
EMBED(nvidia_ptx, "listings/nvidia.ptx");
EMBED(matrix_copy, "listings/matrix-copy.lst");
EMBED(float_loop, "listings/float-loop.lst");
EMBED(executed_nop, "listings/executed-nop.lst");
EMBED(vector_add, "listings/vector-add.lst");
EMBED(shared_barrier, "listings/shared-barrier.lst");
EMBED(executed_nops, "listings/executed-nops.lst");

static const struct builtin files[] = {
	BUILTIN(xavier_gpu, "xavier-gpu.json"),
	BUILTIN(cpu, "cpu.json"),
	BUILTIN(a53_copy, "a53-copy.json"),
	BUILTIN(gpu_no_shfl, "gpu-no-shfl.json"),
	BUILTIN(nvidia_warp, "nvidia-warp.json"),
	BUILTIN(nvidia_thread, "nvidia-thread.json"),
	BUILTIN(nvidia_memory, "nvidia-memory.json"),
	BUILTIN(nvidia_sm90, "nvidia-sm90.lst"),
	BUILTIN(nvidia_sm90_cubin, "nvidia-sm90.cubin"),
	BUILTIN(nvidia_ptx, "nvidia.ptx"),
	BUILTIN(matrix_copy, "matrix-copy.lst"),
	BUILTIN(float_loop, "float-loop.lst"),
	BUILTIN(executed_nop, "executed-nop.lst"),
	BUILTIN(vector_add, "vector-add.lst"),
	BUILTIN(shared_barrier, "shared-barrier.lst"),
	BUILTIN(executed_nops, "executed-nops.lst"),
};

static struct builtin_list lists = { files, ARRAY_SIZE(files), NULL };

void builtin_add(struct builtin_list *list)
{
	list->next = lists.next;
	lists.next = list;
}

const struct builtin *builtin_get(size_t n)
{
	for (const struct builtin_list *list = &lists; list; list = list->next) {
		if (n < list->count)
			return &list->files[n];
		n -= list->count;
	}
	return NULL;
}

const struct builtin *builtin_find(const char *name)
{
	const struct builtin *file;

	for (size_t n = 0; (file = builtin_get(n)); n++)
		if (!strcmp(file->name, name))
			return file;
	return NULL;
}
