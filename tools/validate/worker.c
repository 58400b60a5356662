// SPDX-License-Identifier: MIT
/* The list of devices that a program with more than this one has added. */
#include "worker.h"

#include <string.h>

static struct worker *workers;

void worker_add(struct worker *worker)
{
	worker->next = workers;
	workers = worker;
}

const struct worker *worker_of(const char *driver)
{
	const struct worker *worker = workers;

	while (worker && strcmp(worker->driver, driver) != 0)
		worker = worker->next;
	return worker;
}
