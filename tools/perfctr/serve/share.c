// SPDX-License-Identifier: MIT
/* Slots of clients and users in shared memory: periods and commands of a user share one rate. */
#include "share.h"

#include <stddef.h>
#include <sys/mman.h>

static const uint64_t ns_per_1000_s = 1000000000000;

struct serve_shared *serve_shared_new(void)
{
	void *p = mmap(NULL, sizeof(struct serve_shared), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void serve_shared_free(struct serve_shared *shared)
{
	if (shared)
		munmap(shared, sizeof(*shared));
}

static bool has_client(const struct serve_shared *s, uid_t uid)
{
	for (unsigned int n = 0; n < SERVE_MAX_CLIENTS; n++)
		if (s->clients[n].pid && s->clients[n].uid == uid)
			return true;
	return false;
}

/* The user's slot, or a free one; SERVE_MAX_CLIENTS: there is none. */
static unsigned int find_user(struct serve_shared *s, uid_t uid, uint64_t now_ns)
{
	unsigned int n;

	for (n = 0; n < SERVE_MAX_CLIENTS; n++)
		if (s->users[n].uid == uid && s->users[n].next_ns)
			return n;
	for (n = 0; n < SERVE_MAX_CLIENTS; n++)
		if (!s->users[n].next_ns ||
		    (s->users[n].next_ns <= now_ns && !has_client(s, s->users[n].uid)))
			break;
	return n;
}

bool serve_share_take(struct serve_shared *shared, uid_t uid, uint64_t now_ns,
		      struct serve_share *share)
{
	unsigned int client = 0, user = find_user(shared, uid, now_ns);

	while (client < SERVE_MAX_CLIENTS && shared->clients[client].pid)
		client++;
	if (client == SERVE_MAX_CLIENTS || user == SERVE_MAX_CLIENTS)
		return false;
	if (shared->users[user].uid != uid || !shared->users[user].next_ns) {
		shared->users[user].uid = uid;
		shared->users[user].next_ns = now_ns;
	}
	shared->clients[client].uid = uid;
	shared->clients[client].rate = 0;
	*share = (struct serve_share){ .shared = shared, .client = client, .user = user };
	return true;
}

void serve_share_note(const struct serve_share *share, pid_t pid)
{
	share->shared->clients[share->client].pid = pid;
}

void serve_share_drop(struct serve_shared *shared, pid_t pid)
{
	for (unsigned int n = 0; n < SERVE_MAX_CLIENTS; n++) {
		if (shared->clients[n].pid != pid)
			continue;
		shared->clients[n].pid = 0;
		shared->clients[n].rate = 0;
	}
}

uint64_t serve_share_wait_ns(const struct serve_share *share, uint64_t now_ns, uint64_t interval_ns)
{
	_Atomic uint64_t *next_ns = &share->shared->users[share->user].next_ns;
	uint64_t next = *next_ns, from;

	do {
		from = next > now_ns ? next : now_ns;
	} while (!atomic_compare_exchange_weak(next_ns, &next, from + interval_ns));
	return from - now_ns;
}

static uint64_t rate_of(uint64_t period_ns)
{
	return period_ns ? ns_per_1000_s / period_ns : 0;
}

bool serve_share_add_period(const struct serve_share *share, uint64_t period_ns,
			    uint64_t min_period_ns)
{
	struct serve_shared *s = share->shared;
	uint64_t sum = 0;

	/* add first, so that of two concurrent clients at least one sees both */
	s->clients[share->client].rate += rate_of(period_ns);
	for (unsigned int n = 0; n < SERVE_MAX_CLIENTS; n++)
		if (s->clients[n].uid == s->clients[share->client].uid)
			sum += s->clients[n].rate;
	if (!period_ns || sum <= SERVE_USER_SESSIONS * rate_of(min_period_ns))
		return true;
	serve_share_end_period(share, period_ns);
	return false;
}

void serve_share_end_period(const struct serve_share *share, uint64_t period_ns)
{
	share->shared->clients[share->client].rate -= rate_of(period_ns);
}
