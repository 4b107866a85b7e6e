/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where in the code the time went: sums over samples, by function and by call path.
 *
 * A sample's weight is an unbiased estimate with a known variance. An interval of length w that is
 * shorter than the period P is drawn with probability w/P and weighs P. A longer one is always
 * drawn and weighs its own length. So Σ P × (weight − true length) estimates the variance of Σ
 * weight. A tick is one draw, even if it came late and stands for several ticks: its variance is
 * weight², as in a Poisson process. All errors in a report are two standard errors, so 95 of 100
 * such numbers are that close to the truth.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/words.h"
#include "vocabulary/code_language.h"

struct model;

/* The kinds of time that samples locate in the code. Ready and idle time belong to neither kind. */
enum hot_kind { HOT_RUN, HOT_WAIT /* delaying and undecided */, HOT_KINDS };

struct hot_sum {
	int64_t ns;
	int64_t samples;
	double variance;
};

/*
 * Self time while running counts for the innermost function. Self time while waiting counts for the
 * innermost user-space function, because the kernel part of all waits looks alike. What a runtime's
 * own code does for a function of the runtime, such as adding two numbers for an interpreted one,
 * is self time of that function. Total time
 * counts for every function of a stack, once each. Functions without a name are summed up in the
 * first such function of their module; `row` is its index.
 */
struct hot_function {
	const char *name;
	const char *module; /* path, NULL: none */
	const char *file;   /* NULL: unknown */
	int64_t line;       /* first line of the function; 0: unknown */
	bool kernel;
	bool named;
	enum code_language language;
	bool is_managed;  /* of a runtime, and not machine code of a file as Go's functions are */
	bool is_internal; /* machine code of a runtime itself, see code__is_internal() */
	uint32_t row;
	struct hot_sum self[HOT_KINDS], total[HOT_KINDS];
};

/*
 * Call paths as a tree. Callers come before callees. Node 0 stands for "no stack" and is the root.
 */
struct hot_node {
	uint32_t parent, function;
	uint32_t user;        /* the nearest user-space node from here to the root; 0: none */
	uint32_t managed;     /* the nearest node of a managed function, likewise */
	uint32_t own;         /* whose self time this is: the node itself, or that of its caller */
	uint32_t first, next; /* the first callee; the next callee of the parent */
	struct hot_sum sums[HOT_KINDS];
};

/* Samples of one owner (a group, a wait) at one place (a function, a node). */
struct hot_cell {
	uint32_t owner, place;
	struct hot_sum sum;
};

struct hot_cells {
	struct hot_cell *list; /* by owner, then by weight, the heaviest first */
	size_t count;
};

/* Why a stack is missing or incomplete. */
struct hot_reason {
	const char *words;
	bool cut; /* true: the stack is incomplete; false: there is no stack */
	int64_t samples;
};

struct hot {
	bool known;        /* the recording has tables for samples */
	bool has_period;   /* period_ns is known */
	int64_t period_ns; /* how often a stack was taken; 0: never */
	int64_t tick_ns;   /* tick interval of a CPU, taken from the samples; 0: no ticks */

	/* Indexed by enum kind. Without gapless's own threads. */
	struct hot_sum sampled[8];
	int64_t ledger_ns[8];
	int64_t samples, whole;
	int64_t frames, unnamed; /* in the samples' stacks */
	int64_t torn;            /* number of references to rows that do not exist */
	struct hot_reason *reasons;
	size_t reason_count;

	struct hot_function *functions; /* functions[0] stands for "no stack" */
	size_t function_count;
	struct hot_node *nodes;
	size_t node_count;
	/*
	 * Functions that have time of this kind, most self time first. The last list ranks by the
	 * sum of both kinds.
	 */
	uint32_t *ranks[HOT_KINDS + 1];
	size_t rank_counts[HOT_KINDS + 1];

	struct hot_sum hooks; /* running in BPF programs and their callers in the kernel */
	struct hot_cell way;  /* function that runs most; user node of its main path, 0: none */

	struct hot_cells runs;   /* owner: index in model.groups; place: function; sum: self time */
	struct hot_cells paths;  /* owner: blame.owner; place: user-space node */
	struct hot_cells wakers; /* owner: blame.owner; place: node */
};

void hot__release(struct hot *hot);

/* Computes self times, totals and ranks from the sums of the nodes. */
int hot__rank(struct hot *hot);

void hot__add(struct hot_sum *to, const struct hot_sum *what);

/* Returns why there are no samples (law 4); NULL if there are some. */
const char *hot__why_none(const struct model *model, char *text, size_t size);

/* Returns the first cell of an owner, their number and their sum; NULL if there are none. */
const struct hot_cell *hot__find(const struct hot_cells *cells, uint32_t owner, size_t *ret_count,
				 struct hot_sum *ret_whole);

/* The error in nanoseconds, and the error of a part in percent of `whole`. */
int64_t hot__error_ns(const struct hot_sum *sum);
double hot__error(const struct hot_sum *part, const struct hot_sum *whole);
/* "42 % ±2.1 of 1,812 samples"; without ± if the error is 0. */
struct words hot__share(const struct hot_sum *part, const struct hot_sum *whole);
/* "±2.1" */
struct words hot__plus_minus(double percent);

/*
 * Whether the function of `node`, on the stack that ends in `leaf`, says less than others there:
 * code of a runtime itself, below or above functions of the runtime.
 */
bool hot__is_internal(const struct hot *hot, uint32_t leaf, uint32_t node);

/* "main → … → handle → pread64": outermost first, shortened in the middle, names cleaned. */
void hot__say_path(const struct hot *hot, uint32_t node, char *text, size_t size);
/* "parse_line (libfoo.so)", "handle (web.py)" */
void hot__say_function(const struct hot_function *function, char *text, size_t size);
/* "web.py" of a managed function whose file is known, else hot__module(). */
const char *hot__where(const struct hot_function *function);
/* Whether it is code of a program's own making that no reader of gapless knows. */
bool hot__is_generated(const struct hot_function *function);
#define HOT_PERF_MAPS                                                                              \
	"let its runtime write a perf map before it starts: DOTNET_PerfMapEnabled=1 for .NET"
/*
 * The module's file name without its directory; "[kernel]" for the kernel; empty if there is none.
 */
const char *hot__module(const struct hot_function *function);
