/* SPDX-License-Identifier: MIT */
/* Files that gzip or zstd compressed. Used by the commands and by the Python module. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* what is known of a file that was unpacked */
struct unpacked {
	bool is_quiet; /* set by the caller: gzip prints nothing */
	uint64_t cut_bytes; /* of zstd, after the last whole frame of several */
	const char *damage; /* where zstd gave up, which ends the file; a constant text, or NULL */
	char error[128]; /* why nothing could be unpacked, without the name of the file */
};

/*
 * Go on with an unnamed file that has what gzip or zstd compressed. Of zstd it has the frames that
 * are whole, or of a first one what can be read.
 * @fd: the file, at its beginning; closed and replaced if it was compressed
 * @u: zeroed, but for is_quiet
 * Return: 0, also if it is not compressed; a negative errno with @u->error, and @fd is as before.
 */
int unpack(int *fd, struct unpacked *u);

/*
 * The first bytes of what gzip or zstd compressed.
 * @size: bytes at @bytes
 * Return: how many there are, at most @size; -1 the file is not compressed.
 */
ssize_t unpack_peek(int fd, char *bytes, size_t size);
