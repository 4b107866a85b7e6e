/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a minute, folded by workload, state and stack. The sum of weights is kept: beyond
 * the limits, samples are added to the stack 0, which stands for "(other)".
 *
 * A frame is a module and an offset in it. Modules are known by a hash of their build-id, so that
 * equal stacks have equal hashes on every host.
 *
 * Pure. One thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vocabulary/slots.h"

#define SAMPLING_OTHER UINT64_C(0)

struct sampling_key {
	uint64_t workload;           /* its id */
	uint64_t stack, waker_stack; /* hashes; SAMPLING_OTHER also stands for "none" */
	uint8_t slot, kind;          /* enum ledger_slot, enum kind */
};

struct sampling_row {
	struct sampling_key key;
	uint64_t ns; /* sum of weights */
	double ns2;  /* sum of squared weights */
	uint64_t n;  /* samples */
};

/* Root first. */
struct sampling_stack {
	uint64_t hash;
	size_t depth;
	const uint64_t *modules, *offsets;
};

struct sampling_limits {
	size_t most_rows, most_stacks;
};

struct sampling;

/* Never 0. The build-id is hexadecimal. */
uint64_t sampling__hash_build_id(const char *build_id);
/* For a file without build-id, or code without a file. Never 0. */
uint64_t sampling__hash_file(const char *path, uint64_t size);
/* Never SAMPLING_OTHER. */
uint64_t sampling__hash_stack(const uint64_t *modules, const uint64_t *offsets, size_t depth);

int sampling__new(const struct sampling_limits *limits, struct sampling **ret);
void sampling__free(struct sampling *sampling);
/* Removes all rows and stacks. */
void sampling__clear(struct sampling *sampling);

/*
 * Remembers a stack, root first, if it is new, and gives its hash, or SAMPLING_OTHER if there are
 * too many stacks. -ENOMEM.
 */
int sampling__add_stack(struct sampling *sampling, const uint64_t *modules, const uint64_t *offsets,
			size_t depth, uint64_t *ret);
/*
 * Adds `count` samples that weigh `weight_ns` together. `probability` is that of this minute to be
 * sampled: weights are divided by it. -ENOMEM.
 */
int sampling__add(struct sampling *sampling, const struct sampling_key *key, uint64_t weight_ns,
		  uint32_t count, double probability);

/* In the order in which they were first seen. Valid until the next call that changes them. */
const struct sampling_row *sampling__rows(const struct sampling *sampling, size_t *ret_count);
const struct sampling_stack *sampling__stacks(const struct sampling *sampling, size_t *ret_count);
/* How often a stack or a row had no room, since the start. */
uint64_t sampling__folded(const struct sampling *sampling);
