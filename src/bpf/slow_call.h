/*
 * One syscall that took long, with what its arguments mean. Sent by the ledger's kernel half, which
 * times all calls anyway (ledger/slow.bpf.h), decoded by the signal syscalls.
 */
#pragma once

#include "bpf/path.h"
#include "bpf/wire.h"
#include "vocabulary/call_shape.h"

/* What each call adds to the series: its time, and how much of that it ran. */
#define CALL_VALUES 2

#define CALL_ARGS 5 /* of six: no sixth one says much */

/* What is behind a descriptor. */
enum call_target {
	CALL_TARGET_NONE, /* no descriptor, or it is closed */
	CALL_TARGET_FILE,
	CALL_TARGET_PIPE,
	CALL_TARGET_SOCKET,
	CALL_TARGET_OTHER, /* an inode without a kind: eventfd, epoll, … */
};

#define CALL_PATH_BYTES 256

struct slow_call_record {
	struct wire_head head; /* head.time_ns: when it ended */
	__u64 thread;
	__u64 duration_ns;
	__u64 running_ns; /* of that, on a CPU */
	__s64 result;
	__u64 args[CALL_ARGS];
	__u64 object[2]; /* behind the descriptor: inode and device */
	__u32 number;
	__u8 has_args; /* 0: when it was over, nothing had them any more */
	__u8 target;
	__u8 paths_read; /* bit 0: path[0] could be read; bit 1: path[1] */
	__u8 family;     /* of a socket */
	__u16 local_port;
	__u16 peer_port;
	__u32 peer_pid; /* AF_UNIX: the process at the other end, 0 if unknown */
	__u8 local[16]; /* address: the first 4 bytes for AF_INET */
	__u8 peer[16];
	__u16 error; /* an errno; 0: it went well */
	__u16 pad[3];
	struct path_names name;                 /* the target's */
	char path[CALL_PATHS][CALL_PATH_BYTES]; /* as the program has them; end with NUL */
};
_Static_assert(sizeof(struct slow_call_record) == 24 + 88 + 48 + 512 + 8 + 648, "wire format");
