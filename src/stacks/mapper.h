/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Supplies the kernel half's unwinder: which files a process has mapped where, and the rows of
 * these files. It has threads of its own, because a stack is complete only if its tables are there
 * in time.
 *
 * Mappings come from /proc/PID/maps when the kernel half first asks about a process, and after that
 * from the kernel's records of mmap, exec, fork and exit (perf events). Rows are compiled when the
 * kernel half first asks for a module. Over the budget, the least recently used modules are
 * evicted.
 *
 * All functions may be called from any one other thread. Nothing here logs above debug.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/runtime.h"
#include "stacks/candidates.h"

struct mapper;

struct mapper_options {
	int processes_fd;      /* hash: __u32 pid → struct unwind_process */
	int pages_fd;          /* hash: __u64 UNWIND_KEY → struct unwind_page */
	int asked_fd;          /* LRU hash: __u64 UNWIND_ASKED → __u8: the requests so far */
	int requests_fd;       /* ring of struct unwind_request */
	uint64_t budget_bytes; /* for rows */
	/*
	 * True: compile the rows of all files of a process as soon as it is known, so that its
	 * first stacks are complete. False: only those that the kernel half requests.
	 */
	bool eager;
	struct candidate_taker languages; /* called from the mapper's thread */
};

int mapper__new(const struct mapper_options *options, struct mapper **ret);
/* Ends the threads. What is known can still be queried. */
void mapper__stop(struct mapper *mapper);
void mapper__free(struct mapper *mapper);

/* Learns about a process before the kernel half requests it. */
void mapper__watch(struct mapper *mapper, pid_t pid);

/* Waits until all watched processes are known and the compiler is idle, at most `most_ns`. */
void mapper__wait(struct mapper *mapper, uint64_t most_ns);

/* What the walk has to know of the language runtime of a process. */
void mapper__set_runtime(struct mapper *mapper, uint32_t pid, uint64_t start_ticks,
			 const struct runtime *runtime);

/* Loads the rows of a module before the kernel half requests them. */
void mapper__want(struct mapper *mapper, uint32_t id);

/* Finds the module of an address in a process, by what is known now. false: in no file. */
bool mapper__locate(struct mapper *mapper, uint32_t pid, uint64_t address, uint32_t *ret_module,
		    uint64_t *ret_address);

/* The same for a data address: a variable of the program or of a library. */
bool mapper__locate_variable(struct mapper *mapper, uint32_t pid, uint64_t address,
			     uint32_t *ret_module, uint64_t *ret_address);

/* A file with code. Strings and fd are valid while the module is held. */
struct mapper_module {
	uint32_t id; /* from 1 on */
	int fd;      /* -1: could not be opened, or the vDSO */
	const char *path;
	const char *build_id; /* hex, NULL if it has none */
	uint64_t size;        /* of the file, in bytes */
	int pid;              /* a process that had it mapped */
	bool is_vdso;
};
int mapper__module(struct mapper *mapper, uint32_t id, struct mapper_module *ret);
/*
 * The same, and takes a reference: the module keeps its id until mapper__leave() was called as
 * often. A module without references is freed some time after the last process that mapped it has
 * ended; then another file can get its id.
 */
int mapper__hold(struct mapper *mapper, uint32_t id, struct mapper_module *ret);
void mapper__leave(struct mapper *mapper, uint32_t id);

/* Marks the rows of a module as used. Eviction takes the least recently used modules first. */
void mapper__used(struct mapper *mapper, uint32_t module);

struct mapper_quality {
	uint64_t lost_events;       /* mmap, exec, fork and exit records that the kernel dropped */
	bool without_events;        /* no perf events: mappings are up to a second old */
	uint64_t crowded_processes; /* processes with more mappings than fit */
	uint64_t processes_failed;  /* failures to read a process, or to add it to the map */
	uint64_t modules, modules_failed;
	uint64_t rows, broken_rows;
	uint64_t evicted;     /* evictions of a module's rows */
	uint64_t over_budget; /* modules larger than the whole budget */
	uint64_t table_bytes, table_bytes_peak;
	uint64_t compile_ns; /* CPU time of the compiler */
};
struct mapper_quality mapper__quality(struct mapper *mapper);
