/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses that are looked up together. Tables are read for these addresses only: what lies
 * elsewhere is skipped, so the memory for a table depends on the question, not on the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeroes: none. */
struct addresses {
	uint64_t *sorted;
	size_t count;
	uint64_t version; /* changes with each addresses__set(), and is never 0 after it */
};

/* Copies and sorts `list`. -ENOMEM; then it is unchanged. */
int addresses__set(struct addresses *addresses, const uint64_t *list, size_t count);
void addresses__release(struct addresses *addresses);

/* The index of the first address at or after `start`; `count` if there is none. */
size_t addresses__from(const struct addresses *addresses, uint64_t start);
/* Whether one of them is in [start, end). */
bool addresses__any(const struct addresses *addresses, uint64_t start, uint64_t end);
