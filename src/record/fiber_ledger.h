/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goroutines do: a ledger next to that of threads, but a sampled one. All goroutines are read
 * at a random moment of each interval, and each is taken to have been so for the whole interval.
 *
 * The estimate of a sum is unbiased. Its variance follows from how much the number of goroutines
 * that are alike differs between readings: what lasts for many readings is as good as exact, and
 * goroutines that keep step have the error of one that counts as often.
 *
 * With the signal goroutines, exact sums of every change of state are kept beside them.
 */
#pragma once

#include "core/signal.h"
#include "record/fiber_stacks.h"
#include "record/names.h"
#include "recording/recording.h"

struct fiber_ledger;

struct fiber_ledger_options {
	struct recording *recording;
	struct names *names;
	struct samples *samples;
	struct runtimes *runtimes;
	struct fiber_stacks_options stacks;
	uint64_t seed; /* 0: choose one */
	/* Is told what each reading has found; NULL: nobody is. */
	void (*tell)(void *context, const struct signal_fibers *fibers);
	void *context;
};
int fiber_ledger__new(const struct fiber_ledger_options *options, struct fiber_ledger **ret);
void fiber_ledger__free(struct fiber_ledger *fibers);

/* The first interval begins. */
void fiber_ledger__begin(struct fiber_ledger *fibers, uint64_t now_ns);
/* When the next reading is due. */
uint64_t fiber_ledger__next_ns(const struct fiber_ledger *fibers);
/* Takes a reading if one is due, and from time to time writes what was found. */
int fiber_ledger__step(struct fiber_ledger *fibers);
/* Takes the last reading, and writes everything. */
int fiber_ledger__end(struct fiber_ledger *fibers, uint64_t end_ns);

/* Takes what a goroutine did by every change of its state (struct session_options). */
int fiber_ledger__take(void *context, const struct signal_fiber_of *fiber, const char *reason,
		       const struct series_sum *sum);
/* Writes what was taken after the last reading. */
int fiber_ledger__finish(struct fiber_ledger *fibers, uint64_t end_ns);
/* Must be called when the samples forget stacks. */
void fiber_ledger__forget(struct fiber_ledger *fibers);

struct fiber_ledger_quality {
	uint64_t readings; /* of one process each */
	uint64_t read_ns;  /* they took */
	uint64_t left_out; /* goroutines that were not looked at */
	struct fiber_stacks_quality stacks;
};
struct fiber_ledger_quality fiber_ledger__quality(const struct fiber_ledger *fibers);
