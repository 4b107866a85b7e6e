/*
 * Where in the code the time went: sums over samples, by function and by call path.
 *
 * A sample's weight is an unbiased estimate, and its variance is known: an interval shorter than
 * the period P is drawn with p = w/P and weighs P, a longer one is always drawn and weighs itself,
 * so Σ P × (weight − true length) estimates the variance of Σ weight. A tick is one draw, however
 * many ticks it stands for because it came late: its variance is weight², which is Poisson's. All
 * errors in a report are two standard errors: 95 of 100 such numbers are that close.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/words.h"

struct model;

/* What is looked for in the code; ready and idle time are neither. */
enum hot_kind { HOT_RUN, HOT_WAIT /* delaying and undecided */, HOT_KINDS };

struct hot_sum {
	int64_t ns;
	int64_t samples;
	double variance;
};

/*
 * Self: of running, where it is the innermost function; of waiting, where it is the innermost of
 * user space, since below that all waits look alike. Total: where it is anywhere in the stack, once
 * for each. Functions without a name are summed up in the first of their module, their `row`.
 */
struct hot_function {
	const char *name;
	const char *module; /* path, NULL: none */
	const char *file;   /* NULL: unknown */
	int64_t line;       /* where it starts; 0: unknown */
	bool kernel;
	bool named;
	uint32_t row;
	struct hot_sum self[HOT_KINDS], total[HOT_KINDS];
};

/* Call paths as a tree, callers before the called; node 0 is no stack, and everybody's root. */
struct hot_node {
	uint32_t parent, function;
	uint32_t user;        /* the nearest of user space from here outwards, 0: none */
	uint32_t first, next; /* called from here; the next that is called from the parent */
	struct hot_sum sums[HOT_KINDS];
};

/* Samples of one owner (a group, a wait) at one place (a function, a node). */
struct hot_cell {
	uint32_t owner, place;
	struct hot_sum sum;
};

struct hot_cells {
	struct hot_cell *list; /* by owner, then the heaviest first */
	size_t count;
};

/* Why a stack is not whole. */
struct hot_reason {
	const char *words;
	bool cut; /* not whole; else there is none */
	int64_t samples;
};

struct hot {
	bool known;        /* the recording has tables for samples */
	bool has_period;   /* it says how often one was taken: */
	int64_t period_ns; /* 0: never */
	int64_t tick_ns;   /* between the ticks of a CPU, by the samples; 0: there is none */

	/* Without gapless's own threads, by enum kind. */
	struct hot_sum sampled[8];
	int64_t ledger_ns[8];
	int64_t samples, whole;
	int64_t frames, unnamed; /* in the samples' stacks */
	int64_t torn;            /* rows that refer to some that are not there */
	struct hot_reason *reasons;
	size_t reason_count;

	struct hot_function *functions; /* the first stands for having no stack */
	size_t function_count;
	struct hot_node *nodes;
	size_t node_count;
	/* Functions with such time, most self time first; the last is by both together. */
	uint32_t *ranks[HOT_KINDS + 1];
	size_t rank_counts[HOT_KINDS + 1];

	struct hot_sum hooks; /* running in BPF programs and what calls them */
	struct hot_cell way;  /* the function that runs most, and the heaviest path into it:
			       * a node of user space, 0: none */

	struct hot_cells runs;   /* group in model.groups, function: self */
	struct hot_cells paths;  /* blame.owner, node of user space */
	struct hot_cells wakers; /* blame.owner, node */
};

void hot__release(struct hot *hot);

/* Sums on nodes into self times, totals and ranks. */
int hot__rank(struct hot *hot);

void hot__add(struct hot_sum *to, const struct hot_sum *what);

/* Law 4: why there are no samples; NULL if there are. */
const char *hot__why_none(const struct model *model, char *text, size_t size);

/* An owner's cells, and what they add up to; NULL if there are none. */
const struct hot_cell *hot__find(const struct hot_cells *cells, uint32_t owner, size_t *ret_count,
				 struct hot_sum *ret_whole);

/* In time, and in hundredths of `whole` for a part of it. */
int64_t hot__error_ns(const struct hot_sum *sum);
double hot__error(const struct hot_sum *part, const struct hot_sum *whole);
/* "42 % ±2.1 of 1,812 samples"; without ± where nothing was left to chance. */
struct words hot__share(const struct hot_sum *part, const struct hot_sum *whole);
/* "±2.1" */
struct words hot__plus_minus(double percent);

/* "main → … → handle → pread64": outermost first, folded in the middle, names made clean. */
void hot__say_path(const struct hot *hot, uint32_t node, char *text, size_t size);
/* "parse_line (libfoo.so)" */
void hot__say_function(const struct hot_function *function, char *text, size_t size);
/* The module without its folders; "[kernel]". Empty if there is none. */
const char *hot__module(const struct hot_function *function);

/* Whether a finding may name a part of the samples. */
bool hot__is_enough(const struct hot_sum *part, const struct hot_sum *whole);
/* What samples add to a finding, if they are enough: about a group that runs, a syscall. */
struct model_group;
void hot__say_run(const struct model *model, const struct model_group *group, char *text,
		  size_t size);
void hot__say_call(const struct model *model, const char *call, char *text, size_t size);
