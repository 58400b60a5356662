// SPDX-License-Identifier: MIT
#include "counting.h"

#include <errno.h>

#include "device.h"

/* jobs' samples come when they come, many at a time */
enum { IN_STREAM_SLOTS = 1024 };

int counting_option(struct app *app, struct counting *counting, int c, bool period_or_zero)
{
	uint64_t value = 0;
	int status;

	switch (c) {
	case 'e':
		return option_words_add(app, &counting->events, optarg);
	case 'p':
		counting->has_period = true;
		return option_time(app, "-p", optarg, period_or_zero, &counting->period_ns);
	case 'o':
		counting->output = optarg;
		return 0;
	case 'j':
		counting->json = true;
		return 0;
	case 'd':
		counting->device = optarg;
		return 0;
	case 'a':
		/* as with perf; counting is always system-wide */
		return 0;
	case COUNTING_TIMEOUT:
		return option_time(app, "--timeout", optarg, false, &counting->timeout_ns);
	case COUNTING_SET:
		status = option_number(app, "--set", optarg, 0, DRM_PERFCTR_SET_TERTIARY, &value);
		counting->set = (unsigned int)value;
		return status;
	case COUNTING_KEEP_AWAKE:
		counting->keep_awake = true;
		return 0;
	case COUNTING_VIA:
		app->via = optarg;
		return 0;
	default:
		return app_bad_option(app);
	}
}

int counting_open(const struct app *app, const struct counting *counting,
		  struct perfctr_device **device, struct perfctr_selection **selection)
{
	int status = device_open(app, counting->device, device), error;

	if (status)
		return status;
	error = perfctr_selection_new(*device, selection);
	if (!error && counting->set)
		error = perfctr_selection_set_counter_set(*selection, counting->set);
	if (error)
		return app_failed(app, error);
	return device_select(app, *selection, counting->events.words, counting->events.count);
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
