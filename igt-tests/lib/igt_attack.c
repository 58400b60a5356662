// SPDX-License-Identifier: MIT
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_attack.h"
#include "igt_sys.h"

#define MAX_ATTACKERS 16

static pid_t pids[MAX_ATTACKERS];
/* number of attackers that are ready; shared with them */
static unsigned int *ready;

void igt_attack_end(void)
{
	for (unsigned int i = 0; i < MAX_ATTACKERS; i++) {
		if (!pids[i])
			continue;
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		pids[i] = 0;
	}
}

void igt_attack_begin(unsigned int attackers, void (*attack)(unsigned int number))
{
	igt_attack_end();
	igt_assert_lte(attackers, MAX_ATTACKERS);
	if (!ready)
		ready = mmap(NULL, sizeof(*ready), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	igt_assert(ready != MAP_FAILED);
	__atomic_store_n(ready, 0, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < attackers; i++) {
		pids[i] = fork();
		igt_assert(pids[i] >= 0);
		if (!pids[i])
			attack(i);
	}
	while (__atomic_load_n(ready, __ATOMIC_SEQ_CST) < attackers) {
		for (unsigned int i = 0; i < attackers; i++)
			igt_assert_f(!waitpid(pids[i], NULL, WNOHANG), "an attacker failed\n");
		usleep(1000);
	}
}

void igt_attack_ready(void)
{
	__atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
}

void igt_attack_drop(struct igt_perfctr_device *mine, const struct igt_perfctr_device *dev,
		     unsigned int number)
{
	igt_perfctr_reopen(mine, dev);
	igt_drop_to(IGT_NOBODY - number, 0);
}
