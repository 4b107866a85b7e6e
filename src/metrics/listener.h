/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket that a server listens on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct listener_address {
	struct sockaddr_storage address;
	socklen_t length;
	bool is_local; /* a loopback address or a UNIX socket: reachable from this machine alone */
};

/*
 * "127.0.0.1:9474", "[::1]:9474" or "unix:/run/gapless/metrics.sock". Names of hosts are not looked
 * up. Port 0 is any free one. -EINVAL.
 */
int listener__parse(const char *text, struct listener_address *ret);

/*
 * Opens the socket without blocking. A UNIX socket can be used by its owner and group; the file of
 * a server that has ended is replaced. -errno.
 */
int listener__open(const struct listener_address *address, int *ret);
/* The port of an open socket, 0 for a UNIX socket. */
uint16_t listener__port(int fd);
/* Removes the file of a UNIX socket. */
void listener__remove(const struct listener_address *address);
