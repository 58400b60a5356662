// SPDX-License-Identifier: MIT
/* Pairs begin and end of marks, and gives each a lane that nothing else uses then. */
#include "marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

enum { MAX_OPEN = 1024 }; /* phases and kinds of frames that are searched for a beginning */

int marks_add(struct marks *marks, const struct perfctr_capture_record *record)
{
	struct perfctr_capture_mark mark;
	const char *name;
	char *copy;

	if (perfctr_capture_mark(record, &mark, &name))
		return 0;
	marks->lost += mark.lost;
	if (marks->count == MARKS_MOST) {
		marks->lost++;
		return 0;
	}
	if (marks->count == marks->room) {
		const size_t room = marks->room ? 2 * marks->room : 64;
		struct mark *all = realloc(marks->all, room * sizeof(*all));

		if (!all)
			return -ENOMEM;
		marks->all = all;
		marks->room = room;
	}
	copy = json_clean_line(name);
	if (!copy)
		return -ENOMEM;
	marks->all[marks->count++] = (struct mark){
		.start_ns = mark.time_ns,
		.end_ns = mark.time_ns,
		.name = copy,
		.pid = mark.pid,
		.tid = mark.tid,
		.kind = mark.kind,
		.lane = -1,
	};
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
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
	return a->pid != b->pid ? 1 : a->tid != b->tid ? 2 : 3;
}

/* The latest of the same thread, else of the same process, else of the capture. */
static size_t find_open(const struct marks *marks, const struct open_marks *open,
			const struct mark *mark)
{
	size_t found = open->count;
	int best = mark->level ? mark->level - 1 : 0;

	for (size_t n = open->count; n-- && best < 3;) {
		const struct mark *m = &marks->all[open->all[n]];
		const int likeness = likeness_of(m, mark);

		if (likeness > best && m->level == mark->level && !strcmp(m->name, mark->name)) {
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

	order = order ? order : ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
	return order ? order : ((*x)->tid > (*y)->tid) - ((*x)->tid < (*y)->tid);
}

/*
 * Frames of a name belong to one another within a thread that has several, else within such a
 * process, else within the capture. Return: 0 or -ENOMEM.
 */
static int set_levels(struct marks *marks)
{
	struct mark **frames = calloc(marks->count + 1, sizeof(*frames));
	size_t count = 0;

	if (!frames)
		return -ENOMEM;
	for (size_t n = 0; n < marks->count; n++)
		if (marks->all[n].kind == PERFCTR_MARK_FRAME)
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
		frames[n]->level = (int8_t)level;
	}
	free(frames);
	return 0;
}

/* Give beginnings their ends. @start_ns: not 0: what has no beginning there began then. */
static void match(struct marks *marks, uint64_t start_ns, uint64_t end_ns)
{
	struct open_marks phases = { .count = 0 }, frames = { .count = 0 };

	for (size_t n = 0; n < marks->count; n++) {
		struct mark *m = &marks->all[n];
		struct open_marks *open = m->kind == PERFCTR_MARK_FRAME ? &frames : &phases;
		size_t begin;

		if (m->kind == PERFCTR_MARK_POINT)
			continue;
		begin = m->kind == PERFCTR_MARK_BEGIN ? open->count : find_open(marks, open, m);
		if (begin < open->count) {
			marks->all[open->all[begin]].end_ns = m->start_ns;
			marks->all[open->all[begin]].open = false;
			remove_open(open, begin);
		} else if (m->kind == PERFCTR_MARK_END && start_ns && start_ns < m->end_ns) {
			m->kind = PERFCTR_MARK_BEGIN;
			m->start_ns = start_ns;
			continue;
		} else if (m->kind == PERFCTR_MARK_END) {
			marks->unmatched++;
		}
		if (m->kind == PERFCTR_MARK_END)
			continue;
		if (open->count == MAX_OPEN)
			remove_open(open, 0);
		m->open = m->kind == PERFCTR_MARK_BEGIN;
		if (m->open && m->start_ns < end_ns)
			m->end_ns = end_ns;
		open->all[open->count++] = n;
	}
}

/* Of what began before @start_ns, keep the rest. */
static void cut_before(struct marks *marks, uint64_t start_ns)
{
	for (struct mark *m = marks->all; m < marks->all + marks->count; m++)
		if (m->start_ns < start_ns)
			m->start_ns = m->end_ns < start_ns ? m->end_ns : start_ns;
}

/* The last mark of a kind of frames is only an end. */
static void drop_ends(struct marks *marks)
{
	size_t kept = 0;

	for (size_t n = 0; n < marks->count; n++) {
		struct mark *m = &marks->all[n];

		if (m->kind == PERFCTR_MARK_END ||
		    (m->kind == PERFCTR_MARK_FRAME && m->start_ns == m->end_ns))
			free(m->name);
		else
			marks->all[kept++] = *m;
	}
	marks->count = kept;
}

static void choose_lanes(struct marks *marks)
{
	uint64_t free_ns[MARKS_LANES] = { 0 };

	for (size_t n = 0; n < marks->count; n++) {
		struct mark *m = &marks->all[n];
		int lane = 0;

		while (lane < MARKS_LANES && free_ns[lane] > m->start_ns)
			lane++;
		if (lane == MARKS_LANES)
			continue;
		m->lane = (int8_t)lane;
		free_ns[lane] = m->end_ns;
		marks->lanes = lane >= marks->lanes ? lane + 1 : marks->lanes;
	}
}

int marks_finish(struct marks *marks, uint64_t start_ns, uint64_t end_ns)
{
	if (!marks->count)
		return 0;
	qsort(marks->all, marks->count, sizeof(*marks->all), by_time);
	if (set_levels(marks))
		return -ENOMEM;
	match(marks, start_ns, end_ns);
	cut_before(marks, start_ns);
	drop_ends(marks);
	qsort(marks->all, marks->count, sizeof(*marks->all), by_time);
	choose_lanes(marks);
	return 0;
}

const char *mark_kind(const struct mark *mark)
{
	return mark->kind == PERFCTR_MARK_POINT ? "point" :
	       mark->kind == PERFCTR_MARK_FRAME ? "frame" :
						  "phase";
}

int marks_color(const struct mark *mark)
{
	unsigned int hash = 0;

	for (const char *c = mark->name; *c; c++)
		hash = 31 * hash + (unsigned char)*c;
	return (int)(hash % INT16_MAX);
}

void mark_json(const struct mark *mark, struct json_object *o)
{
	json_add_text(o, "name", mark->name);
	json_add_text(o, "kind", mark_kind(mark));
	json_add_u64(o, "start_ns", mark->start_ns);
	json_add_known(o, "end_ns", !mark->open, mark->end_ns);
	json_add_u64(o, "pid", mark->pid);
	json_add_u64(o, "tid", mark->tid);
}

void marks_free(struct marks *marks)
{
	for (size_t n = 0; n < marks->count; n++)
		free(marks->all[n].name);
	free(marks->all);
	*marks = (struct marks){ 0 };
}
