// SPDX-License-Identifier: MIT
/* Finds the functions of libperfctr with dlopen() and dlsym(). */
#include "pctr_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

/* the number is the version of the binary interface */
#define LIBRARY "libperfctr.so.1"

struct pctr_library pctr;

static char problem[256];

static bool find(void *library, const char *name, void *function)
{
	/* POSIX allows function addresses in void pointers, C does not */
	*(void **)function = dlsym(library, name);
	if (!*(void **)function)
		snprintf(problem, sizeof(problem), "%s is too old: it lacks %s", LIBRARY, name);
	return *(void **)function != NULL;
}

static void load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		const char *reason = dlerror();

		snprintf(problem, sizeof(problem), "%s", reason ? reason : LIBRARY " is missing");
		return;
	}
#define PCTR_FIND(name) find(library, "perfctr_" #name, &pctr.name) &&
	if (PCTR_FUNCTIONS(PCTR_FIND) true)
		return;
#undef PCTR_FIND
	dlclose(library);
}

const char *pctr_library_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return problem[0] ? problem : NULL;
}
