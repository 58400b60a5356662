// SPDX-License-Identifier: MIT
/* The time of a capture, and the numbers of its frames and phases, by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

const struct row diff_time = {
	.event = "time",
	.unit = "s",
	.label = "",
	.counter = "time",
	/* a number, not one per second */
	.metric = &(const struct perfctr_metric_desc){ .name = "time", .unit = "s" },
	.scale = 1,
	.running_ratio = 1,
	.rate = NAN,
};

double diff_seconds(const struct capture *capture)
{
	size_t n = 0;

	while (n + 1 < capture->count && !perfctr_totals_span(capture->files[n].totals)->samples)
		n++;
	return (double)perfctr_totals_span(capture->files[n].totals)->elapsed_ns * 1e-9;
}

/* all frames or phases of a name */
struct span_name {
	const struct mark *first;
	uint64_t count, ns;
	struct mean *means; /* of each line */
};

/* instead of the index of a name: what is left out */
enum { NO_NAME = DIFF_MOST_NAMES };

struct walk {
	struct capture_file *file;
	const struct option_words *patterns; /* of names */
	struct values values;
	struct span_name names[DIFF_MOST_NAMES];
	size_t name_count;
	/* indices of marks: those that have begun */
	size_t *open;
	size_t open_count;
	size_t next; /* mark that begins next */
	uint16_t *name_of; /* each mark: index of its name, or NO_NAME */
};

static bool is_span(const struct mark *mark)
{
	return mark->kind != PERFCTR_MARK_POINT && !mark->open;
}

/* Find the names of the spans. Return: 0 or an exit status. */
static int find_names(const struct app *app, struct walk *w)
{
	const struct marks *marks = &w->file->marks;
	uint64_t unfinished = 0;

	for (size_t i = 0; i < marks->count; i++) {
		const struct mark *m = &marks->all[i];
		size_t n = 0;

		w->name_of[i] = NO_NAME;
		if (!option_words_match(w->patterns, m->name))
			continue;
		unfinished += m->open;
		if (!is_span(m))
			continue;
		while (n < w->name_count && strcmp(w->names[n].first->name, m->name))
			n++;
		if (n == DIFF_MOST_NAMES ||
		    (n < w->name_count && w->names[n].first->kind != m->kind))
			return app_usage(app,
					 "--by-mark: '%s' of %s: name all frames alike, at most %d "
					 "names, each only of frames or only of phases; --mark "
					 "PATTERN chooses some of them",
					 m->name, w->file->path, DIFF_MOST_NAMES);
		if (n == w->name_count)
			w->names[w->name_count++] = (struct span_name){
				.first = m,
				.means = calloc(w->values.count + 1, sizeof(struct mean)),
			};
		if (!w->names[n].means)
			return app_failed(app, -ENOMEM);
		w->names[n].count++;
		w->names[n].ns += m->end_ns - m->start_ns;
		w->name_of[i] = (uint16_t)n;
	}
	/* all sessions have the same marks */
	if (unfinished && !w->file->number)
		app_error(app, "%s: %llu unfinished phases are left out", w->file->path,
			  (unsigned long long)unfinished);
	return 0;
}

static void add_sample(struct walk *w, size_t index)
{
	const struct mark *m = &w->file->marks.all[index];
	struct mean *means = w->names[w->name_of[index]].means;

	for (size_t n = 0; n < w->values.count; n++) {
		const struct values_item *item = &w->values.items[n];
		/* perf PMUs may have a span of their own */
		const uint64_t from = item->start_ns > m->start_ns ? item->start_ns : m->start_ns;
		const uint64_t to = item->end_ns < m->end_ns ? item->end_ns : m->end_ns;

		if (item->is_measured && isfinite(item->number) && to > from)
			mean_add(&means[n], item->number, to - from);
	}
}

static int take_sample(void *data, struct capture_file *file, struct perfctr_sample *sample)
{
	struct walk *w = data;
	const struct marks *marks = &w->file->marks;
	uint64_t earliest_ns = sample->start_ns;
	int error = values_take(&w->values, sample);
	size_t kept = 0;

	for (size_t n = 0; n < w->values.count; n++)
		if (w->values.items[n].is_measured && w->values.items[n].start_ns < earliest_ns)
			earliest_ns = w->values.items[n].start_ns;
	for (size_t n = 0; n < w->open_count; n++)
		if (marks->all[w->open[n]].end_ns > earliest_ns)
			w->open[kept++] = w->open[n];
	w->open_count = kept;
	for (; w->next < marks->count && marks->all[w->next].start_ns < sample->end_ns; w->next++)
		if (w->name_of[w->next] != NO_NAME)
			w->open[w->open_count++] = w->next;
	for (size_t n = 0; !error && n < w->open_count; n++)
		add_sample(w, w->open[n]);
	return error;
}

int diff_spans(const struct app *app, struct capture_file *file, const struct diff_options *options,
	       diff_span_fn fn, void *data)
{
	struct walk w = { .file = file, .patterns = &options->marks };
	int error = values_init(app, file, options->per_block, &w.values), status = 0;

	w.open = calloc(file->marks.count + 1, sizeof(*w.open));
	w.name_of = calloc(file->marks.count + 1, sizeof(*w.name_of));
	if (!w.open || !w.name_of)
		error = -ENOMEM;
	if (!error)
		status = find_names(app, &w);
	if (!error && !status)
		status = capture_file_each(app, file, take_sample, &w);
	for (size_t n = 0; n < w.name_count; n++) {
		const struct span_name *name = &w.names[n];

		if (!error && !status)
			error = fn(data, name->first->name,
				   (double)name->ns * 1e-9 / (double)name->count, &w.values,
				   name->means);
		free(name->means);
	}
	free(w.open);
	free(w.name_of);
	values_free(&w.values);
	if (error) {
		app_error(app, "%s: %s", file->path, strerror(-error));
		status = EXIT_FAILED;
	}
	return status;
}
