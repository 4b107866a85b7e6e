/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A message on a socket, with all that it may concern. */
#pragma once

#include "ledger/windows/requests.bpf.h"

/* The call that ends, and the socket that it read from or sent to. */
struct exchange {
	struct task_struct *task;
	struct thread *thread;
	const struct here *here;
	struct window_worker *worker; /* NULL: the thread works for no windows */
	struct talk *talk;
	struct socket_window *socket;
	struct message *message;
	__u64 now;
	__u32 place;
};

static __always_inline bool works_for(const struct exchange *of)
{
	return of->worker && of->worker->serial && of->worker->serial == of->socket->window.serial;
}

static __always_inline void stops_working(const struct exchange *of)
{
	if (of->worker && of->worker->serial)
		segment_ends(of->worker, of->thread, of->here, of->now);
}

static __always_inline void starts_working(const struct exchange *of)
{
	segment_begins(of->worker, of->socket, of->place, of->thread, of->here, of->now);
}

/*
 * When the first byte was readable of what the thread has just read; 0: it is not known. If there
 * is more to read, that came with the last notification.
 */
static __always_inline __u64 take_ready(struct talk *talk)
{
	__u64 ready_ns = talk->ready_ns;
	struct tcp_sock *tcp = (void *)talk->sock;
	bool has_more = talk->ready_last_ns != ready_ns && talk->flags & TALK_IS_TCP &&
			BPF_CORE_READ(tcp, rcv_nxt) != BPF_CORE_READ(tcp, copied_seq);

	talk->ready_ns = has_more ? talk->ready_last_ns : 0;
	return ready_ns;
}

/* Bytes that were sent to the kernel and have not left the host. */
static __always_inline __u32 bytes_left(const struct talk *talk)
{
	struct tcp_sock *tcp = (void *)talk->sock;

	if (!(talk->flags & TALK_IS_TCP))
		return 0;
	return BPF_CORE_READ(tcp, write_seq) - BPF_CORE_READ(tcp, snd_nxt);
}
