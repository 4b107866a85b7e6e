/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The range of syscall numbers, and which arguments the kernel half decodes. */
#pragma once

#include <linux/types.h>

#define CALL_NUMBERS 512
/* Represents all calls of 32-bit programs, which have other syscall numbers. */
#define CALL_32BIT 511

#define CALL_PATHS 2

/* Arguments to decode. `fd` and `path` are positions that count from 1; 0 is none. */
struct call_shape {
	__u8 fd;
	__u8 path[CALL_PATHS];
	__u8 idle; /* CHOICE in calls.def: only its time on a CPU can be slow */
};
