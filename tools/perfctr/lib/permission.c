// SPDX-License-Identifier: MIT
/* Asks the kernel whether this user may count, and finds the command that helps if not. */
#include "permission.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

/* An event of perf; what the library reads from files needs no permission of perf's. */
static int take_event(void *data, const struct perfctr_pmu_event *event)
{
	static const char *const files[] = { "drm", "hwmon", "devfreq" };
	int count;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (!strcmp(event->pmu, files[i]))
			return 0;
	count = event->event ? perfctr_selection_add(data, event->text) : 0;
	return count > 0 ? count : 0;
}

/* The event that each kernel with perf has, or that of any PMU. Return: > 0; a negative errno. */
static int add_event(struct perfctr_device *device, struct perfctr_selection *selection)
{
	int error = perfctr_selection_add(selection, "software/task-clock/");

	if (error == -ENOENT)
		error = perfctr_device_pmu_events(device, take_event, selection);
	return error ? error : -ENOENT;
}

/* Check a session with the first counter of the first block of the wanted kind. */
static int try_block(struct perfctr_device *device, bool pmu)
{
	struct perfctr_selection *selection;
	int error = perfctr_selection_new(device, &selection);

	if (error)
		return error;
	error = -ENOENT;
	if (pmu) {
		error = add_event(device, selection);
	} else {
		for (size_t i = 0; error < 0 && i < perfctr_device_block_count(device); i++) {
			const struct drm_perfctr_block_info *b = perfctr_device_block(device, i);
			struct drm_perfctr_block_request r = {
				.type = b->type,
				.index = b->index,
				.mask = b->available[0] & -b->available[0],
			};

			if (!(b->format & DRM_PERFCTR_FORMAT_PMU_IDENTITY) && r.mask)
				error = perfctr_selection_add_request(selection, &r);
		}
	}
	if (error >= 0)
		error = perfctr_session_check(selection, NULL, NULL);
	perfctr_selection_unref(selection);
	/* the kernel checks permission first: -EBUSY means that the hardware is in use otherwise */
	return error == -EBUSY ? 0 : error;
}

int permission_to_count(struct perfctr_device *device)
{
	int error = try_block(device, false);

	/* a device without GPU blocks has those of the SoC */
	if (error == -ENOENT)
		error = try_block(device, true);
	return error < 0 ? error : 0;
}

void permission_of(const struct app *app, struct perfctr_device *device,
		   struct permission *permission)
{
	int gpu = try_block(device, false);
	int pmu = perfctr_device_info(device)->features & DRM_PERFCTR_FEATURE_PMU ?
			  try_block(device, true) :
			  -EOPNOTSUPP;
	char setcap[336];
	long paranoid;

	*permission = (struct permission){
		.may_count = gpu >= 0 || (gpu == -ENOENT && pmu >= 0),
		.cap_perfmon = app_has_capability(APP_CAP_PERFMON) ||
			       app_has_capability(APP_CAP_SYS_ADMIN),
		.error = gpu >= 0 || gpu == -ENOENT ? pmu : gpu,
	};
	app_setcap(setcap, sizeof(setcap));
	if (app->via) {
		permission->may_count = perfctr_device_block_count(device);
		snprintf(permission->text, sizeof(permission->text),
			 "may count what the broker's policy allows: the blocks above, and of perf "
			 "PMUs those that it names");
		return;
	}
	if (permission->may_count && pmu >= 0) {
		snprintf(permission->text, sizeof(permission->text),
			 "may count everything, perf PMUs too%s",
			 !access("/sys/kernel/tracing/events", R_OK | X_OK) ?
				 "" :
			 errno == EACCES ?
				 ", but no tracepoints: their numbers are in /sys/kernel/tracing, "
				 "which only root may read" :
				 "; tracepoints after: sudo mount -t tracefs nodev "
				 "/sys/kernel/tracing");
		return;
	}
	/* or sysfs has files to read, but there is no event of perf */
	if (permission->may_count && (pmu == -EOPNOTSUPP || pmu == -ENOENT || pmu == -ENOSYS)) {
		permission->error = 0;
		snprintf(permission->text, sizeof(permission->text),
			 "may count everything; this kernel or device takes no perf PMUs");
		return;
	}
	if (permission->may_count) {
		snprintf(permission->text, sizeof(permission->text),
			 "may count the device's blocks, but no software events and other perf "
			 "PMUs: that needs CAP_PERFMON");
		snprintf(permission->fix, sizeof(permission->fix), "run as root, or: %s", setcap);
		return;
	}
	if (device_is_local(device) &&
	    (permission->error == -EACCES || permission->error == -EPERM)) {
		perfctr_device_count_task(device, getpid());
		permission->own_only = try_block(device, true) >= 0;
		perfctr_device_count_task(device, 0);
		snprintf(permission->text, sizeof(permission->text),
			 "%s: no CAP_PERFMON and kernel.perf_event_paranoid above %s",
			 permission->own_only ?
				 "may count its own processes only (COMMAND, --pid)" :
				 "may count nothing, not even its own processes",
			 permission->own_only ? "0" : "2, or a container forbids it");
		/* above 2 Debian's kernels ask for CAP_SYS_ADMIN */
		snprintf(permission->fix, sizeof(permission->fix),
			 "%s%s, or for every program: sudo sysctl kernel.perf_event_paranoid=0",
			 permission->own_only ? "" :
						"sudo sysctl kernel.perf_event_paranoid=2 for "
						"own processes; for all with it: ",
			 setcap);
		return;
	}
	if (permission->error == -ENOENT && device_is_local(device)) {
		snprintf(permission->text, sizeof(permission->text),
			 "this kernel names no PMU of perf, not even \"software\": it lacks "
			 "CONFIG_PERF_EVENTS, or a sandbox hides them");
		return;
	}
	if (permission->error == -ENOSYS && device_is_local(device)) {
		snprintf(permission->text, sizeof(permission->text),
			 "there is no perf_event_open(): this kernel lacks CONFIG_PERF_EVENTS, or "
			 "an emulator (qemu-user) or a sandbox hides it");
		return;
	}
	if (permission->error == -EACCES || permission->error == -EPERM) {
		bool has_sysctl = !app_read_number(PARANOID_PATH, &paranoid);

		snprintf(permission->text, sizeof(permission->text),
			 "may not count: counters show what all users do, no CAP_PERFMON%s",
			 has_sysctl && paranoid ? " and sysctl dev.perfctr.paranoid is on" : "");
		snprintf(permission->fix, sizeof(permission->fix),
			 "%s, or perfctr serve, whose policy says who may count what, or: sudo "
			 "sysctl dev.perfctr.paranoid=0, which lets all users of this machine "
			 "watch each other",
			 setcap);
		return;
	}
	snprintf(permission->text, sizeof(permission->text), "may not count: %s",
		 *perfctr_ctx_error(app->ctx) ? perfctr_ctx_error(app->ctx) :
						strerror(-permission->error));
}

const char *permission_node_fix(const char *path)
{
	static char fix[512];
	struct stat st = { 0 };
	const struct group *group = stat(path, &st) || !st.st_gid ? NULL : getgrgid(st.st_gid);
	const char *name = group ? group->gr_name : "render";
	int length = 0;

	/* root's group can do more than open the node; a container may lack the node's group */
	if (!group)
		length += snprintf(fix, sizeof(fix), "sudo chgrp %s %s; ", name, path);
	if ((st.st_mode & 060) != 060)
		length +=
			snprintf(fix + length, sizeof(fix) - length, "sudo chmod g+rw %s; ", path);
	snprintf(fix + length, sizeof(fix) - length, "sudo usermod -aG %s $USER, then log in again",
		 name);
	return fix;
}

bool permission_entry_denied(const struct perfctr_device_entry *entry)
{
	return (entry->error == -EACCES || entry->error == -EPERM) && !*entry->driver;
}

const char *permission_entry_text(const struct perfctr_device_entry *entry)
{
	static char denied[640];
	struct stat st = { 0 };

	switch (entry->error) {
	case -EACCES:
	case -EPERM:
		if (!permission_entry_denied(entry))
			return "its driver's counters are not for this user, or turned off: "
			       "perfctr check says what it takes";
		stat(entry->path, &st);
		snprintf(denied, sizeof(denied), "this user may not open it, mode %04o: %s",
			 st.st_mode & 07777, permission_node_fix(entry->path));
		return denied;
	case -ENOTTY:
	case -EINVAL:
		return "its driver has no counters";
	case -ENODEV:
		return "the device is gone";
	case -EHOSTDOWN:
		snprintf(denied, sizeof(denied),
			 "asleep (runtime_status is suspended): -d %s opens it, which wakes it",
			 strrchr(entry->path, '/') + 1);
		return denied;
	default:
		return strerror(-entry->error);
	}
}
