/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the agent itself costs. The kernel's timing of BPF programs needs CAP_SYS_ADMIN, and costs
 * as much as a small hook. So the hooks are timed during the first interval, which gives the price
 * of a context switch on this machine; after that, switches are counted and priced.
 *
 * Without CAP_SYS_ADMIN, the price is that of a switch between two threads with hooks minus that
 * without them (switching.h). Their caches are warm, and hooks of signals are not in it.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

#include "core/timing.h"

struct self {
	struct timing timing;
	struct timing_work work;
	uint64_t start_ns;
	uint64_t bpf_bytes;
	uint64_t storage_bytes; /* of the account of one thread */
	bool is_timing;         /* at the moment */
	bool is_timed;          /* the kernel's timing can be used */
	/* Without it: of a switch without hooks, and what hooks add to it; 0: unknown. */
	double plain_switch_ns, switch_ns;
	int cpu; /* where they are measured */
};

/*
 * Measure the price of a switch before any hook is attached, and after all accounts are open. They
 * do nothing if the kernel's timing can be used.
 */
void self__price_before(struct self *self);
void self__price_after(struct self *self);
/*
 * Begins to time the hooks of the object. If that is not permitted, logs the price of a switch,
 * which counts instead. Of an earlier start, only the prices are kept.
 */
void self__start(struct self *self, const struct bpf_object *object, uint64_t now_ns);
/* Another process, made by fork(), does the rest. */
void self__let_go(struct self *self);
/* The threads made this many switches and ran for run_ns since the last call. */
void self__add(struct self *self, uint64_t switches, uint64_t run_ns);

struct self_cost {
	uint64_t cpu_ns;  /* of this process and its helpers */
	uint64_t hook_ns; /* of the hooks, on all CPUs; an estimate; 0: not known, or not yet */
	uint64_t anon_bytes;
	uint64_t bpf_bytes; /* of the maps, and of the accounts of this many threads */
};
struct self_cost self__cost(struct self *self, size_t threads, uint64_t now_ns);
