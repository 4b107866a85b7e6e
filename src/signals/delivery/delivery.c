/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/delivery/delivery.h"

#include <errno.h>
#include <stdio.h>

#include "core/ends.h"
#include "core/series.h"
#include "core/signal.h"

static const struct hook hooks[] = {
	{ "tcp_probe", { "delivery_on_segment" } },
	{ "tcp_rcv_space_adjust", { "delivery_on_read" } },
	{ "sock_send_length", { "on_sock_send", "delivery_on_sendmsg" } },
	{},
};

static const struct measure measures[] = {
	[DELIVERY_TIME] = { "time", "ns" },
	[DELIVERY_QUEUED] = { "queued", "bytes" },
	{},
};

static const struct column columns[] = { { "queued", COLUMN_BYTES, 10 }, {} };

static const char *delivery_operation(uint32_t operation)
{
	static const char *const names[DELIVERY_OPERATIONS] = {
		[DELIVERY_RECEIVE] = "receive",
		[DELIVERY_SEND] = "send",
	};

	return operation < DELIVERY_OPERATIONS ? names[operation] : NULL;
}

static void delivery_place(uint32_t place, char *ret, size_t size)
{
	snprintf(ret, size, "port %u", place);
}

static int decode_name(const struct delivery_record *rec, struct event *ret)
{
	if (!ADDRESS_IS_KNOWN(rec->ends.family))
		return -EBADMSG;
	ends__name(&rec->ends, ret->scratch, sizeof(ret->scratch));
	ret->kind = EVENT_NAMES;
	ret->object[0] = rec->cookie;
	ret->object[1] = 0;
	ret->object_kind = "connection";
	ret->object_name = ret->scratch;
	return 0;
}

static int delivery_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct delivery_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    rec->operation >= DELIVERY_OPERATIONS)
		return -EBADMSG;
	if (rec->head.kind == DELIVERY_NAME)
		return decode_name(rec, ret);
	if (rec->head.kind != DELIVERY_SLOW)
		return -EBADMSG;
	ret->thread = rec->thread;
	ret->object[0] = rec->cookie;
	ret->object[1] = 0;
	ret->duration_ns = rec->duration_ns;
	ret->place = rec->port;
	ret->operation = (uint16_t)rec->operation;
	ret->values[0].number = rec->queued_bytes;
	return 0;
}

static bool delivery_forget_object(struct bpf_object *object, const __u64 numbers[2])
{
	size_t size = 0;
	volatile uint32_t *forgotten = series__section(object, ".data.delivery", &size);

	if (!forgotten || size != sizeof(*forgotten))
		return false;
	*forgotten = *forgotten + 1;
	return true;
}

const struct signal delivery_signal = {
	.name = "delivery",
	.number = SIGNAL_delivery,
	.about = "TCP: how long data waits to be read, or to be acknowledged",
	.events = "deliveries",
	.event_ns = 700,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.decode = delivery_decode,
	.operation = delivery_operation,
	.place = delivery_place,
	.object_kind = "connection",
	.forget_object = delivery_forget_object,
};
