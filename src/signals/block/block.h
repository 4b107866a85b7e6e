/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One slow request to a block device. Sent by block.bpf.c, decoded by block.c. */
#pragma once

#include "bpf/wire.h"

enum block_operation {
	BLOCK_READ,
	BLOCK_WRITE,
	BLOCK_FLUSH,
	BLOCK_DISCARD,
	BLOCK_OTHER, /* write zeroes, zone operations, driver commands */
	/* The same, but a limit of the cgroup held the request back before it was submitted. */
	BLOCK_LIMITED_READ,
	BLOCK_LIMITED_WRITE,
	BLOCK_OPERATIONS,
};

/*
 * The object of a request in the sums is the class of its size; object[1] says that it is one. A
 * request without data has none.
 */
enum block_class {
	BLOCK_TO_4K,
	BLOCK_TO_64K,
	BLOCK_TO_256K,
	BLOCK_TO_1M,
	BLOCK_LARGER,
	BLOCK_CLASSES,
};
#define BLOCK_CLASS_OBJECT 1

struct block_record {
	struct wire_head head; /* head.time_ns: when it was complete */
	__u64 thread;          /* the submitter */
	__u64 queue_ns;
	__u64 service_ns;
	__u64 sector; /* in units of 512 bytes */
	__u32 device; /* the kernel's dev_t */
	__u32 bytes;
	__u32 depth;
	__u16 requeues;
	__u16 error; /* an errno */
	__u8 operation;
	__u8 sequential;
	__u8 pad[6];
};
_Static_assert(sizeof(struct block_record) == 80, "wire format");
