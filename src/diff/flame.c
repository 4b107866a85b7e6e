/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diff/flame.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/map.h"
#include "model/load.h"

/* More than a screen can show. The lightest nodes are merged into their callers and counted. */
#define MOST_NODES 40000

struct node {
	uint32_t parent, name;
	double self[DIFF_SIDES][HOT_KINDS];
	double total;  /* of both sides, including callees */
	uint32_t kept; /* number on the page + 1; 0: merged into its caller */
};

/* Node 0 is the root. Parents come before their children. */
struct paths {
	const struct diff *diff;
	struct node *nodes;
	size_t node_count;
	struct map children; /* (parent, name) → node */
	char **names;
	size_t name_count;
	struct map places; /* hash of a name → its index + 1 */
};

static void paths__release(struct paths *paths)
{
	for (size_t i = 0; i < paths->name_count; i++)
		free(paths->names[i]);
	free(paths->names);
	free(paths->nodes);
	map__release(&paths->children);
	map__release(&paths->places);
}

static uint64_t hash_of(const char *text)
{
	return map__mix_text(1, text);
}

static int name_of(struct paths *paths, const struct hot_function *function, uint32_t *ret)
{
	char text[512] = "";
	uintptr_t known;
	char **name;

	metric__say_function(function, text, sizeof(text));
	known = (uintptr_t)map__get(&paths->places, hash_of(text));
	if (!known) {
		known = paths->name_count + 1;
		name = APPEND(&paths->names, &paths->name_count);
		if (!name)
			return -ENOMEM;
		*name = strdup(text);
		if (!*name || map__put(&paths->places, hash_of(text), (void *)known))
			return -ENOMEM;
	}
	*ret = (uint32_t)known - 1;
	return 0;
}

static int child_of(struct paths *paths, uint32_t parent, uint32_t name, uint32_t *ret)
{
	uint64_t key = (uint64_t)parent << 32 | name;
	uintptr_t known = (uintptr_t)map__get(&paths->children, key);
	struct node *node;

	if (!known) {
		known = paths->node_count;
		node = APPEND(&paths->nodes, &paths->node_count);
		if (!node || map__put(&paths->children, key, (void *)known))
			return -ENOMEM;
		node->parent = parent;
		node->name = name;
	}
	*ret = (uint32_t)known;
	return 0;
}

/*
 * Adds a recording's tree to ours. `places` maps its nodes to ours. The sums of its nodes include
 * callees, except for the root.
 */
static int add_tree(struct paths *paths, const struct hot *hot, const struct diff_run *run,
		    uint32_t *places)
{
	double part = 1 / run->work / (double)paths->diff->counts[run->side];

	for (size_t i = 0; i < hot->node_count; i++) {
		const struct hot_node *from = &hot->nodes[i];
		uint32_t name;
		int err;

		if (i) {
			err = name_of(paths, &hot->functions[from->function], &name);
			if (!err)
				err = child_of(paths, places[from->parent], name, &places[i]);
			if (err)
				return err;
		}
		for (int kind = 0; kind < HOT_KINDS; kind++) {
			double sum = (double)from->sums[kind].ns * part;

			paths->nodes[places[i]].self[run->side][kind] += sum;
			if (from->parent)
				paths->nodes[places[from->parent]].self[run->side][kind] -= sum;
		}
	}
	return 0;
}

static int add_run(struct paths *paths, const struct diff_run *run)
{
	cleanup(model__release) struct model model = {};
	cleanup(free_p) uint32_t *places = NULL;
	int err = model__load(run->path, &(struct model_options) { .scope = run->scope }, &model);

	if (err)
		return err;
	places = calloc(model.hot.node_count + 1, sizeof(*places));
	return places ? add_tree(paths, &model.hot, run, places) : -ENOMEM;
}

static int heavier(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* Keeps only the heaviest nodes. A caller's total is never less than that of its callees. */
static int choose(struct paths *paths, size_t *ret_left_out)
{
	cleanup(free_p) double *totals = calloc(paths->node_count, sizeof(*totals));
	uint32_t kept = 0;
	double least = 0;

	if (!totals)
		return -ENOMEM;
	for (size_t i = paths->node_count; i-- > 0;) {
		struct node *node = &paths->nodes[i];

		for (int side = 0; side < DIFF_SIDES; side++)
			for (int kind = 0; kind < HOT_KINDS; kind++)
				node->total += node->self[side][kind];
		if (i)
			paths->nodes[node->parent].total += node->total;
		totals[i] = node->total;
	}
	if (paths->node_count > MOST_NODES) {
		qsort(totals, paths->node_count, sizeof(*totals), heavier);
		least = totals[MOST_NODES];
	}
	*ret_left_out = 0;
	for (size_t i = 0; i < paths->node_count; i++) {
		struct node *node = &paths->nodes[i], *parent = &paths->nodes[node->parent];

		if (!i || (node->total > least && parent->kept))
			node->kept = ++kept;
		else
			*ret_left_out += node->total > 0;
	}
	return 0;
}

/* Goes from the leaves up, so that everything left out ends in a node that is kept. */
static void fold(struct paths *paths)
{
	for (size_t i = paths->node_count; i-- > 1;) {
		struct node *node = &paths->nodes[i], *parent = &paths->nodes[node->parent];

		if (node->kept)
			continue;
		for (int side = 0; side < DIFF_SIDES; side++)
			for (int kind = 0; kind < HOT_KINDS; kind++)
				parent->self[side][kind] += node->self[side][kind];
	}
}

static json_t *self_json(const struct paths *paths, enum diff_side side, enum hot_kind kind)
{
	json_t *list = json_array();

	for (size_t i = 0; i < paths->node_count; i++)
		if (paths->nodes[i].kept)
			json_array_append_new(
				list, json_integer(llround(paths->nodes[i].self[side][kind])));
	return list;
}

static json_t *paths_json(const struct paths *paths, size_t left_out)
{
	json_t *names = json_array(), *parents = json_array(), *labels = json_array();

	for (size_t i = 0; i < paths->name_count; i++)
		json_array_append_new(names, json__text(paths->names[i]));
	for (size_t i = 0; i < paths->node_count; i++) {
		const struct node *node = &paths->nodes[i];

		if (!node->kept)
			continue;
		json_array_append_new(
			parents, json_integer((json_int_t)paths->nodes[node->parent].kept - 1));
		json_array_append_new(labels, json_integer(node->name));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "names", names, "parent",
			 parents, "name", labels, "base_run", self_json(paths, DIFF_BASE, HOT_RUN),
			 "base_wait", self_json(paths, DIFF_BASE, HOT_WAIT), "new_run",
			 self_json(paths, DIFF_NEW, HOT_RUN), "new_wait",
			 self_json(paths, DIFF_NEW, HOT_WAIT), "left_out", (json_int_t)left_out);
}

int flame__make(const struct diff *diff, json_t **ret)
{
	cleanup(paths__release) struct paths paths = { .diff = diff };
	struct node *root = APPEND(&paths.nodes, &paths.node_count);
	int err = root ? 0 : -ENOMEM;
	size_t left_out;

	for (size_t i = 0; i < diff->run_count && !err; i++)
		err = add_run(&paths, &diff->runs[i]);
	if (!err)
		err = choose(&paths, &left_out);
	if (err)
		return err;
	fold(&paths);
	*ret = paths_json(&paths, left_out);
	return *ret ? 0 : -ENOMEM;
}
