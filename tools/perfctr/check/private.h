/* SPDX-License-Identifier: MIT */
/* What a report must not have: who and where somebody is. */
#pragma once

#include <json.h>

/*
 * Replace in all texts of a value, which must not be shared with others: names of this host (HOST)
 * and of this user (USER), paths in a home (HOME), network addresses of cards (MAC) and UUIDs
 * (UUID). Names of members stay. Return: 0; -ENOMEM.
 */
int private_remove(struct json_object *value);
