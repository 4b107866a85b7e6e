/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/parse.h"

#define UNIX_PREFIX "unix:"
#define BACKLOG     16
#define SOCKET_MODE 0660

static int parse_unix(const char *path, struct listener_address *ret)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };

	if (*path != '/' || strlen(path) >= sizeof(local.sun_path))
		return -EINVAL;
	memcpy(local.sun_path, path, strlen(path));
	*ret = (struct listener_address) { .length = sizeof(local), .is_local = true };
	memcpy(&ret->address, &local, sizeof(local));
	return 0;
}

static int parse_ipv6(const char *host, uint16_t port, struct listener_address *ret)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (inet_pton(AF_INET6, host, &address.sin6_addr) != 1)
		return -EINVAL;
	*ret = (struct listener_address) {
		.length = sizeof(address),
		.is_local = IN6_IS_ADDR_LOOPBACK(&address.sin6_addr),
	};
	memcpy(&ret->address, &address, sizeof(address));
	return 0;
}

static int parse_ipv4(const char *host, uint16_t port, struct listener_address *ret)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
		return -EINVAL;
	*ret = (struct listener_address) {
		.length = sizeof(address),
		.is_local = ntohl(address.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET,
	};
	memcpy(&ret->address, &address, sizeof(address));
	return 0;
}

int listener__parse(const char *text, struct listener_address *ret)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2] = {};
	uint64_t port;
	size_t length;

	if (!strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)))
		return parse_unix(text + strlen(UNIX_PREFIX), ret);
	length = colon ? (size_t)(colon - text) : 0;
	if (!length || length >= sizeof(host) || parse__number(colon + 1, 0, UINT16_MAX, &port))
		return -EINVAL;
	memcpy(host, text, length);
	if (*host != '[')
		return parse_ipv4(host, (uint16_t)port, ret);
	if (host[length - 1] != ']')
		return -EINVAL;
	host[length - 1] = 0;
	return parse_ipv6(host + 1, (uint16_t)port, ret);
}

/* Whether the file is a socket on which nobody listens any more. */
static bool is_left_over(const struct listener_address *address)
{
	const struct sockaddr_un *local = (const struct sockaddr_un *)&address->address;
	cleanup(close_p) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat stat;

	return fd >= 0 && !lstat(local->sun_path, &stat) && S_ISSOCK(stat.st_mode) &&
	       connect(fd, (const struct sockaddr *)local, address->length) &&
	       errno == ECONNREFUSED;
}

static int bind_to(int fd, const struct listener_address *address)
{
	const struct sockaddr *to = (const struct sockaddr *)&address->address;
	int on = 1;

	if (to->sa_family != AF_UNIX) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		return bind(fd, to, address->length) ? -errno : 0;
	}
	/* bind() gives the file the mode of the socket, less umask. */
	if (fchmod(fd, SOCKET_MODE))
		return -errno;
	if (!bind(fd, to, address->length))
		return 0;
	if (errno != EADDRINUSE || !is_left_over(address))
		return -errno;
	listener__remove(address);
	return bind(fd, to, address->length) ? -errno : 0;
}

int listener__open(const struct listener_address *address, int *ret)
{
	int fd = socket(address->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err;

	if (fd < 0)
		return -errno;
	err = bind_to(fd, address);
	if (!err && listen(fd, BACKLOG))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	*ret = fd;
	return 0;
}

uint16_t listener__port(int fd)
{
	struct sockaddr_storage address = {};
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length))
		return 0;
	if (address.ss_family == AF_INET)
		return ntohs(((struct sockaddr_in *)&address)->sin_port);
	return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port)
					     : 0;
}

void listener__remove(const struct listener_address *address)
{
	if (address->address.ss_family == AF_UNIX)
		unlink(((const struct sockaddr_un *)&address->address)->sun_path);
}
