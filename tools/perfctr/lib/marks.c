// SPDX-License-Identifier: MIT
/* Gives each mark a name that can be shown, and a lane that nothing else uses then. */
#include "marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

/* Return: 0 or -ENOMEM. */
static int take(struct marks *marks, const struct perfctr_marks *from)
{
	marks->all = calloc(perfctr_marks_count(from) + 1, sizeof(*marks->all));
	for (size_t n = 0; marks->all && n < perfctr_marks_count(from); n++) {
		const struct perfctr_marked *m = perfctr_marks_get(from, n);
		char *name = json_clean_line(m->name);

		if (!name)
			return -ENOMEM;
		marks->all[marks->count++] = (struct mark){
			.start_ns = m->start_ns,
			.end_ns = m->end_ns,
			.name = name,
			.pid = m->pid,
			.tid = m->tid,
			.kind = m->kind,
			.lane = -1,
			.open = m->is_open,
		};
	}
	return marks->all ? 0 : -ENOMEM;
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

int marks_take(struct marks *marks, struct perfctr_marks *from,
	       const struct perfctr_capture_reader *reader)
{
	int error = perfctr_marks_finish(from, reader);

	if (!error)
		error = take(marks, from);
	if (error)
		return error;
	marks->lost = perfctr_marks_lost(from);
	marks->unmatched = perfctr_marks_unmatched(from);
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
