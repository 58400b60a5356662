/* SPDX-License-Identifier: MIT */
/* A capture that zstd compresses: a frame, readable by itself, for each flush of its writer. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* levels of zstd that need no memory beyond a frame's */
enum { PACK_LEVEL = 3, PACK_LEVEL_MOST = 19 };

struct pack;

/* @fd: file, pipe or socket, stays the caller's. Return: 0 or -ENOMEM. */
int pack_new(int fd, int level, struct pack **pack);

/*
 * Write a frame, for perfctr_capture_writer_new_to(). What was taken is in the file as a whole; of
 * a frame that could not be written the rest is written by the next call.
 * @pack: of pack_new(). Return: @size of the call that began the frame; a negative errno.
 */
ssize_t pack_write(void *pack, const void *bytes, size_t size);

/* Bytes that reached the file. */
uint64_t pack_bytes(const struct pack *pack);

/* @pack: may be NULL. */
void pack_free(struct pack *pack);
