/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What threads of a runtime's own did, such as goroutines: by the function that they began with.
 * Times are sampled, see record/fiber_ledger.h; with the signal goroutines, exact ones are beside
 * them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/hot.h"
#include "vocabulary/runtimes.h"

struct fold;
struct model;
struct sqlite3;

/* How they are called, as long as only Go has some. */
#define FIBERS_NAME "goroutines"

/* Those of a group that were in one place for one reason. */
struct fibers_wait {
	enum fiber_state state;
	const char *reason;      /* in words of the runtime; NULL: unknown */
	const char *object_name; /* NULL: unknown */
	int64_t object;          /* id; 0: unknown */
	/*
	 * The innermost function that is not of the runtime itself; if all are, the innermost of
	 * all. 0: no stack.
	 */
	uint32_t node;
	struct hot_sum sum; /* samples: goroutines times readings */
	size_t fibers;      /* how many different ones */
};

/* What every change of state tells of a group, for one state and reason. */
struct fibers_exact {
	enum fiber_state state;
	const char *reason;  /* NULL: unknown, or it does not wait */
	int64_t ns, changes; /* changes: how often it has ended */
};

struct fibers_group {
	const char *start; /* the function; NULL: unknown */
	const char *process_comm;
	bool is_internal; /* the runtime's own: its garbage collector, its timers */
	size_t fibers;    /* how many different ones were seen */
	int64_t readings; /* the most that have one of them */
	struct hot_sum sums[FIBER_STATES];
	struct hot_sum run;        /* by ticks of threads that ran them, which are more exact */
	struct fibers_wait *waits; /* those that wait or are in a system call, longest first */
	size_t wait_count;
	struct fibers_exact *exact; /* longest first; NULL: changes were not recorded */
	size_t exact_count;
};

struct fibers {
	struct fibers_group *groups; /* those with most time first, those of the runtime last */
	size_t count;
	bool has_exact; /* of some group */
};

int fibers__load(struct fold *fold, struct model *model, struct sqlite3 *db);
void fibers__release(struct fibers *fibers);

/* The exact time of a group in a state; *ret_changes is how often it has ended, may be NULL. */
int64_t fibers__exact_ns(const struct fibers_group *group, enum fiber_state state,
			 int64_t *ret_changes);
/* Whether a function belongs to Go's runtime. */
bool fibers__is_runtime(const char *function);
