/* One recording from start to finish, behind `gapless record`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/features.h"
#include "core/signal.h"
#include "core/target.h"
#include "recording/recording.h"

/* What commands take if nobody says otherwise. */
#define RUN_INTERVAL_NS UINT64_C(100000000)
#define RUN_SLOW_NS     UINT64_C(10000000)

struct run_options {
	struct target target;
	bool full;
	bool no_syscall_hooks; /* nor do signals have any: it is to cost nothing at syscalls */
	uint64_t interval_ns;  /* between snapshots, at first */
	uint32_t drop_every;   /* test switch */
	bool early; /* what the target's processes start before run__begin() is wanted too */
	uint32_t gated_pid;   /* a process that is wanted from its exec on; 0: none */
	uint64_t tick_ns;     /* between two samples of a CPU, on average; 0: no stacks */
	uint64_t seed;        /* of the random time between them; 0: one is drawn */
	uint64_t table_bytes; /* what the unwinder's tables may take */
	const struct signal *const *signals; /* ends with NULL; NULL: none */
	uint64_t slow_ns;                    /* what takes as long becomes an event … */
	bool no_slow_calls;                  /* … but no syscall: then they load faster */
	bool no_peers;                       /* nobody looks for the other ends of pipes */
	bool (*is_interrupted)(void);        /* somebody wants an end; may be NULL */
};

struct run;

/*
 * In two steps: run__open() loads and attaches, run__begin(), with the same options, seeds: when it
 * returns, every wanted thread is accounted. With `early`, the target's processes have one thread
 * each when run__open() is called. Both log and return -errno.
 */
int run__open(const struct run_options *options, struct recording *recording,
	      struct features *features, struct run **ret);
int run__begin(struct run *run, const struct run_options *options);
/* Both at once. */
int run__start(const struct run_options *options, struct recording *recording,
	       struct features *features, struct run **ret);
void run__free(struct run *run);

/* Works for about one interval, not past `until_ns` (0: no limit). 0, or -errno: it cannot go on.
 */
int run__step(struct run *run, uint64_t until_ns);

/*
 * Brings what happened until now into the recording, which otherwise has it within a second, with
 * the names of all threads that took part. Some milliseconds long.
 */
int run__flush(struct run *run);
/*
 * For a recording whose reader takes rows out: series get new ids, so their rows may be deleted,
 * and as many events may follow as a recording may have. What only rows from before `before_ns`
 * name (objects, code, threads without an account) is dropped: they must be gone. 0: nothing is.
 */
int run__forget(struct run *run, uint64_t before_ns);

/* How many of the wanted signals are at work. */
size_t run__signals(const struct run *run);
/* How many accounted threads are alive. */
size_t run__threads(const struct run *run);

/*
 * For views of what happens now. The state (its id in the recording) that a thread was in at its
 * last record and, since it sent none, still is; 0: there is no such thread.
 */
int run__open_state(const struct run *run, int64_t thread);
/* Between snapshots, from now on. */
void run__set_interval(struct run *run, uint64_t interval_ns);
/* As run__flush(), with the accounts of all threads, changed or not. */
int run__flush_whole(struct run *run);
/* Names for frames that have none yet, as many as can be looked up until `until_ns`. */
int run__name(struct run *run, uint64_t until_ns);

/* The last account of everything, quality and cost; the recording is then ready to be finished. */
int run__stop(struct run *run);
