/*
 * Keeps the kernel half's unwinder supplied: which files a process has mapped where, and the rows
 * of those files. It runs in threads of its own, because a sample is whole only if they are in
 * time.
 *
 * Mappings come from /proc/PID/maps when the kernel half first asks about a process, and from then
 * on from the kernel's own records of mmap, exec, fork and exit (perf events). Rows are compiled
 * when the kernel half first asks for a module; beyond the budget, those not used for longest give
 * way.
 *
 * All functions may be called from any one other thread. Nothing here logs above debug.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mapper;

struct mapper_options {
	int processes_fd;      /* hash: __u32 process number → struct unwind_process */
	int pages_fd;          /* hash: __u64 UNWIND_KEY → struct unwind_page */
	int asked_fd;          /* LRU hash: __u64 UNWIND_ASKED → __u8: what was asked for */
	int requests_fd;       /* ring of struct unwind_request */
	uint64_t budget_bytes; /* of rows */
	/*
	 * Rows of all files of a process as soon as it is known, so that its first stacks are
	 * whole; else of those that the kernel half asks for.
	 */
	bool eager;
};

int mapper__new(const struct mapper_options *options, struct mapper **ret);
/* Ends its threads. What is known stays to be asked about. */
void mapper__stop(struct mapper *mapper);
void mapper__free(struct mapper *mapper);

/* Learns about a process before it is asked for. */
void mapper__watch(struct mapper *mapper, pid_t pid);

/* Waits until all that was to be learnt is known, at most so long. */
void mapper__wait(struct mapper *mapper, uint64_t most_ns);

/* Loads the rows of a module before they are asked for. */
void mapper__want(struct mapper *mapper, uint32_t id);

/* Where an address of a process is, by all that is known now. false: in no file. */
bool mapper__locate(struct mapper *mapper, uint32_t pid, uint64_t address, uint32_t *ret_module,
		    uint64_t *ret_address);

/* Likewise for an address of data: a variable of the program or of a library. */
bool mapper__locate_variable(struct mapper *mapper, uint32_t pid, uint64_t address,
			     uint32_t *ret_module, uint64_t *ret_address);

/* A file with code. Strings and fd are valid as long as it is held. */
struct mapper_module {
	uint32_t id; /* from 1 on */
	int fd;      /* -1: could not be opened, or the vDSO */
	const char *path;
	const char *build_id; /* hex, NULL if it has none */
	int pid;              /* a process that had it mapped */
	bool is_vdso;
};
int mapper__module(struct mapper *mapper, uint32_t id, struct mapper_module *ret);
/*
 * Likewise; and it stays, with its id, until it is left as often. One that nobody holds goes some
 * time after the last process that had it mapped; its id may then become another file's.
 */
int mapper__hold(struct mapper *mapper, uint32_t id, struct mapper_module *ret);
void mapper__leave(struct mapper *mapper, uint32_t id);

/* That its rows are still of use: eviction takes those first that were not for longest. */
void mapper__used(struct mapper *mapper, uint32_t module);

struct mapper_quality {
	uint64_t lost_events;       /* records of mmap and so on that the kernel dropped */
	bool without_events;        /* there are none to be had: mappings are up to a second old */
	uint64_t crowded_processes; /* with more mappings than fit */
	uint64_t processes_failed;  /* times that the kernel half's map had no room for one */
	uint64_t modules, modules_failed;
	uint64_t rows, broken_rows;
	uint64_t evicted;     /* modules whose rows gave way, each time counted */
	uint64_t over_budget; /* modules that are too large for the whole budget */
	uint64_t table_bytes, table_bytes_peak;
	uint64_t compile_ns; /* CPU time of the compiler */
};
struct mapper_quality mapper__quality(struct mapper *mapper);
