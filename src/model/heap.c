/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/heap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* How far the cost of a hit in a program may be from the measured one. */
#define COST_ERROR 0.15
/* The relative bias of a ratio is at most about the square of the variation, by windows. */
#define MOST_BIAS 0.003
/*
 * With fewer windows the error is not known: a phase that has half of the time is missed by four of
 * them in 1 of 16 recordings.
 */
#define LEAST_WINDOWS 5
#define MOST_CALLS    1e15

void heap__release(struct heap *heap)
{
	free(heap->slots);
	free(heap->groups);
	free(heap->stacks);
	*heap = (struct heap) {};
}

double heap__student(double freedom)
{
	static const double values[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
					 2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
					 2.131,  2.120, 2.110, 2.101, 2.093, 2.086 };
	static const size_t count = sizeof(values) / sizeof(*values);
	size_t below;

	if (!(freedom >= 1))
		return freedom > 0 ? values[0] : INFINITY;
	/* The first terms of its series; right within 0.001 from here on. */
	if (freedom >= (double)count)
		return 1.960 + 2.372 / freedom + 2.8 / (freedom * freedom);
	below = (size_t)freedom;
	return values[below - 1] + (freedom - (double)below) * (values[below] - values[below - 1]);
}

/* A window that happened to have all CPU time of its slot was drawn like others. */
static bool is_known(const struct heap_slot *slot)
{
	return slot->window_ns > 0 && slot->window_ns >= slot->slot_ns &&
	       slot->cpu_ns >= slot->slot_cpu_ns;
}

/* Whether the slot has a window from which others are estimated. */
static bool is_window(const struct heap *heap, const struct heap_slot *slot)
{
	return slot->cpu_ns > 0 && is_known(slot) == heap->has_no_windows;
}

static double weight_of(const struct heap *heap, const struct heap_slot *slot)
{
	double weight;

	if (heap->has_no_windows || !(slot->window_ns > 0) || slot->slot_ns < slot->window_ns)
		return 1;
	weight = slot->slot_ns / slot->window_ns;
	return heap->is_slowed ? weight * (slot->cpu_ns + slot->cost_ns) / slot->cpu_ns : weight;
}

/* --- estimates -------------------------------------------------------------------------------- */

static void close_group(const struct heap *heap, struct heap_ratio *ratio)
{
	const struct heap_group *group = &heap->groups[ratio->group];
	double n = (double)group->windows, scale, rate, squares, variance;

	if (group->cpu_ns > 0) {
		scale = group->rest_ns / group->cpu_ns;
		rate = ratio->x / group->cpu_ns;
		ratio->value += scale * ratio->x;
		ratio->cost += scale * ratio->x * group->cost_ns / group->cpu_ns;
		ratio->variance += scale * ratio->within;
		squares = ratio->xx - 2 * rate * ratio->xc + rate * rate * group->cpu_squares;
		if (n > 1 && squares > 0) {
			variance = scale * scale * n / (n - 1) * squares;
			if (!heap->has_no_windows && group->seen_ns < group->rest_ns)
				variance *= 1 - group->seen_ns / group->rest_ns;
			ratio->variance += variance;
			ratio->spread += variance * variance / (n + 1);
		}
	}
	ratio->x = ratio->xx = ratio->xc = ratio->within = 0;
}

void heap__add(const struct heap *heap, struct heap_ratio *ratio, const struct heap_slot *slot,
	       double x, double within)
{
	double weight = weight_of(heap, slot);

	if (is_known(slot)) {
		ratio->known += x;
		ratio->known_within += within;
	}
	if (!is_window(heap, slot))
		return;
	if (slot->group != ratio->group)
		close_group(heap, ratio);
	ratio->group = slot->group;
	ratio->x += weight * x;
	ratio->xx += weight * x * weight * x;
	ratio->xc += weight * x * weight * slot->cpu_ns;
	ratio->within += weight * within;
}

/*
 * Of a sum of variances, each with its own degrees of freedom. The squares of variances that are
 * themselves estimated are too large, which the +2 and -2 correct.
 */
static double freedom_of(const struct heap *heap, const struct heap_ratio *ratio)
{
	double most = (double)(heap->windows - heap->group_count), freedom = most;

	if (ratio->spread > 0)
		freedom = ratio->variance * ratio->variance / ratio->spread - 2;
	return freedom < 1 ? 1 : freedom < most ? freedom : most;
}

struct heap_figure heap__estimate(const struct heap *heap, struct heap_ratio *ratio)
{
	struct heap_figure figure = { .value = ratio->known, .error = -1 };
	double t, cost, drawn;

	if (heap->is_exact) {
		t = heap__student(heap->known_count > 1 ? (double)heap->known_count - 1 : 1);
		figure.error = t * sqrt(ratio->known_within);
	}
	if (heap->is_exact || !heap->group_count)
		return figure;
	close_group(heap, ratio);
	figure.value += ratio->value;
	if (heap->windows < LEAST_WINDOWS)
		return figure;
	t = heap__student(freedom_of(heap, ratio));
	drawn = t * sqrt(ratio->variance + ratio->known_within);
	/* An estimate that is too small has too small a variance: e becomes e + e²/2. */
	if (figure.value > 0)
		drawn += drawn * drawn / figure.value / 2;
	cost = COST_ERROR * ratio->cost;
	figure.error = sqrt(drawn * drawn + cost * cost);
	return figure;
}

/* --- groups ----------------------------------------------------------------------------------- */

static void add_cpu(struct heap *heap)
{
	for (size_t i = 0; i < heap->slot_count; i++) {
		const struct heap_slot *slot = &heap->slots[i];

		heap->all_cpu_ns += slot->slot_cpu_ns;
		heap->all_cost_ns += slot->slot_cost_ns;
		if (is_known(slot)) {
			heap->known_count++;
			heap->known_cpu_ns += slot->cpu_ns;
			continue;
		}
		heap->rest_cpu_ns += slot->slot_cpu_ns;
		heap->windows += slot->cpu_ns > 0;
	}
	heap->is_exact = heap->known_count && heap->rest_cpu_ns <= 0;
	heap->has_no_windows = !heap->windows;
	for (size_t i = 0; i < heap->slot_count && heap->has_no_windows; i++)
		heap->windows += is_window(heap, &heap->slots[i]);
}

/* How far the CPU time in windows is from that of their slots: the mean of relative squares. */
static double variation_of(const struct heap *heap)
{
	double squares = 0;

	for (size_t i = 0; i < heap->slot_count; i++) {
		const struct heap_slot *slot = &heap->slots[i];
		double part;

		if (!is_window(heap, slot))
			continue;
		part = weight_of(heap, slot) * slot->cpu_ns / slot->slot_cpu_ns;
		squares += (part - 1) * (part - 1);
	}
	return squares / (double)heap->windows;
}

/* How many windows a group has. */
static size_t size_of_groups(struct heap *heap)
{
	double variation, slowed, size;

	if (heap->has_no_windows || !heap->windows)
		return heap->windows;
	variation = variation_of(heap);
	heap->is_slowed = true;
	slowed = variation_of(heap);
	heap->is_slowed = slowed < variation;
	if (heap->windows < LEAST_WINDOWS)
		return heap->windows;
	size = ceil((heap->is_slowed ? slowed : variation) / MOST_BIAS);
	return size < 2 ? 2 : size < (double)heap->windows ? (size_t)size : heap->windows;
}

static void add_to_group(struct heap *heap, struct heap_slot *slot)
{
	struct heap_group *group = &heap->groups[heap->group_count - 1];
	double weight = weight_of(heap, slot);

	slot->group = heap->group_count - 1;
	if (!is_known(slot))
		group->rest_ns += slot->slot_cpu_ns;
	if (!is_window(heap, slot))
		return;
	group->windows++;
	group->seen_ns += slot->cpu_ns;
	group->cpu_ns += weight * slot->cpu_ns;
	group->cpu_squares += weight * slot->cpu_ns * weight * slot->cpu_ns;
	group->cost_ns += weight * slot->cost_ns;
	heap->cpu_ns += slot->cpu_ns;
}

/* The last group is larger if that does not come out even. */
static int make_groups(struct heap *heap)
{
	size_t size = size_of_groups(heap), most = size ? heap->windows / size : 0;

	if (!most)
		return 0;
	heap->groups = calloc(most, sizeof(*heap->groups));
	if (!heap->groups)
		return -ENOMEM;
	heap->group_count = 1;
	for (size_t i = 0; i < heap->slot_count; i++) {
		struct heap_slot *slot = &heap->slots[i];

		if (is_window(heap, slot) && heap->group_count < most &&
		    heap->groups[heap->group_count - 1].windows == size)
			heap->group_count++;
		add_to_group(heap, slot);
	}
	return 0;
}

int heap__sum_up(struct heap *heap)
{
	struct heap_ratio bytes = {}, calls = {}, frees = {};
	int err;

	add_cpu(heap);
	err = make_groups(heap);
	if (err)
		return err;
	for (size_t i = 0; i < heap->slot_count; i++) {
		const struct heap_slot *slot = &heap->slots[i];

		heap__add(heap, &bytes, slot, slot->bytes, 0);
		heap__add(heap, &calls, slot, slot->calls, 0);
		heap__add(heap, &frees, slot, slot->frees, 0);
	}
	heap->bytes = heap__estimate(heap, &bytes);
	heap->calls = heap__estimate(heap, &calls);
	heap->frees = heap__estimate(heap, &frees);
	return 0;
}

/* --- shares ----------------------------------------------------------------------------------- */

double heap__covered(const struct heap *heap)
{
	double seen_ns = heap->known_cpu_ns + (heap->has_no_windows ? 0 : heap->cpu_ns);

	if (heap->is_exact)
		return 1;
	return heap->all_cpu_ns > 0 && seen_ns < heap->all_cpu_ns ? seen_ns / heap->all_cpu_ns : 0;
}

double heap__cost(const struct heap *heap)
{
	double all = heap->all_cpu_ns + heap->all_cost_ns;

	return all > 0 ? heap->all_cost_ns / all : 0;
}

int64_t heap__least_calls(const struct heap *heap)
{
	double calls;

	if (heap->is_exact)
		return 0;
	calls = ceil(log(0.05) / log1p(-heap__covered(heap)));
	return calls < MOST_CALLS ? (int64_t)calls : (int64_t)MOST_CALLS;
}
