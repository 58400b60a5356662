// SPDX-License-Identifier: MIT
/* The system calls themselves. */
#include "sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

static int real_open(void *data, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	(void)data;
	return fd < 0 ? -errno : fd;
}

static int real_close(void *data, int fd)
{
	(void)data;
	return close(fd) ? -errno : 0;
}

static int real_dup(void *data, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	(void)data;
	return copy < 0 ? -errno : copy;
}

static ssize_t real_read(void *data, int fd, void *bytes, size_t size)
{
	ssize_t done;

	(void)data;
	do {
		done = read(fd, bytes, size);
	} while (done < 0 && errno == EINTR);
	return done < 0 ? -errno : done;
}

static ssize_t real_write(void *data, int fd, const void *bytes, size_t size)
{
	ssize_t done;

	(void)data;
	do {
		done = write(fd, bytes, size);
	} while (done < 0 && errno == EINTR);
	return done < 0 ? -errno : done;
}

static int real_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	int result;

	(void)data;
	do {
		result = ioctl(fd, request, argument);
	} while (result < 0 && (errno == EINTR || errno == EAGAIN));
	return result < 0 ? -errno : result;
}

static int real_mmap(void *data, int fd, uint64_t offset, size_t size, void **address)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	(void)data;
	if (p == MAP_FAILED)
		return -errno;
	*address = p;
	return 0;
}

static int real_munmap(void *data, void *address, size_t size)
{
	(void)data;
	return munmap(address, size) ? -errno : 0;
}

static int real_eventfd(void *data)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	(void)data;
	return fd < 0 ? -errno : fd;
}

static int real_poll(void *data, int fd, int64_t timeout_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec limit = {
		.tv_sec = timeout_ns / NS_PER_S,
		.tv_nsec = timeout_ns % NS_PER_S,
	};
	int result = ppoll(&p, 1, timeout_ns < 0 ? NULL : &limit, NULL);

	(void)data;
	return result < 0 ? -errno : result;
}

static int real_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);
	int result = 0;
	int n;

	(void)data;
	if (count < 0)
		return -errno;

	for (n = 0; n < count; n++) {
		const char *name = entries[n]->d_name;

		if (!result && strcmp(name, ".") && strcmp(name, ".."))
			result = fn(arg, name);
		free(entries[n]);
	}
	free(entries);
	return result;
}

const struct perfctr_sys perfctr_sys_real = {
	.open = real_open,
	.close = real_close,
	.dup = real_dup,
	.read = real_read,
	.write = real_write,
	.ioctl = real_ioctl,
	.mmap = real_mmap,
	.munmap = real_munmap,
	.eventfd = real_eventfd,
	.poll = real_poll,
	.list = real_list,
};

int perfctr_sys_read_text(const struct perfctr_sys *sys, const char *path, char *text, size_t size)
{
	size_t length = 0;
	ssize_t done;
	int fd = sys->open(sys->data, path, O_RDONLY);

	if (fd < 0)
		return fd;

	do {
		done = sys->read(sys->data, fd, text + length, size - length);
		if (done > 0)
			length += (size_t)done;
	} while (done > 0 && length < size);
	sys->close(sys->data, fd);
	if (done < 0)
		return (int)done;
	if (length == size)
		return -EFBIG;

	while (length && text[length - 1] == '\n')
		length--;
	text[length] = '\0';
	return (int)length;
}
