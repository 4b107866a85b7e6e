/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folds made-up records of the ledger into a bucket. */
#pragma once

#include "../harness.h"

#include <stdio.h>
#include <string.h>

#include "fold/folding.h"
#include "identity/identity.h"

static inline uint64_t workload_of(void *context, const struct folding_process *process)
{
	return process->cgroup_id;
}

static inline const char *service_of(void *context, uint64_t workload)
{
	return workload == 7 ? "seven" : "eight";
}

struct bench {
	struct folding *folding;
	struct bucket *step;
};

static inline struct bench make(void)
{
	const struct folding_options options = { workload_of, service_of, identity__fold_name,
						 NULL };
	const struct bucket_limits limits = { 1000, 8, 64 };
	struct bench bench;

	assert_int_equal(folding__new(&options, &bench.folding), 0);
	assert_int_equal(bucket__new(&limits, &bench.step), 0);
	return bench;
}

static inline void release(struct bench *bench)
{
	folding__free(bench->folding);
	bucket__free(bench->step);
}

/* A thread that has been in `slot` since since_ns; it began at 1000. */
static inline struct ledger_record record_of(uint64_t id, int slot, uint64_t since_ns,
					     uint64_t now_ns)
{
	struct ledger_record record = {
		.head = { .size = sizeof(record),
			  .kind = LEDGER_THREAD,
			  .version = 1,
			  .time_ns = now_ns },
		.id = id,
		.pid = (uint32_t)id,
		.tid = (uint32_t)id,
		.cgroup_id = id < 10 ? 7 : 8,
		.account = { .slot = (uint32_t)slot, .since_ns = since_ns, .first_ns = 1000 },
	};

	snprintf(record.comm, sizeof(record.comm), "thread-%d", (int)id);
	record.wait = (struct ledger_key) { .thread = id, .slot = (uint8_t)slot };
	return record;
}

static inline void give(struct bench *bench, const struct ledger_record *record)
{
	assert_int_equal(folding__take(bench->folding, &record->head), 0);
}

static inline void begin(struct bench *bench, uint64_t now_ns, bool is_whole)
{
	bucket__clear(bench->step);
	assert_int_equal(folding__begin(bench->folding, now_ns, is_whole, bench->step), 0);
}

static inline void end(struct bench *bench)
{
	assert_int_equal(folding__end(bench->folding), 0);
	assert_true(bucket__closes(bench->step));
}

static inline uint64_t sum(const struct bench *bench, int slot, const char *by)
{
	size_t count;
	const struct bucket_row *rows = bucket__rows(bench->step, &count);
	uint64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].key.slot == slot && (!by || !strcmp(rows[i].key.by_service, by)))
			ns += rows[i].ns;
	return ns;
}
