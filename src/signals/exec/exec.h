/* One program started. Sent by exec.bpf.c, decoded by exec.c. */
#pragma once

#include "bpf/wire.h"

#define EXEC_FILE_BYTES 256

struct exec_record {
	struct wire_head head; /* head.time_ns: when the new image took over */
	__u64 thread;
	__u32 pid;
	__u32 parent_pid;
	char parent_comm[WIRE_COMM_BYTES];
	char file[EXEC_FILE_BYTES]; /* as given to execve, cut at the end; always ends with NUL */
};
_Static_assert(sizeof(struct exec_record) == 312, "wire format");
