/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of sockets whose ends a kernel half has read (bpf/ends.h). Pure. */
#pragma once

#include "base/address.h"
#include "bpf/ends.h"

/* Points into *ends. */
struct address_ends ends__address(const struct socket_ends *ends);

/* "10.0.0.2:40000 ↔ 10.0.0.1:5432", or its own address if it is not connected. Truncates. */
void ends__name(const struct socket_ends *ends, char *ret, size_t size);
