// SPDX-License-Identifier: MIT
/* The virtual SoC's campaigns. */
#include "validate/builtin.h"

EMBED(vsoc_gpu, "lab/vsoc/campaigns/vsoc-gpu.json");
EMBED(vsoc_memory, "lab/vsoc/campaigns/vsoc-memory.json");
EMBED(vsoc_pmus, "lab/vsoc/campaigns/vsoc-pmus.json");
EMBED(vsoc_pcounter, "lab/vsoc/campaigns/vsoc-pcounter.json");
EMBED(interference, "lab/vsoc/campaigns/interference.json");
EMBED(shared_loop, "lab/vsoc/campaigns/shared-loop.lst");
EMBED(loads, "lab/vsoc/campaigns/loads.lst");
EMBED(triggers, "lab/vsoc/campaigns/triggers.lst");

static const struct builtin files[] = {
	BUILTIN(vsoc_gpu, "vsoc-gpu.json"),    BUILTIN(vsoc_memory, "vsoc-memory.json"),
	BUILTIN(vsoc_pmus, "vsoc-pmus.json"),  BUILTIN(vsoc_pcounter, "vsoc-pcounter.json"),
	BUILTIN(interference, "interference"), BUILTIN(shared_loop, "shared-loop.lst"),
	BUILTIN(loads, "loads.lst"),	       BUILTIN(triggers, "triggers.lst"),
};

static struct builtin_list list = { files, sizeof(files) / sizeof(files[0]), NULL };

static void __attribute__((constructor)) add(void)
{
	builtin_add(&list);
}
