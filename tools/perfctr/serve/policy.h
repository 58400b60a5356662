/* SPDX-License-Identifier: MIT */
/* Policy of the broker: which users may count what. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"

#define SERVE_POLICY_PATH PERFCTR_SYSCONFDIR "/perfctr/serve.conf"

/* names or patterns of one key */
struct serve_words {
	char **words;
	size_t count;
};

/* the permissions of some users */
struct serve_rule {
	char *name; /* name of its section, for messages */
	struct serve_words users; /* names or numbers, "*" for everyone */
	struct serve_words groups; /* names or numbers */
	struct serve_words devices; /* patterns of node, driver or device name */
	/* patterns of block types, as printed before the slash by "perfctr list" */
	struct serve_words blocks;
	/* patterns of names of perf PMUs that are not blocks of the device */
	struct serve_words pmus;
	uint64_t min_period_ns; /* shortest time between samples */
	uint64_t ring_bytes; /* limit for all rings of one connection */
	uint32_t sessions; /* limit for one connection */
	uint32_t counters; /* of perf PMUs, for a session that a process of the broker counts */
	bool keep_awake; /* whether a session may keep the GPU powered */
};

/* the policy file */
struct serve_policy {
	struct serve_rule *rules;
	size_t rule_count;
	uint32_t clients; /* limit of connections at one time */
	uint32_t clients_per_user; /* limit for one user */
};

/*
 * Read a policy.
 * @error: set to the reason on failure.
 * Return: 0; -EINVAL the file is malformed; another negative errno.
 */
int serve_policy_read(const char *path, struct serve_policy *policy, char *error, size_t size);
void serve_policy_free(struct serve_policy *policy);

/*
 * The rule that decides for a user.
 * Return: the first rule that names the user or one of the user's groups; NULL: no permission.
 */
const struct serve_rule *serve_policy_rule(const struct serve_policy *policy,
					   const struct serve_peer *peer);

/** serve_words_match() - whether a name matches a pattern, ignoring case */
bool serve_words_match(const struct serve_words *words, const char *name);
