/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel types of io_uring, as in kernel.h. */
#pragma once

#include "bpf/kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_cqe {
	__u64 user_data;
	__s32 res;
	union {
		__u32 flags;
		int fd; /* until it is issued */
	};
};

struct io_ring_ctx;

struct io_uring_task {
	struct file *registered_rings[16];
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	__u32 flags; /* 64 bits since 6.9; the low half is enough */
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};

/* A completion as the program sees it. */
struct io_uring_cqe {
	__u64 user_data;
	__s32 res;
	__u32 flags;
};

#pragma clang attribute pop
