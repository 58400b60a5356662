// SPDX-License-Identifier: MIT
/*
 * Who may see the clients: users of this machine by the owner of their end of a connection, others
 * by their address. Root may inspect all processes anyway.
 */
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/number.h"
#include "exporter.h"

enum { ESTABLISHED = 1 };

/* an end of a connection, or a network: @bits of it count */
struct address {
	int family;
	unsigned int bits, port;
	unsigned char bytes[16];
};

/* "192.0.2.7", "2001:db8::/32" */
static bool read_address(const char *text, struct address *address)
{
	char name[INET6_ADDRSTRLEN];
	const size_t length = strcspn(text, "/");
	uint64_t bits;

	if (length >= sizeof(name))
		return false;
	memcpy(name, text, length);
	name[length] = '\0';
	*address = (struct address){ .family = strchr(name, ':') ? AF_INET6 : AF_INET };
	address->bits = address->family == AF_INET ? 32 : 128;
	if (text[length]) {
		if (number_parse_count(text + length + 1, &bits) || bits > address->bits)
			return false;
		address->bits = (unsigned int)bits;
	}
	return inet_pton(address->family, name, address->bytes) == 1;
}

static bool is_in(const struct address *address, const struct address *network)
{
	const unsigned int whole = network->bits / 8, rest = network->bits % 8;

	return address->family == network->family &&
	       !memcmp(address->bytes, network->bytes, whole) &&
	       (!rest || !((address->bytes[whole] ^ network->bytes[whole]) >> (8 - rest)));
}

static bool of_socket(int fd, int (*get)(int, struct sockaddr *, socklen_t *),
		      struct address *address)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} name = { 0 };
	socklen_t size = sizeof(name);

	if (get(fd, &name.any, &size))
		return false;
	*address = (struct address){ .family = name.any.sa_family };
	if (address->family == AF_INET) {
		memcpy(address->bytes, &name.v4.sin_addr, 4);
		address->port = ntohs(name.v4.sin_port);
	} else if (address->family == AF_INET6) {
		memcpy(address->bytes, &name.v6.sin6_addr, 16);
		address->port = ntohs(name.v6.sin6_port);
	}
	return address->family == AF_INET || address->family == AF_INET6;
}

/* Ask the kernel for one connection of this network namespace. Return: whether there is one. */
static bool ask(const struct address *peer, const struct address *own, struct inet_diag_msg *answer)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 request;
	} question = {
		.head = { .nlmsg_len = sizeof(question),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.request = { .sdiag_family = (uint8_t)own->family,
			     .sdiag_protocol = IPPROTO_TCP,
			     .idiag_states = UINT32_MAX,
			     .id = { .idiag_sport = htons((uint16_t)peer->port),
				     .idiag_dport = htons((uint16_t)own->port),
				     .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg body;
		char attributes[1024];
	} reply = { 0 };
	const int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t size = -1;

	if (fd < 0)
		return false;
	memcpy(question.request.id.idiag_src, peer->bytes, sizeof(peer->bytes));
	memcpy(question.request.id.idiag_dst, own->bytes, sizeof(own->bytes));
	/* the answer is there when send() returns */
	if (send(fd, &question, sizeof(question), 0) == sizeof(question))
		size = recv(fd, &reply, sizeof(reply), MSG_DONTWAIT);
	close(fd);
	*answer = reply.body;
	return size >= (ssize_t)offsetof(__typeof__(reply), attributes) &&
	       reply.head.nlmsg_type == SOCK_DIAG_BY_FAMILY;
}

/*
 * The user at the other end of a connection inside this machine. The kernel finds it by its
 * addresses: how many other sockets there are, also of hostile users, makes no difference. An end
 * that was closed has no owner, and is listed as root's.
 */
static bool find_user(const struct address *peer, const struct address *own, uid_t *uid)
{
	struct inet_diag_msg answer;

	if (!ask(peer, own, &answer) || answer.idiag_state != ESTABLISHED || !answer.idiag_inode)
		return false;
	*uid = answer.idiag_uid;
	return true;
}

int viewers_check(const struct exporter *e)
{
	struct address address;

	for (size_t n = 0; n < e->viewers.count; n++)
		if (!read_address(e->viewers.words[n], &address) && !getpwnam(e->viewers.words[n]))
			return app_usage(e->app,
					 "--show-clients-to %s: neither a user of this machine nor "
					 "an ADDRESS or ADDRESS/BITS",
					 e->viewers.words[n]);
	return 0;
}

bool viewers_include(const struct exporter *e, int fd)
{
	struct address peer, own, network;
	uid_t uid;
	bool is_user;

	if (!of_socket(fd, getpeername, &peer) || !of_socket(fd, getsockname, &own))
		return false;
	is_user = find_user(&peer, &own, &uid);
	if (is_user && (!uid || uid == geteuid()))
		return true;
	for (size_t n = 0; n < e->viewers.count; n++) {
		const struct passwd *user;

		if (read_address(e->viewers.words[n], &network)) {
			if (is_in(&peer, &network))
				return true;
			continue;
		}
		user = is_user ? getpwnam(e->viewers.words[n]) : NULL;
		if (user && user->pw_uid == uid)
			return true;
	}
	return false;
}
