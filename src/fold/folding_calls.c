/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Syscalls by workload. Sums come by thread, before the step knows all threads, so they are kept
 * until its end.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "fold/folding_internal.h"

/* Rows of a step; calls beyond them count, without their number, for nobody in particular. */
#define MOST_ROWS 16384

int folding__take_calls(void *context, const struct ledger_thread_call *call,
			const struct ledger_call_sum *sum)
{
	struct folded_calls *calls = &((struct folding *)context)->calls;
	struct folding_call *added = APPEND(&calls->taken, &calls->taken_count);

	if (!added)
		return -ENOMEM;
	/* The thread, until folding_calls__book() replaces it by its workload. */
	*added = (struct folding_call) { .workload = call->thread,
					 .number = (uint32_t)call->number,
					 .count = sum->count,
					 .errors = sum->errors,
					 .ns = sum->total_ns };
	return 0;
}

static uint64_t workload_of(const struct folding *folding, uint64_t id)
{
	const struct folded_thread *thread = map__get(&folding->threads, id);

	return thread && thread->process ? thread->workload : FOLDING_NOBODY;
}

/* Numbers in the map are 1 + the index, because rows move when the array grows. -ENOSPC, -ENOMEM.
 */
static int find_row(struct folded_calls *calls, uint64_t workload, uint32_t number,
		    struct folding_call **ret)
{
	uint64_t key = map__mix(map__mix(0, workload), number);
	uintptr_t at = (uintptr_t)map__get(&calls->places, key);
	struct folding_call *row;

	if (at) {
		*ret = &calls->rows[at - 1];
		return 0;
	}
	if (calls->count >= MOST_ROWS && number != FOLDING_OTHER_CALL)
		return -ENOSPC;
	row = APPEND(&calls->rows, &calls->count);
	if (!row || map__put(&calls->places, key, (void *)(uintptr_t)calls->count))
		return -ENOMEM;
	*row = (struct folding_call) { .workload = workload, .number = number };
	*ret = row;
	return 0;
}

int folding_calls__book(struct folding *folding)
{
	struct folded_calls *calls = &folding->calls;
	int err = 0;

	map__release(&calls->places);
	calls->count = 0;
	for (size_t i = 0; i < calls->taken_count && !err; i++) {
		const struct folding_call *taken = &calls->taken[i];
		uint64_t workload = workload_of(folding, taken->workload);
		struct folding_call *row;

		err = find_row(calls, workload, taken->number, &row);
		if (err == -ENOSPC)
			err = find_row(calls, FOLDING_NOBODY, FOLDING_OTHER_CALL, &row);
		if (err)
			break;
		row->count += taken->count;
		row->errors += taken->errors;
		row->ns += taken->ns;
	}
	calls->taken_count = 0;
	return err;
}

void folding_calls__release(struct folding *folding)
{
	map__release(&folding->calls.places);
	free(folding->calls.rows);
	free(folding->calls.taken);
}

const struct folding_call *folding__calls(const struct folding *folding, size_t *ret_count)
{
	*ret_count = folding->calls.count;
	return folding->calls.rows;
}
