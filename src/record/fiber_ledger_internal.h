/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the ledger of goroutines share. */
#pragma once

#include "base/map.h"
#include "record/fiber_ledger.h"

#define MS_NS          UINT64_C(1000000)
#define LEAST_WRITE_NS (1000 * MS_NS)
#define MOST_SUMS      (1U << 18) /* between two writes */

/* What one goroutine did, since rows were written. */
struct sum {
	uint64_t process, fiber, state, object, hash;
	uint64_t ns, readings;
	uint64_t group; /* key */
};

/* What one goroutine did by every change of its state, since rows were written. */
struct exact {
	uint64_t process, fiber, state, ns, changes;
};

/*
 * Goroutines that began with the same function and are alike in the rest: they may keep step, so
 * the error of their sum does not follow from those of single ones.
 */
struct group {
	uint64_t now, before; /* how many in this reading, and in the last one */
	uint64_t ns;          /* since rows were written, as all that follow */
	double variance;
};

struct known {
	uint64_t process, id, key; /* of the sum in its last reading */
	uint64_t reading;          /* the last one that has it */
	uint64_t first_ns;
	uint64_t start, created; /* hashes */
	bool is_written;
};

/* A function that goroutines begin with, or an object that they wait for. */
struct place {
	uint64_t value; /* hash or id */
};

struct fiber_ledger {
	struct fiber_ledger_options options;
	struct fiber_stacks *stacks;
	struct map known;  /* struct known */
	struct map states; /* struct place */
	int64_t last_state;
	struct map places, objects; /* struct place */
	struct map index;           /* of sums: position + 1 */
	struct map groups;          /* struct group */
	struct map exact;           /* struct exact */
	struct sum *sums;
	size_t sum_count;
	uint64_t *hashes; /* of the process that is being read */
	uint64_t random;
	uint64_t begin_ns, interval_ns; /* of the current interval */
	uint64_t next_ns;
	uint64_t cost_ns; /* of the last reading */
	uint64_t reading; /* number */
	uint64_t weight_ns;
	uint64_t now_ns;
	uint64_t write_from_ns, write_after_ns;
	uint64_t written_from_ns; /* the last rows begin then */
	struct fiber_ledger_quality quality;
};

/* --- what was found (fiber_ledger_found.c) ---------------------------------------------------- */

/* The number of a state of goroutines with a reason; "": none. */
int fiber_ledger__find_state(struct fiber_ledger *fibers, enum fiber_state of, const char *reason,
			     uint64_t *ret);
/* What is waited for at an address; 0 for none. */
int fiber_ledger__find_object(struct fiber_ledger *fibers, uint32_t pid, uint64_t process,
			      uint64_t address, uint64_t *ret);
/* The hash of the stack whose only frame is there. */
int fiber_ledger__find_place(struct fiber_ledger *fibers, uint32_t pid, uint64_t process,
			     uint64_t address, uint64_t *ret);
int fiber_ledger__find_known(struct fiber_ledger *fibers, uint64_t process, uint64_t id,
			     struct known **ret);
/* Counts what a reading has found of a goroutine. */
int fiber_ledger__add(struct fiber_ledger *fibers, struct known *known, const struct sum *found);

/* --- rows (fiber_ledger_rows.c) --------------------------------------------------------------- */

/* Writes everything, and begins anew. */
int fiber_ledger__write(struct fiber_ledger *fibers, uint64_t now_ns);
int fiber_ledger__write_exact(struct fiber_ledger *fibers, uint64_t now_ns);
int fiber_ledger__write_known(struct fiber_ledger *fibers, uint64_t now_ns);
/* Frees the values as well. */
void fiber_ledger__clear(struct map *map);
