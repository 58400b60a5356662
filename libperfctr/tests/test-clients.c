// SPDX-License-Identifier: MIT
/* Clients of GPUs that come and go, by what their number costs. */
#include <malloc.h>
#include <time.h>

#include "client_churn.h"
#include "fixture.h"

/*
 * Of the address sanitizer, whose headers not every compiler brings. NULL where the tests are built
 * without it: an emulator of user space has no room for its shadow.
 */
size_t __attribute__((weak)) __sanitizer_get_current_allocated_bytes(void);

static size_t allocated_bytes(void)
{
	return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() :
							 mallinfo2().uordblks;
}

enum { ALL = 100000, SOME = 64, KEYS = 12 };

static struct drm_clients clients;

static void begin(void)
{
	memset(&proc, 0, sizeof(proc));
	EQUAL(perfctr_ctx_new_with(&proc_sys, &ctx), 0);
	clients = (struct drm_clients){ .ctx = ctx };
	EQUAL(drm_clients_add(&clients, ENGINE_TIME, DRM_TIME, 0, 0), 0);
}

static void end_clients(void)
{
	drm_clients_free(&clients);
	ctx = perfctr_ctx_unref(ctx);
}

/* what a generation of clients costs */
struct cost {
	uint64_t calls, searches, bytes;
};

static struct cost cost_of(unsigned int first)
{
	const struct cost before = { proc.calls, proc.searches, proc.bytes };

	proc_live_and_end(&clients, first);
	return (struct cost){ proc.calls - before.calls, proc.searches - before.searches,
			      proc.bytes - before.bytes };
}

TEST_WITH(begin, end_clients, "100,000 clients that ended count, and cost nothing any more")
{
	const unsigned int warm = 2 * DRM_ENDED_CLIENTS;
	struct cost early, late;
	unsigned int id = 100000; /* as many digits as the last */
	size_t heap, known;

	drm_clients_start(&clients);
	for (; id < 100000 + warm; id += GENERATION)
		proc_live_and_end(&clients, id);
	early = cost_of(id);
	id += GENERATION;
	heap = allocated_bytes();
	known = clients.known;
	for (; id < 100000 + ALL - GENERATION; id += GENERATION)
		proc_live_and_end(&clients, id);
	late = cost_of(id);
	EQUAL(clients.counters[0].value, 7ull * ALL);
	CHECK(clients.counters[0].measured);
	EQUAL(early.searches, 1);
	EQUAL(late.searches, 1);
	EQUAL(late.calls, early.calls);
	EQUAL(late.bytes, early.bytes);
	EQUAL(clients.known, known);
	CHECK(known <= DRM_ENDED_CLIENTS + GENERATION);
	CHECK(clients.bucket_count <= 4 * known);
	/* glibc counts its chunks, which are a little larger than what was asked for */
	CHECK(allocated_bytes() <=
	      heap + (__sanitizer_get_current_allocated_bytes ? 0 : heap / 10));
}

TEST_WITH(begin, end_clients, "a client that ends causes no search for others")
{
	uint64_t now_ns;

	for (unsigned int n = 0; n < SOME; n++)
		proc_add(100 + n, n, 1000);
	drm_clients_start(&clients);
	now_ns = clients.next_look_ns - 1000;
	proc.searches = 0;
	while (proc.count) {
		proc.clients[0].busy_ns += 5;
		drm_clients_read(&clients, now_ns++);
		proc.clients[0] = proc.clients[--proc.count];
		drm_clients_read(&clients, now_ns++);
		CHECK(clients.counters[0].lost);
		CHECK(clients.lost_ns > 0);
		clients.counters[0].lost = false;
		clients.lost_ns = 0;
	}
	EQUAL(proc.searches, 0);
	EQUAL(clients.counters[0].value, 5 * SOME);
	drm_clients_read(&clients, clients.next_look_ns);
	EQUAL(proc.searches, 1);
}

TEST_WITH(begin, end_clients, "a client that cannot be seen for a while counts nothing twice")
{
	proc_add(100, 7, 5000);
	drm_clients_start(&clients);
	for (unsigned int n = 0; n < 3; n++) {
		proc.clients[0].busy_ns += 10;
		drm_clients_read(&clients, clients.next_look_ns);
		proc.hidden = true;
		/* not by its file, nor by 0 to 2 searches */
		drm_clients_read(&clients, clients.next_look_ns - 1);
		for (unsigned int i = 0; i < n; i++)
			drm_clients_read(&clients, clients.next_look_ns);
		proc.clients[0].busy_ns += 100;
		proc.hidden = false;
		drm_clients_read(&clients, clients.next_look_ns);
		EQUAL(clients.counters[0].value, 110 * (n + 1));
	}
	EQUAL(clients.known, 1);
}

TEST_WITH(begin, end_clients, "a client that another process takes over counts on")
{
	proc_add(100, 7, 5000);
	drm_clients_start(&clients);
	proc.clients[0].pid = 101;
	drm_clients_read(&clients, clients.next_look_ns - 1);
	proc.clients[0].busy_ns += 30;
	drm_clients_read(&clients, clients.next_look_ns);
	EQUAL(clients.counters[0].value, 30);
}

/* Bytes that counters of each process take, with so many processes of a client each. */
static size_t bytes_of_processes(unsigned int count)
{
	const size_t before = allocated_bytes();
	size_t bytes;

	clients = (struct drm_clients){ .ctx = ctx };
	proc.count = 0;
	for (unsigned int n = 0; n < count; n++) {
		proc_add(100 + n, n, 1000);
		EQUAL(drm_clients_add(&clients, ENGINE_TIME, DRM_TIME, 100 + n, 0), 0);
		for (unsigned int key = 1; key < KEYS; key++)
			EQUAL(drm_clients_add(&clients, key, DRM_MEMORY, 100 + n, 0), 0);
	}
	drm_clients_start(&clients);
	for (unsigned int n = 0; n < count; n++)
		proc.clients[n].busy_ns += n;
	drm_clients_read(&clients, clients.next_look_ns - 1);
	bytes = allocated_bytes() - before;
	for (unsigned int n = 0; n < count; n++) {
		EQUAL(clients.counters[n * KEYS].value, n);
		CHECK(clients.counters[n * KEYS].measured);
	}
	/* remembered ones are no more */
	proc.count = 0;
	drm_clients_read(&clients, clients.next_look_ns);
	CHECK(allocated_bytes() - before <= bytes);
	drm_clients_free(&clients);
	return bytes;
}

TEST_WITH(begin, end_clients, "counters of each process take as much as there are clients")
{
	size_t few, many;

	drm_clients_free(&clients);
	few = bytes_of_processes(MOST_CLIENTS / 4);
	many = bytes_of_processes(MOST_CLIENTS);
	CHECK(many < 5 * few);
}

/* what a reading said, of which the uses of one client */
static struct {
	uint64_t ns, of_one;
	unsigned int count, here, lost;
} said;

static void hear(void *data, const struct perfctr_client_use *use)
{
	char command[16], cgroup[24];

	snprintf(command, sizeof(command), "app%d", use->pid - 1000);
	snprintf(cgroup, sizeof(cgroup), "0::/unit%d", use->pid - 1000);
	EQUAL_TEXT(use->event, "i915@0000:00:02.0:engine-render");
	EQUAL_TEXT(use->command, command);
	EQUAL_TEXT(use->cgroup, cgroup);
	EQUAL(use->engines, 1);
	said.ns += use->ns;
	said.of_one += use->pid == 1007 ? use->ns : 0;
	said.count++;
	said.here += use->is_here;
	said.lost += use->lost;
}

static void read_uses(struct perfctr_clients *uses)
{
	memset(&said, 0, sizeof(said));
	perfctr_clients_read(uses, hear, NULL);
}

static void wait_for_search(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const uint64_t end_ns = perfctr_time_raw_ns() + 60000000;

	/* 10 ms between two searches, and 50 times as long as one takes */
	while (perfctr_time_raw_ns() < end_ns)
		nanosleep(&pause, NULL);
}

TEST_WITH(begin, end_clients, "each of 512 clients counts apart, since START, a later one whole")
{
	struct perfctr_clients *uses = NULL;

	for (unsigned int n = 0; n < MOST_CLIENTS - 1; n++)
		proc_add(1000 + n, n, 5000);
	EQUAL(perfctr_clients_new(ctx, &uses), 0);
	for (unsigned int n = 0; n < MOST_CLIENTS - 1; n++)
		proc.clients[n].busy_ns += n;
	read_uses(uses);
	EQUAL(said.ns, (MOST_CLIENTS - 1) * (MOST_CLIENTS - 2) / 2);
	EQUAL(said.of_one, 7);
	EQUAL(said.here, MOST_CLIENTS - 1);
	/* nothing twice */
	read_uses(uses);
	EQUAL(said.ns, 0);
	EQUAL(said.count, MOST_CLIENTS - 1);
	proc_add(1000 + MOST_CLIENTS, MOST_CLIENTS, 300);
	for (unsigned int n = 0; n < 2000 && !said.ns; n++) {
		wait_for_search();
		read_uses(uses);
	}
	EQUAL(said.ns, 300);
	EQUAL(said.here, MOST_CLIENTS);
	EQUAL(said.lost, 0);
	/* the last that is said of one that ended is that something is missing */
	proc.clients[7] = proc.clients[--proc.count];
	read_uses(uses);
	EQUAL(said.here, MOST_CLIENTS - 1);
	EQUAL(said.lost, 1);
	perfctr_clients_unref(uses);
}
