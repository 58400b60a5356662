// SPDX-License-Identifier: MIT
/* The options that stat and record share, and what they select on a device. */
#include "counting.h"

#include <errno.h>
#include <unistd.h>

#include "device.h"

/* in-stream samples arrive in bursts */
enum { IN_STREAM_SLOTS = 1024 };

int counting_open(const struct app *app, struct counting *counting, struct perfctr_device **device,
		  struct perfctr_selection **selection)
{
	const bool of_task = !counting->all_cpus && (counting->pid || counting->command);
	const char *which = counting->device;
	const bool any = !counting->events.count && !counting->set;
	int status, error = 0;

	if (counting->pid && counting->all_cpus)
		return app_usage(app, "--pid counts a process, -a the whole machine");
	if (counting->pid && !which)
		which = PERFCTR_DEVICE_LOCAL;
	/* counting one's own process needs no permission */
	status = of_task ? device_open_to_look(app, which, any, device) :
			   device_open(app, which, any, device);
	/* a broker counts the whole machine, also one that was found without --via */
	counting->of_task = !status && of_task && device_is_local(*device) &&
			    !perfctr_device_count_task(*device, 0);
	if (!status && of_task && !counting->of_task) {
		perfctr_device_unref(*device);
		status = device_open(app, which, any, device);
		counting->of_task = !status && device_is_local(*device) &&
				    !perfctr_device_count_task(*device, 0);
	}
	if (status)
		return status;
	if (counting->of_task || counting->pid)
		error = perfctr_device_count_task(*device,
						  counting->pid ? (pid_t)counting->pid : getpid());
	if (!error)
		error = perfctr_selection_new(*device, selection);
	if (!error && counting->set)
		error = perfctr_selection_set_counter_set(*selection, (unsigned int)counting->set);
	if (error)
		return app_failed(app, error);
	status = device_select(app, *device, *selection, counting->events.words,
			       counting->events.count);
	if (status || !counting->events.count)
		device_note_others(app, which, *device);
	return status || !counting->per_client ? status : device_select_clients(app, *selection);
}

const char *counting_excludes(const struct counting *counting)
{
	long paranoid;

	return counting->of_task && !app_has_capability(APP_CAP_PERFMON) &&
			       !app_has_capability(APP_CAP_SYS_ADMIN) &&
			       !app_read_number("/proc/sys/kernel/perf_event_paranoid",
						&paranoid) &&
			       paranoid > 1 ?
		       "kernel" :
		       NULL;
}

int counting_prepare(const struct app *app, const struct counting *counting,
		     struct perfctr_device *device, struct command *command, int stdout_fd,
		     int (*create)(void *data), void *data)
{
	int status;

	if (!counting->of_task) {
		status = create(data);
		return status ? status : command_prepare(app, command, stdout_fd);
	}
	status = counting->pid && !command->argv ? command_watch(app, command, counting->pid) :
						   command_prepare(app, command, stdout_fd);
	if (status)
		return status;
	if (!counting->pid)
		perfctr_device_count_task(device, -command->child.pid);
	status = create(data);
	if (status)
		command_abandon(command);
	return status;
}

int counting_in_stream_session(struct perfctr_selection *selection,
			       const struct perfctr_session_opts *opts,
			       struct perfctr_session **session)
{
	struct perfctr_session_opts mine = *opts;
	int error;

	mine.slots = IN_STREAM_SLOTS;
	mine.watermark = IN_STREAM_SLOTS / 8;
	error = perfctr_session_new(selection, &mine, session);
	if (error != -ERANGE)
		return error;
	mine.slots = 0;
	mine.watermark = 1;
	return perfctr_session_new(selection, &mine, session);
}
