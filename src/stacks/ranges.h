/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the files of one process are mapped: ranges that are sorted and do not overlap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

struct range {
	uint64_t begin, end;
	uint64_t address; /* the address of `begin` in the ELF file */
	uint32_t module;
};

/* All zeroes: empty. */
struct ranges {
	struct range *list;
	size_t count, capacity;
};

void ranges__release(struct ranges *ranges);
int ranges__copy(const struct ranges *from, struct ranges *ret);

/*
 * Adds a range. Existing ranges in its place are cut. With module 0, it only cuts. Adjacent ranges
 * of a module with contiguous addresses are merged. -EINVAL: the addresses do not fit into the
 * tables; -ENOSPC: too many ranges; -ENOMEM.
 */
int ranges__put(struct ranges *ranges, const struct range *range);

const struct range *ranges__find(const struct ranges *ranges, uint64_t address);

/*
 * Converts the ranges for the kernel half. false: there are too many. Then it keeps the first one,
 * which is the program, and the last ones.
 */
bool ranges__fill(const struct ranges *ranges, struct unwind_process *ret);
