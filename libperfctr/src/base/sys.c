// SPDX-License-Identifier: MIT
/* The system calls. */
#include "sys.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	NS_PER_S = 1000000000,
	MAX_FILES = 8, /* more than any of our messages has */
};

static int real_open(void *data, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int real_close(void *data, int fd)
{
	return close(fd) ? -errno : 0;
}

static int real_dup(void *data, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}

static int real_nonblock(void *data, int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

static ssize_t real_read(void *data, int fd, void *bytes, size_t size)
{
	ssize_t done = TEMP_FAILURE_RETRY(read(fd, bytes, size));

	return done < 0 ? -errno : done;
}

static ssize_t real_write(void *data, int fd, const void *bytes, size_t size)
{
	ssize_t done = TEMP_FAILURE_RETRY(write(fd, bytes, size));

	return done < 0 ? -errno : done;
}

static int real_ioctl(void *data, int fd, unsigned long request, void *argument)
{
	int result;

	do {
		result = ioctl(fd, request, argument);
	} while (result < 0 && (errno == EINTR || errno == EAGAIN));
	return result < 0 ? -errno : result;
}

static int real_mmap(void *data, int fd, uint64_t offset, size_t size, bool writable,
		     void **address)
{
	int prot = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *p = mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)offset);

	if (p == MAP_FAILED)
		return -errno;
	*address = p;
	return 0;
}

static int real_munmap(void *data, void *address, size_t size)
{
	return munmap(address, size) ? -errno : 0;
}

static int real_eventfd(void *data)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

static int real_poll(void *data, const int *fds, size_t count, int64_t timeout_ns)
{
	struct pollfd p[SYS_MAX_POLLED];
	struct timespec limit = {
		.tv_sec = timeout_ns / NS_PER_S,
		.tv_nsec = timeout_ns % NS_PER_S,
	};
	int result;

	if (count > SYS_MAX_POLLED)
		return -EINVAL;
	for (size_t n = 0; n < count; n++)
		p[n] = (struct pollfd){ .fd = fds[n], .events = POLLIN };
	result = ppoll(p, count, timeout_ns < 0 ? NULL : &limit, NULL);
	for (size_t n = 0; result > 0 && n < count; n++)
		if (p[n].revents & POLLNVAL)
			return -EBADF;
	return result < 0 ? -errno : result > 0;
}

static int real_readlink(void *data, const char *path, char *text, size_t size)
{
	ssize_t length = readlink(path, text, size - 1);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	return (int)length;
}

/* kernfs: a file that nobody notifies of has these events when it is removed */
static bool real_is_removed(void *data, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLPRI };

	return poll(&p, 1, 0) > 0;
}

static int real_node_number(void *data, const char *path, unsigned int *major_number,
			    unsigned int *minor_number)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISCHR(st.st_mode))
		return -ENODEV;
	*major_number = major(st.st_rdev);
	*minor_number = minor(st.st_rdev);
	return 0;
}

static int real_perf_event_open(void *data, const void *attr, pid_t pid, int cpu, int group_fd,
				unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
			  flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int real_memfd(void *data, const char *name, size_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)size) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int real_connect(void *data, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	int fd, error;

	if (length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int real_send(void *data, int fd, const void *bytes, size_t size)
{
	ssize_t done;

	done = TEMP_FAILURE_RETRY(send(fd, bytes, size, MSG_NOSIGNAL));
	if (done < 0)
		return -errno;
	return (size_t)done == size ? 0 : -EMSGSIZE;
}

static ssize_t real_receive(void *data, int fd, void *bytes, size_t size, int *files,
			    size_t *file_count)
{
	union {
		char bytes[CMSG_SPACE(MAX_FILES * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec io = { .iov_base = bytes, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	size_t room = *file_count, count = 0, n;
	int all[MAX_FILES];
	ssize_t done;

	*file_count = 0;
	done = TEMP_FAILURE_RETRY(recvmsg(fd, &message, MSG_CMSG_CLOEXEC));
	if (done < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    here > MAX_FILES - count)
			continue;
		memcpy(all + count, CMSG_DATA(c), here * sizeof(int));
		count += here;
	}
	if (count > room || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (n = 0; n < count; n++)
			close(all[n]);
		return -EMSGSIZE;
	}
	if (count)
		memcpy(files, all, count * sizeof(int));
	*file_count = count;
	return done;
}

static int real_list(void *data, const char *path, sys_list_fn fn, void *arg)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, alphasort);
	int result = 0;

	if (count < 0)
		return -errno;

	for (int n = 0; n < count; n++) {
		const char *name = entries[n]->d_name;

		if (!result && strcmp(name, ".") && strcmp(name, ".."))
			result = fn(arg, name);
		free(entries[n]);
	}
	free(entries);
	return result;
}

static void *real_symbol(void *data, const char *library, const char *name)
{
	/* a library that started threads must not go */
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	void *symbol = handle ? dlsym(handle, name) : NULL;

	if (handle)
		dlclose(handle);
	return symbol;
}

const struct perfctr_sys perfctr_sys_real = {
	.open = real_open,
	.close = real_close,
	.dup = real_dup,
	.nonblock = real_nonblock,
	.read = real_read,
	.write = real_write,
	.ioctl = real_ioctl,
	.mmap = real_mmap,
	.munmap = real_munmap,
	.eventfd = real_eventfd,
	.poll = real_poll,
	.readlink = real_readlink,
	.is_removed = real_is_removed,
	.node_number = real_node_number,
	.perf_event_open = real_perf_event_open,
	.memfd = real_memfd,
	.connect = real_connect,
	.send = real_send,
	.receive = real_receive,
	.symbol = real_symbol,
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

int perfctr_sys_read_all(const struct perfctr_sys *sys, const char *path, char **text)
{
	/* a page, as most files in sysfs */
	size_t size = 4096;
	int length;

	*text = NULL;
	do {
		char *more = realloc(*text, size);

		if (!more) {
			length = -ENOMEM;
			break;
		}
		*text = more;
		length = perfctr_sys_read_text(sys, path, *text, size);
		size *= 4;
	} while (length == -EFBIG && size <= SYS_MAX_TEXT_BYTES);
	if (length >= 0)
		return length;
	free(*text);
	*text = NULL;
	return length;
}
