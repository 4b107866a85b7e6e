/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What requests have in common: "GET /orders/17?x=1" and "GET /orders/4711" are both "GET
 * /orders/" and an id. Which parts of a path are ids is decided by their form alone: digits, or at
 * least 8 hexadecimal digits and hyphens with a digit among them. The kernel half computes a hash
 * by these rules, user space the words.
 */
#pragma once

#include "ledger/windows/protocols.h"

/* More of a path is not looked at. */
#define FOLD_BYTES (WINDOW_TEXT_BYTES - 1)

struct fold {
	__u64 hash;
	__u64 part;   /* hash of the part of the path that is open */
	__u32 size;   /* of that part */
	__u32 digits; /* of them */
	__u32 hexes;  /* of them: a to f, A to F, and '-' */
};

#define FOLD_ID 0x2a2a2a2a2a2a2a2bULL

PROTOCOLS_INLINE __u64 fold_mix(__u64 hash, __u64 more)
{
	return (hash ^ more) * 0x9e3779b97f4a7c15ULL + (hash >> 29);
}

PROTOCOLS_INLINE int fold_is_id(const struct fold *fold)
{
	if (!fold->digits)
		return 0;
	return fold->digits == fold->size ||
	       (fold->digits + fold->hexes == fold->size && fold->size >= 8);
}

/* The open part ends. */
PROTOCOLS_INLINE void fold_part(struct fold *fold)
{
	if (fold->size)
		fold->hash = fold_mix(fold->hash, fold_is_id(fold) ? FOLD_ID : fold->part);
	fold->part = 0;
	fold->size = fold->digits = fold->hexes = 0;
}

PROTOCOLS_INLINE void fold_byte(struct fold *fold, __u8 c)
{
	if (c == '/' || c == ' ') {
		fold_part(fold);
		fold->hash = fold_mix(fold->hash, c);
		return;
	}
	fold->part = fold_mix(fold->part, c);
	fold->size++;
	if (is_digit(c))
		fold->digits++;
	else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '-')
		fold->hexes++;
}

/* Whether the words of a request are a method and a path. */
PROTOCOLS_INLINE int fold_is_path(__u8 protocol)
{
	return protocol == WINDOW_PROTOCOL_HTTP || speaks_http2(protocol);
}

/* Where the words of a request end that make its class: a space ends them, but not the first. */
PROTOCOLS_INLINE int fold_ends(__u8 c, __u32 spaces)
{
	return c < ' ' || c == '?' || c == '#' || (c == ' ' && spaces);
}
