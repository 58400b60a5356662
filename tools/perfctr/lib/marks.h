/* SPDX-License-Identifier: MIT */
/* Marks of a capture as points and spans of time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <perfctr/capture.h>

struct json_object;

/* in pictures spans that overlap are in different lanes; further ones are not drawn */
enum { MARKS_LANES = 8, MARKS_MOST = 1000000 /* marks of a capture */ };

/* a point, a frame, or a phase */
struct mark {
	uint64_t start_ns; /* on the clock of samples */
	uint64_t end_ns; /* of a point: the same */
	char *name;
	uint32_t pid, tid;
	uint8_t kind; /* PERFCTR_MARK_POINT, _FRAME, or _BEGIN for a phase */
	int8_t level; /* of frames: 3 of a thread, 2 of a process, 1 of the capture */
	int8_t lane; /* 0 .. MARKS_LANES - 1, or -1 */
	bool open; /* a phase without an end; @end_ns is that of the capture */
};

struct marks {
	struct mark *all; /* by time once they are finished */
	size_t count;
	size_t room;
	uint64_t lost; /* marks that the recorder did not get, or beyond MARKS_MOST */
	uint64_t unmatched; /* ends of phases that had not begun */
	int lanes; /* in use */
};

/* Add a record of type PERFCTR_CAPTURE_MARK. Return: 0 or -ENOMEM. */
int marks_add(struct marks *marks, const struct perfctr_capture_record *record);

/*
 * Make spans of frames and phases, once all marks are there. A phase without an end reaches to
 * @end_ns; one without a beginning began at @start_ns, if that is not 0, and nothing before.
 * Return: 0 or -ENOMEM.
 */
int marks_finish(struct marks *marks, uint64_t start_ns, uint64_t end_ns);

/* "point", "frame" or "phase" */
const char *mark_kind(const struct mark *mark);

/* The same number for marks of a name. */
int marks_color(const struct mark *mark);

/* Members of the mark. */
void mark_json(const struct mark *mark, struct json_object *o);

void marks_free(struct marks *marks);
