// SPDX-License-Identifier: MIT
/* Opens NVIDIA's libraries, and puts their errors into words. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "counter.h"

#define DEFINE(name, arguments) int(*name) arguments;
CUDA_FUNCTIONS(DEFINE)
CUPTI_FUNCTIONS(DEFINE)

struct entry {
	const char *name;
	void **pointer;
};

#define ENTRY(name, arguments) { #name, (void **)&(name) },
static const struct entry driver[] = { CUDA_FUNCTIONS(ENTRY) };
static const struct entry cupti[] = { CUPTI_FUNCTIONS(ENTRY) };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void fill(void *library, const char *name, const struct entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		*entries[i].pointer = dlsym(library, entries[i].name);
		if (!*entries[i].pointer)
			end_with_error(ABSENT, "%s is too old: it has no %s", name,
				       entries[i].name);
	}
}

void library_open_driver(void)
{
	static const char name[] = "libcuda.so.1";
	void *library;

	say_step("loading %s", name);
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		end_with_error(ABSENT, "no driver of an NVIDIA GPU: %s", dlerror());
	fill(library, name, driver, COUNT(driver));
}

/* It comes with the CUDA toolkit, and the linker rarely knows where. */
void library_open_cupti(void)
{
	static const char *const patterns[] = {
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.1[23]",
		"/usr/local/cuda-1[23]*/extras/CUPTI/lib64/libcupti.so.1[23]",
		"/usr/local/cuda*/lib64/libcupti.so.1[23]",
		"/usr/local/cuda*/lib/libcupti.so.1[23]",
		"/usr/local/cuda*/targets/*/lib/libcupti.so.1[23]",
		"/usr/lib/*/libcupti.so.1[23]",
		"/opt/nvidia/*/*/target/*/libcupti.so.1[23]",
	};
	const char *named = secure_getenv("PERFCTR_CUPTI");
	void *library;

	say_step("loading CUPTI");
	library = dlopen(named ? named : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
	if (!library && named)
		end_with_error(ABSENT, "PERFCTR_CUPTI: %s", dlerror());
	if (!library)
		library = dlopen("libcupti.so.12", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; !library && i < COUNT(patterns); i++) {
		glob_t found = { 0 };

		if (!glob(patterns[i], 0, NULL, &found))
			for (size_t n = 0; !library && n < found.gl_pathc; n++)
				library = dlopen(found.gl_pathv[n], RTLD_NOW | RTLD_LOCAL);
		globfree(&found);
	}
	if (!library)
		end_with_error(ABSENT,
			       "no libcupti.so.13 or .12 (of CUDA 12.6 or later): install the "
			       "CUDA toolkit, or name the file in PERFCTR_CUPTI");
	fill(library, "CUPTI", cupti, COUNT(cupti));
}

const char *library_cupti_path(void)
{
	Dl_info info;

	/* the address of a function, as data */
	return dladdr(*cupti[0].pointer, &info) ? info.dli_fname : "?";
}

void check_driver(int result, const char *what)
{
	const char *name = NULL;

	if (!result)
		return;
	cuGetErrorName(result, &name);
	end_with_error(result == CUDA_NO_DEVICE ? ABSENT : FAILED, "%s: error %d of the driver, %s",
		       what, result, name ? name : "unknown");
}

const char *cupti_text(int result, char *text, size_t size)
{
	static const struct {
		int result;
		const char *text;
	} known[] = {
		{ CUPTI_OVERFLOW, "a counter or buffer overflowed" },
		{ CUPTI_UNKNOWN_METRIC, "this chip has no such metric" },
		{ CUPTI_BUSY,
		  "another program uses the counters: a profiler, one that is stopped, or DCGM" },
		{ CUPTI_NOT_SUPPORTED, "CUPTI does not support it on this GPU" },
		{ CUPTI_NO_PRIVILEGE,
		  "the driver lets only root count: run it as root, or load the module nvidia with "
		  "NVreg_RestrictProfilingToAdminUsers=0" },
		{ CUPTI_NO_PRIVILEGE_VGPU, "the host of this virtual GPU does not permit it" },
		{ CUPTI_CONFIDENTIAL, "not in confidential computing" },
		{ CUPTI_MINING_CARD, "not on a mining card" },
		{ CUPTI_MIG, "not on a GPU with MIG" },
		{ CUPTI_SLI, "not with SLI" },
		{ CUPTI_WSL, "not in WSL" },
	};
	const char *name = NULL;

	for (size_t i = 0; i < COUNT(known); i++)
		if (known[i].result == result)
			return known[i].text;
	cuptiGetResultString(result, &name);
	snprintf(text, size, "result %d of CUPTI, %s", result, name ? name : "unknown");
	return text;
}

void check_cupti(int result, const char *what)
{
	char text[256];

	if (result)
		end_with_error(result == CUPTI_NO_PRIVILEGE || result == CUPTI_NO_PRIVILEGE_VGPU ?
				       DENIED :
				       FAILED,
			       "%s: %s", what, cupti_text(result, text, sizeof(text)));
}
