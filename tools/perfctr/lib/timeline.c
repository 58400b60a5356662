// SPDX-License-Identifier: MIT
/* Adds up samples to bins, and gives each line its values over them. */
#include "timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a line in the bin that is being filled; a cache line, as there is one for each line and sample */
struct cell {
	double min, max, last;
	uint64_t count;
	uint64_t samples; /* that have a value */
	struct mean mean;
};

_Static_assert(sizeof(struct cell) == 64, "a cache line");

struct filler {
	struct timeline *t;
	struct cell *cells; /* of each line */
	size_t *numbers; /* the same, in the values */
	struct mean *averages; /* the same, over all bins before this one */
	size_t capacity; /* bins that there is memory for */
	uint64_t per_bin; /* samples of a bin at most */
	uint64_t left; /* samples that are not in a bin yet */
};

/* Choose lines. */
static int find_lines(const struct timeline_limits *limits, struct timeline *t)
{
	t->lines = calloc(t->values.count + 1, sizeof(*t->lines));
	if (!t->lines)
		return -ENOMEM;
	for (size_t n = 0; n < t->values.count; n++) {
		const struct values_line *from = &t->values.lines[n];

		if (limits->patterns && !row_matches(from->row, limits->patterns))
			continue;
		if (limits->lines && t->line_count == limits->lines) {
			t->left_out++;
			continue;
		}
		t->lines[t->line_count++] = (struct timeline_line){
			.row = from->row,
			.of = t,
			.number = n,
			.is_block = from->is_block,
			.is_rate = from->is_rate,
			.least = NAN,
			.most = NAN,
			.average = NAN,
		};
	}
	return 0;
}

static int allocate_bins(struct filler *f, bool summary)
{
	struct timeline *t = f->t;
	size_t cells = t->line_count * f->capacity;

	t->bins = calloc(f->capacity + 1, sizeof(*t->bins));
	f->cells = aligned_alloc(sizeof(*f->cells), (t->line_count + 1) * sizeof(*f->cells));
	f->numbers = calloc(t->line_count + 1, sizeof(*f->numbers));
	f->averages = calloc(t->line_count + 1, sizeof(*f->averages));
	if (!t->bins || !f->cells || !f->numbers || !f->averages)
		return -ENOMEM;
	for (size_t n = 0; n < t->line_count; n++) {
		f->numbers[n] = t->lines[n].number;
		f->cells[n] = (struct cell){ 0 };
	}
	if (summary)
		return 0;
	t->memory = malloc((3 * cells + 1) * sizeof(*t->memory));
	t->counts = calloc(cells + 1, sizeof(*t->counts));
	if (!t->memory || !t->counts)
		return -ENOMEM;
	for (size_t n = 0; n < 3 * cells; n++)
		t->memory[n] = NAN;
	for (size_t n = 0; n < t->line_count; n++) {
		struct timeline_line *line = &t->lines[n];

		line->min = t->memory + 3 * n * f->capacity;
		line->max = line->min + f->capacity;
		line->mean = line->max + f->capacity;
		line->count = t->counts + n * f->capacity;
	}
	return 0;
}

static void keep_bin(struct timeline_line *line, size_t bin, const struct cell *c, double mean)
{
	line->count[bin] = c->count;
	if (!c->samples)
		return;
	line->min[bin] = c->min;
	line->max[bin] = c->max;
	line->mean[bin] = mean;
}

static void add_point(struct cell *c, bool is_rate, const struct values_item *item)
{
	const double value = item->number;

	c->count = is_rate ? c->count + item->count : item->count;
	/* a sample of no time has counts and no rate */
	if (!isfinite(value))
		return;
	if (!c->samples || value < c->min)
		c->min = value;
	if (!c->samples || value > c->max)
		c->max = value;
	c->samples++;
	c->last = value;
	mean_add(&c->mean, value, item->ran_ns);
}

/* The last bin has all its samples. */
static void finish_bin(struct filler *f)
{
	struct timeline *t = f->t;

	for (size_t line = 0; t->bin_count && line < t->line_count; line++) {
		const size_t n = t->bin_count - 1;
		struct timeline_line *l = &t->lines[line];
		struct cell *c = &f->cells[line];
		/* without any time the mean is the last value */
		const double mean = c->mean.ns ? mean_of(&c->mean) : c->last;

		if (l->count)
			keep_bin(l, n, c, mean);
		if (c->samples) {
			spread_add(&l->spread, mean);
			l->least = fmin(l->least, c->min);
			l->most = fmax(l->most, c->max);
			l->samples += c->samples;
			mean_add_mean(&f->averages[line], &c->mean);
			l->average = c->last;
		}
		*c = (struct cell){ 0 };
	}
}

static void finish_averages(struct filler *f)
{
	for (size_t line = 0; line < f->t->line_count; line++)
		if (f->averages[line].ns)
			f->t->lines[line].average = mean_of(&f->averages[line]);
}

/* The bin of the next sample: a new one after a pause too, as long as the rest fits. */
static struct timeline_bin *next_bin(struct filler *f, const struct perfctr_sample *sample)
{
	struct timeline *t = f->t;
	struct timeline_bin *bin = t->bin_count ? &t->bins[t->bin_count - 1] : NULL;

	if (!bin || bin->samples == f->per_bin ||
	    (sample->start_ns > bin->end_ns &&
	     f->left <= (f->capacity - t->bin_count) * f->per_bin)) {
		finish_bin(f);
		bin = &t->bins[t->bin_count++];
		bin->start_ns = sample->start_ns;
	}
	bin->end_ns = sample->end_ns;
	return bin;
}

static int take_sample(void *data, struct capture_file *file, struct perfctr_sample *sample)
{
	struct filler *f = data;
	struct timeline *t = f->t;
	struct timeline_bin *bin;
	int error;

	/* the totals left out samples that cannot be added up */
	if (sample->start_ns < t->start_ns || sample->end_ns > t->end_ns || !f->left)
		return 0;
	error = values_take(&t->values, sample);
	if (error)
		return error;
	bin = next_bin(f, sample);
	f->left--;
	bin->samples++;
	bin->merged_periods += sample->merged_periods;
	bin->lost_ns += sample->lost_ns;
	bin->flags |= sample->flags;
	for (size_t n = 0; n < t->line_count; n++) {
		const struct values_item *item = &t->values.items[f->numbers[n]];

		if (item->is_measured)
			add_point(&f->cells[n], t->values.lines[f->numbers[n]].is_rate, item);
	}
	return 0;
}

int timeline_fill(const struct app *app, struct capture_file *file,
		  const struct timeline_limits *limits, struct timeline *timeline)
{
	const struct perfctr_span *span = perfctr_totals_span(file->totals);
	struct filler f = { .t = timeline, .left = span->samples };
	size_t max_bins = limits->bins;
	int error, status;

	*timeline = (struct timeline){ .start_ns = span->start_ns, .end_ns = span->end_ns };
	error = values_init(app, file, limits->per_block, &timeline->values);
	if (!error)
		error = find_lines(limits, timeline);
	if (limits->numbers && max_bins * timeline->line_count > limits->numbers)
		max_bins = limits->numbers / timeline->line_count;
	max_bins = max_bins ? max_bins : 1;
	timeline->is_exact = span->samples <= max_bins;
	f.capacity = timeline->is_exact ? (size_t)span->samples : max_bins;
	/* a quarter of the bins is for pauses */
	f.per_bin = timeline->is_exact ? 1 : 1 + span->samples / (max_bins - max_bins / 4);
	if (!error)
		error = allocate_bins(&f, limits->summary);
	if (error) {
		app_error(app, "%s: %s", file->path, strerror(-error));
		status = EXIT_FAILED;
	} else {
		status = capture_file_each(app, file, take_sample, &f);
		finish_bin(&f);
		finish_averages(&f);
		values_end(&timeline->values);
	}
	/* the rate is that of the time in which it was measured; the timeline owns its rows */
	for (size_t n = 0; !status && n < timeline->line_count; n++)
		if (timeline->lines[n].is_rate)
			((struct row *)timeline->lines[n].row)->rate = timeline->lines[n].average;
	free(f.cells);
	free(f.numbers);
	free(f.averages);
	return status;
}

void timeline_use_shares(struct timeline *t)
{
	double scale;

	for (struct timeline_line *l = t->lines; l < t->lines + t->line_count; l++) {
		row_rate_unit(l->row, &scale);
		if (scale == 1 || !l->is_rate)
			continue;
		((struct row *)l->row)->rate *= scale;
		l->average *= scale;
		l->least *= scale;
		l->most *= scale;
		l->spread.mean *= scale;
		l->spread.squares *= scale * scale;
		for (size_t n = 0; l->count && n < t->bin_count; n++) {
			l->min[n] *= scale;
			l->max[n] *= scale;
			l->mean[n] *= scale;
		}
	}
}

void timeline_free(struct timeline *timeline)
{
	values_free(&timeline->values);
	free(timeline->bins);
	free(timeline->lines);
	free(timeline->memory);
	free(timeline->counts);
	*timeline = (struct timeline){ 0 };
}
