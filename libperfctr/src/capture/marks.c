// SPDX-License-Identifier: MIT
/* Pairs begin and end of marks. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"

enum {
	MOST_MARKS = 1000000,
	MAX_OPEN = 1024, /* phases and kinds of frames that are searched for a beginning */
	ANY_LEVEL = -1,
};

struct mark {
	struct perfctr_marked is;
	char *name;
	size_t number; /* in the file */
	int level; /* of frames: 3 of a thread, 2 of a process, 1 of the capture */
};

struct perfctr_marks {
	atomic_uint refs;
	struct perfctr_ctx *ctx;
	struct mark *all; /* by time once they are finished */
	size_t count, room;
	uint64_t lost, unmatched;
	bool began_late; /* there were marks before the first sample that the file lacks */
};

EXPORT int perfctr_marks_new(struct perfctr_ctx *ctx, struct perfctr_marks **marks)
{
	struct perfctr_marks *m = calloc(1, sizeof(*m));

	if (!m)
		return perfctr_no_memory(ctx);
	atomic_init(&m->refs, 1);
	m->ctx = perfctr_ctx_ref(ctx);
	*marks = m;
	return 0;
}

static void free_marks(struct perfctr_marks *marks)
{
	for (size_t n = 0; n < marks->count; n++)
		free(marks->all[n].name);
	free(marks->all);
	perfctr_ctx_unref(marks->ctx);
	free(marks);
}

DEFINE_REFS(EXPORT, perfctr_marks, free_marks)

static void take_text(struct perfctr_marks *marks, const struct perfctr_capture_record *record)
{
	const char *key, *value;

	if (perfctr_capture_text(record, &key, &value))
		return;
	/* a flight recorder has forgotten marks of before; a later part repeats them */
	marks->began_late |= !strcmp(key, PERFCTR_CAPTURE_KEY_FLIGHT) ||
			     (!strcmp(key, PERFCTR_CAPTURE_KEY_PART) && strcmp(value, "1") != 0);
}

static int take_mark(struct perfctr_marks *marks, const struct perfctr_capture_record *record)
{
	struct perfctr_capture_mark mark;
	const char *name;
	char *copy;

	if (perfctr_capture_mark(record, &mark, &name))
		return 0;
	marks->lost += mark.lost;
	if (marks->count == MOST_MARKS) {
		marks->lost++;
		return 0;
	}
	if (marks->count == marks->room) {
		const size_t room = marks->room ? 2 * marks->room : 64;
		struct mark *all = realloc(marks->all, room * sizeof(*all));

		if (!all)
			return perfctr_no_memory(marks->ctx);
		marks->all = all;
		marks->room = room;
	}
	copy = strdup(name);
	if (!copy)
		return perfctr_no_memory(marks->ctx);
	marks->all[marks->count] = (struct mark){
		.is = {
			.name = copy,
			.start_ns = mark.time_ns,
			.end_ns = mark.time_ns,
			.pid = mark.pid,
			.tid = mark.tid,
			.kind = mark.kind,
		},
		.name = copy,
		.number = marks->count,
	};
	marks->count++;
	return 0;
}

EXPORT int perfctr_marks_add(struct perfctr_marks *marks,
			     const struct perfctr_capture_record *record)
{
	if (record->type == PERFCTR_CAPTURE_TEXT)
		take_text(marks, record);
	return record->type == PERFCTR_CAPTURE_MARK ? take_mark(marks, record) : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;
	const int order = (x->is.start_ns > y->is.start_ns) - (x->is.start_ns < y->is.start_ns);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* marks that wait for the next one of their name */
struct open_marks {
	size_t all[MAX_OPEN]; /* indices */
	size_t count;
};

/*
 * How alike their origins are: 3 the same thread, 2 the same process, 1 the same capture. Marks of
 * a shell are of one process each.
 */
static int likeness_of(const struct mark *a, const struct mark *b)
{
	return a->is.pid != b->is.pid ? 1 : a->is.tid != b->is.tid ? 2 : 3;
}

/*
 * The open mark of that name, the latest as alike as possible.
 * @least: how alike; @level: that it has, 0 for phases; ANY_LEVEL: any
 */
static size_t find_open(const struct perfctr_marks *marks, const struct open_marks *open,
			const struct mark *mark, int least, int level)
{
	size_t found = open->count;
	int best = least - 1;

	for (size_t n = open->count; n-- && best < 3;) {
		const struct mark *m = &marks->all[open->all[n]];
		const int likeness = likeness_of(m, mark);

		if (likeness > best && (level == ANY_LEVEL || m->level == level) &&
		    !strcmp(m->name, mark->name)) {
			best = likeness;
			found = n;
		}
	}
	return found;
}

static void remove_open(struct open_marks *open, size_t n)
{
	open->count--;
	memmove(&open->all[n], &open->all[n + 1], (open->count - n) * sizeof(*open->all));
}

static int by_origin(const void *a, const void *b)
{
	const struct mark *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	order = order ? order : ((*x)->is.pid > (*y)->is.pid) - ((*x)->is.pid < (*y)->is.pid);
	return order ? order : ((*x)->is.tid > (*y)->is.tid) - ((*x)->is.tid < (*y)->is.tid);
}

/*
 * Frames of a name belong to one another within a thread that has several, else within such a
 * process, else within the capture. Return: 0 or -ENOMEM.
 */
static int set_levels(struct perfctr_marks *marks)
{
	struct mark **frames = calloc(marks->count + 1, sizeof(*frames));
	size_t count = 0;

	if (!frames)
		return -ENOMEM;
	for (size_t n = 0; n < marks->count; n++)
		if (marks->all[n].is.kind == PERFCTR_MARK_FRAME)
			frames[count++] = &marks->all[n];
	qsort(frames, count, sizeof(*frames), by_origin);
	for (size_t n = 0; n < count; n++) {
		int level = 1;

		for (int side = -1; side <= 1; side += 2) {
			const size_t other = n + (size_t)side;
			int likeness;

			if (other >= count || strcmp(frames[other]->name, frames[n]->name))
				continue;
			likeness = likeness_of(frames[other], frames[n]);
			level = likeness > level ? likeness : level;
		}
		frames[n]->level = level;
	}
	free(frames);
	return 0;
}

/* Give beginnings their ends. @start_ns: not 0: what has no beginning there began then. */
static void match(struct perfctr_marks *marks, uint64_t start_ns, uint64_t end_ns)
{
	struct open_marks phases = { .count = 0 }, frames = { .count = 0 };

	for (size_t n = 0; n < marks->count; n++) {
		struct mark *m = &marks->all[n];
		struct open_marks *open = m->is.kind == PERFCTR_MARK_FRAME ? &frames : &phases;
		size_t begin, frame = frames.count;

		if (m->is.kind == PERFCTR_MARK_POINT)
			continue;
		begin = m->is.kind == PERFCTR_MARK_BEGIN ?
				open->count :
				find_open(marks, open, m, m->level ? m->level : 1, m->level);
		/* the first mark of a thread's frames may be another thread's only one */
		if (m->is.kind == PERFCTR_MARK_FRAME && m->level == 3 && begin == open->count)
			begin = find_open(marks, open, m, 2, 2);
		/* no frame begins with the last mark of its kind */
		if (m->is.kind == PERFCTR_MARK_END && begin == open->count)
			frame = find_open(marks, &frames, m, 1, ANY_LEVEL);
		if (begin < open->count) {
			marks->all[open->all[begin]].is.end_ns = m->is.start_ns;
			marks->all[open->all[begin]].is.is_open = false;
			remove_open(open, begin);
		} else if (frame < frames.count) {
			remove_open(&frames, frame);
		} else if (m->is.kind == PERFCTR_MARK_END && start_ns && start_ns < m->is.end_ns) {
			m->is.kind = PERFCTR_MARK_BEGIN;
			m->is.start_ns = start_ns;
			continue;
		} else if (m->is.kind == PERFCTR_MARK_END) {
			marks->unmatched++;
		}
		if (m->is.kind == PERFCTR_MARK_END)
			continue;
		if (open->count == MAX_OPEN)
			remove_open(open, 0);
		m->is.is_open = m->is.kind == PERFCTR_MARK_BEGIN;
		if (m->is.is_open && m->is.start_ns < end_ns)
			m->is.end_ns = end_ns;
		open->all[open->count++] = n;
	}
}

/* Of what began before @start_ns, keep the rest. */
static void cut_before(struct perfctr_marks *marks, uint64_t start_ns)
{
	for (struct mark *m = marks->all; m < marks->all + marks->count; m++)
		if (m->is.start_ns < start_ns)
			m->is.start_ns = m->is.end_ns < start_ns ? m->is.end_ns : start_ns;
}

/* The last mark of a kind of frames is only an end. */
static void drop_ends(struct perfctr_marks *marks)
{
	size_t kept = 0;

	for (size_t n = 0; n < marks->count; n++) {
		struct mark *m = &marks->all[n];

		if (m->is.kind == PERFCTR_MARK_END ||
		    (m->is.kind == PERFCTR_MARK_FRAME && m->is.start_ns == m->is.end_ns))
			free(m->name);
		else
			marks->all[kept++] = *m;
	}
	marks->count = kept;
}

EXPORT int perfctr_marks_finish(struct perfctr_marks *marks,
				const struct perfctr_capture_reader *reader)
{
	const struct capture_checks *samples = &reader->checks;
	const uint64_t start_ns = marks->began_late ? samples->start_ns : 0;

	if (!marks->count)
		return 0;
	qsort(marks->all, marks->count, sizeof(*marks->all), by_time);
	if (set_levels(marks))
		return perfctr_no_memory(marks->ctx);
	match(marks, start_ns, samples->end_ns);
	cut_before(marks, start_ns);
	drop_ends(marks);
	qsort(marks->all, marks->count, sizeof(*marks->all), by_time);
	return 0;
}

EXPORT size_t perfctr_marks_count(const struct perfctr_marks *marks)
{
	return marks->count;
}

EXPORT const struct perfctr_marked *perfctr_marks_get(const struct perfctr_marks *marks, size_t n)
{
	return n < marks->count ? &marks->all[n].is : NULL;
}

EXPORT uint64_t perfctr_marks_lost(const struct perfctr_marks *marks)
{
	return marks->lost;
}

EXPORT uint64_t perfctr_marks_unmatched(const struct perfctr_marks *marks)
{
	return marks->unmatched;
}
