/* SPDX-License-Identifier: MIT */
/*
 * Streams of everything that is written: results, messages and logs.
 *
 * A stream of text is UTF-8 without control characters, whatever the text is made of: a process's
 * name is any 15 bytes. A stream remembers the error that ended it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * A stream that writes text. Bytes that are no UTF-8 become U+FFFD, control characters but line
 * feed and tab become '?'. A descriptor of a terminal is written line by line.
 * @fd: descriptor; @owned: fclose() closes it.
 * Return: the stream; NULL with errno: @fd is still the caller's.
 */
FILE *stream_new(int fd, bool owned);

/* Write bytes as they are from now on. */
void stream_is_binary(FILE *stream);

/* The descriptor of any stream, -1 if it has none. */
int stream_fd(FILE *stream);

/*
 * Flush, and take the stream's error: that of the first write that failed. Until then nothing more
 * is written, afterwards it is tried again.
 * Return: 0 or -errno.
 */
int stream_flush(FILE *stream);

/* End the stream with an error, as of a write that failed. Another stream than these stays. */
void stream_fail(FILE *stream, int error);

/* write(2) to what may be a pipe without a reader: EPIPE instead of SIGPIPE. */
ssize_t stream_write_quietly(int fd, const void *bytes, size_t size);

/* Give descriptors 0 to 2 that are closed to nobody else: writing to them fails with EBADF. */
void stream_keep_standard(void);

/* Bytes of the UTF-8 sequence at @text, of at most @room bytes; 0: there is none. */
size_t stream_utf8_length(const unsigned char *text, size_t room);

/* Bytes at the beginning that are printable ASCII, which need no change anywhere. */
size_t stream_plain_length(const unsigned char *text, size_t room);

/*
 * Whether the character of so many bytes controls a terminal, C0 but line feed and tab, C1, DEL, or
 * the order of others: bidirectional controls, and those that show nothing.
 */
bool stream_is_control(const unsigned char *text, size_t length);
