// SPDX-License-Identifier: MIT
/*
 * Who may see the clients: users of this machine by the owner of their end of a connection, others
 * by their address. Root may inspect all processes anyway.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <pwd.h>
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

/* As the kernel writes it in /proc/net/tcp: words in the byte order of the machine. */
static int print(const struct address *address, char *text, size_t size)
{
	size_t at = 0;

	for (size_t n = 0; n < (address->family == AF_INET ? 4 : 16); n += 4) {
		uint32_t word;

		memcpy(&word, address->bytes + n, sizeof(word));
		at += (size_t)snprintf(text + at, size - at, "%08" PRIX32, word);
	}
	return snprintf(text + at, size - at, ":%04X", address->port);
}

/*
 * The user at the other end of a connection inside this machine. An end that was closed has no
 * owner, and is listed as root's.
 */
static bool find_user(const struct address *peer, const struct address *own, uid_t *uid)
{
	char local[48], remote[48], a[48], b[48], line[512];
	FILE *f = fopen(own->family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
	bool found = false;

	print(peer, local, sizeof(local));
	print(own, remote, sizeof(remote));
	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long inode;
		unsigned int state, user;

		if (sscanf(line, " %*u: %47s %47s %x %*s %*s %*s %u %*d %lu", a, b, &state, &user,
			   &inode) != 5 ||
		    strcmp(a, local) != 0 || strcmp(b, remote) != 0 || state != ESTABLISHED ||
		    !inode)
			continue;
		*uid = user;
		found = true;
	}
	if (f)
		fclose(f);
	return found;
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
