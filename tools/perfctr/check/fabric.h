/* SPDX-License-Identifier: MIT */
/* Whether the PMUs of the SoC's fabric, which firmware lists, have their drivers. */
#pragma once

#include <stdbool.h>

/* @count: devices of one driver, all with a driver or all without; @fix: a command, or NULL */
typedef void (*fabric_fn)(void *arg, bool is_bound, unsigned int count, const char *what,
			  const char *option, const char *fix);

/* Call fn for each kind of them that this machine has: twice, if some have a driver. */
void fabric_walk(fabric_fn fn, void *arg);
