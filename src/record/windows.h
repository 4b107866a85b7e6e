/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests and calls into rows: exact sums of all of them once a second, and of those that the
 * kernel half keeps, one by one.
 *
 * A window that is kept stands for the others of its band: the rows of a period get as weight what
 * the exact sums counted since the last period that kept one, divided by how many were kept. So
 * weights add up to the counts.
 */
#pragma once

#include "record/collect.h"

struct windows;

/*
 * What is passed belongs to the caller and must outlive *ret. `signals`, an array that ends with a
 * NULL signal, knows the names of functions.
 */
int windows__new(struct recording *recording, struct ledger *ledger, struct collect *collect,
		 const struct part *signals, struct windows **ret);
void windows__free(struct windows *windows);

/* Callback for ledger__open(): takes a record of the kernel half. `context`: the windows. */
int windows__take(void *context, const struct wire_head *head);

/*
 * Ends windows that nothing has followed, and takes their records. Call it before
 * windows__write(); with `all`, for the end of the recording, after ledger__freeze().
 */
int windows__sweep(struct windows *windows, bool all);
/* Writes what was added since the last call, for the slices from `from` to `to`. */
int windows__write(struct windows *windows, int64_t from, int64_t to);

/* Records that were not understood. */
uint64_t windows__malformed(const struct windows *windows);
