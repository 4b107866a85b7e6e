/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/heap/heap_plan.h"

/* A shorter window is not worth its attachment. */
#define LEAST_NS 1000000

uint64_t heap_plan__length(const struct heap_plan *plan)
{
	double length_ns;

	if (!plan->share || (plan->cost_share >= 0 && plan->cost_share <= plan->share))
		return UINT64_MAX;
	if (plan->cost_share < 0)
		return HEAP_PLAN_FIRST_NS;
	if (!(plan->cpu_share > 0))
		return plan->slot_ns / 2;
	/* Half of the credit, so that there are more windows. */
	length_ns = (plan->credit_ns / 2 - plan->overhead_ns) / plan->cost_share / plan->cpu_share;
	if (length_ns < LEAST_NS)
		return 0;
	return length_ns < (double)plan->slot_ns / 2 ? (uint64_t)length_ns : plan->slot_ns / 2;
}
