// SPDX-License-Identifier: MIT
#include "timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct filler {
	struct timeline *t;
	/* ns that contribute to the mean of each bin of each line */
	double *weights;
	size_t next_bin;
};

static int allocate_bins(struct filler *f)
{
	struct timeline *t = f->t;
	size_t cells = t->line_count * t->bin_count;

	t->bins = calloc(t->bin_count + 1, sizeof(*t->bins));
	t->lines = calloc(t->line_count + 1, sizeof(*t->lines));
	t->memory = malloc((3 * cells + 1) * sizeof(*t->memory));
	f->weights = calloc(cells + 1, sizeof(*f->weights));
	if (!t->bins || !t->lines || !t->memory || !f->weights)
		return -ENOMEM;
	for (size_t n = 0; n < 3 * cells; n++)
		t->memory[n] = NAN;
	for (size_t n = 0; n < t->line_count; n++) {
		struct timeline_line *line = &t->lines[n];

		line->row = t->values.lines[n].row;
		line->is_block = t->values.lines[n].is_block;
		line->is_rate = t->values.lines[n].is_rate;
		line->least = NAN;
		line->most = NAN;
		line->min = t->memory + 3 * n * t->bin_count;
		line->max = line->min + t->bin_count;
		line->mean = line->max + t->bin_count;
	}
	for (size_t n = 0; !t->is_exact && n < t->bin_count; n++) {
		/* the last bin ends exactly where the capture does */
		const double width = (double)(t->end_ns - t->start_ns) / (double)t->bin_count;

		t->bins[n].start_ns = t->start_ns + (uint64_t)((double)n * width);
		t->bins[n].end_ns = n + 1 < t->bin_count ?
					    t->start_ns + (uint64_t)((double)(n + 1) * width) :
					    t->end_ns;
	}
	return 0;
}

static void add_point(struct filler *f, size_t line, size_t first_bin, size_t last_bin,
		      const struct perfctr_sample *sample, double value)
{
	const struct timeline *t = f->t;
	struct timeline_line *l = &t->lines[line];
	double *weights = f->weights + line * t->bin_count;

	if (!(value >= l->least))
		l->least = value;
	if (!(value <= l->most))
		l->most = value;
	l->samples++;
	for (size_t n = first_bin; n <= last_bin; n++) {
		const struct timeline_bin *bin = &t->bins[n];
		uint64_t from = sample->start_ns > bin->start_ns ? sample->start_ns : bin->start_ns;
		uint64_t to = sample->end_ns < bin->end_ns ? sample->end_ns : bin->end_ns;
		double ns = to > from ? (double)(to - from) : 0;

		if (!(value >= l->min[n]))
			l->min[n] = value;
		if (!(value <= l->max[n]))
			l->max[n] = value;
		if (isnan(l->mean[n]))
			l->mean[n] = value;
		else if (weights[n] + ns > 0)
			l->mean[n] += (value - l->mean[n]) * ns / (weights[n] + ns);
		weights[n] += ns;
	}
}

/* The first and last bin that a sample overlaps. */
static void find_bins(struct filler *f, const struct perfctr_sample *sample, size_t *first,
		      size_t *last)
{
	const struct timeline *t = f->t;
	const double width = (double)(t->end_ns - t->start_ns) / (double)t->bin_count;
	double from, to;

	if (t->is_exact) {
		*first = *last = f->next_bin++;
		t->bins[*first].start_ns = sample->start_ns;
		t->bins[*first].end_ns = sample->end_ns;
		return;
	}
	from = width > 0 ? (double)(sample->start_ns - t->start_ns) / width : 0;
	/* an end on the border belongs to the earlier bin */
	to = width > 0 ? (double)(sample->end_ns - t->start_ns) / width - 1e-9 : 0;
	*first = from < (double)(t->bin_count - 1) ? (size_t)from : t->bin_count - 1;
	*last = to > 0 ? (size_t)to : 0;
	if (*last >= t->bin_count)
		*last = t->bin_count - 1;
	if (*last < *first)
		*last = *first;
}

static int take_sample(void *data, struct perfctr_sample *sample)
{
	struct filler *f = data;
	struct timeline *t = f->t;
	size_t first, last;
	int error;

	/* the totals left out samples that cannot be added up */
	if (sample->start_ns < t->start_ns || sample->end_ns > t->end_ns ||
	    (t->is_exact && f->next_bin == t->bin_count))
		return 0;
	error = values_take(&t->values, sample);
	if (error)
		return error;
	find_bins(f, sample, &first, &last);
	for (size_t n = first; n <= last; n++) {
		struct timeline_bin *bin = &t->bins[n];

		bin->samples++;
		bin->merged_periods += sample->merged_periods;
		bin->lost_ns += sample->lost_ns;
		bin->flags |= sample->flags;
	}
	for (size_t n = 0; n < t->line_count; n++)
		if (isfinite(t->values.items[n].number) && t->values.items[n].is_measured)
			add_point(f, n, first, last, sample, t->values.items[n].number);
	return 0;
}

int timeline_fill(const struct app *app, struct capture_file *file, size_t max_bins, bool per_block,
		  struct timeline *timeline)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	struct filler f = { .t = timeline };
	int error, status;

	*timeline = (struct timeline){
		.start_ns = span->start_ns,
		.end_ns = span->end_ns,
		.is_exact = span->samples <= max_bins,
		.bin_count = span->samples <= max_bins ? (size_t)span->samples : max_bins,
	};
	error = values_init(app, file, per_block, &timeline->values);
	timeline->line_count = timeline->values.count;
	if (!error)
		error = allocate_bins(&f);
	if (error) {
		app_error(app, "%s: %s", file->path, strerror(-error));
		status = EXIT_FAILED;
	} else {
		status = capture_file_each(app, file, take_sample, &f);
	}
	free(f.weights);
	return status;
}

void timeline_use_shares(struct timeline *t)
{
	double scale;

	for (struct timeline_line *l = t->lines; l < t->lines + t->line_count; l++) {
		row_rate_unit(l->row, &scale);
		if (scale == 1 || !l->is_rate)
			continue;
		/* the timeline owns its rows */
		((struct row *)l->row)->rate *= scale;
		l->least *= scale;
		l->most *= scale;
		/* followed by max and mean */
		for (size_t n = 0; n < 3 * t->bin_count; n++)
			l->min[n] *= scale;
	}
}

void timeline_free(struct timeline *timeline)
{
	values_free(&timeline->values);
	free(timeline->bins);
	free(timeline->lines);
	free(timeline->memory);
	*timeline = (struct timeline){ 0 };
}
