/* The kernel half at work: loaded, attached, seeded; its accounts, sums and counters to be read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/features.h"
#include "core/loader.h"
#include "core/target.h"
#include "ledger/ledger.h"

#define LEDGER_HOOKS 18

struct ledger;

struct ledger_options {
	const struct target *target;
	bool full;
	bool with_syscalls; /* the signal that is a view of level full */
	bool no_events;     /* of that signal, the sums only */
	/*
	 * What the target's processes start between ledger__open() and ledger__start() is wanted
	 * too. They must have one thread each when ledger__open() is called.
	 */
	bool early;
	uint32_t gated_pid;  /* a process that is wanted from its exec on; 0: none */
	uint32_t drop_every; /* test switch: ignore one wakeup in so many; 0: none */
	/* Stacks: */
	uint64_t tick_ns;     /* mean period of the samples of running time; 0: no stacks */
	uint64_t seed;        /* of its random periods; 0: one is drawn */
	uint64_t table_bytes; /* at most so much for the unwinder's rows */
};

/* A negative result ends the reading and becomes its result. */
typedef int (*ledger_take_record_fn)(void *context, const struct wire_head *record);

struct ledger_takers {
	ledger_take_record_fn take;
	void *context;
	ledger_take_record_fn take_stack;
	void *stack_context;
};
typedef int (*ledger_take_wait_fn)(void *context, const struct ledger_key *key,
				   const struct ledger_sum *sum);

/*
 * Loads and attaches; records that come through the ring go to `take`, stacks and samples
 * (bpf/stack.h) to `take_stack`, which may be NULL if none are taken. Logs why it failed and
 * returns -errno. *ret belongs to the caller.
 */
int ledger__open(const struct ledger_options *options, struct features *features,
		 const struct ledger_takers *takers, struct ledger **ret);
void ledger__free(struct ledger *ledger);
/*
 * To be called when the hooks of signals are attached: programs at one tracepoint run in the order
 * in which they were attached, and the ledger's is to be the last one at the end of a syscall. What
 * runs behind it is taken for the program's own time. Measures what hooks cost on this machine.
 */
int ledger__attach_last(struct ledger *ledger);

/* Opens the account of every wanted thread that is there. Time counts from *ret_start_ns on. */
int ledger__start(struct ledger *ledger, uint64_t *ret_start_ns);
/* From here on nothing changes any more. The hooks stay, so that no last record is missed. */
uint64_t ledger__freeze(struct ledger *ledger);
/* After it: waits for hooks that were at work just then. Now every account is at rest. */
void ledger__settle(struct ledger *ledger);
/* Detaches. */
void ledger__stop(struct ledger *ledger);

/* Reads the accounts that changed after `changed_after_ns` (0: all of them). */
int ledger__snapshot(struct ledger *ledger, uint64_t changed_after_ns, ledger_take_record_fn take,
		     void *context);
/* Takes what came through the ring, waiting at most timeout_ms. */
int ledger__poll(struct ledger *ledger, int timeout_ms);

/*
 * Stacks. The clock ticks begin with ledger__start(). ledger__hold_rate(), called now and then,
 * keeps the machine at a bounded number of drawn intervals a second by raising their period.
 */
void ledger__hold_rate(struct ledger *ledger);
/* After ledger__freeze: what is open still, as struct asleep_record; first what is in the ring. */
int ledger__asleep(struct ledger *ledger, ledger_take_record_fn take, void *context);
/* The maps that keep the unwinder going, and those of what was sent once. */
struct ledger_tables {
	int processes_fd, pages_fd, asked_fd, requests_fd;
	int stacks_fd;  /* by hash */
	int objects_fd; /* by struct ledger_seen */
};
/* What the clock's periods are drawn from. */
uint64_t ledger__seed(const struct ledger *ledger);
struct ledger_tables ledger__tables(const struct ledger *ledger);
/* Time of the ledger that no sample stands for. */
uint64_t ledger__unsampled_ns(const struct ledger *ledger);

/*
 * Takes and empties the sums of waits gathered before the last call; with `all`, everything (only
 * after ledger__freeze).
 */
int ledger__drain_waits(struct ledger *ledger, bool all, ledger_take_wait_fn take, void *context);

/* Per CPU: LEDGER_SYSCALLS calls, SLOT_COUNT histograms, one ledger_cpu. Mapped, always current. */
int ledger__cpus(const struct ledger *ledger);
const struct ledger_call *ledger__calls(const struct ledger *ledger, int cpu);
const struct ledger_histogram *ledger__histograms(const struct ledger *ledger, int cpu);
const struct ledger_cpu *ledger__cpu(const struct ledger *ledger, int cpu);

/* Calls `take` for every (syscall, errno) seen so far, with its total count. */
typedef int (*ledger_take_error_fn)(void *context, int number, int err, uint64_t count);
int ledger__errors(struct ledger *ledger, ledger_take_error_fn take, void *context);

/*
 * The signal syscalls has the ledger's distributions: the kernel half does not count them twice. If
 * it is recorded, ledger__share_buckets() is to be called with what all CPUs have of a syscall,
 * before the signal's rows are written.
 */
bool ledger__shares_calls(const struct ledger *ledger);
void ledger__share_buckets(struct ledger *ledger, int number, const struct ledger_call *call);

uint64_t ledger__quality(const struct ledger *ledger, enum ledger_quality which);
uint64_t ledger__lost(const struct ledger *ledger, enum lost which);
/* Of all programs together; law 3. */
uint64_t ledger__recursion_misses(const struct ledger *ledger);
uint64_t ledger__malformed(const struct ledger *ledger);
uint64_t ledger__malformed_stacks(const struct ledger *ledger);

/* What a small syscall costs the calling thread on this machine, in ns; 0: not measured. */
struct ledger_calibration {
	double plain_call_ns;  /* before hooks were attached */
	double hooked_call_ns; /* with them */
	/* Of the latter, from the end of one call to the begin of the next: no program's time. */
	double crossing_ns;
};
struct ledger_calibration ledger__calibration(const struct ledger *ledger);

/* What signals share with the ledger: its map `threads`, and the object that some of them are in.
 */
int ledger__threads_fd(const struct ledger *ledger);
struct bpf_object *ledger__object(const struct ledger *ledger);

/* What became of each hook; *ret_count of them. */
const struct hook_use *ledger__hooks(const struct ledger *ledger, size_t *ret_count);
