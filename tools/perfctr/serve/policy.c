// SPDX-License-Identifier: MIT
/* Reads the policy file, and finds the rule of a client by user, group or program. */
#include "policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <grp.h>
#include <ini.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "common/config.h"
#include "lib/app.h"
#include "share.h"
#include "common/number.h"

enum {
	MAX_CLIENTS = SERVE_MAX_CLIENTS,
	MAX_SESSIONS = 128,
	MAX_COUNTERS = 65536,
	DEFAULT_CLIENTS = 64,
	DEFAULT_CLIENTS_PER_USER = 8,
	DEFAULT_SESSIONS = 4,
	DEFAULT_COUNTERS = 64,
	DEFAULT_RING_BYTES = 4 << 20,
	DEFAULT_MIN_PERIOD_NS = NS_PER_MS,
};

static const char rule_prefix[] = "rule ";

struct policy_reader {
	struct serve_policy *policy;
	char *error;
	size_t size;
	bool failed;
};

/* --- values --------------------------------------------------------------------- */

static int add_words(struct serve_words *to, const char *value)
{
	char *copy = strdup(value), *position, *word;

	if (!copy)
		return -ENOMEM;
	for (word = strtok_r(copy, " ,\t", &position); word;
	     word = strtok_r(NULL, " ,\t", &position)) {
		char **words = realloc(to->words, (to->count + 1) * sizeof(*words));

		if (words)
			to->words = words;
		if (!words || !(words[to->count] = strdup(word))) {
			free(copy);
			return -ENOMEM;
		}
		to->count++;
	}
	free(copy);
	return 0;
}

static void free_words(struct serve_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->words[i]);
	free(words->words);
}

bool serve_words_match(const struct serve_words *words, const char *name)
{
	for (size_t i = 0; i < words->count; i++)
		if (!fnmatch(words->words[i], name, FNM_CASEFOLD))
			return true;
	return false;
}

/* Return: 0, which stops the parser. */
static int __attribute__((format(printf, 2, 3)))
fail(struct policy_reader *r, const char *format, ...)
{
	va_list args;

	if (r->failed)
		return 0;
	r->failed = true;
	va_start(args, format);
	vsnprintf(r->error, r->size, format, args);
	va_end(args);
	return 0;
}

static bool read_count(const char *value, uint64_t most, uint32_t *to)
{
	uint64_t number;

	if (number_parse_count(value, &number) || !number || number > most)
		return false;
	*to = (uint32_t)number;
	return true;
}

/* --- sections ------------------------------------------------------------------- */

static struct serve_rule *find_rule(struct serve_policy *policy, const char *name)
{
	struct serve_rule *rules, *rule;

	for (size_t i = 0; i < policy->rule_count; i++)
		if (!strcmp(policy->rules[i].name, name))
			return &policy->rules[i];
	rules = realloc(policy->rules, (policy->rule_count + 1) * sizeof(*rules));
	if (!rules)
		return NULL;
	policy->rules = rules;
	rule = &rules[policy->rule_count];
	*rule = (struct serve_rule){
		.name = strdup(name),
		.min_period_ns = DEFAULT_MIN_PERIOD_NS,
		.ring_bytes = DEFAULT_RING_BYTES,
		.sessions = DEFAULT_SESSIONS,
		.counters = DEFAULT_COUNTERS,
	};
	if (!rule->name)
		return NULL;
	policy->rule_count++;
	return rule;
}

static int take_limit(struct policy_reader *r, const char *key, const char *value)
{
	uint32_t *to = !strcmp(key, "clients")		? &r->policy->clients :
		       !strcmp(key, "clients_per_user") ? &r->policy->clients_per_user :
							  NULL;

	if (!to)
		return fail(r, "[limits] has no '%s': clients, clients_per_user", key);
	if (!read_count(value, MAX_CLIENTS, to))
		return fail(r, "%s = %s: give a number from 1 to %d", key, value, MAX_CLIENTS);
	return 1;
}

static int take_words(struct policy_reader *r, struct serve_rule *rule, const char *key,
		      const char *value)
{
	struct serve_words *to = !strcmp(key, "users")	 ? &rule->users :
				 !strcmp(key, "groups")	 ? &rule->groups :
				 !strcmp(key, "devices") ? &rule->devices :
				 !strcmp(key, "blocks")	 ? &rule->blocks :
				 !strcmp(key, "pmus")	 ? &rule->pmus :
							   NULL;

	if (!to)
		return fail(r,
			    "[rule %s] has no '%s': users, groups, devices, blocks, pmus, "
			    "min_period, sessions, counters, ring_bytes, keep_awake",
			    rule->name, key);
	if (add_words(to, value))
		return fail(r, "out of memory");
	return 1;
}

static int take_rule(struct policy_reader *r, struct serve_rule *rule, const char *key,
		     const char *value)
{
	if (!strcmp(key, "min_period")) {
		if (number_parse_time(value, NS_PER_MS, &rule->min_period_ns) ||
		    !rule->min_period_ns)
			return fail(r, "min_period = %s: give a time such as 1ms", value);
		return 1;
	}
	if (!strcmp(key, "ring_bytes")) {
		if (number_parse_count(value, &rule->ring_bytes) || !rule->ring_bytes)
			return fail(r, "ring_bytes = %s: give a size such as 4Mi", value);
		return 1;
	}
	if (!strcmp(key, "sessions")) {
		if (!read_count(value, MAX_SESSIONS, &rule->sessions))
			return fail(r, "sessions = %s: give a number from 1 to %d", value,
				    MAX_SESSIONS);
		return 1;
	}
	if (!strcmp(key, "counters")) {
		if (!read_count(value, MAX_COUNTERS, &rule->counters))
			return fail(r, "counters = %s: give a number from 1 to %d", value,
				    MAX_COUNTERS);
		return 1;
	}
	if (!strcmp(key, "keep_awake")) {
		rule->keep_awake = !strcmp(value, "yes");
		if (!rule->keep_awake && strcmp(value, "no"))
			return fail(r, "keep_awake = %s: say yes or no", value);
		return 1;
	}
	return take_words(r, rule, key, value);
}

/* Return: 1 to continue, 0 to stop with the line's number. */
static int take_line(void *data, const char *section, const char *key, const char *value)
{
	struct policy_reader *r = data;
	struct serve_rule *rule;

	if (!strcmp(section, "limits"))
		return take_limit(r, key, value);
	if (strncmp(section, rule_prefix, strlen(rule_prefix)) || !section[strlen(rule_prefix)])
		return fail(r, "'%s' belongs to no section: [limits] or [rule NAME]", key);
	rule = find_rule(r->policy, section + strlen(rule_prefix));
	if (!rule)
		return fail(r, "out of memory");
	return take_rule(r, rule, key, value);
}

/* Reject names of no account: a rule with one would silently never match. */
static int check_names(struct policy_reader *r)
{
	char *end;

	for (size_t i = 0; i < r->policy->rule_count; i++) {
		const struct serve_rule *rule = &r->policy->rules[i];

		if (!rule->users.count && !rule->groups.count)
			fail(r, "[rule %s] names no users and no groups", rule->name);
		for (size_t n = 0; n < rule->users.count; n++) {
			const char *name = rule->users.words[n];

			strtoul(name, &end, 10);
			if (*end && strcmp(name, "*") && !getpwnam(name))
				fail(r, "[rule %s]: there is no user '%s'", rule->name, name);
		}
		for (size_t n = 0; n < rule->groups.count; n++) {
			const char *name = rule->groups.words[n];

			strtoul(name, &end, 10);
			if (*end && !getgrnam(name))
				fail(r, "[rule %s]: there is no group '%s'", rule->name, name);
		}
	}
	return r->failed ? -EINVAL : 0;
}

int serve_policy_read(const char *path, struct serve_policy *policy, char *error, size_t size)
{
	struct policy_reader r = { .policy = policy, .error = error, .size = size };
	struct config_file c = { .file = fopen(path, "re"), .instead = "write several rules" };
	char reason[256] = "";
	int line, result = 0;

	*policy = (struct serve_policy){
		.clients = DEFAULT_CLIENTS,
		.clients_per_user = DEFAULT_CLIENTS_PER_USER,
	};
	if (!c.file) {
		result = -errno;
		snprintf(error, size, "%s: %s%s", path, strerror(errno),
			 errno == ENOENT ? "; a policy lists who may count what: "
					   "perfctr-serve(1) has one, --policy names another file" :
					   "");
		return result;
	}
	r.error = reason;
	r.size = sizeof(reason);
	line = ini_parse_stream(config_line, &c, take_line, &r);
	/* a folder can be opened and not read */
	if (ferror(c.file)) {
		result = -errno;
		snprintf(error, size, "%s: %s", path, strerror(errno));
		fclose(c.file);
		serve_policy_free(policy);
		return result;
	}
	fclose(c.file);
	if (c.wrong && (!line || c.wrong <= line)) {
		line = c.wrong;
		snprintf(reason, sizeof(reason), "%s", c.reason);
	}
	if (line)
		snprintf(error, size, "%s:%d: %s", path, line,
			 *reason ? reason : "neither [SECTION] nor KEY = VALUE");
	else if (check_names(&r))
		snprintf(error, size, "%s: %s", path, reason);
	if (line || r.failed) {
		serve_policy_free(policy);
		return -EINVAL;
	}
	return 0;
}

void serve_policy_free(struct serve_policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++) {
		struct serve_rule *rule = &policy->rules[i];

		free(rule->name);
		free_words(&rule->users);
		free_words(&rule->groups);
		free_words(&rule->devices);
		free_words(&rule->blocks);
		free_words(&rule->pmus);
	}
	free(policy->rules);
	*policy = (struct serve_policy){ 0 };
}

/* --- who -------------------------------------------------------------------------- */

static bool is_number(const char *text, unsigned long *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text, &end, 10);
	return end != text && !*end && !errno;
}

static bool names_user(const struct serve_words *users, uid_t uid)
{
	unsigned long number;

	for (size_t i = 0; i < users->count; i++) {
		const struct passwd *user;

		if (!strcmp(users->words[i], "*"))
			return true;
		if (is_number(users->words[i], &number)) {
			if (number == uid)
				return true;
			continue;
		}
		user = getpwnam(users->words[i]);
		if (user && user->pw_uid == uid)
			return true;
	}
	return false;
}

static bool has_group(const struct serve_peer *peer, gid_t gid)
{
	for (size_t i = 0; i < peer->group_count; i++)
		if (peer->groups[i] == gid)
			return true;
	return peer->gid == gid;
}

static bool names_group(const struct serve_words *groups, const struct serve_peer *peer)
{
	unsigned long number;

	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group;

		if (is_number(groups->words[i], &number)) {
			if (has_group(peer, (gid_t)number))
				return true;
			continue;
		}
		group = getgrnam(groups->words[i]);
		if (group && has_group(peer, group->gr_gid))
			return true;
	}
	return false;
}

const struct serve_rule *serve_policy_rule(const struct serve_policy *policy,
					   const struct serve_peer *peer)
{
	for (size_t i = 0; i < policy->rule_count; i++)
		if (names_user(&policy->rules[i].users, peer->uid) ||
		    names_group(&policy->rules[i].groups, peer))
			return &policy->rules[i];
	return NULL;
}
