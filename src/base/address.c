/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/address.h"

#include <arpa/inet.h>
#include <stdio.h>

void address__name(int family, const uint8_t *bytes, uint16_t port, char *ret, size_t size)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(family, bytes, text, sizeof(text));
	snprintf(ret, size, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

void address__connection(const struct address_ends *ends, char *ret, size_t size)
{
	char local[ADDRESS_BYTES], peer[ADDRESS_BYTES];

	address__name(ends->family, ends->local, ends->local_port, local, sizeof(local));
	address__name(ends->family, ends->peer, ends->peer_port, peer, sizeof(peer));
	snprintf(ret, size, "%s ↔ %s", local, peer);
}
