/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of the Firefox Profiler's format: samples, CPU use. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/firefox.h"
#include "export/label.h"
#include "export/spans.h"

/*
 * A walk through one thread's accounts, to find how long it ran up to a time. The times must not
 * decrease.
 */
struct run_time {
	const struct profile *profile;
	size_t at, end;  /* indexes of accounts; those before `at` have ended */
	int64_t over_ns; /* running time in the accounts before `at` */
};

static int64_t run_until(struct run_time *run, int64_t time_ns)
{
	const struct profile_account *accounts = run->profile->accounts;
	int64_t ns;

	while (run->at < run->end && accounts[run->at].end_ns <= time_ns) {
		if (run->profile->states[accounts[run->at].state].is_run)
			run->over_ns += accounts[run->at].ns;
		run->at++;
	}
	ns = run->over_ns;
	/* When a thread ran within a slice is not known, so assume an even distribution. */
	for (size_t i = run->at; i < run->end && accounts[i].begin_ns < time_ns; i++) {
		const struct profile_account *account = &accounts[i];
		int64_t begin = account->begin_ns, end = account->end_ns;

		if (run->profile->states[account->state].is_run && end > begin)
			ns += (int64_t)((double)account->ns *
					((double)((time_ns < end ? time_ns : end) - begin) /
					 (double)(end - begin)));
	}
	return ns;
}

/*
 * Writes the CPU time up to each piece, from the accounts. For a thread without samples, the pieces
 * are the accounts themselves.
 */
static void write_cpu(struct firefox *firefox, const struct pieces *pieces, struct run_time run)
{
	int64_t before = 0;

	json_out__open(&firefox->out, "threadCPUDelta", '[');
	for (size_t i = 0; i < pieces->count; i++) {
		int64_t now = run_until(&run, pieces->list[i].time_ns);

		/* Rounding must not make the difference negative. */
		json_out__number(&firefox->out, NULL, now > before ? now - before : 0);
		before = now > before ? now : before;
	}
	json_out__close(&firefox->out, ']');
}

static int64_t state_node(struct firefox *firefox, uint32_t state)
{
	uint32_t node = 0;
	int err = calltree__state(firefox->calls, state, &node);

	if (err && !firefox->out.err)
		firefox->out.err = err;
	return node;
}

static int64_t node_of(struct firefox *firefox, const struct piece *piece, bool sampled)
{
	return sampled ? firefox->calls->samples[piece->of]
		       : state_node(firefox, firefox->profile->accounts[piece->of].state);
}

/* A wait becomes many samples spread over its time. */
static int cut_samples(struct firefox *firefox, size_t first, size_t end, struct pieces *pieces)
{
	int err = 0;

	for (size_t i = first; i < end && !err; i++) {
		const struct profile_sample *sample = firefox__sample(firefox, i);
		int64_t begin_ns = sample->time_ns - sample->wait_ns;

		if (begin_ns < firefox->profile->start_ns)
			begin_ns = firefox->profile->start_ns;
		err = pieces__add(pieces, firefox->order[i], begin_ns, sample->time_ns,
				  sample->weight_ns, firefox->step_ns);
	}
	return err;
}

/* The order of states within a slice is not known, so each state is spread over the whole slice. */
static int cut_accounts(struct firefox *firefox, const struct run_time *run, struct pieces *pieces)
{
	int err = 0;

	for (size_t i = run->at; i < run->end && !err; i++) {
		const struct profile_account *account = &firefox->profile->accounts[i];

		if (account->ns > 0)
			err = pieces__add(pieces, (uint32_t)i, account->begin_ns, account->end_ns,
					  account->ns, firefox->step_ns);
	}
	return err;
}

/* A thread without samples shows its accounts instead. */
static int write_samples(struct firefox *firefox, size_t first, size_t end, struct run_time run)
{
	cleanup(pieces__release) struct pieces pieces = {};
	struct json_out *out = &firefox->out;
	bool sampled = first < end;
	int err = sampled ? cut_samples(firefox, first, end, &pieces)
			  : cut_accounts(firefox, &run, &pieces);

	if (err)
		return err;
	pieces__sort(&pieces);
	json_out__open(out, "samples", '{');
	json_out__number(out, "length", (int64_t)pieces.count);
	json_out__text(out, "weightType", "tracing-ms");
	FIREFOX_COLUMN(firefox, "stack", i, pieces.count,
		       node_of(firefox, &pieces.list[i], sampled));
	json_out__open(out, "time", '[');
	for (size_t i = 0; i < pieces.count; i++)
		json_out__decimal(out, NULL, firefox__since_start(firefox, pieces.list[i].time_ns),
				  FIREFOX_MS_DIGITS);
	json_out__close(out, ']');
	json_out__open(out, "weight", '[');
	for (size_t i = 0; i < pieces.count; i++)
		json_out__decimal(out, NULL, pieces.list[i].weight_ns, FIREFOX_MS_DIGITS);
	json_out__close(out, ']');
	if (run.at < run.end)
		write_cpu(firefox, &pieces, run);
	json_out__close(out, '}');
	return 0;
}

static void write_life(struct firefox *firefox, int64_t first_ns, int64_t last_ns,
		       const char *begin, const char *end)
{
	json_out__decimal(&firefox->out, begin, firefox__since_start(firefox, first_ns),
			  FIREFOX_MS_DIGITS);
	if (last_ns < firefox->profile->end_ns)
		json_out__decimal(&firefox->out, end, firefox__since_start(firefox, last_ns),
				  FIREFOX_MS_DIGITS);
	else
		json_out__null(&firefox->out, end);
}

void firefox__pid(const struct firefox *firefox, uint32_t thread, char *ret, size_t size)
{
	const struct profile *profile = firefox->profile;
	uint32_t process = profile->threads[thread].process;
	uint32_t before = process == PROFILE_NONE ? 0 : firefox->processes[process].before;

	snprintf(ret, size, before ? "%d.%u" : "%d",
		 process == PROFILE_NONE ? profile->threads[thread].tid
					 : profile->processes[process].pid,
		 before);
}

static void write_process(struct firefox *firefox, const struct profile_thread *thread)
{
	const struct profile_process *process =
		thread->process == PROFILE_NONE ? NULL
						: &firefox->profile->processes[thread->process];
	struct firefox_process more = { thread->first_ns, thread->last_ns, 0 };
	char text[48];

	if (thread->process != PROFILE_NONE)
		more = firefox->processes[thread->process];
	firefox__pid(firefox, (uint32_t)(thread - firefox->profile->threads), text, sizeof(text));
	json_out__text(&firefox->out, "pid", text);
	json_out__text(&firefox->out, "processName", process ? process->comm : thread->comm);
	json_out__bool(&firefox->out, "isMainThread", !process || process->pid == thread->tid);
	write_life(firefox, more.first_ns, more.last_ns, "processStartupTime",
		   "processShutdownTime");
}

static int write_thread(struct firefox *firefox, size_t index, struct run_time run)
{
	const struct profile_thread *thread = &firefox->profile->threads[index];
	size_t first = firefox->begins[index], end = firefox->begins[index + 1];
	struct json_out *out = &firefox->out;
	int err;

	json_out__open(out, NULL, '{');
	json_out__text(out, "name", thread->comm);
	json_out__text(out, "processType", "default");
	json_out__number(out, "tid", thread->tid);
	write_life(firefox, thread->first_ns, thread->last_ns, "registerTime", "unregisterTime");
	write_process(firefox, thread);
	json_out__open(out, "pausedRanges", '[');
	json_out__close(out, ']');
	err = write_samples(firefox, first, end, run);
	if (!err)
		err = firefox__write_markers(firefox, (uint32_t)index);
	json_out__close(out, '}');
	return err;
}

int firefox__write_threads(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	struct run_time run = { .profile = profile };
	int err = 0;

	json_out__open(&firefox->out, "threads", '[');
	for (size_t i = 0; !err && i < profile->thread_count; i++) {
		run.at = run.end;
		while (run.end < profile->account_count && profile->accounts[run.end].thread == i)
			run.end++;
		if (i == firefox->first_thread || firefox__has_thread(firefox, (uint32_t)i) ||
		    run.at < run.end)
			err = write_thread(firefox, i, run);
	}
	json_out__close(&firefox->out, ']');
	return err;
}
