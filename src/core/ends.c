/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/ends.h"

struct address_ends ends__address(const struct socket_ends *ends)
{
	return (struct address_ends) { .family = ends->family == AF_INET6 ? AF_INET6 : AF_INET,
				       .local = ends->local,
				       .peer = ends->peer,
				       .local_port = ends->local_port,
				       .peer_port = ends->peer_port };
}

void ends__name(const struct socket_ends *ends, char *ret, size_t size)
{
	const struct address_ends address = ends__address(ends);

	if (ends->peer_port)
		address__connection(&address, ret, size);
	else
		address__name(address.family, ends->local, ends->local_port, ret, size);
}
