/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The account of all workloads over a stretch of time: nanoseconds by workload, thread group, state
 * and what a wait was for. The agent makes one every 10 s (a step) and adds it to the one of the
 * minute. Metrics add up steps, the store gets minutes, so both have the same sums.
 *
 * For each workload, Σ ns of its rows = Σ thread_ns: the time that its threads lived. Rows beyond
 * the limit are merged into rows with the word "(other)" (LEXICON_OTHER), so that this still holds.
 *
 * One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vocabulary/slots.h"

/* The words are interned (fold/lexicon.h): equal words have equal addresses. */
struct bucket_key {
	uint64_t workload;   /* its id */
	const char *threads; /* the group of the threads: "worker-*" */
	const char *object;  /* class or name of what was waited for; "" if it was no wait */
	const char *by_service, *by_threads; /* the culprit; "": unknown, or none */
	uint8_t slot;                        /* enum ledger_slot: state and cause */
	uint8_t kind;     /* enum kind: may differ from that of the slot (fold/proof.h) */
	uint8_t evidence; /* enum ledger_evidence: how the culprit is known */
};

struct bucket_row {
	struct bucket_key key;
	uint64_t ns;
	uint64_t count; /* intervals that began */
	/* On one row of each workload and group of threads, 0 on the others: */
	uint64_t thread_ns;
	uint64_t unexplained_ns; /* part of thread_ns */
};

struct bucket_limits {
	/*
	 * Three quarters of them have all names. Then rows are merged within their workload, and
	 * at the limit into one workload, which has one more row for each state and kind.
	 */
	size_t most_rows;
	size_t most_objects; /* names of objects per service and cause */
	size_t most_groups;  /* groups of threads per workload */
	/* The id of the workload that stands for others; NULL: rows of workloads are not limited */
	uint64_t (*other_workload)(void *context);
	void *context;
};

struct bucket;

int bucket__new(const struct bucket_limits *limits, struct bucket **ret);
void bucket__free(struct bucket *bucket);
/* Removes all rows. */
void bucket__clear(struct bucket *bucket);

/* Adds to the row of the key, or to one of "(other)" if a limit is reached. -ENOMEM. */
int bucket__add(struct bucket *bucket, const struct bucket_key *key, uint64_t ns, uint64_t count);
/* Adds to the lifetime of a group of threads, after its rows. -ENOENT: the group has no rows. */
int bucket__add_life(struct bucket *bucket, uint64_t workload, const char *threads,
		     uint64_t thread_ns, uint64_t unexplained_ns);
/* Moves time and count from one row to another, as far as the first one has them. */
int bucket__move(struct bucket *bucket, const struct bucket_key *from, const struct bucket_key *to,
		 uint64_t ns, uint64_t count);
/* Adds all rows of `from`. */
int bucket__merge(struct bucket *bucket, const struct bucket *from);

/* In no particular order. Valid until the bucket changes. */
const struct bucket_row *bucket__rows(const struct bucket *bucket, size_t *ret_count);
/* How often an addition went to "(other)" since the bucket was made. */
uint64_t bucket__folded(const struct bucket *bucket);
/* Whether Σ ns = Σ thread_ns for every workload, after each bucket__add_life(). */
bool bucket__closes(const struct bucket *bucket);
