// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "minigt.h"
#include "igt_sys.h"

void igt_drop_to(unsigned int uid, uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = capabilities, .permitted = capabilities },
		{ .effective = capabilities >> 32, .permitted = capabilities >> 32 },
	};

	igt_assert_eq(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0), 0);
	igt_assert_eq(setgroups(0, NULL), 0);
	igt_assert_eq(setresgid(uid, uid, uid), 0);
	igt_assert_eq(setresuid(uid, uid, uid), 0);
	igt_assert_eq(syscall(SYS_capset, &header, data), 0);
}

/* a message of one byte and one descriptor */
static struct msghdr *fd_message(void)
{
	static union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	static char byte;
	static struct iovec io = { .iov_base = &byte, .iov_len = 1 };
	static struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = &u };

	message.msg_controllen = sizeof(u);
	return &message;
}

void igt_send_fd(int socket, int fd)
{
	struct msghdr *message = fd_message();
	struct cmsghdr *c = CMSG_FIRSTHDR(message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	igt_assert_eq(sendmsg(socket, message, 0), 1);
}

int igt_receive_fd(int socket)
{
	struct msghdr *message = fd_message();
	int fd;

	igt_assert_eq(recvmsg(socket, message, MSG_CMSG_CLOEXEC), 1);
	igt_assert(CMSG_FIRSTHDR(message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(message)), sizeof(fd));
	return fd;
}

void igt_perfctr_session_send(int socket, const struct igt_perfctr_session *s)
{
	igt_assert_eq(send(socket, s, sizeof(*s), 0), (ssize_t)sizeof(*s));
	igt_send_fd(socket, s->dev->fd);
	igt_send_fd(socket, s->fd);
}

void igt_perfctr_session_receive(int socket, struct igt_perfctr_session *s,
				 struct igt_perfctr_device *dev)
{
	igt_assert_eq(recv(socket, s, sizeof(*s), MSG_WAITALL), (ssize_t)sizeof(*s));
	dev->fd = igt_receive_fd(socket);
	s->dev = dev;
	s->fd = igt_receive_fd(socket);
	s->control = NULL;
	s->ring = NULL;
}

void igt_perfctr_open_as(unsigned int uid, struct igt_perfctr_session *s)
{
	igt_assert_eq(setresuid(uid, uid, 0), 0);
	igt_perfctr_session_open(s);
	igt_assert_eq(setresuid(0, 0, 0), 0);
}

void igt_perfctr_open_as_nobody(struct igt_perfctr_session *s)
{
	igt_perfctr_open_as(IGT_NOBODY, s);
}

void igt_perfctr_sysctl(const char *name, const char *value)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/dev/perfctr/%s", name);
	igt_restore_at_exit(path);
	fd = open(path, O_WRONLY);
	igt_assert(fd >= 0);
	igt_assert_eq(write(fd, value, strlen(value)), (int)strlen(value));
	close(fd);
}

void igt_perfctr_default_limits(void)
{
	igt_perfctr_sysctl("max_user_ring_kb", "266240");
}
