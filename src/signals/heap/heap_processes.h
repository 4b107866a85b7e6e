/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target's processes and the CPU time that they use. Nothing here logs. For use by one thread
 * at a time.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct heap_process {
	pid_t pid;
	clockid_t clock;
	uint64_t cpu_ns; /* at the last reading */
	bool is_probed;  /* its probes are attached */
	bool is_gone;
	unsigned listings; /* how often it was listed since it executed a program */
	uint64_t inode;    /* of the program */
};

/* All zeroes: none yet. */
struct heap_processes {
	struct heap_process *list;
	size_t count;
	struct bpf_link *iterator;
	int ended_fd;
	bool has_begun;
	bool all_probed; /* also those that begin */
};

struct heap_cpu {
	uint64_t all_ns;
	uint64_t probed_ns; /* of processes whose probes are attached */
};

int heap_processes__open(struct heap_processes *processes, const struct bpf_object *object);
void heap_processes__close(struct heap_processes *processes);

/*
 * Adds a process that may be in the target. Its CPU time counts from now on. NULL: out of memory,
 * or it does not exist.
 */
struct heap_process *heap_processes__add(struct heap_processes *processes, pid_t pid);
/*
 * Looks for new processes, and forgets those that have ended. CPU time of those that ended unseen
 * is added to *cpu. The first call begins the account. 0 or -errno.
 */
int heap_processes__list(struct heap_processes *processes, struct heap_cpu *cpu);
/* Adds the CPU time since the last call. */
void heap_processes__advance(struct heap_processes *processes, struct heap_cpu *cpu);
