/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/budget.h"

/* About what a stack costs. */
#define STACK_NS 4000
/* What is less than this part of the budget stays. */
#define WORTH_PART 5
/* With less running time of the target than this, nothing can be said. */
#define LEAST_RUN_NS 50000000
#define MOST_THIN    4
/* Small calls get at least this part of the budget. Below it, hardly any call would be timed. */
#define MOST_SCALE 16
/* A step is taken back after this many looks in a row with half of the budget or less. */
#define CALM_LOOKS 3U
/* A signal that had to be stopped again waits twice as long, up to this many times. */
#define MOST_AGAIN 6
/* If calls cost too much, they get at most this part of what they had. */
#define LEAST_CUT 0.75

static int write_step(struct budget *budget, const char *what, int64_t value, uint64_t now_ns)
{
	return recording__add_budget_step(
		budget->recording, &(struct recording_budget_step) { .time_ns = (int64_t)now_ns,
								     .what = what,
								     .value = value });
}

static int thin_stacks(struct budget *budget, uint32_t shift, uint64_t now_ns)
{
	budget->thin_shift = shift;
	ledger__thin_stacks(budget->ledger, shift);
	return write_step(budget, "stacks", INT64_C(1) << shift, now_ns);
}

/* `worth_ns`: how much a step must be able to save. */
static int save(struct budget *budget, uint64_t drawn, uint64_t worth_ns, uint64_t now_ns)
{
	const char *stopped;

	/* Half of what is drawn now. */
	if (budget->thin_shift < MOST_THIN && drawn * STACK_NS / 2 > worth_ns)
		return thin_stacks(budget, budget->thin_shift + 1, now_ns);
	stopped = budget->sessions ? sessions__hold_back(budget->sessions, worth_ns) : NULL;
	if (!stopped)
		return 0;
	budget->stopped++;
	if (budget->was_started && budget->again < MOST_AGAIN)
		budget->again++;
	return write_step(budget, stopped, 0, now_ns);
}

static int take_back(struct budget *budget, uint64_t now_ns)
{
	const char *started;

	/* The cost is low perhaps only because a signal is stopped. */
	if (++budget->calm < CALM_LOOKS << (budget->stopped ? budget->again : 0))
		return 0;
	budget->calm = 0;
	started = budget->sessions ? sessions__let_go(budget->sessions) : NULL;
	if (started) {
		budget->stopped--;
		budget->was_started = true;
		return write_step(budget, started, 1, now_ns);
	}
	return budget->thin_shift ? thin_stacks(budget, budget->thin_shift - 1, now_ns) : 0;
}

/* Multiplies what calls may cost by `ratio`. Returns whether that changed anything. */
static bool scale_calls(struct budget *budget, double ratio)
{
	double share = budget->call_share * ratio, least = budget->share / MOST_SCALE;

	if (share < least)
		share = least;
	if (share > budget->share)
		share = budget->share;
	if (share == budget->call_share)
		return false;
	budget->call_share = share;
	ledger__limit_calls(budget->ledger, share);
	return true;
}

/* Returns whether less is now allowed for calls. */
static bool hold_calls(struct budget *budget, const struct timing_cost *cost, double most_ns)
{
	double rest_ns = cost->target_ns - cost->call_ns;
	bool is_small = cost->call_ns < most_ns / WORTH_PART;
	bool is_room =
		!budget->thin_shift && !budget->stopped && rest_ns + 2 * cost->call_ns < most_ns;

	if (!is_small && cost->target_ns > most_ns) {
		double ratio = most_ns > rest_ns ? (most_ns - rest_ns) / cost->call_ns : 0;

		return scale_calls(budget, ratio < LEAST_CUT ? ratio : LEAST_CUT);
	}
	/* If they cost little, it does not matter what the others do. */
	if (is_small || is_room)
		scale_calls(budget, 2);
	return false;
}

int budget__hold(struct budget *budget, struct cost *cost, uint64_t now_ns)
{
	const struct timing_work work = collect__work(budget->collect);
	uint64_t drawn = ledger__drawn(budget->ledger), newly_drawn = drawn - budget->drawn;
	uint64_t run_ns = work.run_ns - work.outside_run_ns;
	double most_ns = (double)(run_ns - budget->run_ns) * budget->share;
	struct timing_cost lately;

	if (!budget->share || run_ns - budget->run_ns < LEAST_RUN_NS)
		return 0;
	lately = cost__lately(cost, &work, now_ns);
	budget->run_ns = run_ns;
	budget->drawn = drawn;
	if (hold_calls(budget, &lately, most_ns)) {
		budget->calm = 0;
		return 0;
	}
	if (lately.target_ns > most_ns) {
		budget->calm = 0;
		return save(budget, newly_drawn, (uint64_t)(most_ns / WORTH_PART), now_ns);
	}
	if (lately.target_ns < most_ns / 2)
		return take_back(budget, now_ns);
	budget->calm = 0;
	return 0;
}
