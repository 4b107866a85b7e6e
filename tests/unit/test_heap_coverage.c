/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the truth is within the interval of the heap's figures: programs are simulated, with
 * the plan that chooses windows and the estimator that extends them.
 */
#include "../harness.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/heap.h"
#include "signals/heap/heap_plan.h"

#define MS    1e6
#define STEP  (MS / 4)
#define SLOTS 200
#define RUNS  200
/* An interval of 95 % has so many in 39 of 40 cases. */
#define WITHIN 184
/* What a hit costs; a call has two, because what is allocated is also freed. */
#define HIT_NS 1000
/* How long it takes to attach probes, and to detach them. */
#define ATTACH_NS (2 * MS)
#define SHARE     0.01

struct program {
	const char *name;
	double period_ns, busy_ns;      /* of each period, this much has many calls */
	double busy_calls, quiet_calls; /* for each nanosecond of its CPU time */
	double busy_cpu, quiet_cpu;     /* CPU time by time */
	bool is_server;                 /* gets its work from others: hits do not slow it down */
	double rare_ns, rare_bytes;     /* a large call so often */
};

static uint64_t seed;

static double chance(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

/* What happens in one step of time. */
struct happening {
	double cpu_ns, cost_ns, calls, bytes;
};

static struct happening happen(const struct program *program, double at_ns, bool is_attached)
{
	bool is_busy = fmod(at_ns, program->period_ns) < program->busy_ns;
	double rate = is_busy ? program->busy_calls : program->quiet_calls, slowness = 1;
	struct happening happening = { .cpu_ns = STEP * (is_busy ? program->busy_cpu
								 : program->quiet_cpu) };

	rate *= 0.8 + 0.4 * chance();
	if (is_attached && !program->is_server)
		slowness = 1 + 2 * rate * HIT_NS;
	happening.cpu_ns /= slowness;
	happening.calls = happening.cpu_ns * rate;
	happening.bytes = happening.calls * 800 * (0.5 + chance());
	if (is_attached)
		happening.cost_ns = 2 * happening.calls * HIT_NS;
	if (program->rare_ns > 0 && fmod(at_ns, program->rare_ns) < happening.cpu_ns)
		happening.bytes += program->rare_bytes;
	return happening;
}

struct trial {
	const struct program *program;
	double now_ns, end_ns, cost_ns, cost_cpu_ns;
	double phase_ns; /* of a program that is not a server: by its own CPU time */
	struct heap_plan plan;
	struct heap_slot slots[SLOTS];
	size_t count;
	struct happening truth;
};

static void add(struct trial *trial, struct heap_slot *slot, struct happening now, bool is_open)
{
	trial->phase_ns += trial->program->is_server ? STEP : now.cpu_ns;
	trial->truth.calls += now.calls;
	trial->truth.bytes += now.bytes;
	slot->slot_cpu_ns += now.cpu_ns;
	slot->slot_cost_ns += now.cost_ns;
	if (!is_open)
		return;
	slot->window_ns += STEP;
	slot->cpu_ns += now.cpu_ns;
	slot->cost_ns += now.cost_ns;
	slot->calls += now.calls;
	slot->bytes += now.bytes;
}

static void learn(struct trial *trial, const struct heap_slot *slot)
{
	struct heap_plan *plan = &trial->plan;
	double all_ns = slot->slot_cpu_ns + slot->slot_cost_ns;

	if (slot->cpu_ns > MS / 5) {
		trial->cost_ns = trial->cost_ns / 2 + slot->cost_ns;
		trial->cost_cpu_ns = trial->cost_cpu_ns / 2 + slot->cpu_ns + slot->cost_ns;
		plan->cost_share = trial->cost_ns / trial->cost_cpu_ns;
		plan->overhead_ns = (plan->overhead_ns + slot->slot_cost_ns - slot->cost_ns) / 2;
	}
	plan->credit_ns = fmin(plan->credit_ns + SHARE * all_ns - slot->slot_cost_ns, 2.5 * MS);
	plan->cpu_share = plan->cpu_share > 0 ? (plan->cpu_share + all_ns / slot->slot_ns) / 2
					      : all_ns / slot->slot_ns;
}

static void run_slot(struct trial *trial)
{
	struct heap_step step = heap_plan__next(&trial->plan);
	struct heap_slot *slot = &trial->slots[trial->count++];
	double begin_ns = trial->now_ns, window_ns, open_ns, close_ns;

	assert_true(trial->count < SLOTS);
	window_ns = step.window_ns < UINT64_MAX ? (double)step.window_ns : (double)step.slot_ns / 2;
	open_ns = begin_ns + chance() * ((double)step.slot_ns - window_ns);
	close_ns = open_ns + window_ns;
	while (trial->now_ns < begin_ns + (double)step.slot_ns && trial->now_ns < trial->end_ns) {
		double now_ns = trial->now_ns;
		bool is_attached = window_ns > 0 && now_ns >= open_ns - ATTACH_NS &&
				   now_ns < close_ns + ATTACH_NS,
		     is_open = window_ns > 0 && now_ns >= open_ns && now_ns < close_ns;

		add(trial, slot, happen(trial->program, trial->phase_ns, is_attached), is_open);
		if (is_open && slot->cost_ns > 2 * step.cost_ns)
			close_ns = now_ns + STEP;
		trial->now_ns += STEP;
	}
	slot->time_ns = (int64_t)trial->now_ns;
	slot->slot_ns = trial->now_ns - begin_ns;
	/* The clock of CPU time is not exact either. */
	slot->cpu_ns *= 0.99 + 0.02 * chance();
	learn(trial, slot);
}

static struct trial run(const struct program *program, double seconds)
{
	struct trial trial = { .program = program,
			       .plan = { .share = SHARE, .credit_ns = 1 * MS, .cost_share = -1 } };

	trial.now_ns = floor(chance() * 1e9 / STEP) * STEP;
	trial.phase_ns = trial.now_ns;
	trial.end_ns = trial.now_ns + seconds * 1e9;
	while (trial.now_ns < trial.end_ns)
		run_slot(&trial);
	return trial;
}

static bool is_within(struct heap_figure figure, double truth)
{
	return fabs(figure.value - truth) <= figure.error;
}

static void assert_covered(const struct program *program, double seconds, double most_cost)
{
	int calls = 0, bytes = 0;
	double error = 0, cost = 0;

	seed = 7;
	for (int i = 0; i < RUNS; i++) {
		struct trial trial = run(program, seconds);
		struct heap heap = { .slots = trial.slots, .slot_count = trial.count };

		assert_int_equal(heap__sum_up(&heap), 0);
		calls += is_within(heap.calls, trial.truth.calls);
		bytes += is_within(heap.bytes, trial.truth.bytes);
		error += heap.calls.error / trial.truth.calls / RUNS;
		cost += heap__cost(&heap) / RUNS;
		heap.slots = NULL;
		heap__release(&heap);
	}
	print_message("# %s: calls %d, bytes %d of %d, ± %.0f %%, cost %.2f %%\n", program->name,
		      calls, bytes, RUNS, 100 * error, 100 * cost);
	assert_true(calls >= WITHIN);
	assert_true(bytes >= WITHIN);
	assert_true(cost < most_cost);
}

static void a_steady_program_is_covered(void **state)
{
	const struct program often = { "700,000 calls a second", 1e9, 1e9, 7e-4, 7e-4, 1, 1 };
	const struct program seldom = { "50,000 calls a second", 1e9, 1e9, 5e-5, 5e-5, 1, 1 };

	assert_covered(&often, 10, 0.011);
	assert_covered(&seldom, 10, 0.011);
	assert_covered(&often, 3, 0.012);
}

/* Windows are short where calls are many; that must not give the others more weight. */
static void a_program_with_phases_is_covered(void **state)
{
	const struct program slow = { "phases of 1 s", 2e9, 1e9, 7e-4, 5e-5, 1, 1 };
	const struct program fast = { "phases of 10 ms", 30e6, 10e6, 7e-4, 5e-5, 1, 1 };

	assert_covered(&slow, 10, 0.012);
	assert_covered(&fast, 10, 0.012);
}

/* What a server has to do does not depend on how long it takes for it. */
static void a_server_is_covered(void **state)
{
	const struct program even = { "requests", 10e6, 1e6, 7e-4, 1e-6, 1, 0.01, true };
	const struct program uneven = { "busy seconds", 3e9, 1e9, 7e-4, 1e-4, 0.5, 0.1, true };

	assert_covered(&even, 10, 0.02);
	assert_covered(&uneven, 10, 0.02);
}

/* A tenth of the bytes is in few calls, which windows see, or not. */
static void large_calls_that_are_seen_now_and_then_are_covered(void **state)
{
	const struct program program = { "large calls", 1e9, 1e9,  5e-5, 5e-5, 1, 1,
					 false,         3e6, 13000 };

	assert_covered(&program, 10, 0.011);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_program_is_covered),
		cmocka_unit_test(a_program_with_phases_is_covered),
		cmocka_unit_test(a_server_is_covered),
		cmocka_unit_test(large_calls_that_are_seen_now_and_then_are_covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
