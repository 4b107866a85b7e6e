/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of network addresses. A connection has the same name wherever it is reported. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_BYTES (INET6_ADDRSTRLEN + 16)

/* Whether the functions below know this family: AF_INET or AF_INET6. */
#define ADDRESS_IS_KNOWN(family) ((family) == AF_INET || (family) == AF_INET6)

/* "10.0.0.1:5432", "[::1]:80". `bytes` has 4 or 16 bytes, depending on the family. */
void address__name(int family, const uint8_t *bytes, uint16_t port, char *ret, size_t size);

struct address_ends {
	int family;
	const uint8_t *local, *peer;
	uint16_t local_port, peer_port;
};
/* "10.0.0.2:40000 ↔ 10.0.0.1:5432" */
void address__connection(const struct address_ends *ends, char *ret, size_t size);
