/*
 * Programs started and processes ended. Sent by exec.bpf.c, decoded by exec.c. Numbers of processes
 * are those of gapless's own pid namespace, where the ledger knows them; 0: not to be seen there.
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
	__u32 args_bytes;           /* how many there are; more than args[] has: cut */
	__u32 args_kept;            /* 0 although there are some: they could not be read */
	char file[EXEC_FILE_BYTES]; /* as given to execve, cut at the end; always ends with NUL */
	char args[EXEC_ARGS_BYTES]; /* each ends with NUL, but for the last one if cut */
};
_Static_assert(sizeof(struct exec_started) == 592, "wire format");

struct exec_ended {
	struct wire_head head; /* head.time_ns: when the last thread began to exit */
	struct exec_process process;
	__u64 lifetime_ns; /* since its last execve; if that was not seen, its fork */
	__u32 code;        /* as wait(2) reports it */
	__u32 forked;      /* 1: it never started a program of its own */
};
_Static_assert(sizeof(struct exec_ended) == 88, "wire format");
