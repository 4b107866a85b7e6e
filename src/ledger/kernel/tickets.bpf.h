/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Session tickets of TLS 1.3 are no answers. The server sends them when the handshake is complete;
 * by then, the client has often sent its first request. They cannot be told from data by their
 * type, which is encrypted. But most servers send two of them, in records of the same length. So
 * after a handshake, two equal short records and nothing else are taken for tickets.
 */
#pragma once

#include "bpf/files.bpf.h"
#include "ledger/kernel/talk.bpf.h"

#define TLS_HANDSHAKE      0x16
#define TLS_DATA           0x17
#define TLS_HEAD_BYTES     5
#define LEAST_TICKET_BYTES 64
#define MOST_TICKET_BYTES  1024
#define TICKETS            2
#define NO_TICKETS         (TICKETS + 1) /* something else came */
#define TICKET_TURNS       2             /* hello and its answer, then the rest of the handshake */

struct tls_head {
	__u8 type, major, minor;
	__u8 bytes[2];
};

/* A client begins to speak. */
static __always_inline void look_for_tls(struct talk *talk, struct pt_regs *regs)
{
	struct tls_head head = {};

	if (!bpf_probe_read_user(&head, sizeof(head), (void *)regs->ARCH_ARG2) &&
	    head.type == TLS_HANDSHAKE && head.major == 3)
		talk->flags |= TALK_IS_TLS;
}

/* The length of the record whose head is at `address`; 0 if there is no head of a data record. */
static __always_inline __u32 record_at(__u64 address)
{
	struct tls_head head = {};

	if (bpf_probe_read_user(&head, sizeof(head), (void *)address) || head.type != TLS_DATA ||
	    head.major != 3)
		return 0;
	return head.bytes[0] << 8 | head.bytes[1];
}

/* Some programs read head and body of a record at once, others one after the other. */
static __noinline bool are_tickets(struct talk *talk, __u64 address, __u32 got)
{
	__u32 bytes = got >= TLS_HEAD_BYTES ? record_at(address) : 0;
	__u32 whole = bytes + TLS_HEAD_BYTES;

	if (!bytes && got == talk->record_bytes)
		return talk->tickets == TICKETS; /* the body of the last record */
	if (bytes < LEAST_TICKET_BYTES || bytes > MOST_TICKET_BYTES ||
	    (talk->tickets && bytes != talk->record_bytes) || talk->tickets >= TICKETS) {
		talk->tickets = NO_TICKETS;
		return false;
	}
	talk->record_bytes = bytes;
	talk->tickets++;
	if (got == 2 * whole && record_at(address + whole) == bytes)
		talk->tickets++;
	else if (got != TLS_HEAD_BYTES && got != whole)
		talk->tickets = NO_TICKETS;
	return talk->tickets == TICKETS;
}

/* Whether all that the client has received since the handshake is tickets. */
static __always_inline bool heard_tickets(struct talk *talk, struct pt_regs *regs, long got)
{
	return talk->flags & TALK_IS_TLS && talk->turns == TICKET_TURNS && got > 0 &&
	       are_tickets(talk, regs->ARCH_ARG2, got);
}
