/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What programs share that serve HTTP to a client of their own: connections over TCP or a UNIX
 * socket, and messages. A request ends with an empty line, and has no body unless its reader
 * expects one.
 */
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "workload.h"

#define MESSAGE_BYTES 4096
#define ANSWER        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_un un;
};

/* A socket that listens; *ret_address is where. The name of a UNIX socket is abstract. */
static inline int listen_at(bool is_unix, union address *ret_address)
{
	int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
	socklen_t size;

	memset(ret_address, 0, sizeof(*ret_address));
	if (is_unix) {
		ret_address->un.sun_family = AF_UNIX;
		snprintf(ret_address->un.sun_path + 1, 32, "gapless-peers-%d", getpid());
		size = sizeof(ret_address->un);
	} else {
		ret_address->in.sin_family = AF_INET;
		ret_address->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		size = sizeof(ret_address->in);
	}
	if (fd < 0 || bind(fd, &ret_address->any, size) || listen(fd, 64) ||
	    (!is_unix && getsockname(fd, &ret_address->any, &size)))
		die("listen");
	return fd;
}

static inline int connect_to(const union address *address)
{
	bool is_unix = address->any.sa_family == AF_UNIX;
	int fd = socket(address->any.sa_family, SOCK_STREAM, 0), at_once = 1;

	if (fd < 0 ||
	    connect(fd, &address->any, is_unix ? sizeof(address->un) : sizeof(address->in)))
		die("connect");
	if (!is_unix && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once)))
		die("setsockopt");
	return fd;
}

static inline int accept_from(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		die("accept");
	return fd;
}

static inline void say(int fd, const char *text)
{
	size_t size = strlen(text);

	if (send(fd, text, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("send");
}

/* Asks for a path. */
static inline void ask(int fd, const char *path)
{
	char text[256];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: here\r\n\r\n", path);
	say(fd, text);
}

/* Reads what there is; "" at the end of the connection. */
static inline bool hear(int fd, char ret[MESSAGE_BYTES])
{
	ssize_t size = recv(fd, ret, MESSAGE_BYTES - 1, 0);

	if (size < 0)
		die("recv");
	ret[size] = '\0';
	return size > 0;
}

static inline unsigned int count_in(const char *text, const char *words)
{
	unsigned int count = 0;

	for (; (text = strstr(text, words)); text++)
		count++;
	return count;
}

/* Memory that a process shares with those that it forks. */
static inline void *share(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	return memory;
}

static inline void await_child(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		die("a child failed");
}
