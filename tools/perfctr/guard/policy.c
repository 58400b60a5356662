// SPDX-License-Identifier: MIT
/* Budgets from the command line and from the policy file; checks whether they are complete. */
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "common/config.h"
#include "common/number.h"
#include "guard.h"
#include "holder.h"

enum {
	SAMPLES_PER_WINDOW = 100,
	LEAST_SAMPLES = 10,
	LEAST_PERIOD_MS = 1,
	/*
	 * The shortest one that has all samples. A busy host delays a sampler without real-time
	 * priority by tens of ms, which is a loss if the window is shorter.
	 */
	DEFAULT_WINDOW_MS = SAMPLES_PER_WINDOW * LEAST_PERIOD_MS,
};

static const char budget_prefix[] = "budget ";

/* Return: the budget of that name, a new one if there is none; NULL: no memory. */
static struct budget *find(struct guard *g, const char *name)
{
	struct budget *b;

	for (size_t n = 0; n < g->count; n++)
		if (!strcmp(g->budgets[n].name, name))
			return &g->budgets[n];
	b = realloc(g->budgets, (g->count + 1) * sizeof(*b));
	if (!b)
		return NULL;
	g->budgets = b;
	b += g->count;
	memset(b, 0, sizeof(*b));
	b->name = strdup(name);
	b->freeze_on_loss = true;
	b->target.node_fd = -1;
	if (!b->name)
		return NULL;
	g->count++;
	return b;
}

static const char *const keys[] = {
	"device", "event",   "limit",  "window",  "period",	     "cgroup",
	"pid",	  "context", "action", "on_loss", "allow_explained", "allow_untrusted",
};

/* Whether a budget has a key already, which it has from now on. */
static bool is_again(struct budget *b, const char *key)
{
	bool again = false;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(key, keys[i])) {
			again = b->given >> i & 1;
			b->given |= 1u << i;
		}
	return again;
}

static bool take_yes(const char *value, const char *yes, const char *no, bool *to)
{
	*to = !strcmp(value, yes);
	return *to || !strcmp(value, no);
}

static bool take_text(const char *value, char **to)
{
	free(*to);
	*to = *value ? strdup(value) : NULL;
	return *to;
}

static bool take_number(const char *value, uint64_t most, uint64_t *to)
{
	return !number_parse_count(value, to) && *to <= most;
}

static bool take_cgroup(const char *value, struct target *t)
{
	free(t->cgroup);
	t->cgroup = cgroup_is_path(value) ? strdup(value) : NULL;
	return t->cgroup;
}

static bool take_context(const char *value, struct target *t)
{
	uint64_t number = HOLDER_ALL_CONTEXTS;

	if (strcmp(value, "all") && !take_number(value, HOLDER_ALL_CONTEXTS - 1, &number))
		return false;
	t->has_context = true;
	t->context = (uint32_t)number;
	return true;
}

static bool take_pid(const char *value, struct target *t)
{
	uint64_t number;

	if (!take_number(value, INT32_MAX, &number) || !number)
		return false;
	t->pid = t->tree = (pid_t)number;
	return true;
}

static bool take_time(const char *value, uint64_t *to)
{
	return !number_parse_time(value, NS_PER_MS, to) && *to && *to < UINT64_MAX / 4;
}

/* Return: NULL, or what the value should be. */
static const char *take(struct budget *b, const char *key, const char *value)
{
	struct target *t = &b->target;

	if (is_again(b, key))
		return "the budget has this key twice";
	if (!strcmp(key, "device"))
		return take_text(value, &b->device) ? NULL : "a node, driver, or local";
	if (!strcmp(key, "event"))
		return take_text(value, &b->event) ? NULL : "an event, as for perfctr stat -e";
	if (!strcmp(key, "limit"))
		return take_text(value, &b->limit_text) ? NULL : "20M, 2G/s or 30%";
	if (!strcmp(key, "window"))
		return take_time(value, &b->window.length_ns) ? NULL : "a time such as 10ms";
	if (!strcmp(key, "period"))
		return take_time(value, &b->period_ns) ? NULL : "a time such as 1ms";
	if (!strcmp(key, "cgroup"))
		return take_cgroup(value, t) ? NULL : "a path below a mount of cgroups";
	if (!strcmp(key, "pid"))
		return take_pid(value, t) ? NULL : "the number of a process";
	if (!strcmp(key, "context"))
		return take_context(value, t) ? NULL : "the number of a context, or all";
	if (!strcmp(key, "action"))
		return target_parse_action(value, t) ? "report, freeze, cpu.max:PERCENT% or hold; "
						       "PERCENT below 100 for each CPU" :
						       NULL;
	if (!strcmp(key, "on_loss"))
		return take_yes(value, "freeze", "release", &b->freeze_on_loss) ?
			       NULL :
			       "freeze or release";
	if (!strcmp(key, "allow_explained"))
		return take_yes(value, "yes", "no", &b->allow_explained) ? NULL : "yes or no";
	if (!strcmp(key, "allow_untrusted"))
		return take_yes(value, "yes", "no", &b->allow_untrusted) ? NULL : "yes or no";
	return "no such key: device, event, limit, window, period, cgroup, pid, context, action, "
	       "on_loss, allow_explained, allow_untrusted";
}

int policy_take(const struct app *app, void *guard, const char *text)
{
	struct guard *g = guard;
	char name[16], *copy = strdup(text), *position, *word;
	struct budget *b;
	int status = 0;

	snprintf(name, sizeof(name), "%zu", g->count + 1);
	for (size_t n = 0; n < g->count && !status; n++)
		if (!strcmp(g->budgets[n].name, name))
			status = app_usage(app, "budget %s is there: give -b first", name);
	if (status) {
		free(copy);
		return status;
	}
	b = copy ? find(g, name) : NULL;
	if (!b)
		status = app_failed(app, -ENOMEM);
	for (word = b ? strtok_r(copy, " \t\n", &position) : NULL; word && !status;
	     word = strtok_r(NULL, " \t\n", &position)) {
		char *value = strchr(word, '=');
		const char *wanted;

		if (!value) {
			status = app_usage(app, "-b '%s': '%s' is no KEY=VALUE", text, word);
			break;
		}
		*value++ = '\0';
		wanted = take(b, word, value);
		if (wanted)
			status = app_usage(app, "-b %s=%s: %s", word, value, wanted);
	}
	free(copy);
	return status;
}

struct budget_reader {
	struct config_file config; /* first: the reader of lines has it */
	struct guard *guard;
};

/* Return: the budget of a section; NULL: there is none of that name. */
static struct budget *budget_of(struct budget_reader *r, const char *section)
{
	const size_t prefix = strlen(budget_prefix);

	return strncmp(section, budget_prefix, prefix) || !section[prefix] ?
		       NULL :
		       find(r->guard, section + prefix);
}

/* A section without a key is one too. */
static char *read_line(char *line, int size, void *data)
{
	struct budget_reader *r = data;
	char name[CONFIG_SECTION_MOST + 1];

	line = config_line(line, size, &r->config);
	if (line && sscanf(line, " [%49[^]]", name) == 1 && !budget_of(r, name))
		config_refuse(&r->config, "'%s' is no section: write [budget NAME]", name);
	return r->config.wrong ? NULL : line;
}

/* Return: 1 to continue, 0 to stop with the line's number. */
static int take_line(void *data, const char *section, const char *key, const char *value)
{
	struct budget_reader *r = data;
	struct budget *b = budget_of(r, section);
	const char *wanted;

	if (!b)
		return config_refuse(&r->config, "'%s' is in no section [budget NAME]", key);
	wanted = take(b, key, value);
	return wanted ? config_refuse(&r->config, "%s = %s: %s", key, value, wanted) : 1;
}

int policy_read(const struct app *app, void *guard, const char *path)
{
	struct budget_reader r = {
		.config = { .file = fopen(path, "re"), .instead = "give this budget with -b" },
		.guard = guard,
	};
	const struct config_file *c = &r.config;
	int line = c->file ? ini_parse_stream(read_line, &r, take_line, &r) : -1;

	/* a folder can be opened and not read */
	if (!c->file || ferror(c->file)) {
		app_usage(app, "-c %s: %s", path, strerror(errno));
		line = -1;
	}
	if (c->file)
		fclose(c->file);
	if (line < 0)
		return EXIT_USAGE;
	if (c->wrong && (!line || c->wrong <= line))
		return app_usage(app, "%s:%d: %s", path, c->wrong, c->reason);
	return line ? app_usage(app, "%s:%d: neither [budget NAME] nor KEY = VALUE", path, line) :
		      0;
}

/* At full speed a task counts in it a hundredth of what it counts in the window. */
static uint64_t default_period(uint64_t window_ns)
{
	const uint64_t least = LEAST_PERIOD_MS * NS_PER_MS, most = window_ns / LEAST_SAMPLES;
	const uint64_t period = window_ns / SAMPLES_PER_WINDOW;

	return period > least ? period : least < most ? least : most;
}

/* Return: NULL, or what is wrong. */
static const char *complete(struct guard *g, struct budget *b)
{
	struct target *t = &b->target;
	uint64_t ignored;

	if (!b->event)
		return "it has no event";
	if (!strncmp(b->event, "metric:", strlen("metric:")))
		return "a metric is no count: give its events";
	if (!b->limit_text)
		return "it has no limit";
	if (!b->window.length_ns)
		b->window.length_ns = DEFAULT_WINDOW_MS * NS_PER_MS;
	if (window_limit(b->limit_text, b->window.length_ns, NS_PER_S, &ignored) || !ignored)
		return "its limit is no integer, above 100 %, or below 1 in a window: "
		       "20M (in a window), 2G/s or 30%";
	if (!b->period_ns)
		b->period_ns = default_period(b->window.length_ns);
	if (!b->period_ns || b->period_ns > b->window.length_ns)
		return "its period is longer than its window";
	if (!g->in_stream && b->window.length_ns / b->period_ns >= WINDOW_SAMPLES)
		return "its window has more than 4095 periods";
	if (t->cgroup && (t->pid || t->has_context))
		return "it has a cgroup, and another target";
	if (g->cgroup && !t->cgroup && !t->pid && !t->has_context && !take_cgroup(g->cgroup, t))
		return "out of memory";
	if (!t->cgroup && !t->pid && !g->command.argv && t->action != TARGET_REPORT)
		return "it has no target: give cgroup, pid, or a command";
	if (!t->action)
		t->action = t->cgroup ? TARGET_FREEZE : TARGET_HOLD;
	if ((t->action == TARGET_FREEZE || t->action == TARGET_CPU_MAX) != !!t->cgroup &&
	    t->action != TARGET_REPORT)
		return t->cgroup ? "a cgroup can be frozen or limited by cpu.max" :
				   "its action needs a cgroup";
	if (t->action == TARGET_HOLD && !t->has_context)
		return "a process is held by its cgroup (freeze) or its context (hold): give one";
	b->allow_untrusted |= g->allow_untrusted;
	b->allow_explained |= g->allow_explained;
	return NULL;
}

/* The folders of a cgroup. Return: 0 or a negative errno. */
static int find_cgroup(struct target *t, char *error, size_t size)
{
	struct cgroup c;
	int result = t->cgroup ? cgroup_find(t->cgroup, false, &c, error, size) : 0;

	if (!t->cgroup || result)
		return result;
	free(t->cgroup);
	t->cgroup = c.hold;
	t->counted_in = c.count;
	t->version_1 = c.version_1;
	return 0;
}

int policy_check(struct guard *g)
{
	char error[512];
	int status;

	if (!g->count)
		return app_usage(g->app, "no budget: give -b or -c");
	if (g->in_stream && g->count > 1)
		return app_usage(g->app, "--in-stream takes one budget");
	for (size_t n = 0; n < g->count; n++) {
		const char *wrong = complete(g, &g->budgets[n]);

		if (wrong)
			return app_usage(g->app, "budget %s: %s", g->budgets[n].name, wrong);
	}
	status = watch_find_devices(g);
	for (size_t n = 0; n < g->count && !status; n++) {
		struct target *t = &g->budgets[n].target;
		int result = find_cgroup(t, error, sizeof(error));

		if (!result)
			result = target_open(t, error, sizeof(error));

		if (result) {
			app_error(g->app, "budget %s: %s", g->budgets[n].name, error);
			return result == -EACCES || result == -EPERM ? EXIT_DENIED : EXIT_FAILED;
		}
		/* a release of one would change what the other holds */
		for (const struct budget *o = g->budgets; o < g->budgets + n; o++)
			if (target_overlaps(&o->target, t) &&
			    (o->target.context != t->context ||
			     o->target.cpu_percent != t->cpu_percent))
				return app_usage(g->app,
						 "budget %s holds what %s holds differently",
						 g->budgets[n].name, o->name);
	}
	return status;
}

void policy_free(struct guard *g)
{
	for (size_t n = 0; n < g->count; n++) {
		struct budget *b = &g->budgets[n];

		free(b->name);
		free(b->device);
		free(b->place);
		free(b->event);
		free(b->limit_text);
		free(b->target.cgroup);
		free(b->target.counted_in);
		members_free(&b->members);
	}
	free(g->budgets);
}
