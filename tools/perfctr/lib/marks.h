/* SPDX-License-Identifier: MIT */
/* Marks of a capture as points and spans of time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <perfctr/capture.h>

struct json_object;

/* in pictures spans that overlap are in different lanes; further ones are not drawn */
enum { MARKS_LANES = 8, MARKS_MOST = 1000000 /* marks of a recording */ };

/* a point, a frame, or a phase */
struct mark {
	uint64_t start_ns; /* on the clock of samples */
	uint64_t end_ns; /* of a point: the same */
	char *name;
	uint32_t pid, tid;
	uint8_t kind; /* PERFCTR_MARK_POINT, _FRAME, or _BEGIN for a phase */
	int8_t lane; /* 0 .. MARKS_LANES - 1, or -1 */
	bool open; /* a phase without an end; @end_ns is that of the capture */
};

struct marks {
	struct mark *all; /* by time */
	size_t count;
	uint64_t lost; /* marks that the recorder did not get, or that are too many for a reader */
	uint64_t unmatched; /* ends of phases that had not begun */
	int lanes; /* in use */
};

/*
 * Make spans of the marks of a file.
 * @marks: zeroed; marks_free() it, also after an error
 * @from: all of the file, unfinished; @reader: at its end, see perfctr_marks_finish()
 * Return: 0 or -ENOMEM.
 */
int marks_take(struct marks *marks, struct perfctr_marks *from,
	       const struct perfctr_capture_reader *reader);

/* "point", "frame" or "phase" */
const char *mark_kind(const struct mark *mark);

/* The same number for marks of a name. */
int marks_color(const struct mark *mark);

/* Members of the mark. */
void mark_json(const struct mark *mark, struct json_object *o);

void marks_free(struct marks *marks);
