/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/heap.h"

#include <math.h>
#include <stdlib.h>

/* How far the cost of a hit in a program may be from the measured one. */
#define COST_ERROR 0.2

void heap__release(struct heap *heap)
{
	free(heap->slots);
	free(heap->stacks);
	*heap = (struct heap) {};
}

double heap__student(size_t freedom)
{
	static const double values[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
					 2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
					 2.131,  2.120, 2.110, 2.101, 2.093, 2.086 };
	static const size_t count = sizeof(values) / sizeof(*values);

	if (!freedom)
		return INFINITY;
	/* The first terms of its series; right within 0.001 from here on. */
	return freedom <= count ? values[freedom - 1]
				: 1.960 + 2.372 / (double)freedom +
					  2.8 / ((double)freedom * (double)freedom);
}

static bool is_known(const struct heap_slot *slot)
{
	return slot->cpu_ns > 0 && slot->cpu_ns >= slot->slot_cpu_ns;
}

void heap__add(const struct heap *heap, struct heap_ratio *ratio, const struct heap_slot *slot,
	       double x, double within)
{
	if (is_known(slot)) {
		ratio->known += x;
		ratio->known_within += within;
	}
	if (slot->cpu_ns <= 0 || is_known(slot) != heap->has_no_windows)
		return;
	ratio->x += x;
	ratio->xx += x * x;
	ratio->xc += x * slot->cpu_ns;
	ratio->within += within;
}

struct heap_figure heap__estimate(const struct heap *heap, const struct heap_ratio *ratio)
{
	double n = (double)heap->windows, scale, rate, squares, variance, t, cost;
	struct heap_figure figure = { .value = ratio->known, .error = -1 };

	t = heap__student(heap->windows > 1 ? heap->windows - 1 : 1);
	if (heap->is_exact) {
		t = heap__student(heap->known_count > 1 ? heap->known_count - 1 : 1);
		figure.error = t * sqrt(ratio->known_within);
	}
	if (heap->is_exact || heap->cpu_ns <= 0)
		return figure;
	scale = heap->rest_cpu_ns / heap->cpu_ns;
	figure.value += scale * ratio->x;
	if (heap->windows < 2)
		return figure;
	rate = ratio->x / heap->cpu_ns;
	squares = ratio->xx - 2 * rate * ratio->xc + rate * rate * heap->cpu_squares;
	if (!(squares > 0))
		squares = 0;
	variance = ratio->known_within + scale * ratio->within +
		   scale * scale * n / (n - 1) * squares *
			   (scale > 1 && !heap->has_no_windows ? 1 - 1 / scale : 1);
	cost = COST_ERROR * heap->cost_ns / heap->cpu_ns * scale * ratio->x;
	figure.error = sqrt(t * t * variance + cost * cost);
	return figure;
}

static void add_window(struct heap *heap, const struct heap_slot *slot)
{
	heap->windows++;
	heap->cpu_ns += slot->cpu_ns;
	heap->cpu_squares += slot->cpu_ns * slot->cpu_ns;
	heap->cost_ns += slot->cost_ns;
}

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
		if (slot->cpu_ns > 0)
			add_window(heap, slot);
	}
	heap->is_exact = heap->known_count && heap->rest_cpu_ns <= 0;
	heap->has_no_windows = !heap->windows;
	for (size_t i = 0; i < heap->slot_count && heap->has_no_windows; i++)
		if (is_known(&heap->slots[i]))
			add_window(heap, &heap->slots[i]);
}

void heap__sum_up(struct heap *heap)
{
	struct heap_ratio bytes = {}, calls = {}, frees = {};

	add_cpu(heap);
	for (size_t i = 0; i < heap->slot_count; i++) {
		const struct heap_slot *slot = &heap->slots[i];

		heap__add(heap, &bytes, slot, slot->bytes, 0);
		heap__add(heap, &calls, slot, slot->calls, 0);
		heap__add(heap, &frees, slot, slot->frees, 0);
	}
	heap->bytes = heap__estimate(heap, &bytes);
	heap->calls = heap__estimate(heap, &calls);
	heap->frees = heap__estimate(heap, &frees);
}

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
