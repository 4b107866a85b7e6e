/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits by the class of their object instead of the object itself, for a recorder that never ends:
 * objects are unbounded, classes are few.
 *
 *   socket   its family, and the port of the side that serves
 *   file     the device that it is on
 *   syscall  its number
 *   others   only the kind of object
 */
#pragma once

#include <bpf/bpf_endian.h>

#include "bpf/parts.bpf.h"
#include "ledger/kernel/talk.bpf.h"

/*
 * The port of the side that serves. If it is not known which side that is: the lower port, because
 * the kernel gives clients high ones.
 */
static __always_inline __u16 port_of_server(struct sock *sock, __u64 inode)
{
	struct talk *talk = find_talk(inode);
	__u16 local = BPF_CORE_READ(sock, __sk_common.skc_num);
	__u16 peer = bpf_ntohs(BPF_CORE_READ(sock, __sk_common.skc_dport));

	/* A datagram socket need not be connected. */
	if (!peer && talk)
		peer = talk->peer_port;
	if (!peer || (talk && talk->side == SIDE_SERVES))
		return local;
	if (!local || (talk && talk->side == SIDE_ASKS))
		return peer;
	return peer < local ? peer : local;
}

static __noinline __u64 class_of_socket(struct file *file, __u64 inode)
{
	struct sock *sock = sock_of(file);
	__u64 family;

	if (!sock)
		return 0;
	family = BPF_CORE_READ(sock, __sk_common.skc_family);
	if (family != AF_INET && family != AF_INET6)
		return family;
	return LEDGER_SOCKET_CLASS(family, port_of_server(sock, inode),
				   BPF_CORE_READ(sock, sk_type) == SOCK_DGRAM);
}

/* Notes the class of thread->wait. A thread usually waits for the same socket again. */
static __always_inline void note_class(struct thread *thread, struct file *file)
{
	if (thread->wait.object_kind != OBJECT_SOCKET || !file)
		return;
	thread->classed = thread->wait.object[0];
	thread->socket_class = class_of_socket(file, thread->classed);
}

/* Replaces the object of a wait of the thread by its class. */
static __always_inline void classify(const struct thread *thread, struct ledger_key *wait)
{
	switch (wait->object_kind) {
	case OBJECT_SOCKET:
		wait->object[0] = wait->object[0] == thread->classed ? thread->socket_class : 0;
		wait->object[1] = 0;
		break;
	case OBJECT_FILE:
		wait->object[0] = 0;
		wait->object[1] = (__u32)wait->object[1];
		break;
	case OBJECT_SYSCALL:
		break;
	default:
		wait->object[0] = wait->object[1] = 0;
	}
}
