/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collecting half of the agent: the kernel half, read every few seconds and folded into
 * buckets. It writes nothing. One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/features.h"
#include "fold/bucket.h"
#include "fold/folding.h"
#include "ledger/reader/attach.h"

/* Memory of the unwinder's tables. */
#define COLLECTOR_TABLE_BYTES (UINT64_C(8) << 20)

struct collector;

struct collector_options {
	struct folding_options fold;
	struct bucket_limits limits;
	/* A cgroup was made or is gone (ledger/ledger.h); may be NULL. */
	void (*note_cgroup)(void *context, const struct ledger_cgroup_record *record);
	void *context;
	struct part *parts;  /* of signals, see ledger_options; NULL: none */
	bool full;           /* level full: kernel and user time, syscalls */
	bool with_occupants; /* note who had the CPU; dear on a busy machine */
	uint32_t most_waits; /* sums of waits between two steps; 0: 16,384 */
	/* Takes stacks and samples, which begin with ledger__sample(); NULL: no stacks. */
	ledger_take_record_fn take_stack;
	void *stack_context;
};

/* Loads, attaches and seeds. On failure, logs the reason and returns -errno. */
int collector__open(const struct collector_options *options, struct features *features,
		    struct collector **ret);
void collector__free(struct collector *collector);

/* Opens the accounts of all threads. Time counts from *ret_start_ns on. */
int collector__start(struct collector *collector, uint64_t *ret_start_ns);

/* Takes what threads leave behind when they end. Waits at most timeout_ms. */
int collector__poll(struct collector *collector, int timeout_ms);
/* Whether so many threads have ended that the next step should not wait. */
bool collector__is_pressed(const struct collector *collector);

/*
 * Reads all accounts into *ret_step, which belongs to the collector and is valid until the next
 * step. With `is_whole`, threads that did not change are read too. A step is also whole if records
 * of threads were lost before it, and after one that failed, whose time it has then.
 */
int collector__step(struct collector *collector, bool is_whole, const struct bucket **ret_step);

/* At level full: whether calls are timed, as far as the budget allows, or only counted. */
void collector__time_calls(struct collector *collector, bool is_timed);

/* How often an addition to a step went to "(other)". */
uint64_t collector__folded(const struct collector *collector);
struct folding *collector__folding(const struct collector *collector);
struct ledger *collector__ledger(const struct collector *collector);
