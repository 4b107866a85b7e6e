/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps what a recording says of calls that are only counted; see ledger/kernel/budget.bpf.h. */
#include "record/collect_internal.h"

void estimates__note(struct collect *collect, struct tracked *thread,
		     const struct ledger_account *account)
{
	/* The calls of outside threads are not in the report. */
	uint32_t shift = account && !(thread->flags & THREAD_OUTSIDE) ? account->shift : 0;

	if (account) {
		thread->spread_added += account->spread - thread->spread;
		thread->spread = account->spread;
	}
	collect->thinned += (size_t)(shift > 0) - (size_t)(thread->shift > 0);
	thread->shift = shift;
	if (shift > collect->most_shift)
		collect->most_shift = shift;
}

int estimates__write(struct collect *collect, struct tracked *thread)
{
	const struct recording_estimate estimate = {
		.thread = thread->id,
		.number = -1,
		.from = thread->covered + 1,
		.to = collect->slice,
		.variance = (double)thread->spread_added * SPREAD_NS * SPREAD_NS,
	};

	if (!thread->spread_added)
		return 0;
	thread->spread_added = 0;
	return recording__add_estimate(collect->recording, &estimate);
}

static uint32_t most_shift(const struct collect *collect)
{
	const struct tracked *thread;
	uint32_t most = 0;
	size_t at = 0;

	while (collect->thinned && (thread = map__next(&collect->threads, &at)))
		most = thread->shift > most ? thread->shift : most;
	return most;
}

int collect__write_step(struct collect *collect, uint64_t now_ns)
{
	const struct recording_budget_step step = {
		.time_ns = (int64_t)now_ns,
		.what = "calls",
		.value = INT64_C(1) << collect->most_shift,
		.threads = (int64_t)collect->thinned,
	};

	collect->most_shift = most_shift(collect);
	if (step.value == (collect->step ? collect->step : 1))
		return 0;
	collect->step = step.value;
	return recording__add_budget_step(collect->recording, &step);
}
