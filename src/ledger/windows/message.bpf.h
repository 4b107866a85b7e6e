/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a call that ends has read or sent, as far as it is looked at. */
#pragma once

#include "ledger/windows/window.bpf.h"

/* What was read or sent. */
struct message {
	__u64 address;  /* 0: not in memory of the program */
	__u64 bytes;    /* in all */
	__u64 begin_ns; /* of the call */
	char text[WINDOW_TEXT_BYTES];
	struct head head;
	__u32 requests; /* that begin in it, if it is known */
	__u32 interim;  /* it is no answer yet, or the rest of a request's header is missing */
	__u32 is_cut;   /* it begins with the rest of an earlier one */
	__u32 is_short; /* sent: the kernel did not take all bytes */
	__u32 text_at;  /* MySQL: where the statement begins; 0: there is none */
	__u32 pad2;
	__u64 ready_ns; /* when the request was readable that begins; asking: when it began */
	__u64 pieces;   /* the iovec behind that of the first piece; 0: all is in one */
	__u64 first;    /* bytes of the first piece */
	__u64 now;
	__u32 place; /* of the socket */
	__u16 is_sent, asks;
};

/* Large, so not on the stack: one for each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct message);
} windows_messages SEC(".maps");

const volatile __u8 bytes_of[LEDGER_SYSCALLS]; /* enum ledger_bytes */

/* Reads at most HEAD_BYTES of what is at `address`. */
static __always_inline void read_head(struct head *head, __u64 address, __u64 bytes)
{
	__builtin_memset(head, 0, sizeof(*head));
	if (!address || !bytes)
		return;
	if (bytes >= HEAD_BYTES) {
		if (bpf_probe_read_user(head->bytes, HEAD_BYTES, (void *)address))
			return;
	} else {
		__u32 size = bytes & (HEAD_BYTES - 1);

		if (bpf_probe_read_user(head->bytes, size, (void *)address))
			return;
	}
	head->size = bytes < 1 << 30 ? bytes : 1 << 30;
}

/* Where the bytes of the call are, as far as they are in one piece, and the next ones. */
static __always_inline __u64 bytes_at(const struct pt_regs *regs, __u32 nr, __u64 *bytes,
				      __u64 *ret_pieces)
{
	__u64 address = regs->ARCH_ARG2;
	struct {
		__u64 base, size;
	} vector;

	switch (bytes_of[nr & (LEDGER_SYSCALLS - 1)]) {
	case BYTES_AT:
		return address;
	case BYTES_IN_MESSAGE:
		/* struct msghdr: the address and the length of a name come first. */
		if (bpf_probe_read_user(&address, sizeof(address), (void *)(address + 16)))
			return 0;
		break;
	case BYTES_IN_VECTOR:
		break;
	default:
		return 0;
	}
	if (bpf_probe_read_user(&vector, sizeof(vector), (void *)address))
		return 0;
	if (*bytes > vector.size) {
		*bytes = vector.size;
		*ret_pieces = address + sizeof(vector);
	}
	return vector.base;
}

#define SOCK_NOSPACE 2
/* A shorter answer is rarely cut, so it is not looked at. */
#define SHORT_BYTES 1024

/*
 * Whether the kernel took less than the thread wanted to send. TCP notes that in the socket until
 * there is room again. With AF_UNIX, the mark stays, so there the length tells.
 */
static __always_inline bool is_short_send(const struct talk *talk, const struct pt_regs *regs,
					  __u32 nr, long ret)
{
	struct sock *sk = (void *)talk->sock;

	if (ret < SHORT_BYTES)
		return false;
	if (talk->flags & TALK_IS_TCP)
		return BPF_CORE_READ(sk, sk_socket, flags) >> SOCK_NOSPACE & 1;
	return bytes_of[nr & (LEDGER_SYSCALLS - 1)] == BYTES_AT && (__u64)ret < regs->ARCH_ARG3;
}

/* Looks at what the call that ends has read or sent. */
static __always_inline struct message *look_at_message(const struct pt_regs *regs, __u32 nr,
						       long ret)
{
	__u32 zero = 0;
	struct message *message = bpf_map_lookup_elem(&windows_messages, &zero);
	__u64 bytes = ret;

	if (!message)
		return NULL;
	message->bytes = ret;
	message->requests = 1;
	message->interim = message->is_cut = message->is_short = 0;
	message->pieces = 0;
	message->address = bytes_at(regs, nr, &bytes, &message->pieces);
	message->first = bytes;
	message->text_at = 0;
	read_head(&message->head, message->address, bytes);
	return message;
}
