// SPDX-License-Identifier: MIT
/* Opens NVIDIA's libraries, and puts their errors into words. */
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum { PATH_BYTES = 4096 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char taken[PATH_BYTES]; /* file of CUPTI */
static char refused[1024]; /* files that are none: "FILE: REASON; ..." */

/* Return: the function that a library lacks, NULL: it has all */
static const char *fill(void *library, const struct entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		*entries[i].pointer = dlsym(library, entries[i].name);
		if (!*entries[i].pointer)
			return entries[i].name;
	}
	return NULL;
}

void library_open_driver(void)
{
	static const char name[] = "libcuda.so.1";
	const char *lacking;
	void *library;

	say_step("loading %s", name);
	library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		end_with_error(ABSENT,
			       "no driver of an NVIDIA GPU: %s; install NVIDIA's, and start a "
			       "container with it (docker run --gpus all)",
			       dlerror());
	lacking = fill(library, driver, COUNT(driver));
	if (lacking)
		end_with_error(ABSENT, "%s is too old: it has no %s", name, lacking);
}

/* Notes that a file is no CUPTI that can be used: "FILE: REASON" */
static __attribute__((format(printf, 1, 2))) void refuse(const char *format, ...)
{
	size_t at = strlen(refused);
	va_list arguments;

	if (at)
		at += (size_t)snprintf(refused + at, sizeof(refused) - at, "; ");
	if (at >= sizeof(refused))
		return;
	va_start(arguments, format);
	vsnprintf(refused + at, sizeof(refused) - at, format, arguments);
	va_end(arguments);
}

/* Opens a file, or a name for the linker. Return: whether it is CUPTI, with all functions */
static bool try_cupti(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *error = library ? NULL : dlerror(), *lacking;
	struct link_map *map;

	if (!library) {
		/* it names the file that is missing; that the linker knows no CUPTI is no news */
		if (strchr(path, '/') || strncmp(error, path, strlen(path)) != 0)
			refuse("%s%s%s", strstr(error, path) ? "" : path,
			       strstr(error, path) ? "" : ": ", error);
		return false;
	}
	if (!dlinfo(library, RTLD_DI_LINKMAP, &map))
		path = map->l_name;
	lacking = fill(library, cupti, COUNT(cupti));
	if (lacking) {
		refuse("%s: it is older than CUDA 12.6, or not CUPTI: it has no %s", path, lacking);
		dlclose(library);
		return false;
	}
	snprintf(taken, sizeof(taken), "%s", path);
	return true;
}

static bool try_pattern(const char *pattern)
{
	glob_t found = { 0 };
	bool done = false;

	if (!glob(pattern, 0, NULL, &found))
		/* the newest is the last one */
		for (size_t n = found.gl_pathc; !done && n > 0; n--)
			done = try_cupti(found.gl_pathv[n - 1]);
	globfree(&found);
	return done;
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
		"/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcupti.so.1[23]",
	};
	const char *named = secure_getenv("PERFCTR_CUPTI");
	bool found;

	say_step("loading CUPTI");
	found = named ? try_cupti(named) :
			try_cupti("libcupti.so.13") || try_cupti("libcupti.so.12");
	for (size_t i = 0; !named && !found && i < COUNT(patterns); i++)
		found = try_pattern(patterns[i]);
	if (!found)
		end_with_error(ABSENT,
			       "no CUPTI of CUDA 12.6 or later (libcupti.so.13 or .12): %s%s%s%s",
			       named ? "PERFCTR_CUPTI names another file" :
				       "install the CUDA toolkit, or name the file in "
				       "PERFCTR_CUPTI",
			       *refused ? " (" : "", refused, *refused ? ")" : "");
}

const char *library_cupti_path(void)
{
	return taken;
}

const char *library_refused(void)
{
	return refused;
}

void check_driver(int result, const char *what)
{
	const char *name = NULL;

	if (!result)
		return;
	cuGetErrorName(result, &name);
	end_with_error(result == CUDA_NO_DEVICE ? ABSENT :
		       result == CUDA_NO_BINARY ? OTHER :
						  FAILED,
		       "%s: error %d of the driver, %s%s", what, result, name ? name : "unknown",
		       result == CUDA_NO_BINARY ? ": it is for another GPU" : "");
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
		  "the driver lets only CAP_SYS_ADMIN count (from driver 565 on CAP_PERFMON too), "
		  "which root in a container rarely has: run it as the host's root, give the "
		  "container that capability (docker run --cap-add SYS_ADMIN), or load the host's "
		  "module nvidia with NVreg_RestrictProfilingToAdminUsers=0" },
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
