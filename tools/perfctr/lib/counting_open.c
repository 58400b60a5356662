// SPDX-License-Identifier: MIT
/* What the options name: devices, or cgroups, and what is selected on them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counting.h"
#include "device.h"
#include "pmu.h"

static bool is_open(const struct counting *c, const char *path)
{
	for (size_t n = 0; n < c->count; n++)
		if (!strcmp(perfctr_device_path(c->counted[n].device), path))
			return true;
	return false;
}

/* Why a device cannot be counted was printed: that is no failure, while there are others. */
static int open_all(const struct app *app, struct counting *c)
{
	struct perfctr_device_list *list;
	int status = 0, error = perfctr_device_list_new(app->ctx, &list);

	if (error)
		return app_failed(app, error);
	for (size_t n = 0; !status && n < perfctr_device_list_count(list); n++) {
		const struct perfctr_device_entry *e = perfctr_device_list_get(list, n);

		if (e->error == -ENOTTY || e->error == -EINVAL || is_open(c, e->path))
			continue;
		if (!device_note_entry(app, e))
			status = counting_open_one(app, c, e->path, NULL, true);
	}
	perfctr_device_list_unref(list);
	return status ? status : counting_open_one(app, c, PERFCTR_DEVICE_LOCAL, NULL, true);
}

static const char perfs_d[] = "-d takes a device; perf's -d is -e with more events";

/* Whether PATH has such a program. */
static bool is_command(const char *word)
{
	const char *path = getenv("PATH");
	char *folders = strdup(path ? path : ""), *rest = folders, *folder, *file;
	bool found = false;

	while (!found && (folder = strsep(&rest, ":")) &&
	       asprintf(&file, "%s/%s", folder, word) >= 0) {
		found = !access(file, X_OK);
		free(file);
	}
	free(folders);
	return found && !strchr(word, '/');
}

int counting_open_devices(const struct app *app, struct counting *c)
{
	bool takes_all = false;
	int status;

	if (counting_tasks(c) && c->all_cpus)
		return app_usage(app, "--pid and --tid count a process, -a the whole machine");
	if (!!c->pids.count + !!c->tids.count + !!c->cpus + !!c->event_cgroups.list_count +
		    !!c->cgroups >
	    1)
		return app_usage(app, "--pid, --tid, --cpu, --cgroup and --for-each-cgroup exclude "
				      "each other");
	status = counting_open_cgroups(app, c);
	if (status || c->has_cgroups)
		return status;
	/* those that were named are not optional, whatever the order of the words */
	for (size_t n = 0; !status && n < c->devices.count; n++) {
		const char *word = c->devices.words[n];

		takes_all |= !strcmp(word, DEVICE_ALL);
		/* as before an option */
		if (*word == '-' || !word[strspn(word, "d")])
			return app_usage(app, "-d %s: %s", word, perfs_d);
		if (strcmp(word, DEVICE_ALL))
			status = counting_open_one(app, c, word, NULL, false);
		if (status && !c->command && is_command(word))
			app_error(app, "%s is a command: %s", word, perfs_d);
	}
	if (!status && takes_all)
		status = open_all(app, c);
	if (!status && !c->devices.count)
		status = counting_open_one(app, c, NULL, NULL, false);
	/* the reasons were printed */
	return status || c->count ? status : EXIT_NO_DEVICE;
}

/* a PMU by its number in perf */
struct kind {
	const struct app *app;
	uint32_t pmu_type;
};

static int refuse_whole(void *data, const struct perfctr_pmu_event *event)
{
	const struct kind *kind = data;

	if (event->pmu_type != kind->pmu_type || !pmu_counts_machine(event->pmu))
		return 0;
	return app_usage(kind->app,
			 "%s counts the whole machine, which each cgroup would "
			 "show: count it without cgroups",
			 event->pmu);
}

/* Refuse events of the whole machine. Return: 0 or an exit status, the message was printed. */
static int check_cgroups(const struct app *app, const struct counting *c)
{
	int status = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct perfctr_selection *s =
			c->counted[i].is_cgroup ? c->counted[i].selection : NULL;

		for (size_t n = 0; s && !status && n < perfctr_selection_request_count(s); n++) {
			struct kind kind = { app, perfctr_selection_request(s, n)->pmu_type };

			status = perfctr_pmu_events(app->ctx, refuse_whole, &kind);
		}
	}
	return status < 0 ? app_failed(app, status) : status;
}

int counting_open(const struct app *app, struct counting *c)
{
	int status = counting_open_devices(app, c);

	if (status)
		return status;
	status = counting_select(app, c, NULL);
	if (!status && c->has_cgroups)
		status = check_cgroups(app, c);
	if (status || !counting_names_events(c))
		device_note_others(app, c->devices.count || counting_is_of_some(c) ? "" : NULL,
				   c->counted[0].device);
	for (size_t n = c->count; !status && n--;) {
		if (c->counted[n].selection)
			continue;
		app_error(app, "%s has none of the events, and is left out", c->counted[n].name);
		counting_drop(c, n);
	}
	return status;
}
