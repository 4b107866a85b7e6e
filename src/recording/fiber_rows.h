/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a recording about threads of a runtime's own, such as goroutines. */
#pragma once

#include "recording/recording.h"

/*
 * A thread of a runtime's own, such as a goroutine, with its number there. `start` and `created`
 * are stacks of one frame: its first function, and the call that made it; 0: unknown.
 */
struct recording_fiber {
	int64_t process, id;
	int64_t start, created;
	int64_t first_ns; /* of the first reading that has it */
};
int fiber_rows__put(struct recording *recording, const struct recording_fiber *fiber);

struct recording_fiber_state {
	int64_t id;
	const char *state; /* "runnable", "running", "syscall", "waiting" */
	const char
		*reason; /* why it waits, in words of the runtime; NULL: unknown, or it does not */
};
int fiber_rows__add_state(struct recording *recording, const struct recording_fiber_state *state);

/* What readings within begin_ns … end_ns found; adds to what is there with the same key. */
struct recording_fiber_time {
	int64_t begin_ns, end_ns;
	int64_t process, fiber;
	int64_t state;  /* struct recording_fiber_state */
	int64_t object; /* what it waits for; 0: unknown */
	int64_t stack;  /* 0: none */
	int64_t ns;
	int64_t readings;
	double variance; /* of ns, in ns² */
};
int fiber_rows__add_time(struct recording *recording, const struct recording_fiber_time *time);

/* By every change of its state; adds to what is there with the same key. */
struct recording_fiber_exact {
	int64_t begin_ns, end_ns; /* the sums were taken then */
	int64_t process, fiber;
	int64_t state; /* struct recording_fiber_state */
	int64_t ns;
	int64_t changes; /* how often the state has ended */
};
int fiber_rows__add_exact(struct recording *recording, const struct recording_fiber_exact *exact);
