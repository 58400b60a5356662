/* SPDX-License-Identifier: MIT */
/* The bytes of a capture file, see <perfctr/capture.h>. */
#ifndef PERFCTR_CAPTURE_FORMAT_H
#define PERFCTR_CAPTURE_FORMAT_H

#include <endian.h>
#include <perfctr/capture.h>

#include "private.h"

#define CAPTURE_MAGIC "perfctr\n"

enum {
	CAPTURE_VERSION = 1,
	CAPTURE_HEADER_BYTES = 16,
	CAPTURE_RECORD_HEADER_BYTES = 8,
	CAPTURE_ALIGN = 8,
};

struct capture_record_header {
	uint32_t size;
	uint32_t type;
};

_Static_assert(sizeof(struct capture_record_header) == CAPTURE_RECORD_HEADER_BYTES, "record");
_Static_assert(sizeof(CAPTURE_MAGIC) - 1 == sizeof(uint64_t), "magic");

#endif /* PERFCTR_CAPTURE_FORMAT_H */
