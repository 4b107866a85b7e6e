/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes totals, ranks and errors, and formats functions and call paths as text. */
#include "model/hot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/model.h"

#define NAME_COLUMNS 40
/* How many innermost functions of a folded path are shown, besides the outermost one. */
#define PATH_INNER 4

void hot__release(struct hot *hot)
{
	free(hot->reasons);
	free(hot->functions);
	free(hot->nodes);
	for (int i = 0; i <= HOT_KINDS; i++)
		free(hot->ranks[i]);
	free(hot->runs.list);
	free(hot->paths.list);
	free(hot->wakers.list);
	*hot = (struct hot) {};
}

/* --- sums ---------------------------------------------------------------------------------- */

static uint32_t row_of(const struct hot *hot, uint32_t node)
{
	return hot->functions[hot->nodes[node].function].row;
}

/* The function whose self time a node has. */
static uint32_t self_row(const struct hot *hot, uint32_t node)
{
	return row_of(hot, hot->nodes[node].own);
}

static void sum_selves(struct hot *hot)
{
	for (uint32_t i = 0; i < hot->node_count; i++) {
		const struct hot_node *node = &hot->nodes[i];
		uint32_t waits = node->user ? node->user : i;

		hot__add(&hot->functions[self_row(hot, i)].self[HOT_RUN], &node->sums[HOT_RUN]);
		hot__add(&hot->functions[self_row(hot, waits)].self[HOT_WAIT],
			 &node->sums[HOT_WAIT]);
	}
}

/*
 * Finds the function with the most self time while running, and the heaviest user-space path into
 * it. Must run before sum_trees().
 */
static int find_hottest_path(struct hot *hot)
{
	cleanup(free_p) struct hot_sum *ways = calloc(hot->node_count, sizeof(*ways));
	struct hot_cell way = {};

	if (!ways)
		return -ENOMEM;
	for (uint32_t i = 1; i < hot->function_count; i++)
		if (hot->functions[i].self[HOT_RUN].ns > hot->functions[way.owner].self[HOT_RUN].ns)
			way.owner = i;
	for (uint32_t i = 1; i < hot->node_count; i++) {
		uint32_t user = hot->nodes[hot->nodes[i].own].user;

		if (!user || self_row(hot, i) != way.owner)
			continue;
		hot__add(&ways[user], &hot->nodes[i].sums[HOT_RUN]);
		if (ways[user].ns > ways[way.place].ns)
			way.place = user;
	}
	way.sum = ways[way.place];
	hot->way = way;
	return 0;
}

static bool is_hook(const struct hot_function *function)
{
	return function->kernel && (!strncmp(function->name, "bpf_prog_", 9) ||
				    !strncmp(function->name, "bpf_trace_run", 13));
}

/* Adds up the outermost hook of each path with everything below it. Must run after sum_trees(). */
static int sum_hooks(struct hot *hot)
{
	cleanup(free_p) bool *inside = calloc(hot->node_count, sizeof(*inside));

	if (!inside)
		return -ENOMEM;
	for (size_t i = 1; i < hot->node_count; i++) {
		const struct hot_node *node = &hot->nodes[i];

		inside[i] = inside[node->parent] || is_hook(&hot->functions[node->function]);
		if (inside[i] && !inside[node->parent])
			hot__add(&hot->hooks, &node->sums[HOT_RUN]);
	}
	return 0;
}

/*
 * Parents come before their children, so one backward pass turns each node's sum into the sum of
 * its subtree.
 */
static void sum_trees(struct hot *hot)
{
	for (size_t i = hot->node_count; i-- > 1;)
		for (int kind = 0; kind < HOT_KINDS && hot->nodes[i].parent; kind++)
			hot__add(&hot->nodes[hot->nodes[i].parent].sums[kind],
				 &hot->nodes[i].sums[kind]);
}

/* Goes on from a node whose children are done. Returns the next node in the tree, 0 at the end. */
static uint32_t leave(const struct hot *hot, uint32_t at, uint32_t *open)
{
	while (at) {
		open[row_of(hot, at)]--;
		if (hot->nodes[at].next)
			return hot->nodes[at].next;
		at = hot->nodes[at].parent;
	}
	return 0;
}

/* A subtree counts towards a function only at its outermost call, so recursion counts once. */
static int sum_totals(struct hot *hot)
{
	cleanup(free_p) uint32_t *open = calloc(hot->function_count, sizeof(*open));
	uint32_t at = hot->nodes[0].first;

	if (!open)
		return -ENOMEM;
	while (at) {
		struct hot_function *function = &hot->functions[row_of(hot, at)];

		for (int kind = 0; kind < HOT_KINDS && !open[function->row]; kind++)
			hot__add(&function->total[kind], &hot->nodes[at].sums[kind]);
		open[function->row]++;
		at = hot->nodes[at].first ? hot->nodes[at].first : leave(hot, at, open);
	}
	for (int kind = 0; kind < HOT_KINDS; kind++)
		hot->functions[0].total[kind] = hot->nodes[0].sums[kind];
	return 0;
}

struct ranked {
	int64_t self_ns, total_ns;
	uint32_t function;
};

static int by_self(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static struct ranked rank_one(const struct hot *hot, uint32_t i, int kind)
{
	const struct hot_sum *self = hot->functions[i].self, *total = hot->functions[i].total;

	/* Halved, so that the sum of both kinds cannot overflow. */
	return (struct ranked) {
		.self_ns = kind < HOT_KINDS ? self[kind].ns
					    : self[HOT_RUN].ns / 2 + self[HOT_WAIT].ns / 2,
		.total_ns = total[HOT_RUN].ns / 2 + total[HOT_WAIT].ns / 2,
		.function = i,
	};
}

static int rank(struct hot *hot, int kind)
{
	cleanup(free_p) struct ranked *list = calloc(hot->function_count, sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < hot->function_count; i++) {
		struct ranked one = rank_one(hot, i, kind);

		if (one.self_ns || (kind == HOT_KINDS && one.total_ns))
			list[count++] = one;
	}
	qsort(list, count, sizeof(*list), by_self);
	hot->ranks[kind] = calloc(count + 1, sizeof(*hot->ranks[kind]));
	if (!hot->ranks[kind])
		return -ENOMEM;
	hot->rank_counts[kind] = count;
	for (size_t i = 0; i < count; i++)
		hot->ranks[kind][i] = list[i].function;
	return 0;
}

int hot__rank(struct hot *hot)
{
	int err;

	sum_selves(hot);
	err = find_hottest_path(hot);
	sum_trees(hot);
	if (!err)
		err = sum_hooks(hot);
	if (!err)
		err = sum_totals(hot);
	for (int kind = 0; kind <= HOT_KINDS && !err; kind++)
		err = rank(hot, kind);
	return err;
}

const struct hot_cell *hot__find(const struct hot_cells *cells, uint32_t owner, size_t *ret_count,
				 struct hot_sum *ret_whole)
{
	size_t low = 0, high = cells->count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cells->list[middle].owner < owner)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_whole = (struct hot_sum) {};
	for (end = low; end < cells->count && cells->list[end].owner == owner; end++)
		hot__add(ret_whole, &cells->list[end].sum);
	*ret_count = end - low;
	return end > low ? &cells->list[low] : NULL;
}

/* --- errors -------------------------------------------------------------------------------- */

int64_t hot__error_ns(const struct hot_sum *sum)
{
	double error = 2 * sqrt(sum->variance);

	return error < 9e18 ? (int64_t)error : INT64_MAX;
}

double hot__error(const struct hot_sum *part, const struct hot_sum *whole)
{
	double total = (double)whole->ns, share = total > 0 ? (double)part->ns / total : 0;
	double other = fmax(whole->variance - part->variance, 0), error, least;

	if (total <= 0)
		return 0;
	error = 2 * sqrt((1 - share) * (1 - share) * part->variance + share * share * other);
	/*
	 * If all of n samples, or none of them, are in the part, the formula above gives an error
	 * of 0. The rule of three gives the actual bound.
	 */
	least = 3 * whole->variance / total;
	return fmin(fmax(error, least) / total, 1) * 100;
}

/* --- words --------------------------------------------------------------------------------- */

struct words hot__plus_minus(double percent)
{
	struct words words = {};

	if (percent > 0 && percent < 0.05)
		return (struct words) { "±<0.1" };
	snprintf(words.text, sizeof(words.text), "±%.*f", percent > 0 && percent < 9.95, percent);
	return words;
}

struct words hot__share(const struct hot_sum *part, const struct hot_sum *whole)
{
	double error = hot__error(part, whole);
	struct words words = {};

	words__say(words.text, sizeof(words.text), "%s%s%s of %s",
		   words__about(part->ns, whole->ns).text, error > 0 ? " " : "",
		   error > 0 ? hot__plus_minus(error).text : "",
		   words__count(whole->samples, "samples").text);
	return words;
}

const char *hot__module(const struct hot_function *function)
{
	const char *slash = function->module ? strrchr(function->module, '/') : NULL;

	return slash ? slash + 1 : function->module ? function->module : "";
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool hot__is_generated(const struct hot_function *function)
{
	return function->language == LANGUAGE_GENERATED;
}

const char *hot__where(const struct hot_function *function)
{
	return function->is_managed && function->file ? base_of(function->file)
						      : hot__module(function);
}

void hot__say_function(const struct hot_function *function, char *text, size_t size)
{
	const char *module = hot__where(function);

	if (!function->named && function->module)
		words__say(text, size, "%s (no symbols)", words__clean(module, NAME_COLUMNS).text);
	else
		words__say(text, size, "%s%s%s%s", words__clean(function->name, NAME_COLUMNS).text,
			   *module ? " (" : "", words__clean(module, NAME_COLUMNS).text,
			   *module ? ")" : "");
}

/* The functions that start a program or a thread. Their callers are the same in every program. */
static bool starts(const char *name)
{
	static const char *const known[] = { "_start",
					     "start_thread",
					     "__libc_start_main",
					     "__libc_start_call_main",
					     "__libc_start_main_impl",
					     "__libc_start_main@@GLIBC_2.34" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i], name))
			return true;
	return false;
}

bool hot__is_internal(const struct hot *hot, uint32_t leaf, uint32_t node)
{
	return hot->nodes[leaf].managed && hot->functions[hot->nodes[node].function].is_internal;
}

static bool is_in_libc(const struct hot *hot, uint32_t node)
{
	const struct hot_function *function = &hot->functions[hot->nodes[node].function];
	const char *module = hot__module(function);

	return !starts(function->name) &&
	       (!strncmp(module, "libc.so", 7) || !strncmp(module, "libpthread", 10));
}

/*
 * Skips calls inside the C library. The function that called into it matters more than its
 * internals: pthread_mutex_lock is enough.
 */
static uint32_t way_into_libc(const struct hot *hot, uint32_t node)
{
	while (node && is_in_libc(hot, node) && hot->nodes[node].parent &&
	       is_in_libc(hot, hot->nodes[node].parent))
		node = hot->nodes[node].parent;
	return node;
}

void hot__say_path(const struct hot *hot, uint32_t node, char *text, size_t size)
{
	const char *inner[PATH_INNER], *outer = NULL, *name;
	uint32_t leaf = node;
	size_t count = 0;

	node = way_into_libc(hot, node);
	for (; node; node = hot->nodes[node].parent) {
		if (hot__is_internal(hot, leaf, node))
			continue;
		name = hot->functions[hot->nodes[node].function].name;
		if (count && starts(name) && !hot->functions[hot->nodes[node].function].is_managed)
			break;
		if (count < PATH_INNER)
			inner[count] = name;
		outer = name;
		count++;
	}
	if (!count)
		words__say(text, size, "no stack");
	if (count > PATH_INNER)
		words__say(text, size, "%s → ", words__clean(outer, NAME_COLUMNS).text);
	if (count > PATH_INNER + 1)
		words__say(text, size, "… → ");
	for (size_t i = count < PATH_INNER ? count : PATH_INNER; i; i--)
		words__say(text, size, "%s%s", words__clean(inner[i - 1], NAME_COLUMNS).text,
			   i > 1 ? " → " : "");
}

const char *hot__why_none(const struct model *model, char *text, size_t size)
{
	const struct hot *hot = &model->hot;

	*text = '\0';
	if (hot->samples)
		return NULL;
	if (!hot->known)
		words__say(text, size, "recorded by an older gapless, which took no stacks");
	else if (hot->has_period && !hot->period_ns)
		words__say(text, size,
			   "recorded without stacks [they need level full, and no "
			   "--no-stacks]");
	else if (model->cut)
		words__say(text, size, "no sample was taken in this part of the recording");
	else if (hot->has_period)
		words__say(text, size,
			   "too little to sample: there is a stack for each %s of thread time, and "
			   "the threads came to %s",
			   words__time(hot->period_ns).text, words__time(model->threads_ns).text);
	else if (model->level && !strcmp(model->level, "sched"))
		words__say(text, size, "level sched takes no stacks [record with --level full]");
	else
		words__say(text, size, "the recording has no samples");
	return text;
}
