/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the events of the heap signal. A sample is of the window in whose slot its time is. The
 * recording is not trusted: what is not a reasonable number counts as 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/fold.h"
#include "model/load.h"
#include "model/signals.h"
#include "model/sql.h"

#define MOST_AMOUNT 9e15

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

static double amount(sqlite3_stmt *row, int column)
{
	double value = sqlite3_column_double(row, column);

	return value > 0 && value < MOST_AMOUNT ? value : 0;
}

static int take_slot(struct heap *heap, sqlite3_stmt *row)
{
	struct heap_slot *slot = APPEND(&heap->slots, &heap->slot_count);

	if (!slot)
		return -ENOMEM;
	*slot = (struct heap_slot) { .time_ns = sqlite3_column_int64(row, 0),
				     .bytes = amount(row, 1),
				     .calls = amount(row, 2),
				     .frees = amount(row, 3),
				     .cpu_ns = amount(row, 4),
				     .cost_ns = amount(row, 5),
				     .slot_cpu_ns = amount(row, 6),
				     .slot_cost_ns = amount(row, 7),
				     .window_ns = amount(row, 8),
				     .slot_ns = amount(row, 9) };
	return 0;
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Sums of one stack, and of its samples in one window. */
struct reading {
	struct heap *heap;
	struct heap_stack *stack; /* NULL: none yet */
	struct heap_ratio bytes, calls;
	size_t slot;
	double slot_bytes, slot_calls;
	double byte_squares, call_squares; /* their variances */
};

static void end_slot(struct reading *reading)
{
	const struct heap *heap = reading->heap;

	if (reading->slot < heap->slot_count && reading->slot_bytes > 0) {
		const struct heap_slot *slot = &heap->slots[reading->slot];

		heap__add(heap, &reading->bytes, slot, reading->slot_bytes, reading->byte_squares);
		heap__add(heap, &reading->calls, slot, reading->slot_calls, reading->call_squares);
	}
	reading->slot_bytes = reading->slot_calls = 0;
	reading->byte_squares = reading->call_squares = 0;
}

static void end_stack(struct reading *reading)
{
	end_slot(reading);
	if (reading->stack) {
		reading->stack->bytes = heap__estimate(reading->heap, &reading->bytes);
		reading->stack->calls = heap__estimate(reading->heap, &reading->calls);
	}
	*reading = (struct reading) { .heap = reading->heap };
}

/* Ordered by stack and time. Samples of windows that are not used count for nothing. */
static int take_sample(struct reading *reading, sqlite3_stmt *row)
{
	struct heap *heap = reading->heap;
	int64_t id = sqlite3_column_int64(row, 0), time_ns = sqlite3_column_int64(row, 1);
	double bytes = amount(row, 2), weight = amount(row, 3);

	if (!reading->stack || reading->stack->id != id) {
		end_stack(reading);
		reading->stack = APPEND(&heap->stacks, &heap->stack_count);
		if (!reading->stack)
			return -ENOMEM;
		reading->stack->id = id;
	}
	while (reading->slot < heap->slot_count && heap->slots[reading->slot].time_ns < time_ns) {
		end_slot(reading);
		reading->slot++;
	}
	if (!(bytes > 0) || weight < bytes || reading->slot == heap->slot_count ||
	    heap->slots[reading->slot].cpu_ns <= 0)
		return 0;
	reading->stack->samples++;
	heap->samples++;
	reading->slot_bytes += weight;
	reading->slot_calls += weight / bytes;
	reading->byte_squares += weight * (weight - bytes);
	reading->call_squares += weight / bytes * (weight / bytes - 1);
	return 0;
}

static int by_bytes(const void *left, const void *right)
{
	const struct heap_stack *a = left, *b = right;

	if (a->bytes.value != b->bytes.value)
		return a->bytes.value < b->bytes.value ? 1 : -1;
	return (a->id > b->id) - (a->id < b->id);
}

static int load_stacks(struct model *model, sqlite3 *db, int64_t signal, struct heap *heap)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	struct reading reading = { .heap = heap };
	int err = load__prepare(model, db, sql__heap_samples, &row), rc;

	if (!err)
		sqlite3_bind_int64(row, 3, signal);
	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take_sample(&reading, row) : load__error(rc);
	end_stack(&reading);
	if (heap->stack_count)
		qsort(heap->stacks, heap->stack_count, sizeof(*heap->stacks), by_bytes);
	if (heap->stack_count > HEAP_STACKS)
		heap->stack_count = HEAP_STACKS;
	return err;
}

static int load_slots(struct model *model, sqlite3 *db, int64_t signal, struct heap *heap)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(model, db, sql__heap_slots, &row), rc;

	if (!err)
		sqlite3_bind_int64(row, 3, signal);
	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take_slot(heap, row) : load__error(rc);
	return err;
}

/* --- sums ------------------------------------------------------------------------------------- */

static int64_t scaled(int64_t value, double scale)
{
	return (int64_t)((double)value * scale + 0.5);
}

/* The factor from what was counted to the estimate; 1 if that makes no sense. */
static double scale_of(double counted, double whole)
{
	return counted > 0 && whole > counted ? whole / counted : 1;
}

/* Makes the sums of windows those of the whole time. */
static void scale_sums(struct signals_signal *signal, const struct heap *heap)
{
	double counted = 0, bytes = 0, scale, byte_scale;

	for (size_t i = 0; i < signal->series_count; i++) {
		counted += (double)signal->series[i].sum.count;
		bytes += (double)signal->series[i].sum.sum[0];
	}
	scale = scale_of(counted, heap->calls.value + heap->frees.value);
	byte_scale = scale_of(bytes, heap->bytes.value);
	if (heap->is_exact || scale * counted > MOST_AMOUNT || byte_scale * bytes > MOST_AMOUNT)
		return;
	for (size_t i = 0; i < signal->series_count; i++) {
		struct signals_sum *sum = &signal->series[i].sum;

		sum->count = scaled(sum->count, scale);
		sum->sum[0] = scaled(sum->sum[0], byte_scale);
	}
	for (size_t i = 0; i < signal->row_count; i++) {
		struct model_histogram *histogram = &signal->rows[i].histograms[0];

		histogram->count = 0;
		for (size_t j = 0; j < histogram->bucket_count; j++) {
			histogram->buckets[j].count = scaled(histogram->buckets[j].count, scale);
			histogram->count += histogram->buckets[j].count;
		}
	}
}

int load__heap(struct model *model, sqlite3 *db, struct signals_signal *signal)
{
	struct heap *heap = calloc(1, sizeof(*heap));
	int err;

	if (!heap)
		return -ENOMEM;
	signal->heap = heap;
	err = load_slots(model, db, signal->id, heap);
	if (!err)
		err = heap__sum_up(heap);
	if (err)
		return err;
	scale_sums(signal, heap);
	return load_stacks(model, db, signal->id, heap);
}

static void find_heap_stacks(struct fold *fold, struct heap *heap)
{
	for (size_t i = 0; i < heap->stack_count; i++) {
		const struct fold_stack *stack = fold__stack(fold, heap->stacks[i].id);

		heap->stacks[i].node = stack ? stack->node : 0;
	}
}

void load__event_stacks(struct fold *fold, struct signals *signals)
{
	for (size_t i = 0; i < signals->count; i++) {
		struct signals_signal *signal = &signals->list[i];

		for (size_t j = 0; j < signal->slowest_count; j++) {
			struct signals_event *event = &signal->slowest[j];
			const struct fold_stack *stack = fold__stack(fold, event->stack);

			event->node = stack ? stack->node : 0;
		}
		if (signal->heap)
			find_heap_stacks(fold, signal->heap);
	}
}
