/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rejected: libsystemd, for four datagrams. */
#include "agent/notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

static int manager = -1;

void notify__open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;
	size_t length = path ? strlen(path) : 0;

	if (!length || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	/* An abstract address is given with "@" in place of the NUL byte. */
	if (*path == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length))) {
		close(fd);
		fd = -1;
	}
	manager = fd;
}

static void send_state(const char *state)
{
	if (manager >= 0)
		(void)send(manager, state, strlen(state), MSG_NOSIGNAL);
}

void notify__ready(void)
{
	send_state("READY=1");
}

void notify__reloading(void)
{
	char state[64];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 clock__now_ns() / 1000);
	send_state(state);
}

void notify__stopping(void)
{
	send_state("STOPPING=1");
}

void notify__alive(void)
{
	send_state("WATCHDOG=1");
}
