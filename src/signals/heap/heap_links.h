/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes at the functions of allocators, attached and detached together. Kernels since 6.6 attach
 * all places of a file with one link (BPF_TRACE_UPROBE_MULTI), before that,
 * each place has a link. Detaching a link waits for all CPUs, so threads detach them at the same
 * time. Nothing here logs.
 */
#pragma once

#include <bpf/libbpf.h>

#include "signals/heap/heap_files.h"

/* More processes than these are not chosen one by one: all that map the files are probed. */
#define HEAP_LINKS_PROCESSES 8

struct heap_link {
	int fd;                /* with one link for each file; or -1 */
	struct bpf_link *link; /* with one for each place */
};

/* All zeroes: none. */
struct heap_links {
	struct heap_link *list;
	size_t count;
};

/* Before the object is loaded. */
void heap_links__prepare(struct bpf_object *object);

/* Adds those in a process; pid 0: in all. Returns whether some could not be attached. */
size_t heap_links__attach(struct heap_links *links, const struct bpf_object *object,
			  const struct heap_file *file, pid_t pid);
void heap_links__detach(struct heap_links *links);
