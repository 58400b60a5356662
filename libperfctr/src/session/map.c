// SPDX-License-Identifier: MIT
/* Mapping the ring of a session that came as a file. */
#include "link.h"

#include <string.h>

int session_map_ring(struct perfctr_ctx *ctx, int fd, const struct session_setup *setup,
		     struct mapping *control, struct mapping *ring)
{
	const struct perfctr_sys *sys = ctx->sys;
	const struct {
		const char *what;
		uint64_t offset, bytes;
		bool writable;
		struct mapping *mapping;
	} parts[] = {
		{ "control area", 0, setup->layout.ring_offset, true, control },
		{ "ring", setup->layout.ring_offset,
		  setup->layout.map_bytes - setup->layout.ring_offset, false, ring },
	};

	for (size_t n = 0; n < ARRAY_SIZE(parts); n++) {
		struct mapping *m = parts[n].mapping;
		int error;

		m->bytes = (size_t)parts[n].bytes;
		error = sys->mmap(sys->data, fd, parts[n].offset, m->bytes, parts[n].writable,
				  &m->address);
		if (!error)
			continue;
		m->address = NULL;
		return perfctr_fail(ctx, error, "cannot map the %s: %s", parts[n].what,
				    strerror(-error));
	}
	return 0;
}
