// SPDX-License-Identifier: MIT
/*
 * A library for LD_PRELOAD: files that cannot be written, as on a full disk or over a quota, and
 * memory that is not there.
 *
 * FAULT_FOLDER: files in it (also without a name), or "stdout"; FAULT_CALL: write, fsync or close;
 * FAULT_ERRNO: a number; FAULT_BYTES: write() takes that many in all, with a part of the last.
 *
 * FAULT_MEMORY: the number of the call of malloc(), calloc() or realloc() that fails, from 1; only
 * this one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static size_t taken;

static bool is_faulty(int fd, const char *call)
{
	const char *folder = getenv("FAULT_FOLDER"), *wanted = getenv("FAULT_CALL");
	char link[64], path[4096];
	ssize_t length;

	if (!folder || !wanted || strcmp(wanted, call) != 0)
		return false;
	if (!strcmp(folder, "stdout"))
		return fd == STDOUT_FILENO;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return false;
	path[length] = '\0';
	return !strncmp(path, folder, strlen(folder)) && path[strlen(folder)] == '/';
}

static int fail(void)
{
	errno = atoi(getenv("FAULT_ERRNO"));
	return -1;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	const char *text = getenv("FAULT_BYTES");
	size_t most = text ? strtoul(text, NULL, 10) : 0;

	if (is_faulty(fd, "write")) {
		if (taken >= most)
			return fail();
		size = size < most - taken ? size : most - taken;
		taken += size;
	}
	return REAL(write)(fd, bytes, size);
}

int fsync(int fd)
{
	return is_faulty(fd, "fsync") ? fail() : REAL(fsync)(fd);
}

int close(int fd)
{
	bool faulty = is_faulty(fd, "close");
	int result = REAL(close)(fd);

	return faulty ? fail() : result;
}

/* glibc's own, as dlsym() allocates */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

static bool is_without_memory(void)
{
	static unsigned long calls, wanted = ULONG_MAX;
	const char *text;

	if (wanted == ULONG_MAX) {
		text = getenv("FAULT_MEMORY");
		wanted = text ? strtoul(text, NULL, 10) : 0;
	}
	if (++calls != wanted)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return is_without_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return is_without_memory() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return is_without_memory() ? NULL : __libc_realloc(memory, size);
}
