/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the heap signal saw in windows of time, extended to the whole time.
 *
 * While probes are attached, a program does less in the same time. So windows are compared by the
 * CPU time that the program itself had, without the hits: with x of something in a window that had
 * the CPU time c, the total is C × Σx/Σc, where C is the CPU time of the whole recording (a ratio
 * estimator). A slot that is all window is known; the others are estimated. The variance follows
 * from how much the windows differ from that ratio, and falls to 0 when windows cover everything.
 * The interval has 95 %, by Student's t for the number of windows.
 *
 * The cost of a hit, which is taken off, is measured on a small function, and is right within 20 %.
 * That part of the error does not fall with more windows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_STACKS 100

/* An estimate, and half of the width of its interval; below 0: not known. */
struct heap_figure {
	double value;
	double error;
};

struct heap_slot {
	int64_t time_ns; /* its end */
	double bytes, calls, frees, cpu_ns, cost_ns, slot_cpu_ns, slot_cost_ns, window_ns;
};

/* Sums over windows, from which an estimate follows. */
struct heap_ratio {
	double known, known_within; /* in slots that are all window */
	double x, xx, xc;
	double within; /* the variance of what is in the windows, if that is drawn itself */
};

struct heap_stack {
	int64_t id;
	uint32_t node; /* in struct hot; 0: no stack */
	size_t samples;
	struct heap_figure bytes, calls;
};

struct heap {
	struct heap_slot *slots; /* by time */
	size_t slot_count;
	/* Slots that are all window: */
	size_t known_count;
	double known_cpu_ns;
	/* The others, and windows in them: */
	size_t windows;
	double cpu_ns, cpu_squares, cost_ns; /* in windows */
	double rest_cpu_ns;
	bool has_no_windows; /* all are estimated from the slots that are known */
	double all_cpu_ns, all_cost_ns;
	bool is_exact; /* all slots are known */
	struct heap_figure bytes, calls, frees;
	struct heap_stack *stacks; /* most bytes first */
	size_t stack_count;
	size_t samples;
};

/* Computes everything but the stacks from the slots. */
void heap__sum_up(struct heap *heap);
void heap__release(struct heap *heap);

/* Adds what was seen in the window of a slot; `within` is the variance of x. */
void heap__add(const struct heap *heap, struct heap_ratio *ratio, const struct heap_slot *slot,
	       double x, double within);
struct heap_figure heap__estimate(const struct heap *heap, const struct heap_ratio *ratio);

/* The value that Student's t exceeds, in either direction, with a probability of 5 %. */
double heap__student(size_t freedom);

/* The share of the target's CPU time that the windows cover, and that all hits have cost. */
double heap__covered(const struct heap *heap);
double heap__cost(const struct heap *heap);
