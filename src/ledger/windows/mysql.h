/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol of MySQL and MariaDB, as far as it tells where commands begin. A packet is 3 bytes
 * of length (little endian), a sequence number, and that many bytes. A command begins with the
 * sequence number 0, and its first byte says what it is. Some servers read the 4 bytes of the
 * header first, and the rest in another call.
 */
#pragma once

#include "ledger/windows/head.h"

#define MYSQL_HEADER 4

enum mysql_command {
	MYSQL_QUIT = 0x01,
	MYSQL_QUERY = 0x03,
	MYSQL_PING = 0x0e,
	MYSQL_PREPARE = 0x16,
	MYSQL_EXECUTE = 0x17,
	MYSQL_LONG_DATA = 0x18,
	MYSQL_CLOSE = 0x19,
	MYSQL_FETCH = 0x1c,
	MYSQL_LAST = 0x1f,
	MYSQL_BULK_EXECUTE = 0xfa, /* MariaDB */
};

/* Where the side that asks is in its packets. */
struct mysql {
	__u64 ready_ns;            /* when the header was readable that came alone */
	__u32 left;                /* bytes of the packet that are still to come */
	__u8 carried;              /* bytes of `header` */
	__u8 is_body;              /* the header of a command is complete, and nothing behind it */
	__u8 is_known;             /* a command was seen */
	__u8 is_answer_cut;        /* the answer's first packet began with its header alone */
	__u8 header[MYSQL_HEADER]; /* as far as it has come */
	__u32 pad;
};

enum mysql_found { MYSQL_NOTHING, MYSQL_CUT, MYSQL_COMMAND, MYSQL_UNANSWERED, MYSQL_LOST };

PROTOCOLS_INLINE __u32 mysql_length(const __u8 *header)
{
	return (__u32)header[0] | (__u32)header[1] << 8 | (__u32)header[2] << 16;
}

PROTOCOLS_INLINE enum mysql_found mysql_command(__u8 command)
{
	if (!command || (command > MYSQL_LAST && command != MYSQL_BULK_EXECUTE))
		return MYSQL_LOST;
	if (command == MYSQL_QUIT || command == MYSQL_LONG_DATA || command == MYSQL_CLOSE)
		return MYSQL_UNANSWERED;
	return MYSQL_COMMAND;
}

/* Whether the command, which begins at `at`, has a statement that one can read. */
PROTOCOLS_INLINE int mysql_has_text(const struct head *head, __u32 at)
{
	__u8 command = head->bytes[at & (HEAD_BYTES - 1)];

	return command == MYSQL_QUERY || command == MYSQL_PREPARE;
}

/* Where the statement begins. MySQL 8 may put the number of attributes before, 0, and a 1. */
PROTOCOLS_INLINE __u32 mysql_text_at(const struct head *head, __u32 at)
{
	at = (at + 1) & (HEAD_BYTES - 1);
	return !head->bytes[at] && head->bytes[(at + 1) & (HEAD_BYTES - 1)] == 1 ? at + 2 : at;
}

PROTOCOLS_INLINE int mysql_is_text(const struct head *head, __u32 at)
{
	__u32 first = mysql_text_at(head, at);

	if (first >= head->size)
		return 0;
	for (__u32 i = 1; i < HEAD_BYTES; i++) {
		__u8 c = head->bytes[i];

		if (i < first || i >= head->size)
			continue;
		if (c < ' ' && c != '\t' && c != '\n' && c != '\r')
			return 0;
	}
	return 1;
}

/*
 * Whether this is surely a command, of which the packet has `length` bytes from `at` on: at most
 * one that has a form which is not likely elsewhere.
 */
PROTOCOLS_INLINE int mysql_is_sure(const struct head *head, __u32 at, __u32 length)
{
	if (head->size != at + length)
		return 0;
	switch (head->bytes[at]) {
	case MYSQL_QUERY:
	case MYSQL_PREPARE:
		return mysql_is_text(head, at);
	case MYSQL_PING:
		return length == 1 && at;
	case MYSQL_EXECUTE: /* the number of the statement, flags, and always one time */
		return length >= 10 && head->bytes[at + 6] == 1 && !head->bytes[at + 7] &&
		       !head->bytes[at + 8] && !head->bytes[at + 9];
	default:
		return 0;
	}
}

PROTOCOLS_INLINE int is_mysql_request(const struct head *head)
{
	__u32 length = mysql_length(head->bytes);

	return head->size > MYSQL_HEADER && length && !head->bytes[3] &&
	       mysql_is_sure(head, MYSQL_HEADER, length);
}

/*
 * The same of a socket of an unknown protocol if the header comes alone: then the next message is
 * the one that tells.
 */
PROTOCOLS_INLINE int is_mysql_in_two(struct mysql *mysql, const struct head *head)
{
	__u32 length = mysql->left;

	if (mysql->is_body && mysql_is_sure(head, 0, length))
		return 1;
	length = mysql_length(head->bytes);
	mysql->is_body = head->size == MYSQL_HEADER && length && !head->bytes[3];
	mysql->left = mysql->is_body ? length : 0;
	return 0;
}

/* The first packet of a server: version 10 of the protocol, then the server's version in words. */
PROTOCOLS_INLINE int is_mysql_greeting(const struct head *head)
{
	return head->size > 8 && mysql_length(head->bytes) + MYSQL_HEADER == head->size &&
	       !head->bytes[3] && head->bytes[4] == 10 && is_digit(head->bytes[5]);
}

PROTOCOLS_INLINE void mysql_passes(struct mysql *mysql, __u64 bytes)
{
	mysql->left -= bytes < mysql->left ? (__u32)bytes : mysql->left;
}

/*
 * A message of the side that asks, which has `bytes` bytes in all. MYSQL_COMMAND: a command with an
 * answer begins, and *ret_at is where. MYSQL_LOST: these are no packets.
 */
PROTOCOLS_INLINE enum mysql_found mysql_step(struct mysql *mysql, const struct head *head,
					     __u64 bytes, __u32 *ret_at)
{
	enum mysql_found found;
	__u32 at = 0;

	if (!head->size || (mysql->left && !mysql->is_body)) {
		mysql_passes(mysql, bytes);
		return MYSQL_NOTHING;
	}
	if (!mysql->is_body) {
		for (__u32 i = 0; i < MYSQL_HEADER; i++) {
			if (i < mysql->carried || at >= head->size)
				continue;
			mysql->header[i] = head->bytes[at & (HEAD_BYTES - 1)];
			at++;
		}
		mysql->carried += at;
		if (mysql->carried < MYSQL_HEADER)
			return MYSQL_NOTHING;
		mysql->carried = 0;
		mysql->left = mysql_length(mysql->header);
		if (mysql->header[3]) {
			mysql_passes(mysql, bytes - at);
			return MYSQL_NOTHING;
		}
		if (!mysql->left)
			return MYSQL_LOST;
		mysql->is_body = 1;
	}
	if (at >= head->size)
		return MYSQL_NOTHING;
	mysql->is_body = 0;
	mysql_passes(mysql, bytes - at);
	found = mysql_command(head->bytes[at & (HEAD_BYTES - 1)]);
	mysql->is_known |= found != MYSQL_LOST;
	*ret_at = at;
	return found;
}

/*
 * The same. *ready_ns is when the message was readable, and becomes when the command was of which
 * it is a part. *ret_text_at is where its statement begins. MYSQL_CUT: its first byte is missing.
 */
PROTOCOLS_INLINE enum mysql_found mysql_message(struct mysql *mysql, const struct head *head,
						__u64 bytes, __u64 *ready_ns, __u32 *ret_text_at)
{
	__u32 at = 0;
	enum mysql_found found = mysql_step(mysql, head, bytes, &at);

	if (found == MYSQL_NOTHING && (mysql->is_body || mysql->carried)) {
		if (!mysql->ready_ns)
			mysql->ready_ns = *ready_ns;
		return MYSQL_CUT;
	}
	if (found == MYSQL_COMMAND) {
		if (mysql->ready_ns)
			*ready_ns = mysql->ready_ns;
		if (mysql_has_text(head, at))
			*ret_text_at = mysql_text_at(head, at);
	}
	if (found != MYSQL_NOTHING)
		mysql->ready_ns = 0;
	return found;
}

/* Whether the answer is an error. `is_first`: nothing of it was seen before. */
PROTOCOLS_INLINE int mysql_fails(struct mysql *mysql, const struct head *head, int is_first)
{
	int at_body = !is_first && mysql->is_answer_cut;

	mysql->is_answer_cut = is_first && head->size == MYSQL_HEADER;
	if (at_body)
		return head->bytes[0] == 0xff;
	return is_first && head->size > MYSQL_HEADER && head->bytes[4] == 0xff;
}
