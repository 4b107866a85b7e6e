/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goroutines do: a ledger next to that of threads, but a sampled one. All goroutines are read
 * at a random moment of each interval, and each is taken to have been so for the whole interval.
 *
 * The estimate of a sum is unbiased. Its variance is the sum of the squares of the intervals in
 * which a goroutine was found to have begun something: what lasts for many readings is as good as
 * exact, and what is found in single readings is counted as independent draws.
 */
#pragma once

#include "record/fiber_stacks.h"
#include "record/names.h"
#include "recording/recording.h"

struct fibers;

struct fibers_options {
	struct recording *recording;
	struct names *names;
	struct samples *samples;
	struct runtimes *runtimes;
	struct fiber_stacks_options stacks;
	uint64_t seed; /* 0: choose one */
};
int fibers__new(const struct fibers_options *options, struct fibers **ret);
void fibers__free(struct fibers *fibers);

/* The first interval begins. */
void fibers__begin(struct fibers *fibers, uint64_t now_ns);
/* When the next reading is due. */
uint64_t fibers__next_ns(const struct fibers *fibers);
/* Takes a reading if one is due, and from time to time writes what was found. */
int fibers__step(struct fibers *fibers);
/* Takes the last reading, and writes everything. */
int fibers__end(struct fibers *fibers, uint64_t end_ns);
/* Must be called when the samples forget stacks. */
void fibers__forget(struct fibers *fibers);

struct fibers_quality {
	uint64_t readings; /* of one process each */
	uint64_t read_ns;  /* they took */
	uint64_t left_out; /* goroutines that were not looked at */
	struct fiber_stacks_quality stacks;
};
struct fibers_quality fibers__quality(const struct fibers *fibers);
