/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the heap signal saw in windows of time, extended to the whole time.
 *
 * Each slot of time has one window, at a random place. What was seen in it stands for the slot, so
 * it has the weight W = slot ÷ window. While probes are attached, a program that never waits does
 * less in the same time, so that its window is in effect shorter; a server that gets the same
 * requests does the same. Which it is follows from the CPU time in windows and in slots. So windows
 * are compared by the CPU time that the program itself had, without the hits: with x of something
 * in a window that had the CPU time c, the total of some slots is C × ΣWx/ΣWc, where C is the CPU
 * time of these slots (a ratio estimator). A slot that is all window is known.
 *
 * That is computed for groups of neighbouring slots. A program may have phases, and windows are
 * short where calls are many: with one ratio for all, long windows of quiet phases would decide.
 * A group has two windows if the program runs steadily. If the CPU time in windows varies, it has
 * more, because the ratio of a few such windows is biased.
 *
 * The variance follows from how much the windows of a group differ from its ratio, and falls to 0
 * when windows cover everything. The interval has 95 %, by Student's t, with fewer degrees of
 * freedom if few groups have most of the variance (Satterthwaite). With fewer than 5 windows, it is
 * not known. What is so rare that no window
 * has it is not in the interval: see heap__least_calls().
 *
 * The cost of a hit, which is taken off, is measured on a small function, and is right within 15 %.
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
	double bytes, calls, frees, cpu_ns, cost_ns, slot_cpu_ns, slot_cost_ns, window_ns, slot_ns;
	size_t group;
};

/* Neighbouring slots that are estimated together. */
struct heap_group {
	size_t windows;
	double rest_ns; /* CPU time of its slots */
	double seen_ns; /* in windows */
	double cpu_ns;  /* in windows, with weights */
	double cpu_squares;
	double cost_ns; /* the same for the cost of hits */
};

/* Sums over windows, from which an estimate follows. */
struct heap_ratio {
	double known, known_within; /* in slots that are all window */
	/* In the current group, with weights: */
	size_t group;
	double x, xx, xc;
	double within; /* the variance of what is in the windows, if that is drawn itself */
	/* Of the groups before it: */
	double value, variance, spread, cost;
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
	struct heap_group *groups;
	size_t group_count;
	/* Slots that are all window: */
	size_t known_count;
	double known_cpu_ns;
	/* The others, and windows in them: */
	size_t windows;
	double cpu_ns, rest_cpu_ns;
	bool is_slowed;      /* the program does as much less in windows as hits cost */
	bool has_no_windows; /* all are estimated from the slots that are known */
	double all_cpu_ns, all_cost_ns;
	bool is_exact; /* all slots are known */
	struct heap_figure bytes, calls, frees;
	struct heap_stack *stacks; /* most bytes first */
	size_t stack_count;
	size_t samples;
};

/* Computes everything but the stacks from the slots. 0 or -ENOMEM. */
int heap__sum_up(struct heap *heap);
void heap__release(struct heap *heap);

/* Adds what was seen in the window of a slot; `within` is the variance of x. In order of time. */
void heap__add(const struct heap *heap, struct heap_ratio *ratio, const struct heap_slot *slot,
	       double x, double within);
/* Nothing can be added to *ratio afterwards. */
struct heap_figure heap__estimate(const struct heap *heap, struct heap_ratio *ratio);

/* The value that Student's t exceeds, in either direction, with a probability of 5 %. */
double heap__student(double freedom);

/* The share of the target's CPU time that the windows cover, and that all hits have cost. */
double heap__covered(const struct heap *heap);
double heap__cost(const struct heap *heap);
/*
 * Calls from one place that are fewer than these may all have been missed: that has a probability
 * of more than 5 %. 0 if all calls were seen.
 */
int64_t heap__least_calls(const struct heap *heap);
