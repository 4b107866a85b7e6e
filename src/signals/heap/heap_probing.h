/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes of the whole target: its processes, and the allocators in the files that they map. */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>

#include "core/target.h"
#include "signals/heap/heap_files.h"
#include "signals/heap/heap_links.h"
#include "signals/heap/heap_processes.h"

/* There is one, because a recording has one signal of each kind. */
extern struct heap_probing {
	const struct target *target;
	struct bpf_object *object;
	struct heap_files files;
	struct heap_links links;
	struct heap_processes processes;
} heap_probing;

/*
 * Finds the first processes and files, before the kernel half can list them. `command`: a program
 * that does not run yet; or NULL.
 */
void heap_probing__find(const char *command);

void heap_probing__attach_all(void);
void heap_probing__detach_all(void);

/* Looks for new processes and their files, and adds CPU time. Returns whether a file is new. */
bool heap_probing__look(struct heap_cpu *cpu);
/* Also attaches probes in them. What was done there before was not seen. */
bool heap_probing__attach_new(struct heap_cpu *cpu);
