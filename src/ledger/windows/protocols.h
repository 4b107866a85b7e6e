/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the first bytes of a message say. Plain functions on a few bytes that were copied before,
 * for the kernel half and for tests and fuzzers in user space.
 *
 * A port is no rule. Whoever sends what looks like a request is the client, unless the kernel knows
 * which side connected (talk.bpf.h).
 */
#pragma once

#include "ledger/windows/http2.h"
#include "ledger/windows/mysql.h"
#include "ledger/windows/windows.h"

/* --- HTTP/1 --------------------------------------------------------------------------------- */

PROTOCOLS_INLINE int is_http_request(const struct head *head)
{
	if (head->size < 14) /* "GET / HTTP/1.0" */
		return 0;
	switch (head->words[0]) {
	case FOUR('G', 'E', 'T', ' '):
	case FOUR('P', 'O', 'S', 'T'):
	case FOUR('H', 'E', 'A', 'D'):
	case FOUR('P', 'U', 'T', ' '):
	case FOUR('D', 'E', 'L', 'E'):
	case FOUR('O', 'P', 'T', 'I'):
	case FOUR('P', 'A', 'T', 'C'):
	case FOUR('C', 'O', 'N', 'N'):
	case FOUR('T', 'R', 'A', 'C'):
	/* WebDAV and caches */
	case FOUR('P', 'R', 'O', 'P'):
	case FOUR('R', 'E', 'P', 'O'):
	case FOUR('M', 'K', 'C', 'O'):
	case FOUR('M', 'O', 'V', 'E'):
	case FOUR('C', 'O', 'P', 'Y'):
	case FOUR('L', 'O', 'C', 'K'):
	case FOUR('U', 'N', 'L', 'O'):
	case FOUR('P', 'U', 'R', 'G'):
		return 1;
	default:
		return 0;
	}
}

/* The status in "HTTP/1.1 200"; 0: it is no head of an answer. */
PROTOCOLS_INLINE __u32 http_status(const struct head *head)
{
	const __u8 *at = head->bytes;

	if (head->size < 12 || head->words[0] != FOUR('H', 'T', 'T', 'P') || at[4] != '/' ||
	    at[5] != '1' || !is_digit(at[9]) || !is_digit(at[10]) || !is_digit(at[11]))
		return 0;
	return (at[9] - '0') * 100 + (at[10] - '0') * 10 + (at[11] - '0');
}

PROTOCOLS_INLINE __u8 status_of_http(__u32 status)
{
	return status >= 500   ? WINDOW_STATUS_FAILED
	       : status >= 400 ? WINDOW_STATUS_REFUSED
			       : WINDOW_STATUS_OK;
}

/* --- PostgreSQL ----------------------------------------------------------------------------- */

/* A message of a client: its type, then its length without the type, then what it says. */
#define STATEMENT_AT 5

PROTOCOLS_INLINE int is_postgres_request(const struct head *head)
{
	__u32 length = big_endian(head->bytes + 1);

	if (head->size < 5 || length < 4 || length >= 1 << 24)
		return 0;
	switch (head->bytes[0]) {
	case 'Q':
		return length + 1 <= head->size || head->size >= 8192;
	case 'P':
	case 'B':
	case 'E':
	case 'D':
	case 'C':
	case 'S':
	case 'F':
	case 'H':
		return length + 1 <= head->size || head->size >= 5;
	default:
		return 0;
	}
}

/* The first message of a connection has no type: its length, then the version 3.0. */
PROTOCOLS_INLINE int is_postgres_startup(const struct head *head)
{
	__u32 length = big_endian(head->bytes);

	return head->size >= 8 && length == head->size && head->words[1] == FOUR(0, 3, 0, 0);
}

/* ReadyForQuery is always flushed, so the last bytes of a send tell. */
PROTOCOLS_INLINE int is_postgres_ready(const __u8 tail[TAIL_BYTES])
{
	return tail[0] == 'Z' && !tail[1] && !tail[2] && !tail[3] && tail[4] == 5 &&
	       (tail[5] == 'I' || tail[5] == 'T' || tail[5] == 'E');
}

/* --- Redis ---------------------------------------------------------------------------------- */

PROTOCOLS_INLINE int is_redis_request(const struct head *head)
{
	return head->size >= 4 && head->bytes[0] == '*' && head->bytes[1] >= '1' &&
	       head->bytes[1] <= '9' &&
	       (is_digit(head->bytes[2]) || (head->bytes[2] == '\r' && head->bytes[3] == '\n'));
}

/* Where a walk along commands is. */
struct redis {
	__u32 elements;         /* of the command that are left */
	__u32 carried;          /* bytes of `carry` */
	__u64 skip;             /* bytes that belong to an element */
	__u8 carry[HEAD_BYTES]; /* the begin of a line of which the message has no more */
};

enum redis_found { REDIS_LOST, REDIS_PASSED, REDIS_CUT };

/*
 * One step: `head` has the bytes at the place, and head->size is how many belong to the message.
 * *ret_passed is how many of them were passed. *commands counts those that begin. REDIS_CUT: the
 * line is not complete. REDIS_LOST: these are no commands.
 */
PROTOCOLS_INLINE enum redis_found redis_step(struct redis *redis, const struct head *head,
					     __u64 *ret_passed, __u32 *commands)
{
	__u64 value = 0;
	__u32 i;

	if (head->bytes[0] != '*' && head->bytes[0] != '$')
		return REDIS_LOST;
	for (i = 1; i < 12; i++) {
		__u8 c = head->bytes[i];

		if (i >= head->size)
			return REDIS_CUT;
		if (c == '\r')
			break;
		if (!is_digit(c))
			return REDIS_LOST;
		value = value * 10 + (c - '0');
	}
	if (i == 1 || i == 12)
		return REDIS_LOST;
	if (i + 2 > head->size)
		return REDIS_CUT;
	if (head->bytes[0] == '*') {
		if (redis->elements)
			return REDIS_LOST;
		(*commands)++;
		redis->elements = value > 1 << 20 ? 1 << 20 : value;
	} else {
		if (!redis->elements)
			return REDIS_LOST;
		redis->skip = value + 2;
		redis->elements--;
	}
	*ret_passed = i + 2;
	return REDIS_PASSED;
}

/* --- TLS ------------------------------------------------------------------------------------ */

enum tls_record {
	TLS_RECORD_NONE = 0,
	TLS_RECORD_CHANGE = 20,
	TLS_RECORD_ALERT = 21,
	TLS_RECORD_HANDSHAKE = 22,
	TLS_RECORD_DATA = 23
};

#define TLS_CHANGE_BYTES 6 /* of a whole record */

PROTOCOLS_INLINE enum tls_record tls_record_of(const struct head *head)
{
	__u8 type = head->bytes[0];

	if (head->size < 5 || head->bytes[1] != 3 || head->bytes[2] > 4 ||
	    type < TLS_RECORD_CHANGE || type > TLS_RECORD_DATA)
		return TLS_RECORD_NONE;
	return (enum tls_record)type;
}

/* --- which one ------------------------------------------------------------------------------ */

PROTOCOLS_INLINE __u8 protocol_of_request(const struct head *head)
{
	if (is_http_request(head))
		return WINDOW_PROTOCOL_HTTP;
	if (is_redis_request(head))
		return WINDOW_PROTOCOL_REDIS;
	/* Before PostgreSQL: 'P' is also the length of a statement of 80 bytes. */
	if (is_mysql_request(head))
		return WINDOW_PROTOCOL_MYSQL;
	if (is_postgres_startup(head) || is_postgres_request(head))
		return WINDOW_PROTOCOL_POSTGRES;
	if (tls_record_of(head) == TLS_RECORD_HANDSHAKE || tls_record_of(head) == TLS_RECORD_DATA)
		return WINDOW_PROTOCOL_TLS;
	return WINDOW_PROTOCOL_NONE;
}
