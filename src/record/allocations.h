/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory threads allocate, by the count that their runtime keeps. It is read about once a
 * second, so what a thread allocates after the last reading before its end is lost.
 */
#pragma once

#include "ledger/reader/attach.h"
#include "record/collect.h"
#include "recording/recording.h"
#include "runtimes/runtimes.h"

struct allocations;

struct allocations_options {
	struct recording *recording;
	const struct ledger *ledger;
	const struct collect *collect;
	struct runtimes *runtimes;
};
int allocations__new(const struct allocations_options *options, struct allocations **ret);
void allocations__free(struct allocations *allocations);

/* Takes the first reading: what was allocated before is not counted. */
int allocations__begin(struct allocations *allocations, uint64_t start_ns);
/* Takes a reading if one is due. */
int allocations__step(struct allocations *allocations);
/* Takes the last reading. */
int allocations__end(struct allocations *allocations, uint64_t end_ns);

/* Readings of a process with more threads than are looked at. */
uint64_t allocations__cut(const struct allocations *allocations);
