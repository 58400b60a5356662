// SPDX-License-Identifier: MIT
#include "base.h"

#include <string.h>

/* the assembler searches the top directory for the file, see Makefile */
#define EMBED(symbol, path)                       \
	__asm__(".section .rodata\n"              \
		".global embed_" #symbol "\n"     \
		"embed_" #symbol ":\n"            \
		".incbin \"" path "\"\n"          \
		".byte 0\n"                       \
		".global embed_" #symbol "_end\n" \
		"embed_" #symbol "_end:\n"        \
		".previous\n");                   \
	extern const char embed_##symbol[], embed_##symbol##_end[]

#define BUILTIN(symbol, name)                              \
	{                                                  \
		name, embed_##symbol, embed_##symbol##_end \
	}

EMBED(common_css, "tools/common/page.css");
EMBED(page_css, "tools/validate/page.css");
EMBED(xavier_gpu, "campaigns/xavier-gpu.json");
EMBED(vsoc_gpu, "campaigns/vsoc-gpu.json");
EMBED(vsoc_memory, "campaigns/vsoc-memory.json");
EMBED(vsoc_pmus, "campaigns/vsoc-pmus.json");
EMBED(vsoc_pcounter, "campaigns/vsoc-pcounter.json");
EMBED(cpu, "campaigns/cpu.json");
EMBED(a53_copy, "campaigns/a53-copy.json");
EMBED(interference, "campaigns/interference.json");
EMBED(gpu_no_shfl, "campaigns/gpu-no-shfl.json");
EMBED(matrix_copy, "listings/matrix-copy.lst");
EMBED(float_loop, "listings/float-loop.lst");
EMBED(executed_nop, "listings/executed-nop.lst");
EMBED(shared_loop, "listings/shared-loop.lst");
EMBED(triggers, "listings/triggers.lst");
EMBED(vector_add, "listings/vector-add.lst");
EMBED(shared_barrier, "listings/shared-barrier.lst");
EMBED(executed_nops, "listings/executed-nops.lst");

const struct builtin builtins[] = {
	BUILTIN(common_css, "common.css"),	     BUILTIN(page_css, "page.css"),
	BUILTIN(xavier_gpu, "xavier-gpu.json"),	     BUILTIN(vsoc_gpu, "vsoc-gpu.json"),
	BUILTIN(vsoc_memory, "vsoc-memory.json"),    BUILTIN(vsoc_pcounter, "vsoc-pcounter.json"),
	BUILTIN(shared_loop, "shared-loop.lst"),     BUILTIN(triggers, "triggers.lst"),
	BUILTIN(vsoc_pmus, "vsoc-pmus.json"),	     BUILTIN(cpu, "cpu.json"),
	BUILTIN(a53_copy, "a53-copy.json"),	     BUILTIN(gpu_no_shfl, "gpu-no-shfl.json"),
	BUILTIN(vector_add, "vector-add.lst"),	     BUILTIN(shared_barrier, "shared-barrier.lst"),
	BUILTIN(executed_nops, "executed-nops.lst"), BUILTIN(matrix_copy, "matrix-copy.lst"),
	BUILTIN(interference, "interference"),	     BUILTIN(float_loop, "float-loop.lst"),
	BUILTIN(executed_nop, "executed-nop.lst"),
};

const size_t builtin_count = sizeof(builtins) / sizeof(builtins[0]);

const struct builtin *builtin_find(const char *name)
{
	for (size_t i = 0; i < builtin_count; i++)
		if (!strcmp(builtins[i].name, name))
			return &builtins[i];
	return NULL;
}
