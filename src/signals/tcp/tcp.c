/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/tcp/tcp.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/ends.h"
#include "core/series.h"
#include "core/signal.h"

static const struct hook hooks[] = {
	{ "inet_sock_set_state", { "tcp_on_state" } },
	{ "tcp_destroy_sock", { "tcp_on_destroy" } },
	{ "tcp_retransmit_skb", { "tcp_on_retransmit" } },
	{ "tcp_retransmit_synack", { "tcp_on_retransmit_synack" } },
	{ "tcp_send_reset", { "tcp_on_send_reset" } },
	{ "tcp_receive_reset", { "tcp_on_receive_reset" } },
	{ "sys_exit", { "on_sys_exit" }, HOOK_AT_CALLS },
	{ "task_file", { "tcp_on_descriptor" } },
	{ "tcp", { "tcp_on_socket" } },
	{ "sock_send_length", { "on_sock_send", "tcp_on_unix_sendmsg" } },
	{ "sock_recv_length", { "on_sock_receive", "tcp_on_unix_recvmsg" } },
	{},
};

static const struct measure measures[] = {
	[TCP_TIME] = { "time", "ns" },
	[TCP_BYTES] = { "bytes", "bytes" },
	[TCP_SEGMENTS] = { "segments", "segments" },
	[TCP_RTT] = { "rtt", "ns" },
	{},
};

static const struct column columns[] = {
	{ "side", COLUMN_TEXT, 9 },
	{ "state", COLUMN_TEXT, 11 },
	{ "sent", COLUMN_BYTES, 9 },
	{ "received", COLUMN_BYTES, 9 },
	{ "segments_out", COLUMN_NUMBER, 12 },
	{ "segments_in", COLUMN_NUMBER, 11 },
	{ "retransmits", COLUMN_NUMBER, 11 },
	{ "rtt", COLUMN_NS, 0 },
	{},
};

static const char *tcp_operation(uint32_t operation)
{
	static const char *const names[TCP_OPERATIONS] = {
		[TCP_CONNECT] = "connect",
		[TCP_ACCEPT] = "accept",
		[TCP_SEND] = "send",
		[TCP_RECEIVE] = "receive",
		[TCP_RETRANSMIT] = "retransmit",
		[TCP_RESET] = "reset",
		[TCP_ZERO_WINDOW] = "zero_window",
		[TCP_OVERFLOW] = "overflow",
		[TCP_LIFETIME] = "lifetime",
		[TCP_UNIX_SEND] = "unix_send",
		[TCP_UNIX_RECEIVE] = "unix_receive",
		[TCP_LIMITED] = "limited",
	};

	return operation < TCP_OPERATIONS ? names[operation] : NULL;
}

static void tcp_place(uint32_t place, char *ret, size_t size)
{
	static const char *const names[TCP_PLACES] = {
		[TCP_NOWHERE] = "",         [TCP_OURS] = "ours",
		[TCP_THEIRS] = "theirs",    [TCP_BY_NETWORK] = "network",
		[TCP_BY_WINDOW] = "window", [TCP_BY_BUFFER] = "buffer",
	};

	snprintf(ret, size, "%s", place < TCP_PLACES ? names[place] : "");
}

static const char *state_name(uint32_t state)
{
	static const char *const names[] = {
		"",          "ESTABLISHED", "SYN_SENT", "SYN_RECV",   "FIN_WAIT1",
		"FIN_WAIT2", "TIME_WAIT",   "CLOSE",    "CLOSE_WAIT", "LAST_ACK",
		"LISTEN",    "CLOSING",     "SYN_RECV",
	};

	return state < sizeof(names) / sizeof(*names) ? names[state] : "";
}

static const char *side_name(uint32_t side)
{
	static const char *const names[TCP_SIDES] = { "", "outbound", "inbound", "listening" };

	return side < TCP_SIDES ? names[side] : "";
}

/* A connection has the same name as its socket in the ledger. */
static void name_object(const struct tcp_record *rec, char *ret, size_t size)
{
	const struct address_ends ends = ends__address(&rec->ends);
	char name[ADDRESS_BYTES];

	if (rec->object[1] == TCP_OBJECT_CONNECTION) {
		address__connection(&ends, ret, size);
	} else if (rec->ends.side == TCP_OUTBOUND) {
		address__name(ends.family, ends.peer, ends.peer_port, name, sizeof(name));
		snprintf(ret, size, "to %s", name);
	} else {
		address__name(ends.family, ends.local, ends.local_port, name, sizeof(name));
		snprintf(ret, size, "at %s", name);
	}
}

static int tcp_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct tcp_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    rec->head.kind > TCP_NAME || rec->operation >= TCP_OPERATIONS)
		return -EBADMSG;
	ret->object[0] = rec->object[0];
	ret->object[1] = rec->object[1];
	if (rec->head.kind == TCP_NAME) {
		name_object(rec, ret->scratch, sizeof(ret->scratch));
		ret->kind = EVENT_NAMES;
		ret->object_kind =
			rec->object[1] == TCP_OBJECT_CONNECTION ? "connection" : "service";
		ret->object_name = ret->scratch;
		return 0;
	}
	ret->thread = rec->thread;
	ret->stack = rec->stack;
	ret->duration_ns = rec->duration_ns;
	ret->operation = rec->operation;
	ret->place = rec->place;
	ret->error = rec->error;
	ret->values[0].text = side_name(rec->ends.side);
	ret->values[1].text = state_name(rec->state);
	ret->values[2].number = rec->totals.sent_bytes;
	ret->values[3].number = rec->totals.received_bytes;
	ret->values[4].number = rec->totals.segments_out;
	ret->values[5].number = rec->totals.segments_in;
	ret->values[6].number = rec->totals.retransmits;
	ret->values[7].number = (uint64_t)rec->totals.rtt_us * 1000;
	return 0;
}

/* A function that this kernel lacks must not prevent the load of the other programs. */
static void leave_out_missing(struct bpf_object *object, const char *program, const char *function)
{
	struct bpf_program *chosen = bpf_object__find_program_by_name(object, program);

	if (bpf_program__autoload(chosen) &&
	    libbpf_find_vmlinux_btf_id(function, BPF_TRACE_FEXIT) < 0)
		bpf_program__set_autoload(chosen, false);
}

static int tcp_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	struct timespec tick = {};
	size_t size = 0;
	struct tcp_knobs *knobs = series__section(object, ".rodata.tcp", &size);

	if (!knobs || size != sizeof(*knobs))
		return -EPROTO;
	/* The resolution of the coarse clock is one jiffy. */
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		return -errno;
	*knobs = (struct tcp_knobs) {
		.jiffy_ns = (uint64_t)tick.tv_nsec,
#ifdef SYS_accept
		.nr_accept = SYS_accept,
#endif
		.nr_accept4 = SYS_accept4,
	};
	leave_out_missing(object, "tcp_on_unix_sendmsg", "unix_stream_sendmsg");
	leave_out_missing(object, "tcp_on_unix_recvmsg", "unix_stream_recvmsg");
	return 0;
}

/* The results of the iterators stay in the kernel half. */
static int run_iterator(struct bpf_link *const *links, const char *program)
{
	size_t number = 0;

	while (strcmp(hooks[number].programs[0], program))
		number++;
	return hooks__iterate(links[number]);
}

static int tcp_refresh(struct bpf_object *object, struct bpf_link *const *links, bool is_last)
{
	size_t size = 0;
	struct tcp_control *control = series__section(object, ".data.tcp", &size);
	int err;

	if (!control || size != sizeof(*control))
		return -EPROTO;
	control->is_last = is_last;
	err = run_iterator(links, "tcp_on_descriptor");
	return err ? err : run_iterator(links, "tcp_on_socket");
}

/* An open connection does not send its name again, so it must not be forgotten. */
static bool tcp_forget_object(struct bpf_object *object, const __u64 numbers[2])
{
	const struct bpf_map *services = bpf_object__find_map_by_name(object, "tcp_services_named");
	const struct bpf_map *open = bpf_object__find_map_by_name(object, "tcp_connections");
	char value[1024];

	if (numbers[1] == TCP_OBJECT_CONNECTION)
		return bpf_map__value_size(open) <= sizeof(value) &&
		       bpf_map_lookup_elem(bpf_map__fd(open), &numbers[0], value);
	(void)bpf_map_delete_elem(bpf_map__fd(services), numbers);
	return true;
}

const struct signal tcp_signal = {
	.name = "tcp",
	.number = SIGNAL_tcp,
	.about = "TCP connections: who, how long, how much, what went wrong",
	.events = "events",
	.role = ROLE_CONNECTIONS,
	.event_ns = 1000,
	.is_default = true,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = tcp_prepare,
	.decode = tcp_decode,
	.operation = tcp_operation,
	.place = tcp_place,
	.refresh = tcp_refresh,
	.object_kind = "connection",
	.forget_object = tcp_forget_object,
};
