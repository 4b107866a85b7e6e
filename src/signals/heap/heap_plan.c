/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/heap/heap_plan.h"

#include <sys/random.h>

/* A shorter window is not worth its attachment. */
#define LEAST_NS 1000000
/* A window is at least this many times as long as its edges. */
#define EDGES 10

static double limited(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

/* In windows, hits cost as much as while probes are attached and detached, or more. */
static double least_window(const struct heap_plan *plan, double cost_rate)
{
	double least_ns = plan->edges_ns * EDGES > LEAST_NS ? plan->edges_ns * EDGES : LEAST_NS,
	       worth_ns = plan->overhead_ns / cost_rate;

	return limited(worth_ns, least_ns, (double)HEAP_PLAN_SLOT_NS / 2);
}

struct heap_step heap_plan__next(const struct heap_plan *plan)
{
	double cost_rate = plan->cost_share * plan->cpu_share,
	       income = plan->share * plan->cpu_share, least_ns, slot_ns, window_ns;
	struct heap_step step = { .slot_ns = HEAP_PLAN_SLOT_NS };

	if (!plan->share || (plan->cost_share >= 0 && plan->cost_share <= plan->share)) {
		step.window_ns = UINT64_MAX;
		return step;
	}
	if (plan->cost_share < 0 || !(plan->cpu_share > 0)) {
		step.window_ns = HEAP_PLAN_FIRST_NS;
		step.cost_ns = plan->share * (double)HEAP_PLAN_SLOT_NS;
		return step;
	}
	least_ns = least_window(plan, cost_rate);
	slot_ns = (plan->overhead_ns + least_ns * cost_rate - plan->credit_ns) / income;
	slot_ns = limited(slot_ns, (double)HEAP_PLAN_SLOT_NS, (double)HEAP_PLAN_LONGEST_NS);
	window_ns = (plan->credit_ns + income * slot_ns - plan->overhead_ns) / cost_rate;
	step.slot_ns = (uint64_t)slot_ns;
	if (window_ns < least_ns / 2)
		return step;
	window_ns = limited(window_ns, least_ns, slot_ns / 2);
	step.window_ns = (uint64_t)window_ns;
	step.cost_ns = window_ns * cost_rate;
	return step;
}

uint64_t heap_plan__choose(uint64_t room_ns)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		return room_ns / 2;
	return (uint64_t)((double)room_ns * random / UINT32_MAX);
}
