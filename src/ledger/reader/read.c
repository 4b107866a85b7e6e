/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the sums and counters of the kernel half while it runs. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core/drain.h"
#include "ledger/reader/attach_internal.h"

/* No hook runs this long. */
#define LONG_AGO_NS UINT64_C(500000000)

struct sums_taker {
	ledger_take_wait_fn take_wait;
	ledger_take_occupant_fn take_occupant;
	void *context;
};

static int take_wait(void *context, const void *key, const void *sum)
{
	const struct sums_taker *taker = context;

	return taker->take_wait(taker->context, key, sum);
}

static int take_occupant(void *context, const void *key, const void *sum)
{
	const struct sums_taker *taker = context;

	return taker->take_occupant(taker->context, key, sum);
}

static int drain_turn(struct ledger *ledger, bool b, struct sums_taker *taker)
{
	struct ledger_bpf *skel = ledger->skel;
	int err = drain__map(b ? skel->maps.waits_b : skel->maps.waits_a, take_wait, taker);

	if (err)
		return err;
	return drain__map(b ? skel->maps.occupants_b : skel->maps.occupants_a, take_occupant,
			  taker);
}

int ledger__drain_sums(struct ledger *ledger, bool all, ledger_take_wait_fn take_wait_to,
		       ledger_take_occupant_fn take_occupant_to, void *context)
{
	struct ledger_bpf *skel = ledger->skel;
	uint32_t active = skel->bss->active;
	struct sums_taker taker = { take_wait_to, take_occupant_to, context };
	int err;

	/* The inactive map was active until the last call. Hooks may use it shortly after that. */
	if (clock__now_ns() - ledger->swapped_ns < LONG_AGO_NS)
		ledger__settle(ledger);
	err = drain_turn(ledger, !active, &taker);
	if (!err && all)
		err = drain_turn(ledger, active, &taker);
	skel->bss->active = !active;
	ledger->swapped_ns = clock__now_ns();
	skel->bss->flush++;
	return err;
}

struct calls_taker {
	ledger_take_calls_fn take;
	void *context;
};

static int take_calls(void *context, const void *key, const void *sum)
{
	const struct calls_taker *taker = context;

	return taker->take(taker->context, key, sum);
}

int ledger__drain_calls(struct ledger *ledger, bool all, ledger_take_calls_fn take, void *context)
{
	struct ledger_bpf *skel = ledger->skel;
	uint32_t active = skel->bss->active;
	struct calls_taker taker = { take, context };
	int err;

	if (clock__now_ns() - ledger->swapped_ns < LONG_AGO_NS)
		ledger__settle(ledger);
	err = drain__map(active ? skel->maps.thread_calls_a : skel->maps.thread_calls_b, take_calls,
			 &taker);
	if (!err && all)
		err = drain__map(active ? skel->maps.thread_calls_b : skel->maps.thread_calls_a,
				 take_calls, &taker);
	return err;
}

uint32_t ledger__releases(const struct ledger *ledger, const struct ledger_key *wait)
{
	uint32_t pid = OBJECT_IS_OF_PROCESS(wait->object_kind) ? wait->pid : 0;

	return ledger->skel->bss->releases[release_index(wait->object[0], pid)];
}

bool ledger__find_tid(const struct ledger *ledger, uint32_t pid, uint32_t ns_tid, uint64_t *ret_id)
{
	const struct tid_key key = { pid, ns_tid };

	return !bpf_map_lookup_elem(bpf_map__fd(ledger->skel->maps.tids), &key, ret_id);
}

int ledger__cpus(const struct ledger *ledger)
{
	return ledger->cpus;
}

const struct ledger_call *ledger__calls(const struct ledger *ledger, int cpu)
{
	return (const struct ledger_call *)ledger->calls + (size_t)cpu * LEDGER_SYSCALLS;
}

const struct ledger_histogram *ledger__histograms(const struct ledger *ledger, int cpu)
{
	return (const struct ledger_histogram *)ledger->histograms + (size_t)cpu * SLOT_COUNT;
}

const struct ledger_cpu *ledger__cpu(const struct ledger *ledger, int cpu)
{
	return (const struct ledger_cpu *)ledger->cpu_accounts + cpu;
}

int ledger__errors(struct ledger *ledger, ledger_take_error_fn take, void *context)
{
	int possible = libbpf_num_possible_cpus();
	cleanup(free_p) uint64_t *counts =
		calloc((size_t)(possible > 0 ? possible : 1), sizeof(*counts));
	int fd = bpf_map__fd(ledger->skel->maps.call_errors), err = 0;
	struct ledger_error_key key;
	void *last = NULL;

	if (!counts)
		return -ENOMEM;
	while (!err && !bpf_map_get_next_key(fd, last, &key)) {
		uint64_t sum = 0;

		if (!bpf_map_lookup_elem(fd, &key, counts))
			for (int i = 0; i < possible; i++)
				sum += counts[i];
		err = take(context, (int)key.number, (int)key.err, sum);
		last = &key;
	}
	return err;
}

bool ledger__shares_calls(const struct ledger *ledger)
{
	return ledger->shares_calls;
}

void ledger__share_buckets(struct ledger *ledger, int number, const struct ledger_call *call)
{
	const struct bpf_map *map = ledger->skel->maps.syscalls_buckets;
	const struct series_place place = { .operation = (uint32_t)number | SERIES_SHARED };
	uint32_t buckets[CALL_VALUES][HISTOGRAM_BUCKETS] = {};

	memcpy(buckets[0], call->buckets, sizeof(buckets[0]));
	/* Fails if more syscalls are in use than fit in the map. */
	if (bpf_map_update_elem(bpf_map__fd(map), &place, buckets, BPF_ANY))
		ledger->skel->data_series->series[SIGNAL_syscalls].no_histogram++;
}

uint64_t ledger__quality(const struct ledger *ledger, enum ledger_quality which)
{
	return ledger->skel->bss->quality[which];
}

uint64_t ledger__outside(const struct ledger *ledger, enum ledger_outside which)
{
	return ledger->skel->bss->outside[which];
}

uint64_t ledger__lost(const struct ledger *ledger, enum lost which)
{
	return ledger->skel->bss->lost[which];
}

uint64_t ledger__recursion_misses(const struct ledger *ledger)
{
	return loader__recursion_misses(ledger->skel->obj, NULL);
}

void ledger__counts(const struct ledger *ledger, struct ledger_count ret[LEDGER_COUNTS])
{
	const struct ledger_count counts[LEDGER_COUNTS] = {
		{ COUNTER_LOST_RING_FULL, ledger__lost(ledger, LOST_RING_FULL) },
		{ COUNTER_LOST_MAP_FULL, ledger__lost(ledger, LOST_MAP_FULL) },
		{ COUNTER_NO_STORAGE, ledger__lost(ledger, LOST_NO_STORAGE) },
		{ COUNTER_REPAIRED_WAKEUPS, ledger__quality(ledger, QUALITY_REPAIRED_WAKEUPS) },
		{ COUNTER_REPAIRED_SWITCHES, ledger__quality(ledger, QUALITY_REPAIRED_SWITCHES) },
		{ COUNTER_MISSED_WAKEUPS, ledger__quality(ledger, QUALITY_MISSED_WAKEUPS) },
		{ COUNTER_IMPOSSIBLE, ledger__quality(ledger, QUALITY_IMPOSSIBLE) },
		{ COUNTER_NEGATIVE, ledger__quality(ledger, QUALITY_NEGATIVE) },
		{ COUNTER_TORN, ledger__quality(ledger, QUALITY_TORN) },
		{ COUNTER_CALLS_DROPPED, ledger__quality(ledger, QUALITY_CALLS_DROPPED) },
		{ COUNTER_TURNS_UNKNOWN, ledger__quality(ledger, QUALITY_TURNS_UNKNOWN) },
		{ COUNTER_UNLISTED, ledger__quality(ledger, QUALITY_UNLISTED) },
		{ COUNTER_OCCUPANTS_LOST_NS, ledger__quality(ledger, QUALITY_OCCUPANTS_LOST_NS) },
		{ COUNTER_RECURSION, ledger__recursion_misses(ledger) },
		{ COUNTER_MALFORMED, ledger__malformed(ledger) },
	};

	memcpy(ret, counts, sizeof(counts));
}

struct bpf_object *ledger__object(const struct ledger *ledger)
{
	return ledger->skel->obj;
}

uint64_t ledger__malformed(const struct ledger *ledger)
{
	return ring__malformed(ledger->ring);
}

const struct hook_use *ledger__hooks(const struct ledger *ledger, size_t *ret_count)
{
	*ret_count = ledger->hook_count;
	return ledger->uses;
}
