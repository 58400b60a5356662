// SPDX-License-Identifier: MIT
/* Mapping the ring of a session that came as a file. */
#include "link.h"

#include <string.h>

int session_map_ring(struct perfctr_ctx *ctx, const struct session_setup *setup,
		     struct mapping *control, struct mapping *ring)
{
	const struct perfctr_sys *sys = ctx->sys;
	const struct {
		const char *what;
		uint64_t offset, bytes;
		bool writable;
		struct mapping *mapping;
	} parts[] = {
		{ "control area", 0, setup->ring_offset, true, control },
		{ "ring", setup->ring_offset, setup->ring_bytes, false, ring },
	};

	for (size_t n = 0; n < ARRAY_SIZE(parts); n++) {
		struct mapping *m = parts[n].mapping;
		int error;

		m->bytes = (size_t)parts[n].bytes;
		error = sys->mmap(sys->data, setup->ring_fd, parts[n].offset, m->bytes,
				  parts[n].writable, &m->address);
		if (!error)
			continue;
		m->address = NULL;
		return perfctr_fail(ctx, error, "cannot map the %s: %s", parts[n].what,
				    strerror(-error));
	}
	return 0;
}
