/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by both halves of the signal writeback: operations, and the record. */
#pragma once

#include "bpf/path.h"
#include "bpf/wire.h"

enum writeback_operation {
	WRITEBACK_DIRTY, /* pages of a file that a thread changed in memory */
	WRITEBACK_WRITE, /* pages that the kernel wrote later */
	WRITEBACK_OPERATIONS,
};

enum writeback_measure { WRITEBACK_TIME, WRITEBACK_SIZE, WRITEBACK_MEASURES };

/* The name of a file, sent when it is first seen: it is the only record. */
struct writeback_record {
	struct wire_head head;
	__u64 object[2];        /* as in the signal files: inode, device | generation << 32 */
	struct path_names path; /* below the root of its file system */
};
_Static_assert(sizeof(struct writeback_record) == 688, "wire format");
