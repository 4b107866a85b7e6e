/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A count belongs to a thread from its birth on. So the difference between two readings is exact,
 * and a thread that was born since the last reading has allocated all of its count since then. When
 * a process is read for the first time, the kernel tells which of its threads are as young as that.
 */
#include "record/allocations.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "bpf/unwind.h"
#include "core/sys.h"
#include "recording/memory_rows.h"
#include "stacks/maps.h"

#define SECOND_NS UINT64_C(1000000000)
/* A reading takes at most 1/SHARE of the time. */
#define SHARE             100
#define LEAST_INTERVAL_NS SECOND_NS
#define MOST_INTERVAL_NS  (60 * SECOND_NS)
#define GONE_READINGS     8 /* what so many readings lack is forgotten */

/* A thread, by its number in its own pid namespace; or a process. */
struct known {
	uint64_t reading; /* the last one that had it */
	uint64_t read_ns;
	uint64_t bytes;  /* of a thread: what is counted already */
	uint64_t thread; /* its id in the recording; 0: not known */
};

struct allocations {
	struct allocations_options options;
	struct map threads, processes; /* struct known */
	uint64_t reading;              /* number */
	uint64_t now_ns, next_ns;
	uint64_t start_ns, start_ticks;
	uint64_t cut;
};

int allocations__new(const struct allocations_options *options, struct allocations **ret)
{
	struct allocations *allocations = calloc(1, sizeof(*allocations));

	if (!allocations)
		return -ENOMEM;
	allocations->options = *options;
	*ret = allocations;
	return 0;
}

void allocations__free(struct allocations *allocations)
{
	if (!allocations)
		return;
	map__free_values(&allocations->threads);
	map__free_values(&allocations->processes);
	free(allocations);
}

/* --- what is known ---------------------------------------------------------------------------- */

/* *ret_fresh: it was not known. */
static int find_known(struct allocations *allocations, struct map *map, uint64_t key,
		      struct known **ret, bool *ret_fresh)
{
	struct known *known = map__get(map, key);

	*ret_fresh = !known;
	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known || map__put(map, key, known)) {
			free(known);
			return -ENOMEM;
		}
		known->read_ns = allocations->start_ns;
	}
	known->reading = allocations->reading;
	*ret = known;
	return 0;
}

static bool is_gone(void *context, uint64_t key, void *value)
{
	const struct allocations *allocations = context;
	struct known *known = value;

	if (known->reading + GONE_READINGS >= allocations->reading)
		return false;
	free(known);
	return true;
}

/* Whether the thread with this id began in the recording, by the kernel's own word. */
static bool is_young(const struct allocations *allocations, uint32_t pid, uint64_t thread)
{
	uint32_t tid = collect__tid(allocations->options.collect, (int64_t)thread);
	struct maps_stat stat = {};
	char path[64], line[1024];

	/* The thread is too young for a snapshot. */
	if (thread && !tid)
		return true;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/stat", pid, tid);
	return tid && sys__read_line(path, line, sizeof(line)) >= 0 &&
	       !maps__parse_stat(line, &stat) && stat.start_ticks >= allocations->start_ticks;
}

/* --- a reading -------------------------------------------------------------------------------- */

struct taking {
	struct allocations *allocations;
	const struct known *process;
	uint64_t key; /* of the process */
	uint32_t pid;
	bool is_first; /* reading of the process */
};

static int add(struct allocations *allocations, const struct known *known, uint64_t begin_ns,
	       uint64_t bytes)
{
	return memory_rows__add_allocated(allocations->options.recording,
					  &(struct recording_allocated) {
						  .begin_ns = (int64_t)begin_ns,
						  .end_ns = (int64_t)allocations->now_ns,
						  .thread = (int64_t)known->thread,
						  .bytes = (int64_t)bytes,
					  });
}

/* What was allocated before a thread was read for the first time is not of the recording. */
static int begin_thread(const struct taking *taking, struct known *known, uint64_t bytes)
{
	known->bytes = 0;
	known->read_ns = taking->process->read_ns;
	if (!taking->is_first || is_young(taking->allocations, taking->pid, known->thread))
		return 0;
	known->bytes = bytes;
	known->read_ns = taking->allocations->now_ns;
	/* Tells from when on it is counted. */
	return known->thread ? add(taking->allocations, known, known->read_ns, 0) : 0;
}

static int take_thread(const struct taking *taking, const struct runtime_allocation *allocation)
{
	struct allocations *allocations = taking->allocations;
	uint64_t id = 0;
	struct known *known;
	bool is_fresh;
	int err = find_known(allocations, &allocations->threads,
			     map__mix(taking->key, allocation->tid), &known, &is_fresh);

	if (err)
		return err;
	if (is_fresh || allocation->bytes != known->bytes)
		(void)ledger__find_tid(allocations->options.ledger, taking->pid, allocation->tid,
				       &id);
	/* Another thread can have the number of one that has ended. */
	is_fresh |= id && known->thread && id != known->thread;
	if (id)
		known->thread = id;
	if (is_fresh)
		err = begin_thread(taking, known, allocation->bytes);
	/* A count that is read while the thread changes its buffer can be too large once. */
	if (!err && id && allocation->bytes > known->bytes) {
		err = add(allocations, known, known->read_ns, allocation->bytes - known->bytes);
		known->bytes = allocation->bytes;
	}
	known->read_ns = allocations->now_ns;
	return err;
}

static int take(void *context, uint32_t pid, uint64_t start_ticks,
		const struct runtime_allocated *allocated)
{
	struct allocations *allocations = context;
	struct taking taking = { .allocations = allocations, .pid = pid };
	struct known *process;
	int err;

	taking.key = map__mix(map__mix(0, pid), start_ticks);
	err = find_known(allocations, &allocations->processes, taking.key, &process,
			 &taking.is_first);
	if (err)
		return err;
	taking.process = process;
	for (uint32_t i = 0; i < allocated->count && !err; i++)
		err = take_thread(&taking, &allocated->list[i]);
	process->read_ns = allocations->now_ns;
	allocations->cut += allocated->is_cut != 0;
	return err;
}

static int read_all(struct allocations *allocations, uint64_t now_ns)
{
	uint64_t began_ns = clock__now_ns(), interval_ns;
	int err;

	allocations->now_ns = now_ns;
	allocations->reading++;
	err = runtimes__read_allocated(allocations->options.runtimes, take, allocations);
	map__sweep(&allocations->threads, is_gone, allocations);
	map__sweep(&allocations->processes, is_gone, allocations);
	interval_ns = (clock__now_ns() - began_ns) * SHARE;
	if (interval_ns < LEAST_INTERVAL_NS)
		interval_ns = LEAST_INTERVAL_NS;
	if (interval_ns > MOST_INTERVAL_NS)
		interval_ns = MOST_INTERVAL_NS;
	allocations->next_ns = began_ns + interval_ns;
	return err;
}

int allocations__begin(struct allocations *allocations, uint64_t start_ns)
{
	uint64_t now_ns = clock__now_ns();

	allocations->start_ns = start_ns;
	allocations->start_ticks =
		(clock__read_ns(CLOCK_BOOTTIME) - (now_ns - start_ns)) / UNWIND_TICK_NS;
	return read_all(allocations, now_ns);
}

int allocations__step(struct allocations *allocations)
{
	uint64_t now_ns = clock__now_ns();

	return now_ns < allocations->next_ns ? 0 : read_all(allocations, now_ns);
}

int allocations__end(struct allocations *allocations, uint64_t end_ns)
{
	return read_all(allocations, end_ns);
}

uint64_t allocations__cut(const struct allocations *allocations)
{
	return allocations->cut;
}
