/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a group ran: the function that explains most of its running time, and work of the kernel.
 */
#pragma once

#include "findings/analysis.h"

struct running {
	int64_t sampled_ns; /* by all samples of running time */
	uint32_t function;  /* the deepest function with half of the time; 0: none */
	uint32_t caller;    /* the next one above it; 0: none */
	int64_t function_ns;
	uint32_t most; /* without such a function: the one with most self time; 0: none */
	int64_t most_ns;
	int64_t unnamed_ns; /* in generated code or code without symbols */
	int64_t fault_ns, interrupt_ns, reclaim_ns, collector_ns;
	int64_t interrupt_of_ns; /* the time that interrupt_ns is a part of */
	bool is_interrupt_exact; /* the ledger has it, with the signal irq */
	char call[64];           /* the syscall with most of the time; "": none */
	int64_t call_ns, call_of_ns;
	uint32_t call_caller; /* the function that made most of these calls; 0: unknown */
};

/* -ENOMEM. */
int running__find(struct analysis *analysis, const struct model_group *group, struct running *ret);
