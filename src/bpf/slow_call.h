/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One slow syscall, with decoded arguments. The ledger's kernel half sends it, because it times all
 * syscalls anyway (ledger/kernel/slow.bpf.h). The signal syscalls decodes it.
 */
#pragma once

#include "bpf/path.h"
#include "bpf/wire.h"
#include "vocabulary/call_shape.h"

/* The values that each call adds to the series: its duration, and its CPU time. */
#define CALL_VALUES 2

#define CALL_ARGS 5 /* of six; no syscall has a sixth that matters */

/* The kind of file behind a descriptor. */
enum call_target {
	CALL_TARGET_NONE, /* no descriptor, or a closed one */
	CALL_TARGET_FILE,
	CALL_TARGET_PIPE,
	CALL_TARGET_SOCKET,
	CALL_TARGET_OTHER, /* anonymous inode: eventfd, epoll, … */
};

#define CALL_PATH_BYTES 256

struct slow_call_record {
	struct wire_head head; /* head.time_ns: end of the call */
	__u64 thread;
	__u64 stack; /* hash of its user stack; 0: none */
	__u64 duration_ns;
	__u64 running_ns; /* CPU time within duration_ns */
	__s64 result;
	__u64 args[CALL_ARGS];
	__u64 object[2]; /* the file behind the descriptor: inode and device */
	__u32 number;
	__u8 has_args; /* 0: the arguments were not available at the end of the call */
	__u8 target;
	__u8 paths_read; /* bit 0: path[0] could be read; bit 1: path[1] */
	__u8 family;     /* of a socket */
	__u16 local_port;
	__u16 peer_port;
	__u32 peer_pid; /* AF_UNIX: the process at the other end, 0 if unknown */
	__u8 local[16]; /* address: the first 4 bytes for AF_INET */
	__u8 peer[16];
	__u16 error; /* an errno; 0: success */
	__u16 pad[3];
	struct path_names name;                 /* the path of the target */
	char path[CALL_PATHS][CALL_PATH_BYTES]; /* as the program passed them; end with NUL */
};
_Static_assert(sizeof(struct slow_call_record) == 24 + 96 + 48 + 512 + 8 + 648, "wire format");
