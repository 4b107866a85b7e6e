/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the cost of hooks within a share of the target's CPU time. The first step is the kernel
 * half's own: it times fewer calls (ledger/kernel/budget.bpf.h). It only knows what small calls
 * cost, and others cost more; so the share that it may use is set by the cost that was measured.
 * Where that is not enough, stacks are drawn less often, and then signals stop, the costliest
 * first. A step is taken only if what it stops is a good part of the budget. When the cost has
 * fallen, the steps are taken back.
 */
#pragma once

#include "core/sessions.h"
#include "record/collect.h"
#include "record/cost.h"

struct budget {
	double share; /* of the target's CPU time; 0: no budget */
	struct collect *collect;
	struct ledger *ledger;
	struct sessions *sessions; /* NULL: signals are not stopped */
	struct recording *recording;
	double call_share;      /* what the kernel half may use for calls, as it counts */
	uint64_t run_ns, drawn; /* at the last look */
	uint32_t thin_shift;    /* at most one of 2^thin_shift stacks is taken */
	unsigned stopped;       /* signals */
	unsigned calm;          /* looks in a row with a low cost */
	bool was_started;       /* a signal that had been stopped */
	unsigned again;         /* times that a signal was started and had to be stopped again */
};

/* Call it about once a second, after cost__time(). */
int budget__hold(struct budget *budget, struct cost *cost, uint64_t now_ns);
