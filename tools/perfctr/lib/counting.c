// SPDX-License-Identifier: MIT
#include "counting.h"

#include <errno.h>

#include "device.h"

/* in-stream samples arrive in bursts */
enum { IN_STREAM_SLOTS = 1024 };

int counting_open(const struct app *app, const struct counting *counting,
		  struct perfctr_device **device, struct perfctr_selection **selection)
{
	int status = device_open(app, counting->device, device), error;

	if (status)
		return status;
	error = perfctr_selection_new(*device, selection);
	if (!error && counting->set)
		error = perfctr_selection_set_counter_set(*selection, (unsigned int)counting->set);
	if (error)
		return app_failed(app, error);
	return device_select(app, *device, *selection, counting->events.words,
			     counting->events.count);
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
