// SPDX-License-Identifier: MIT
/* Device, date, trouble and notes of a capture, values and units of a row, in words. */
#include "describe.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "common/number.h"
#include "device.h"

char *describe_device(const struct capture_file *file, char *text, size_t size)
{
	if (*capture_file_name(file))
		snprintf(text, size, "%s (%s, %s)", capture_file_name(file),
			 perfctr_device_driver(file->device), perfctr_device_path(file->device));
	else
		snprintf(text, size, "unknown: the file ends before it is named");
	return text;
}

char *describe_date(const struct capture_file *file, char *text, size_t size)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	struct tm parts;
	time_t seconds;
	uint64_t ns;

	*text = '\0';
	if (!span->samples || !capture_file_time(file, span->start_ns, CLOCK_REALTIME, &ns))
		return text;
	seconds = (time_t)(ns / NS_PER_S);
	if (!gmtime_r(&seconds, &parts) || !strftime(text, size, "%Y-%m-%d %H:%M:%S UTC", &parts))
		*text = '\0';
	return text;
}

bool describe_flags(const struct perfctr_span *span, char *text, size_t size)
{
	char flags[128];

	if (!(span->flags & DESCRIBE_ODD_FLAGS))
		return false;
	perfctr_flag_text(span->flags & DESCRIBE_ODD_FLAGS, flags, sizeof(flags));
	snprintf(text, size, "samples are marked: %s", flags);
	return true;
}

static bool sentence(const struct capture_file *file, size_t which, char *text, size_t size)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	uint64_t absent = capture_file_absent(file);
	char number[32];

	switch (which) {
	case 0:
		snprintf(text, size,
			 "%s period%s merged into longer samples, which loses resolution "
			 "but no counts",
			 number_group(span->merged_periods, number, sizeof(number)),
			 span->merged_periods == 1 ? "" : "s");
		return span->merged_periods;
	case 1:
		/* in the kernel's PMUs and clients nothing is lost but this */
		snprintf(text, size, "%slost counts of up to %.6f s%s",
			 device_is_local(file->device) ? "" : "the hardware ",
			 (double)span->lost_ns * 1e-9,
			 device_is_local(file->device) ?
				 ", of what ended or began between two readings" :
				 "");
		return span->lost_ns;
	case 2:
		return describe_flags(span, text, size);
	case 3:
		if (capture_file_text(file, "flight_ns"))
			snprintf(text, size, "a flight recorder: %s older sample%s not in the file",
				 number_group(absent, number, sizeof(number)),
				 absent == 1 ? " is" : "s are");
		else
			snprintf(text, size, "%" PRIu64 " sample%s not in the file", absent,
				 absent == 1 ? " is" : "s are");
		return absent;
	case 4:
		snprintf(text, size, "%" PRIu64 " sample%s missing in between",
			 span->missing_samples, span->missing_samples == 1 ? " is" : "s are");
		return span->missing_samples;
	case 5:
		snprintf(text, size, "%s", file->damage ? file->damage : "");
		return file->damage;
	case 6:
		snprintf(text, size, "recording was not finished: the end is missing");
		return !file->is_finished && !file->damage &&
		       !(span->flags & DRM_PERFCTR_SAMPLE_UNPLUGGED);
	case 7:
		snprintf(text, size, "%" PRIu64 " record%s left out", file->bad_samples,
			 file->bad_samples == 1 ? " is no sample and was" :
						  "s are no samples and were");
		return file->bad_samples;
	case 8:
		snprintf(text, size,
			 "switches and migrations of tasks are 0: the kernel, which does them, was "
			 "not recorded");
		return capture_file_text(file, "excludes") &&
		       device_has_event_of_kernel(file->selection);
	default:
		return false;
	}
}

char *describe_trouble(const struct capture_file *file, size_t n, char *text, size_t size)
{
	enum { SENTENCES = 9 };

	for (size_t which = 0; which < SENTENCES; which++)
		if (sentence(file, which, text, size) && !n--)
			return text;
	return NULL;
}

char *describe_value(const struct row *row, char *text, size_t size)
{
	if (row->state != PERFCTR_VALUE_OK)
		snprintf(text, size, "%s", perfctr_value_state_text(row->state));
	else if (row->metric)
		number_short(row->number, text, size);
	else if (row->scale != 1)
		snprintf(text, size, "%.2f", row->number);
	else if (row->flags & PERFCTR_VALUE_ESTIMATED && row->number >= 0 && row->number < 1.8e19)
		number_group((uint64_t)llround(row->number), text, size);
	else if (row_is_level(row))
		number_group_signed((int64_t)row->value, text, size);
	else
		number_group(row->value, text, size);
	if (*text && text[strlen(text) - 1] == ' ')
		text[strlen(text) - 1] = '\0';
	return text;
}

char *describe_value_unit(const struct row *row, char *text, size_t size)
{
	char value[64];

	if (row->metric && row->state == PERFCTR_VALUE_OK)
		snprintf(text, size, "%s%s", number_short(row->number, value, sizeof(value)),
			 row->unit);
	else
		snprintf(text, size, "%s %s", describe_value(row, value, sizeof(value)), row->unit);
	return text;
}

char *describe_rate(const struct row *row, char *text, size_t size)
{
	char number[32] = "";
	double scale;
	const char *unit = row_rate_unit(row, &scale);

	if (isfinite(row->rate))
		number_short(row->rate * scale, number, sizeof(number));
	snprintf(text, size, "%s%s", number, *number ? unit : "  ");
	return text;
}

char *describe_rate_unit(const struct row *row, bool of_shares, char *text, size_t size)
{
	double scale;
	const char *unit = row_rate_unit(row, &scale);

	if (row->metric || row_is_level(row))
		snprintf(text, size, "%s", row->unit);
	else if (of_shares && scale != 1)
		snprintf(text, size, "%s", unit);
	else
		snprintf(text, size, "%s/s", row->unit);
	return text;
}

char *describe_notes(const struct row *row, char *text, size_t size)
{
	size_t used = strlen(row_clock_text(row, text, size));
	uint64_t samples = row->missed + row->measured;
	char states[128];

	if (row->flags & PERFCTR_VALUE_ESTIMATED && !row->metric)
		used += (size_t)snprintf(text + used, size - used,
					 "%sestimated: ran %.2f%% of the time", used ? "; " : "",
					 100 * row->running_ratio);
	else if (!row->metric && row->measured && row->running_ratio < 1)
		used += (size_t)snprintf(text + used, size - used,
					 "%sran %.2f%% of the time: the task was elsewhere, or the "
					 "event was multiplexed",
					 used ? "; " : "", 100 * row->running_ratio);
	else if (row->flags & PERFCTR_VALUE_ESTIMATED)
		used += (size_t)snprintf(text, size, "estimated: multiplexed");
	samples = samples < row->samples ? samples : row->samples;
	if (row->missed && row->measured && used < size)
		used += (size_t)snprintf(text + used, size - used,
					 "%snot measured in %" PRIu64 " of %" PRIu64 " samples",
					 used ? "; " : "", row->missed, samples);
	/* a tenth of the mean sample */
	if (row->info && row->measured && used < size &&
	    row->info->apart_ns > row->info->elapsed_ns / row->measured / 10)
		used += (size_t)snprintf(text + used, size - used,
					 "%sread up to %.3f ms off the ends of its samples",
					 used ? "; " : "", (double)row->info->apart_ns * 1e-6);
	if (row->metric && row->flags & PERFCTR_VALUE_PARTIAL && used < size)
		used += (size_t)snprintf(text + used, size - used, "%snot measured in all samples",
					 used ? "; " : "");
	if (row->state == PERFCTR_VALUE_NOT_MEASURED && row->info && row->info->states &&
	    used < size) {
		perfctr_state_text(row->info->states, states, sizeof(states));
		snprintf(text + used, size - used, "%sblock: %s", used ? "; " : "", states);
	}
	return text;
}
