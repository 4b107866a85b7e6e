/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folds the accounts of threads into a bucket. It keeps the last account of every thread and books
 * the difference to the next one, so nothing is booked twice and nothing is left out.
 *
 * A step is: take the records of the ring, folding__expect_sums(), take the sums of waits,
 * folding__begin(), take the records of a snapshot, folding__end(). One thread only.
 */
#pragma once

#include "fold/bucket.h"
#include "fold/lexicon.h"
#include "ledger/ledger.h"

struct folding;

/* A process that has a thread with an account. */
struct folding_process {
	uint64_t cgroup_id;
	uint64_t start_ns;
	uint32_t pid;
	bool is_kernel;
	const char *name; /* of its main thread, or of the first thread that was seen */
};

struct folding_options {
	/* The id of the workload of a process; never 0. */
	uint64_t (*workload_of)(void *context, const struct folding_process *process);
	/* The service of a workload. Valid until the next call. */
	const char *(*service_of)(void *context, uint64_t workload);
	/* The group of a thread by its name: "worker-*" for "worker-12". */
	void (*name_group)(const char *name, char *ret, size_t size);
	void *context;
	/* A thread has ended, and its last record is booked; may be NULL. */
	void (*note_end)(void *context, uint64_t thread, uint64_t workload);
};

int folding__new(const struct folding_options *options, struct folding **ret);
void folding__free(struct folding *folding);

/* The context of these is the folding. Takes a record of the ledger; ignores all but threads.
 */
int folding__take(void *context, const struct wire_head *head);
/* The sums that follow have all waits that ended before now_ns. */
void folding__expect_sums(struct folding *folding, uint64_t now_ns);
/* Takes a sum of waits: ledger_take_wait_fn. */
int folding__take_wait(void *context, const struct ledger_key *key, const struct ledger_sum *sum);

/* Takes a sum of who had a CPU: ledger_take_occupant_fn. */
int folding__take_occupant(void *context, const struct ledger_occupant_key *key,
			   const struct ledger_occupant *sum);

/* Takes a sum of syscalls of a thread: ledger_take_calls_fn. */
int folding__take_calls(void *context, const struct ledger_thread_call *call,
			const struct ledger_call_sum *sum);

/*
 * The snapshot that follows shows all threads that changed since the one before. `now_ns` is the
 * time just before it, and the rows go to `step`.
 */
int folding__begin(struct folding *folding, uint64_t now_ns, bool is_whole, struct bucket *step);
int folding__end(struct folding *folding);
/*
 * Instead of folding__end(), if the snapshot failed, or after a failure of the other two: whoever
 * had a record is booked, and whoever had none may have changed. The next step must be whole, and
 * go on in the same bucket.
 */
void folding__give_up(struct folding *folding);

/* The calls of a syscall by all threads of a workload, in a step. */
struct folding_call {
	uint64_t workload; /* FOLDING_NOBODY: of threads that were not known any more */
	uint32_t number;   /* FOLDING_OTHER_CALL: there were too many */
	uint64_t count, errors, ns;
};
#define FOLDING_NOBODY     UINT64_MAX
#define FOLDING_OTHER_CALL UINT32_MAX
/* Those of the last step. Valid until the next folding__end(). */
const struct folding_call *folding__calls(const struct folding *folding, size_t *ret_count);

/*
 * Forgets words that no thread has any more, if there are many. No bucket may refer to words of
 * this fold.
 */
int folding__forget_words(struct folding *folding);

/* The workload of a thread, by its id; 0: it was in no step yet, or has ended. */
uint64_t folding__workload(const struct folding *folding, uint64_t thread);
size_t folding__threads(const struct folding *folding);
/* Ended threads that the next step will book. */
size_t folding__ended(const struct folding *folding);
/* Calls `take` with the workload of each live thread. */
void folding__each_thread(const struct folding *folding,
			  void (*take)(void *context, uint64_t workload), void *context);

struct folding_quality {
	uint64_t malformed; /* records that are not understood */
	uint64_t
		torn; /* accounts that did not close; a later record of the thread has their time */
	uint64_t vanished;        /* threads whose last record was lost */
	uint64_t overbooked_ns;   /* time that was booked beyond the end of threads, at most */
	uint64_t unnamed_wait_ns; /* waiting time in accounts without a sum of waits for it */
	uint64_t waits_without_account_ns;
};
struct folding_quality folding__quality(const struct folding *folding);
