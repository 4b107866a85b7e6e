/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first bytes of a message, and what the parsers of all protocols need. */
#pragma once

#include "bpf/wire.h"

#define HEAD_BYTES 16 /* that are looked at */
#define TAIL_BYTES 6

#define PROTOCOLS_INLINE static inline __attribute__((always_inline, unused))

struct head {
	union {
		__u8 bytes[HEAD_BYTES];
		__u32 words[HEAD_BYTES / 4];
	};
	__u32 size; /* of the whole message; bytes beyond it are 0 */
};

#define FOUR(a, b, c, d) ((__u32)(a) | (__u32)(b) << 8 | (__u32)(c) << 16 | (__u32)(d) << 24)

PROTOCOLS_INLINE __u32 big_endian(const __u8 *at)
{
	return (__u32)at[0] << 24 | (__u32)at[1] << 16 | (__u32)at[2] << 8 | at[3];
}

PROTOCOLS_INLINE int is_digit(__u8 c)
{
	return c >= '0' && c <= '9';
}
