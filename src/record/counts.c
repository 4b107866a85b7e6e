/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/counts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "record/quality.h"
#include "vocabulary/calls.h"
#include "vocabulary/states.h"

struct counts {
	struct ledger *ledger;
	struct recording *recording;
	int calls_seen;  /* number of syscalls to read: 0 at level sched */
	int64_t written; /* the last slice that rows cover */
	struct ledger_call calls[LEDGER_SYSCALLS];
	uint64_t shared[LEDGER_SYSCALLS]; /* count at the last counts__share() */
	struct ledger_histogram histograms[SLOT_COUNT];
};

int counts__new(struct ledger *ledger, struct recording *recording, bool full, struct counts **ret)
{
	struct counts *counts = calloc(1, sizeof(*counts));

	if (!counts)
		return -ENOMEM;
	counts->ledger = ledger;
	counts->recording = recording;
	counts->calls_seen = full ? LEDGER_SYSCALLS : 0;
	*ret = counts;
	return 0;
}

void counts__free(struct counts *counts)
{
	free(counts);
}

/* Buckets have 32 bits and may wrap between two reads; the difference is still right. */
static int write_buckets(struct counts *counts, struct recording_bucket row, const uint32_t *now,
			 uint32_t *last)
{
	int err = 0;

	for (int i = 0; i < HISTOGRAM_BUCKETS && !err; i++) {
		uint32_t added = now[i] - last[i];

		if (!added)
			continue;
		row.bucket = i;
		row.count = added;
		err = recording__add_bucket(counts->recording, &row);
		last[i] = now[i];
	}
	return err;
}

/* Sums a syscall over all CPUs. Returns false if there are still `then` calls. */
static bool sum_calls(const struct counts *counts, int number, uint64_t then,
		      struct ledger_call *ret)
{
	*ret = (struct ledger_call) {};
	for (int cpu = 0; cpu < ledger__cpus(counts->ledger); cpu++) {
		const struct ledger_call *call = &ledger__calls(counts->ledger, cpu)[number];

		if (!call->count)
			continue;
		ret->count += call->count;
		ret->untimed += call->untimed;
		ret->spread += call->spread;
		ret->total_ns += call->total_ns;
		ret->run_ns += call->run_ns;
		ret->errors += call->errors;
		if (call->max_ns > ret->max_ns)
			ret->max_ns = call->max_ns;
		for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
			ret->buckets[i] += call->buckets[i];
	}
	return ret->count != then;
}

static int write_estimate(struct counts *counts, const struct recording_syscall *row,
			  struct ledger_call *last, const struct ledger_call *now)
{
	const struct recording_estimate estimate = {
		.number = row->number,
		.from = row->from,
		.to = row->to,
		.untimed = (int64_t)(now->untimed - last->untimed),
		.variance = (double)(now->spread - last->spread) * SPREAD_NS * SPREAD_NS,
	};

	last->untimed = now->untimed;
	last->spread = now->spread;
	return estimate.untimed || estimate.variance > 0
		       ? recording__add_estimate(counts->recording, &estimate)
		       : 0;
}

static int write_call(struct counts *counts, int number, int64_t slice)
{
	struct ledger_call *last = &counts->calls[number], now;
	struct recording_syscall row = {
		.number = number,
		.name = calls__name((uint32_t)number),
		.from = counts->written + 1,
		.to = slice,
	};
	int err;

	if (!sum_calls(counts, number, last->count, &now))
		return 0;
	err = write_estimate(counts, &row, last, &now);
	if (err)
		return err;
	err = write_buckets(counts,
			    (struct recording_bucket) { .of = RECORDING_HISTOGRAM_SYSCALL,
							.key = number,
							.from = row.from,
							.to = slice },
			    now.buckets, last->buckets);
	row.count = (int64_t)(now.count - last->count);
	row.errors = (int64_t)(now.errors - last->errors);
	row.total_ns = (int64_t)(now.total_ns - last->total_ns);
	row.max_ns = (int64_t)now.max_ns;
	row.run_ns = (int64_t)(now.run_ns - last->run_ns);
	last->count = now.count;
	last->run_ns = now.run_ns;
	last->errors = now.errors;
	last->total_ns = now.total_ns;
	return err ? err : recording__add_syscall(counts->recording, &row);
}

static int write_histogram(struct counts *counts, int slot, int64_t slice)
{
	struct ledger_histogram now = {};

	for (int cpu = 0; cpu < ledger__cpus(counts->ledger); cpu++)
		for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
			now.buckets[i] += ledger__histograms(counts->ledger, cpu)[slot].buckets[i];
	return write_buckets(counts,
			     (struct recording_bucket) { .of = RECORDING_HISTOGRAM_STATE,
							 .key = slot,
							 .from = counts->written + 1,
							 .to = slice },
			     now.buckets, counts->histograms[slot].buckets);
}

void counts__share(struct counts *counts)
{
	struct ledger_call now;

	if (!ledger__shares_calls(counts->ledger))
		return;
	for (int i = 0; i < counts->calls_seen; i++)
		if (sum_calls(counts, i, counts->shared[i], &now)) {
			ledger__share_buckets(counts->ledger, i, &now);
			counts->shared[i] = now.count;
		}
}

int counts__write(struct counts *counts, int64_t slice)
{
	int err = 0;

	if (slice <= counts->written)
		return 0;
	for (int i = 0; i < counts->calls_seen && !err; i++)
		err = write_call(counts, i, slice);
	for (int i = 0; i < SLOT_COUNT && !err; i++)
		err = write_histogram(counts, i, slice);
	counts->written = slice;
	return err;
}

static int take_error(void *context, int number, int err, uint64_t count)
{
	struct counts *counts = context;

	return recording__add_syscall_error(counts->recording, number, err, (int64_t)count);
}

static int write_thread_calls(void *context, const struct ledger_thread_call *call,
			      const struct ledger_call_sum *sum)
{
	struct counts *counts = context;

	return recording__add_thread_calls(
		counts->recording,
		&(struct recording_thread_calls) { .thread = (int64_t)call->thread,
						   .number = (int)call->number,
						   .count = sum->count,
						   .errors = sum->errors,
						   .total_ns = (int64_t)sum->total_ns,
						   .run_ns = (int64_t)sum->run_ns });
}

int counts__write_threads(struct counts *counts, bool all)
{
	return counts->calls_seen
		       ? ledger__drain_calls(counts->ledger, all, write_thread_calls, counts)
		       : 0;
}

int counts__write_errors(struct counts *counts)
{
	return ledger__errors(counts->ledger, take_error, counts);
}

/* Skips a CPU that never switched: it ran one thread or was idle all the time, unknown which. */
int counts__write_idle(struct counts *counts, uint64_t end_ns)
{
	uint64_t hidden_ns = 0;
	int err = 0;

	for (int i = 0; i < ledger__cpus(counts->ledger) && !err; i++) {
		const struct ledger_cpu *cpu = ledger__cpu(counts->ledger, i);
		uint64_t open_ns =
			cpu->since_ns && cpu->since_ns < end_ns ? end_ns - cpu->since_ns : 0;
		uint64_t idle_ns = cpu->idle_ns + (cpu->hidden ? 0 : open_ns);

		hidden_ns += cpu->hidden_ns + (cpu->hidden ? open_ns : 0);
		if (cpu->switches)
			err = recording__put_cpu(counts->recording, i, (int64_t)idle_ns);
	}
	return err ? err
		   : quality__write(counts->recording, COUNTER_HIDDEN_CPU_NS, (int64_t)hidden_ns);
}
