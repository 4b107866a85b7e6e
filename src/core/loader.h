/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layer above libbpf: chooses for each hook the first alternative that works on this kernel,
 * keeps libbpf's messages, and says in one sentence why something did not load.
 */
#pragma once

#include <bpf/libbpf.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/features.h"
#include "core/hooks.h"

/* The program that was chosen for a hook on this machine. */
struct hook_use {
	const char *event;
	unsigned flags;      /* those of the hook */
	const char *program; /* NULL: none of the alternatives works here */
	const char *kind;    /* "tp_btf", "raw_tp", … of the chosen program */
	char why_not[256];   /* why better alternatives were rejected, "" if none was */
};

/*
 * Captures libbpf's output. It is shown at level debug; otherwise it is kept, so that
 * loader__replay() can show it after a failure. Call this once, early, and loader__forget() before
 * each attempt.
 */
void loader__capture_log(void);
void loader__forget(void);
void loader__replay(void);

/* libbpf's last warning since loader__forget(), "" if there was none. */
const char *loader__last_warning(void);

/*
 * Chooses the program of every hook (the list ends with a NULL event) and sets autoload of all its
 * alternatives accordingly. ret[] has room for one result per hook. Returns the number of hooks
 * that have a program.
 */
int loader__choose(struct bpf_object *object, const struct hook *hooks, struct features *features,
		   struct hook_use *ret);

/* {name: max_entries} of all maps of a loaded object. The caller owns the result. */
json_t *loader__map_sizes(const struct bpf_object *object);

/* Number and duration of program runs while run-time statistics were on (bpf_enable_stats()). */
struct loader_runs {
	uint64_t calls, call_ns;      /* of programs at the entry and exit of syscalls */
	uint64_t switches, switch_ns; /* at context switches and wakeups */
	uint64_t others, other_ns;
	size_t call_programs; /* number of programs at the entry and exit of syscalls */
};
/* Adds the runs of all programs of a loaded object. */
void loader__add_runs(const struct bpf_object *object, struct loader_runs *to);

/*
 * How often the kernel skipped a run to prevent recursion: sum over all programs whose names begin
 * with `prefix`. NULL: all programs.
 */
uint64_t loader__recursion_misses(const struct bpf_object *object, const char *prefix);

/* The kernel's tag of a loaded program, 16 hex digits; "" if it is not loaded. */
#define LOADER_TAG_BYTES 17
void loader__tag(const struct bpf_object *object, const char *program, char ret[LOADER_TAG_BYTES]);
