/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs started and processes ended. Sent by exec.bpf.c, decoded by exec.c. Pids are those of
 * gapless's own pid namespace, as in the ledger; 0: not visible there.
 */
#pragma once

#include "bpf/wire.h"

#define EXEC_FILE_BYTES 256
#define EXEC_ARGS_BYTES 256

enum exec_kind { EXEC_STARTED, EXEC_ENDED };

struct exec_process {
	__u64 thread; /* the ledger's id of the process's main thread */
	__u32 pid;
	__u32 parent_pid;
	char comm[WIRE_COMM_BYTES];
	char parent_comm[WIRE_COMM_BYTES];
};
_Static_assert(sizeof(struct exec_process) == 48, "wire format");

struct exec_started {
	struct wire_head head; /* head.time_ns: when the new image took over */
	struct exec_process process;
	__u32 args_bytes;           /* total size; if larger than args[], args is truncated */
	__u32 args_kept;            /* 0 with args_bytes > 0: they could not be read */
	char file[EXEC_FILE_BYTES]; /* as passed to execve, truncated; always ends with NUL */
	char args[EXEC_ARGS_BYTES]; /* each ends with NUL, except the last one if truncated */
};
_Static_assert(sizeof(struct exec_started) == 592, "wire format");

struct exec_ended {
	struct wire_head head; /* head.time_ns: when the last thread began to exit */
	struct exec_process process;
	__u64 lifetime_ns; /* since the last execve, or since the fork if no execve was seen */
	__u32 code;        /* as wait(2) reports it */
	__u32 forked;      /* 1: it never executed a program */
};
_Static_assert(sizeof(struct exec_ended) == 88, "wire format");
