/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/udp/udp.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "core/ends.h"
#include "core/signal.h"

static const struct hook hooks[] = {
	{ "sock_send_length", { "on_sock_send" } },
	{ "sock_recv_length", { "on_sock_receive" } },
	{},
};

static const struct measure measures[] = { { "size", "bytes" }, {} };

static const struct column columns[] = { {} };

static const char *udp_operation(uint32_t operation)
{
	static const char *const names[UDP_OPERATIONS] = {
		[UDP_SEND] = "send",
		[UDP_RECEIVE] = "receive",
		[UDP_DROP] = "drop",
	};

	return operation < UDP_OPERATIONS ? names[operation] : NULL;
}

static int udp_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct udp_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    rec->head.kind || !ADDRESS_IS_KNOWN(rec->ends.family))
		return -EBADMSG;
	ends__name(&rec->ends, ret->scratch, sizeof(ret->scratch));
	ret->kind = EVENT_NAMES;
	ret->object[0] = rec->cookie;
	ret->object[1] = 0;
	ret->object_kind = "socket";
	ret->object_name = ret->scratch;
	return 0;
}

/* If the socket is seen again, its name is sent again. */
static bool udp_forget_object(struct bpf_object *object, const __u64 numbers[2])
{
	const struct bpf_map *sockets = bpf_object__find_map_by_name(object, "udp_sockets");

	(void)bpf_map_delete_elem(bpf_map__fd(sockets), &numbers[0]);
	return true;
}

const struct signal udp_signal = {
	.name = "udp",
	.number = SIGNAL_udp,
	.about = "UDP sockets: datagrams sent, received and dropped, bytes and errors",
	.events = "datagrams",
	.event_ns = 300,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.decode = udp_decode,
	.operation = udp_operation,
	.object_kind = "socket",
	.forget_object = udp_forget_object,
};
