/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes the kernel half follows, what their goroutines do when it begins to, and what
 * they still do at the end. For one thread.
 */
#pragma once

#include <bpf/libbpf.h>

#include "core/signal.h"

void goroutines_ledger__begin(struct bpf_object *object);
/* No change is counted any more. The rest can still be handed over. */
void goroutines_ledger__end(void);

/* For core/signal.h. `are_seen`: the probes are in the process's file. */
void goroutines_ledger__take(const struct signal_fibers *fibers, bool are_seen);
bool goroutines_ledger__fiber(const struct series_key *key, struct signal_fiber_of *ret);
int goroutines_ledger__hand_over(bool (*are_seen)(uint32_t pid), signal_sum_fn take, void *context);

/* The words of a reason to wait; NULL: no such number. */
const char *goroutines_ledger__reason(uint32_t operation);
