// SPDX-License-Identifier: MIT
/* Numbers of the frames and phases of a capture. */
#include <errno.h>
#include <stdlib.h>

#include "diff.h"
#include "lib/mean.h"

enum { MOST_OPEN = 256 }; /* spans at one time; those beyond are left out */

/* a span that has begun */
struct open_span {
	const struct mark *mark;
	struct mean *means; /* of each line */
	uint64_t samples;
};

struct walk {
	struct capture_file *file;
	struct values values;
	struct open_span open[MOST_OPEN];
	size_t open_count;
	size_t next; /* mark that begins next */
	uint64_t left_out;
	double *numbers;
	diff_span_fn fn;
	void *data;
};

static int begin(struct walk *w, const struct mark *mark)
{
	struct open_span *span = &w->open[w->open_count];

	if (w->open_count == MOST_OPEN) {
		w->left_out++;
		return 0;
	}
	*span = (struct open_span){ .mark = mark,
				    .means = calloc(w->values.count + 1, sizeof(*span->means)) };
	if (!span->means)
		return -ENOMEM;
	w->open_count++;
	return 0;
}

/* Pass on the spans that end by @now_ns. */
static int end(struct walk *w, uint64_t now_ns)
{
	size_t kept = 0;
	int error = 0;

	for (size_t n = 0; n < w->open_count; n++) {
		struct open_span *span = &w->open[n];

		if (span->mark->end_ns > now_ns) {
			w->open[kept++] = *span;
			continue;
		}
		for (size_t i = 0; i < w->values.count; i++)
			w->numbers[i] = mean_of(&span->means[i]);
		if (!error)
			error = w->fn(w->data, &(struct diff_span){ span->mark, &w->values,
								    w->numbers, span->samples });
		free(span->means);
	}
	w->open_count = kept;
	return error;
}

static void add_sample(struct walk *w, struct open_span *span, const struct perfctr_sample *s)
{
	const struct mark *m = span->mark;

	span->samples += s->end_ns > m->start_ns && s->start_ns < m->end_ns;
	for (size_t n = 0; n < w->values.count; n++) {
		const struct values_item *item = &w->values.items[n];
		/* perf PMUs may have a span of their own */
		const uint64_t from = item->start_ns > m->start_ns ? item->start_ns : m->start_ns;
		const uint64_t to = item->end_ns < m->end_ns ? item->end_ns : m->end_ns;

		if (item->is_measured && isfinite(item->number) && to > from)
			mean_add(&span->means[n], item->number, to - from);
	}
}

static int take_sample(void *data, struct perfctr_sample *sample)
{
	struct walk *w = data;
	const struct marks *marks = &w->file->marks;
	uint64_t earliest_ns = sample->start_ns;
	int error = values_take(&w->values, sample);

	for (size_t n = 0; !error && n < w->values.count; n++)
		if (w->values.items[n].is_measured && w->values.items[n].start_ns < earliest_ns)
			earliest_ns = w->values.items[n].start_ns;
	if (!error)
		error = end(w, earliest_ns);
	for (; !error && w->next < marks->count && marks->all[w->next].start_ns < sample->end_ns;
	     w->next++)
		if (marks->all[w->next].kind != PERFCTR_MARK_POINT)
			error = begin(w, &marks->all[w->next]);
	for (size_t n = 0; !error && n < w->open_count; n++)
		add_sample(w, &w->open[n], sample);
	return error;
}

int diff_spans(const struct app *app, struct capture_file *file, bool per_block, diff_span_fn fn,
	       void *data)
{
	struct walk *w = calloc(1, sizeof(*w));
	int error = w ? values_init(app, file, per_block, &w->values) : -ENOMEM, status = 0;

	if (!error) {
		w->file = file;
		w->fn = fn;
		w->data = data;
		w->numbers = malloc((w->values.count + 1) * sizeof(*w->numbers));
		error = w->numbers ? 0 : -ENOMEM;
	}
	if (!error) {
		status = capture_file_each(app, file, take_sample, w);
		error = end(w, UINT64_MAX);
		if (w->left_out)
			app_error(app, "%s: %llu spans are left out: more than %d at one time",
				  file->path, (unsigned long long)w->left_out, MOST_OPEN);
	}
	if (w) {
		free(w->numbers);
		values_free(&w->values);
		free(w);
	}
	if (error && !status) {
		app_error(app, "%s: %s", file->path, strerror(-error));
		status = EXIT_FAILED;
	}
	return status;
}
