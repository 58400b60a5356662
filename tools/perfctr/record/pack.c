// SPDX-License-Identifier: MIT
/* Writes frames of zstd. Readers of a file that ends within a frame have all frames before. */
#include "pack.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

struct pack {
	int fd;
	ZSTD_CCtx *zstd;
	/* the frame that is being written, and how many bytes of the capture it has */
	unsigned char *frame;
	size_t room, size, done, source;
	uint64_t bytes;
};

int pack_new(int fd, int level, struct pack **pack)
{
	struct pack *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->fd = fd;
	p->zstd = ZSTD_createCCtx();
	if (!p->zstd) {
		free(p);
		return -ENOMEM;
	}
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
	*pack = p;
	return 0;
}

/* Return: 0 or -ENOMEM. */
static int begin_frame(struct pack *p, const void *bytes, size_t size)
{
	const size_t room = ZSTD_compressBound(size);
	size_t packed;

	if (room > p->room) {
		unsigned char *frame = realloc(p->frame, room);

		if (!frame)
			return -ENOMEM;
		p->frame = frame;
		p->room = room;
	}
	packed = ZSTD_compress2(p->zstd, p->frame, p->room, bytes, size);
	/* there is room: nothing but memory can be missing */
	if (ZSTD_isError(packed))
		return -ENOMEM;
	p->size = packed;
	p->done = 0;
	p->source = size;
	return 0;
}

ssize_t pack_write(void *pack, const void *bytes, size_t size)
{
	struct pack *p = pack;
	int error = p->done < p->size ? 0 : begin_frame(p, bytes, size);

	while (!error && p->done < p->size) {
		ssize_t done = write(p->fd, p->frame + p->done, p->size - p->done);

		if (done > 0) {
			p->done += (size_t)done;
			p->bytes += (uint64_t)done;
		} else if (!done || errno != EINTR) {
			error = done ? -errno : -EIO;
		}
	}
	return error ? error : (ssize_t)p->source;
}

uint64_t pack_bytes(const struct pack *pack)
{
	return pack->bytes;
}

void pack_free(struct pack *pack)
{
	if (!pack)
		return;
	ZSTD_freeCCtx(pack->zstd);
	free(pack->frame);
	free(pack);
}
