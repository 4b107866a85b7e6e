/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runtimes of runtimes.def. The kernel half uses the numbers only. */
#pragma once

#include "vocabulary/runtimes.def"

enum runtime_kind {
	RUNTIME_NONE,
#define RUNTIME_ID(id, key, title, language) RUNTIME_##id,
	RUNTIMES(RUNTIME_ID)
#undef RUNTIME_ID
		RUNTIME_KINDS,
};

/* How sure it is what a process runs. */
enum runtime_state {
#define RUNTIME_STATE_ID(id, key, why) RUNTIME_##id,
	RUNTIME_STATES(RUNTIME_STATE_ID)
#undef RUNTIME_STATE_ID
		RUNTIME_STATE_COUNT,
};

/* What a thread of a runtime's own, such as a goroutine, does. */
enum fiber_state { FIBER_RUNNABLE, FIBER_RUNNING, FIBER_SYSCALL, FIBER_WAITING, FIBER_STATES };
/* Why it waits, in words of the runtime: so many at most; 0: not known. */
#define FIBER_REASONS 64

#ifndef __bpf__

#include <stdbool.h>

struct runtime_words {
	const char *key, *title, *language;
};

/* NULL: no such runtime, or RUNTIME_NONE. */
const struct runtime_words *runtime__words(enum runtime_kind kind);
/* The runtime with this key; RUNTIME_NONE: none. `key` may be NULL. */
enum runtime_kind runtime__find(const char *key);

const char *runtime__state_key(enum runtime_state state);
/* Why a process with this state has no frames; NULL: it may have some, or there is no such state.
 */
const char *runtime__why_none(const char *state_key);

/* "runnable", "running", "syscall", "waiting" */
const char *runtime__fiber_state(enum fiber_state state);

#endif
