// SPDX-License-Identifier: MIT
/* Streams on a file descriptor: text is made valid UTF-8, and the first error is kept. */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_STREAMS = 16, /* open at the same time */
	REPLACEMENT_BYTES = 3,
	LONGEST_CHARACTER = 4,
};

static const char replacement[REPLACEMENT_BYTES + 1] = "\xef\xbf\xbd";

struct stream {
	FILE *file;
	int fd;
	int error; /* of the first write that failed */
	bool owned, is_binary;
	/* the beginning of a character whose end was not written yet */
	unsigned char pending[LONGEST_CHARACTER];
	size_t pending_bytes;
};

/* those that are open, so that a FILE leads to its stream */
static struct stream *streams[MAX_STREAMS];

static struct stream *find(const FILE *file)
{
	for (size_t n = 0; n < MAX_STREAMS; n++)
		if (streams[n] && streams[n]->file == file)
			return streams[n];
	return NULL;
}

size_t stream_utf8_length(const unsigned char *text, size_t room)
{
	size_t length = *text < 0x80		      ? 1 :
			*text >= 0xc2 && *text < 0xe0 ? 2 :
			*text >= 0xe0 && *text < 0xf0 ? 3 :
			*text >= 0xf0 && *text < 0xf5 ? 4 :
							0;

	if (length > room)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, beyond U+10FFFF */
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return length;
}

/*
 * Whether a character shows nothing, but changes the order or the lines of others: U+061C, U+200B
 * to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF.
 */
static bool is_format(const unsigned char *text)
{
	if (text[0] == 0xd8)
		return text[1] == 0x9c;
	if (text[0] == 0xe2 && text[1] == 0x80)
		return (text[2] >= 0x8b && text[2] <= 0x8f) || (text[2] >= 0xa8 && text[2] <= 0xae);
	if (text[0] == 0xe2 && text[1] == 0x81)
		return text[2] >= 0xa0 && text[2] <= 0xaf;
	return text[0] == 0xef && text[1] == 0xbb && text[2] == 0xbf;
}

bool stream_is_control(const unsigned char *text, size_t length)
{
	if (length == 1)
		return (*text < ' ' && *text != '\n' && *text != '\t') || *text == 0x7f;
	return (length == 2 && text[0] == 0xc2 && text[1] < 0xa0) || is_format(text);
}

/* Whether any of eight bytes is a control character or no ASCII. */
static bool any_special(const unsigned char *text)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t bytes;

	memcpy(&bytes, text, sizeof(bytes));
	/* the highest bit of the first such byte is set: only others before it carry into it */
	return (bytes | (bytes + ones) | (bytes - ' ' * ones)) & 0x80 * ones;
}

size_t stream_plain_length(const unsigned char *text, size_t room)
{
	size_t length = 0;

	while (room - length >= sizeof(uint64_t) && !any_special(text + length))
		length += sizeof(uint64_t);
	while (length < room && text[length] >= ' ' && text[length] < 0x7f)
		length++;
	return length;
}

/* --- writing --------------------------------------------------------------------------- */

ssize_t stream_write_quietly(int fd, const void *bytes, size_t size)
{
	sigset_t pipe, before, pending;
	bool was_pending;
	ssize_t done;
	int error;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	done = write(fd, bytes, size);
	error = errno;
	/* also with a part that was written before the reader went */
	if (!was_pending)
		sigtimedwait(&pipe, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return done;
}

/* Return: whether all was written. */
static bool write_all(struct stream *s, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size && !s->error) {
		/* "perfctr list | head" ends by SIGPIPE */
		ssize_t done = s->owned ? stream_write_quietly(s->fd, at, size) :
					  write(s->fd, at, size);

		if (done > 0) {
			at += done;
			size -= (size_t)done;
		} else if (done < 0 && errno == EAGAIN) {
			/* another process made its terminal or pipe non-blocking */
			poll(&(struct pollfd){ .fd = s->fd, .events = POLLOUT }, 1, -1);
		} else if (!done || errno != EINTR) {
			s->error = done ? errno : EIO;
		}
	}
	return !s->error;
}

/* Whether bytes are the beginning of a character that more bytes may complete. */
static bool is_beginning(const unsigned char *text, size_t size)
{
	unsigned char whole[LONGEST_CHARACTER];

	if (size >= LONGEST_CHARACTER || *text < 0xc2)
		return false;
	/* the second byte of some characters has limits */
	for (int second = 0x80; second < 0xc0; second += 0x10) {
		memset(whole, second, sizeof(whole));
		memcpy(whole, text, size);
		if (stream_utf8_length(whole, sizeof(whole)) > size)
			return true;
	}
	return false;
}

/* Characters of the text that need no change. */
static size_t clean_bytes(const unsigned char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t length;

		/* others mostly follow each other, as those of a bar */
		if (text[at] < 0x80)
			at += stream_plain_length(text + at, size - at);
		if (at == size)
			break;
		length = stream_utf8_length(text + at, size - at);
		if (!length || stream_is_control(text + at, length))
			break;
		at += length;
	}
	return at;
}

static bool write_text(struct stream *s, const unsigned char *text, size_t size)
{
	while (size && !s->error) {
		size_t used = clean_bytes(text, size);

		write_all(s, text, used);
		text += used;
		size -= used;
		if (!size)
			break;
		used = stream_utf8_length(text, size);
		if (!used && is_beginning(text, size)) {
			memcpy(s->pending, text, size);
			s->pending_bytes = size;
			break;
		}
		write_all(s, used ? "?" : replacement, used ? 1 : REPLACEMENT_BYTES);
		used += !used;
		text += used;
		size -= used;
	}
	return !s->error;
}

/* Complete a character that an earlier write began. Return: bytes of the text that it took. */
static size_t write_pending(struct stream *s, const unsigned char *text, size_t size)
{
	unsigned char whole[LONGEST_CHARACTER];
	size_t had = s->pending_bytes, added = LONGEST_CHARACTER - had, length;

	added = added < size ? added : size;
	memcpy(whole, s->pending, had);
	memcpy(whole + had, text, added);
	length = stream_utf8_length(whole, had + added);
	if (!length && size && is_beginning(whole, had + added)) {
		memcpy(s->pending, whole, had + added);
		s->pending_bytes += added;
		return added;
	}
	s->pending_bytes = 0;
	if (length) {
		write_text(s, whole, length);
		return length - had;
	}
	for (size_t n = 0; n < had; n++)
		write_all(s, replacement, REPLACEMENT_BYTES);
	return 0;
}

/* For fopencookie(). Return: bytes that were taken, 0 for an error. */
static ssize_t put(void *cookie, const char *bytes, size_t size)
{
	const unsigned char *text = (const unsigned char *)bytes;
	struct stream *s = cookie;
	size_t used = s->pending_bytes ? write_pending(s, text, size) : 0;

	if (s->is_binary)
		write_all(s, text + used, size - used);
	else
		write_text(s, text + used, size - used);
	if (!s->error)
		return (ssize_t)size;
	errno = s->error;
	return 0;
}

static int end(void *cookie)
{
	struct stream *s = cookie;
	int error;

	if (s->pending_bytes)
		write_pending(s, (const unsigned char *)"", 0);
	error = s->error;
	/* NFS and quotas report a lack of room here */
	if (s->owned && close(s->fd) && !error)
		error = errno;
	for (size_t n = 0; n < MAX_STREAMS; n++)
		streams[n] = streams[n] == s ? NULL : streams[n];
	free(s);
	errno = error;
	return error ? -1 : 0;
}

/* --- streams --------------------------------------------------------------------------- */

FILE *stream_new(int fd, bool owned)
{
	struct stream **slot = streams, *s = NULL;

	while (slot < streams + MAX_STREAMS && *slot)
		slot++;
	if (slot < streams + MAX_STREAMS)
		s = calloc(1, sizeof(*s));
	if (!s) {
		errno = ENOMEM;
		return NULL;
	}
	s->fd = fd;
	s->owned = owned;
	s->file = fopencookie(s, "w", (cookie_io_functions_t){ .write = put, .close = end });
	if (!s->file) {
		free(s);
		return NULL;
	}
	if (fd == STDERR_FILENO || isatty(fd))
		setvbuf(s->file, NULL, _IOLBF, 0);
	*slot = s;
	return s->file;
}

void stream_is_binary(FILE *stream)
{
	struct stream *s = find(stream);

	fflush(stream);
	if (s)
		s->is_binary = true;
}

int stream_fd(FILE *stream)
{
	struct stream *s = find(stream);

	return s ? s->fd : fileno(stream);
}

int stream_flush(FILE *stream)
{
	struct stream *s = find(stream);
	int error = 0;

	errno = 0;
	/* of another stream, the errno of an earlier write is lost */
	if (fflush(stream) || ferror(stream) || (s && s->error))
		error = s && s->error ? s->error : errno ? errno : EIO;
	if (s && error) {
		/* a log goes on when there is room again */
		s->error = 0;
		clearerr(stream);
	}
	return -error;
}

void stream_fail(FILE *stream, int error)
{
	struct stream *s = find(stream);

	if (s && !s->error)
		s->error = error;
}

void stream_keep_standard(void)
{
	int fd;

	/* opened for the other direction, as the lowest free number */
	while ((fd = open("/dev/null", O_RDONLY)) >= 0 && fd <= STDERR_FILENO) {
		if (fd == STDIN_FILENO) {
			close(fd);
			if (open("/dev/null", O_WRONLY) != STDIN_FILENO)
				return;
		}
	}
	if (fd >= 0)
		close(fd);
}
