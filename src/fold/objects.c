/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fold/objects.h"

#include <stdio.h>
#include <sys/socket.h>

#include "vocabulary/calls.h"
#include "vocabulary/states.h"

static void name_socket(uint64_t object, char ret[OBJECTS_NAME_BYTES])
{
	const char *protocol = LEDGER_CLASS_DATAGRAM(object) ? "udp" : "tcp";

	switch (LEDGER_CLASS_FAMILY(object)) {
	case AF_INET:
	case AF_INET6:
		snprintf(ret, OBJECTS_NAME_BYTES, "%s :%d", protocol, LEDGER_CLASS_PORT(object));
		break;
	case AF_UNIX:
		snprintf(ret, OBJECTS_NAME_BYTES, "unix socket");
		break;
	default:
		snprintf(ret, OBJECTS_NAME_BYTES, "socket");
	}
}

void objects__name(const struct ledger_key *wait, char ret[OBJECTS_NAME_BYTES])
{
	switch (wait->object_kind) {
	case OBJECT_SOCKET:
		name_socket(wait->object[0], ret);
		break;
	case OBJECT_SYSCALL:
		snprintf(ret, OBJECTS_NAME_BYTES, "syscall %s",
			 calls__name((uint32_t)wait->object[0]));
		break;
	case OBJECT_NONE:
		ret[0] = '\0';
		break;
	default:
		snprintf(ret, OBJECTS_NAME_BYTES, "%s", states__object_kind(wait->object_kind));
	}
}
