/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process is followed from the first look at its goroutines on that finds the probes attached.
 * The next look adds those goroutines that have not changed since then: what has changed is known
 * to the kernel half already, and better.
 *
 * When a process ends, or its probe is taken off, or at the end of the recording, the states that
 * are open then end as well.
 */
#include "signals/goroutines/goroutines_ledger.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/series.h"
#include "signals/goroutines/goroutines.h"

#define MOST_REASONS 255
#define REASON_BYTES 40

struct followed {
	uint32_t pid; /* 0: not any more */
	uint64_t start_ticks;
	uint64_t since_ns;
	uint64_t end_ns;  /* 0: it goes on */
	bool is_complete; /* its goroutines are known to the kernel half */
};

/* There is one, because a recording has one signal of each kind. */
static struct {
	int processes, known; /* maps */
	struct series_control *control;
	struct followed *all;
	size_t count;
	/* All that were seen, of any version of Go; 0: none. */
	char reasons[MOST_REASONS + 1][REASON_BYTES];
	uint32_t reason_count;
	uint64_t end_ns; /* 0: it goes on */
} ledger;

void goroutines_ledger__begin(struct bpf_object *object)
{
	const struct bpf_map *processes, *known;
	struct series_control *controls;
	size_t size = 0;

	processes = bpf_object__find_map_by_name(object, "goroutines_processes");
	known = bpf_object__find_map_by_name(object, "goroutines_known");
	controls = series__section(object, ".data.series", &size);
	free(ledger.all);
	memset(&ledger, 0, sizeof(ledger));
	ledger.processes = processes ? bpf_map__fd(processes) : -1;
	ledger.known = known ? bpf_map__fd(known) : -1;
	if (controls && size > SIGNAL_goroutines * sizeof(*controls))
		ledger.control = &controls[SIGNAL_goroutines];
	ledger.reason_count = 1;
}

void goroutines_ledger__end(void)
{
	if (!ledger.end_ns)
		ledger.end_ns = clock__now_ns();
}

/* --- processes -------------------------------------------------------------------------------- */

static struct followed *find(uint32_t pid)
{
	for (size_t i = 0; i < ledger.count; i++)
		if (ledger.all[i].pid == pid)
			return &ledger.all[i];
	return NULL;
}

/* 0: none, or there are too many. */
static uint8_t operation_of(const char *reason)
{
	if (!*reason)
		return 0;
	for (uint32_t i = 1; i < ledger.reason_count; i++)
		if (!strcmp(ledger.reasons[i], reason))
			return (uint8_t)i;
	if (ledger.reason_count > MOST_REASONS)
		return 0;
	snprintf(ledger.reasons[ledger.reason_count], REASON_BYTES, "%s", reason);
	return (uint8_t)ledger.reason_count++;
}

const char *goroutines_ledger__reason(uint32_t operation)
{
	return operation && operation < ledger.reason_count ? ledger.reasons[operation] : NULL;
}

static void follow(const struct signal_fibers *fibers)
{
	struct goroutines_process process = { .since_ns = clock__now_ns(),
					      .id_at = fibers->id_at,
					      .reason_at = fibers->reason_at,
					      .start_at = fibers->start_at };
	struct followed *followed = find(0);

	for (uint32_t i = 0; i < FIBER_REASONS; i++)
		process.operations[i] = operation_of(fibers->reason(fibers, i));
	if (!followed)
		followed = APPEND(&ledger.all, &ledger.count);
	if (!followed || bpf_map_update_elem(ledger.processes, &fibers->pid, &process, BPF_NOEXIST))
		return;
	*followed = (struct followed) { .pid = fibers->pid,
					.start_ticks = fibers->start_ticks,
					.since_ns = process.since_ns };
}

static uint64_t count_since(const struct followed *followed)
{
	uint64_t since_ns = ledger.control ? ledger.control->since_ns : 0;

	return since_ns > followed->since_ns ? since_ns : followed->since_ns;
}

static void complete(struct followed *followed, const struct signal_fibers *fibers)
{
	struct goroutines_key key = { .pid = fibers->pid };
	struct signal_fiber fiber;

	for (size_t i = 0; i < fibers->count; i++) {
		struct goroutine known = { .since_ns = count_since(followed), .began_before = 1 };

		fibers->each(fibers, i, &fiber);
		key.g = fiber.at;
		known.id = fiber.id;
		known.start = fiber.start;
		known.state = fiber.state;
		if (fiber.state == FIBER_WAITING)
			known.operation = operation_of(fibers->reason(fibers, fiber.reason));
		if (bpf_map_update_elem(ledger.known, &key, &known, BPF_NOEXIST) &&
		    errno != EEXIST && ledger.control)
			ledger.control->lost[LOST_MAP_FULL]++;
	}
	followed->is_complete = true;
}

void goroutines_ledger__take(const struct signal_fibers *fibers, bool are_seen)
{
	struct followed *followed = find(fibers->pid);

	if (!fibers->id_at || ledger.end_ns || !are_seen)
		return;
	if (!followed)
		follow(fibers);
	else if (!followed->is_complete && !followed->end_ns)
		complete(followed, fibers);
}

bool goroutines_ledger__fiber(const struct series_key *key, struct signal_fiber_of *ret)
{
	uint32_t pid = GOROUTINES_OBJECT_PID(key->object[0]);
	const struct followed *followed = pid ? find(pid) : NULL;

	if (!followed || !key->place || key->place > FIBER_STATES)
		return false;
	*ret = (struct signal_fiber_of) { .pid = pid,
					  .start_ticks = followed->start_ticks,
					  .id = GOROUTINES_OBJECT_ID(key->object[0]),
					  .start = key->object[1],
					  .state = (enum fiber_state)(key->place - 1) };
	return true;
}

/* --- what is open at the end ------------------------------------------------------------------ */

/* A state that began before counting was interrupted may have ended meanwhile. */
static int close_one(const struct followed *followed, const struct goroutines_process *process,
		     const struct goroutine *goroutine, uint64_t end_ns, signal_sum_fn take,
		     void *context)
{
	struct series_key key = {
		.thread = process->thread,
		.object = { GOROUTINES_OBJECT(followed->pid, goroutine->id), goroutine->start },
		.place = goroutine->state + 1,
		.operation = goroutine->operation,
	};
	struct series_sum sum = {};

	if (goroutine->state >= FIBER_STATES || goroutine->since_ns >= end_ns)
		return 0;
	if (!goroutine->id || goroutine->since_ns < count_since(followed)) {
		if (ledger.control)
			ledger.control->unpaired++;
		return 0;
	}
	sum.sum[0] = sum.max[0] = end_ns - goroutine->since_ns;
	return take(context, &key, &sum);
}

/* The program does not change them any more, so the next key can be asked for before a delete. */
static int close_all(const struct followed *followed, const struct goroutines_process *process,
		     uint64_t end_ns, signal_sum_fn take, void *context)
{
	struct goroutines_key key, next;
	struct goroutine goroutine;
	int end = bpf_map_get_next_key(ledger.known, NULL, &next), err = 0;

	while (!end && !err) {
		key = next;
		end = bpf_map_get_next_key(ledger.known, &key, &next);
		if (key.pid != followed->pid || bpf_map_lookup_elem(ledger.known, &key, &goroutine))
			continue;
		err = close_one(followed, process, &goroutine, end_ns, take, context);
		bpf_map_delete_elem(ledger.known, &key);
	}
	return err;
}

/* 0: it goes on. */
static uint64_t end_of(const struct followed *followed, const struct goroutines_process *process,
		       bool (*are_seen)(uint32_t pid))
{
	if (process->ended_ns)
		return process->ended_ns;
	return ledger.end_ns ? ledger.end_ns : are_seen(followed->pid) ? 0 : clock__now_ns();
}

/* What it did until its end is among the sums that are taken the next time, so it is kept so long.
 */
int goroutines_ledger__hand_over(bool (*are_seen)(uint32_t pid), signal_sum_fn take, void *context)
{
	int err = 0;

	for (size_t i = 0; i < ledger.count && !err; i++) {
		struct followed *followed = &ledger.all[i];
		struct goroutines_process process;
		bool is_new_end = !followed->end_ns;

		if (!followed->pid ||
		    bpf_map_lookup_elem(ledger.processes, &followed->pid, &process))
			continue;
		if (is_new_end)
			followed->end_ns = end_of(followed, &process, are_seen);
		if (!followed->end_ns || (is_new_end && !ledger.end_ns))
			continue;
		bpf_map_delete_elem(ledger.processes, &followed->pid);
		err = close_all(followed, &process, followed->end_ns, take, context);
		followed->pid = 0;
	}
	return err;
}
