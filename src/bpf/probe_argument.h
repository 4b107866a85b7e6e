/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel half finds an argument of a declared probe (USDT); as struct usdt_argument. */
#pragma once

#include <linux/types.h>

struct probe_argument {
	__u8 kind; /* 0: unknown; 1: a constant; 2: a register; 3: memory */
	__u8 bytes;
	__u8 is_signed;
	__u8 pad;
	__u16 register_at;
	__u16 pad2;
	__s64 value;
};
_Static_assert(sizeof(struct probe_argument) == 16, "wire format");
