/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the agent itself costs. With CAP_SYS_ADMIN, the supervisor times the hooks for a moment in
 * every interval (hook_timer.h). That gives the cost per context switch and per call, and of other
 * hooks the cost per second; the worker multiplies them by what it has counted.
 *
 * Without CAP_SYS_ADMIN, the price is that of a switch between two threads with hooks minus that
 * without them (switching.h), and the same for a call. Their caches are warm, and hooks at other
 * events, and those of stacks, have no price.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

#include "agent/hook_timer.h"
#include "core/timing.h"

/* Without the kernel's timing: what a switch and a call cost without hooks, and what hooks add. */
struct self_prices {
	double plain_switch_ns, switch_ns; /* 0: unknown */
	double plain_call_ns, call_ns;
	int cpu; /* where they are measured */
};

struct self {
	struct hook_timer *timer; /* NULL: hooks cannot be timed, prices count */
	struct self_prices prices;
	struct timing_work work;   /* by the accounts */
	struct timing_work priced; /* the part of it that is in hook_ns */
	uint64_t priced_ns;        /* until then */
	uint64_t switches;         /* until then, of the machine: hook_timer__switches() */
	double hook_ns;
	uint64_t bpf_bytes;
	uint64_t storage_bytes; /* of one thread */
};

/*
 * Measure the price of a switch and of a call before any hook is attached, and after all accounts
 * are open. They do nothing if the kernel's timing can be used. `with_calls`: calls have hooks.
 */
void self__price_before(struct self *self);
void self__price_after(struct self *self, bool with_calls);
/* After these, before the first fork: reads the object's maps, and logs prices if they count. */
int self__open(struct self *self, const struct bpf_object *object, bool with_calls);
void self__close(struct self *self);

/* In the supervisor: hook_timer__tend(); -1: there is nothing to tend. */
int self__tend(struct self *self, uint64_t interval_ns);
/* Before another worker is forked. */
void self__pause(struct self *self);
/* Hooks are counted from now on. */
void self__start(struct self *self, uint64_t now_ns);
/* What the threads have done since the last call. */
void self__add(struct self *self, const struct timing_work *more, uint64_t now_ns);
/* Whether the cost of hooks is known, or never will be. */
bool self__is_settled(const struct self *self);

struct self_cost {
	uint64_t cpu_ns;  /* of this process and its helpers */
	uint64_t hook_ns; /* of the hooks, on all CPUs; an estimate; 0: not known, or not yet */
	bool is_partly;   /* hook_ns has only those at switches and calls */
	uint64_t anon_bytes;
	uint64_t bpf_bytes; /* of the maps, and of the accounts of this many threads */
};
struct self_cost self__cost(const struct self *self, size_t threads);
