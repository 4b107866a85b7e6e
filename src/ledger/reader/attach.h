/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads, attaches and seeds the kernel half; reads its accounts, sums and counters. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/features.h"
#include "core/loader.h"
#include "core/signal.h"
#include "core/target.h"
#include "ledger/ledger.h"
#include "vocabulary/counters.h"

#define LEDGER_HOOKS 28

struct ledger;

struct ledger_options {
	const struct target *target;
	bool full;
	/* Of the signals to record; is_on says which could be loaded. NULL: no signals. */
	struct part *parts;
	uint32_t refused_signal; /* test switch: 1 + number of a signal that does not load */
	bool no_events;          /* record only the sums of the signal "syscalls" */
	/*
	 * Children that the target's processes start between ledger__open() and ledger__start() are
	 * wanted too. Each of these processes must have one thread when ledger__open() is called.
	 */
	bool early;
	uint32_t gated_pid; /* a process that is wanted from its exec on; 0: none */
	/* By what the account is cut, see windows/windows.h: */
	bool requests;       /* only at level full */
	bool calls;          /* of functions that the signal functions probes */
	bool no_window_text; /* no text of requests leaves the kernel half */
	bool outside;        /* also open accounts of threads that keep the target waiting */
	uint32_t drop_every; /* test switch: ignore every Nth wakeup; 0: none */
	double budget;       /* part of a thread's running time that its hooks may take; 0: any */
	/* For a recorder that never ends; see kernel/classes.bpf.h and kernel/cgroups.bpf.h: */
	bool by_class;
	bool with_cgroups;         /* records have cgroups, and those that come and go are sent */
	uint32_t cgroup_hierarchy; /* which of them; 0: cgroup v2 */
	bool no_occupants;         /* do not note who had the CPU, see kernel/queue.bpf.h */
	uint32_t ring_bytes;       /* a power of two; 0: 8 MB */
	uint32_t most_waits;       /* sums of waits between two readings; 0: by the target */
	/* Stacks: */
	uint64_t tick_ns;          /* mean period of the samples of running time; 0: no stacks */
	uint64_t seed;             /* seed of the random periods; 0: choose one at random */
	uint64_t table_bytes;      /* memory limit for the unwinder's rows */
	bool is_paused;            /* samples are taken only after ledger__sample() */
	uint32_t stack_ring_bytes; /* a power of two; 0: 8 MB */
	uint32_t most_stacks;      /* that the kernel half remembers to have sent; 0: 32,768 */
};

/* A negative return value ends the reading, which then returns that value. */
typedef int (*ledger_take_record_fn)(void *context, const struct wire_head *record);

struct ledger_takers {
	ledger_take_record_fn take;
	void *context;
	ledger_take_record_fn take_stack;
	void *stack_context;
	ledger_take_record_fn take_window; /* NULL without windows */
	void *window_context;
};
typedef int (*ledger_take_wait_fn)(void *context, const struct ledger_key *key,
				   const struct ledger_sum *sum);
typedef int (*ledger_take_occupant_fn)(void *context, const struct ledger_occupant_key *key,
				       const struct ledger_occupant *sum);

/*
 * Loads and attaches. Records from the ring go to `take`; stacks and samples (bpf/stack.h) go to
 * `take_stack`, which may be NULL without stacks. On failure, logs the reason and returns -errno.
 * *ret belongs to the caller.
 */
int ledger__open(const struct ledger_options *options, struct features *features,
		 const struct ledger_takers *takers, struct ledger **ret);
void ledger__free(struct ledger *ledger);
/* Call this after the hooks of signals are attached: measures what hooks cost on this machine. */
void ledger__calibrate(struct ledger *ledger);

/* Opens the account of every existing wanted thread. Time counts from *ret_start_ns on. */
int ledger__start(struct ledger *ledger, uint64_t *ret_start_ns);
/*
 * Ends the recording, a moment from now, and returns that time. Accounts do not change from then
 * on. The hooks stay attached, so that no last record is missed.
 */
uint64_t ledger__freeze(struct ledger *ledger);
/* Waits for hooks that are still running. After a freeze, no account changes after this. */
void ledger__settle(struct ledger *ledger);
/* Detaches. */
void ledger__stop(struct ledger *ledger);

/* Reads the accounts that changed after `changed_after_ns` (0: all of them). */
int ledger__snapshot(struct ledger *ledger, uint64_t changed_after_ns, ledger_take_record_fn take,
		     void *context);
/* Opens the accounts that hooks or snapshots have asked for. ledger__snapshot() begins with this.
 */
int ledger__seed_due(struct ledger *ledger);
/*
 * The main thread of the process `pid` keeps a thread of the target waiting: the next seeding opens
 * its account as that of an outside thread, if it has none yet.
 */
int ledger__want_outside(struct ledger *ledger, uint32_t pid);
/* Takes the records in the rings. Waits at most timeout_ms for the first. */
int ledger__poll(struct ledger *ledger, int timeout_ms);
/* The same for stacks and samples alone, without waiting. */
int ledger__poll_stacks(struct ledger *ledger);
/* Unmaps the rings, which saves 32 MB. Call it after ledger__stop(), when they have been read. */
void ledger__close_rings(struct ledger *ledger);

/*
 * Stacks. The clock ticks begin with ledger__start(), or ledger__sample(). Call ledger__hold_rate()
 * regularly: it limits the number of drawn intervals per second on the machine by adjusting their
 * period, and that of drawn paths of syscalls.
 */
void ledger__hold_rate(struct ledger *ledger);
/*
 * Begins or ends the taking of samples, if the ledger was opened with `is_paused`. Needs the
 * privileges of ledger__open(). A process that is forked meanwhile must not call this.
 */
int ledger__sample(struct ledger *ledger, bool on);
/* Forgets all stacks and tables of the unwinder. No mapper may use them. */
void ledger__forget_stacks(struct ledger *ledger);
/* Changes the share of its running time that a thread's calls may cost. */
void ledger__limit_calls(struct ledger *ledger, double share);
/* Draws at most one of 2^shift of the intervals and stacks that are drawn without a budget. */
void ledger__thin_stacks(struct ledger *ledger, uint32_t shift);
/* Intervals drawn and stacks taken at switch-out so far. */
uint64_t ledger__drawn(const struct ledger *ledger);
/*
 * After ledger__freeze(): passes each open interval to `take`, as struct asleep_record. The kernel
 * stacks of these records come through the ring.
 */
int ledger__asleep(struct ledger *ledger, ledger_take_record_fn take, void *context);
/* The maps of the unwinder, and those that remember what the kernel half has already sent. */
struct ledger_tables {
	int processes_fd, pages_fd, asked_fd, requests_fd;
	int stacks_fd;  /* by hash */
	int objects_fd; /* by struct ledger_seen */
};
/* The seed of the clock's random periods. */
uint64_t ledger__seed(const struct ledger *ledger);
struct ledger_tables ledger__tables(const struct ledger *ledger);
/* Time in the ledger that no sample represents. */
uint64_t ledger__unsampled_ns(const struct ledger *ledger);
/* Slow events whose stack was not taken, because the buffer was in use. */
uint64_t ledger__event_stacks_missed(const struct ledger *ledger);

/* How often the lock of this wait was released since the start, see kernel/holder.bpf.h. */
uint32_t ledger__releases(const struct ledger *ledger, const struct ledger_key *wait);
/* The id of an accounted thread, by its number in its own pid namespace. False if there is none. */
bool ledger__find_tid(const struct ledger *ledger, uint32_t pid, uint32_t ns_tid, uint64_t *ret_id);

/*
 * Takes and deletes the sums of waits and occupants from before the previous call; with `all`,
 * every sum. `all` is allowed only after ledger__freeze().
 */
int ledger__drain_sums(struct ledger *ledger, bool all, ledger_take_wait_fn take_wait,
		       ledger_take_occupant_fn take_occupant, void *context);

/*
 * Takes and deletes the sums of syscalls per thread, in the same way. Call it before
 * ledger__drain_waits(), which makes the maps change places.
 */
typedef int (*ledger_take_calls_fn)(void *context, const struct ledger_thread_call *call,
				    const struct ledger_call_sum *sum);
int ledger__drain_calls(struct ledger *ledger, bool all, ledger_take_calls_fn take, void *context);

/*
 * Per CPU: LEDGER_SYSCALLS calls, SLOT_COUNT histograms, one ledger_cpu. They are mapped from the
 * kernel and change while the recording runs.
 */
int ledger__cpus(const struct ledger *ledger);
const struct ledger_call *ledger__calls(const struct ledger *ledger, int cpu);
const struct ledger_histogram *ledger__histograms(const struct ledger *ledger, int cpu);
const struct ledger_cpu *ledger__cpu(const struct ledger *ledger, int cpu);

/* Calls `take` for every (syscall, errno) seen so far, with its total count. */
typedef int (*ledger_take_error_fn)(void *context, int number, int err, uint64_t count);
int ledger__errors(struct ledger *ledger, ledger_take_error_fn take, void *context);

/*
 * The signal "syscalls" uses the ledger's histograms, so that the kernel half does not count twice.
 * If the signal is recorded, call ledger__share_buckets() for each syscall, with the sum over all
 * CPUs, before the signal's rows are written.
 */
bool ledger__shares_calls(const struct ledger *ledger);
void ledger__share_buckets(struct ledger *ledger, int number, const struct ledger_call *call);

/* What the kernel half and the rings have lost, repaired or do not know, in a fixed order. */
#define LEDGER_COUNTS 15
struct ledger_count {
	enum counter counter;
	uint64_t value;
};
void ledger__counts(const struct ledger *ledger, struct ledger_count ret[LEDGER_COUNTS]);
uint64_t ledger__quality(const struct ledger *ledger, enum ledger_quality which);
uint64_t ledger__outside(const struct ledger *ledger, enum ledger_outside which);
uint64_t ledger__lost(const struct ledger *ledger, enum lost which);
/* Sum over all programs; law 3. */
uint64_t ledger__recursion_misses(const struct ledger *ledger);
uint64_t ledger__malformed(const struct ledger *ledger);
uint64_t ledger__malformed_stacks(const struct ledger *ledger);

/* What a small syscall costs the calling thread on this machine, in ns; 0: not measured. */
struct ledger_calibration {
	double plain_call_ns;   /* before hooks were attached */
	double hooked_call_ns;  /* with hooks */
	double untimed_call_ns; /* with hooks that only count; 0 also if there is no budget */
	/* Part of hooked_call_ns between two calls; not charged to the program. */
	double crossing_ns;
};
struct ledger_calibration ledger__calibration(const struct ledger *ledger);

/* The kernel half, with the parts of signals. */
struct bpf_object *ledger__object(const struct ledger *ledger);
/* Whether a signal's hooks work here, without loading anything. ret[] has room for all of them. */
bool ledger__look_at(const struct signal *signal, struct features *features, struct hook_use *ret);

/* The state of each hook, as an array of *ret_count. Belongs to the ledger. */
const struct hook_use *ledger__hooks(const struct ledger *ledger, size_t *ret_count);
