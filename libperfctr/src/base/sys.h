/* SPDX-License-Identifier: MIT */
/*
 * Indirection for all system calls, so that tests run without a device.
 *
 * All functions return a negative errno on failure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef int (*sys_list_fn)(void *arg, const char *name);

enum { SYS_MAX_POLLED = 16 };

struct perfctr_sys {
	void *data;
	int (*open)(void *data, const char *path, int flags);
	int (*close)(void *data, int fd);
	/* duplicate, with close-on-exec */
	int (*dup)(void *data, int fd);
	/* reads return -EAGAIN rather than wait */
	int (*nonblock)(void *data, int fd);
	ssize_t (*read)(void *data, int fd, void *bytes, size_t size);
	ssize_t (*write)(void *data, int fd, const void *bytes, size_t size);
	/* restarted when interrupted, as DRM ioctls require */
	int (*ioctl)(void *data, int fd, unsigned long request, void *argument);
	int (*mmap)(void *data, int fd, uint64_t offset, size_t size, bool writable,
		    void **address);
	int (*munmap)(void *data, void *address, size_t size);
	/* non-blocking, close-on-exec */
	int (*eventfd)(void *data);
	/*
	 * wait for one of some files, negative ones are left out; negative timeout: no limit
	 * Return: 1 one is readable, 0 timeout
	 */
	int (*poll)(void *data, const int *fds, size_t count, int64_t timeout_ns);
	/* target of a symbolic link, cut to the size, with a NUL; return: length */
	int (*readlink)(void *data, const char *path, char *text, size_t size);
	/* whether a file of sysfs, open and read once, was removed meanwhile */
	bool (*is_removed)(void *data, int fd);
	/* numbers of a device node, also behind links; -ENODEV: the file is none */
	int (*node_number)(void *data, const char *path, unsigned int *major, unsigned int *minor);
	/* close-on-exec; @attr: struct perf_event_attr; @flags: PERF_FLAG_PID_CGROUP or 0 */
	int (*perf_event_open)(void *data, const void *attr, pid_t pid, int cpu, int group_fd,
			       unsigned long flags);
	/* memory of a fixed @size in bytes, close-on-exec */
	int (*memfd)(void *data, const char *name, size_t size);
	/* connect to a Unix socket of type SOCK_SEQPACKET, close-on-exec */
	int (*connect)(void *data, const char *path);
	/* a whole message; never raises SIGPIPE */
	int (*send)(void *data, int fd, const void *bytes, size_t size);
	/*
	 * Receive a whole message and its file descriptors, which the caller owns, close-on-exec.
	 * *file_count: in: capacity, out: number. Return: bytes, 0 at the end of the connection;
	 * -EMSGSIZE the message or its files need more space.
	 */
	ssize_t (*receive)(void *data, int fd, void *bytes, size_t size, int *files,
			   size_t *file_count);
	/* a function of a shared library, which stays loaded; NULL: one of them does not exist */
	void *(*symbol)(void *data, const char *library, const char *name);
	/* call fn for each name in a folder, in byte order; an error of fn ends the walk */
	int (*list)(void *data, const char *path, sys_list_fn fn, void *arg);
};

extern const struct perfctr_sys perfctr_sys_real;

/*
 * Read a whole small text file, without the line feed at its end.
 * Return: length, at most size - 1; -EFBIG if it is longer.
 */
int perfctr_sys_read_text(const struct perfctr_sys *sys, const char *path, char *text, size_t size);

/* longest text of perfctr_sys_read_all(): a list of all CPUs of the largest machine is far below */
enum { SYS_MAX_TEXT_BYTES = 1 << 20 };

/*
 * Read a whole text file of any sane length, without the line feed at its end.
 * @text: set to the text, which the caller frees; NULL after a failure.
 * Return: length; -EFBIG if it is longer than SYS_MAX_TEXT_BYTES; another negative errno.
 */
int perfctr_sys_read_all(const struct perfctr_sys *sys, const char *path, char **text);
