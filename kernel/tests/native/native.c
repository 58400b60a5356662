// SPDX-License-Identifier: GPL-2.0
/*
 * Variables and functions of kernel.h.
 */
#include "kernel.h"

u64 native_now_ns = NSEC_PER_SEC;
void (*native_while_waiting)(void);
unsigned int native_drm_errors;
unsigned int native_fail_alloc;
bool native_verbose;

/* messages of the code under test */
static void __attribute__((constructor)) read_environment(void)
{
	native_verbose = getenv("PERFCTR_VERBOSE");
}

void native_sleep_ns(u64 ns)
{
	native_now_ns += ns;
	if (native_while_waiting)
		native_while_waiting();
}

struct managed {
	struct managed *next;
	/* an action, with its pointer behind this header; NULL: memory */
	native_action_t action;
};

static struct managed *managed;

void *native_managed(size_t n, size_t size)
{
	struct managed *m;

	if (native_fail_alloc && !--native_fail_alloc)
		return NULL;
	/* behind the header, so that an overrun is one of the allocation */
	m = calloc(1, sizeof(*m) + n * size);
	if (!m)
		return NULL;
	m->next = managed;
	managed = m;
	return m + 1;
}

int native_add_action(native_action_t action, void *data)
{
	void **at = native_managed(1, sizeof(*at));

	if (!at) {
		action(NULL, data);
		return -ENOMEM;
	}
	*at = data;
	managed->action = action;
	return 0;
}

void native_free_managed(void)
{
	while (managed) {
		struct managed *first = managed;

		managed = first->next;
		if (first->action)
			first->action(NULL, *(void **)(first + 1));
		free(first);
	}
}
