/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code on the page. The heaviest nodes are kept. A caller is never lighter than its callees, so the
 * kept nodes form a tree. The rest is shown below the nearest kept caller as "[folded]".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "page/html_stacks.h"

#define MOST_NODES   250000
#define MOST_REASONS 32

static int add_function(struct html_tree *tree, const char *name, uint32_t *ret)
{
	struct hot_function *function =
		fold__add_function(&tree->scratch.hot, load__keep(&tree->scratch, name), ret);

	if (!function || !function->name)
		return -ENOMEM;
	function->named = true;
	return 0;
}

int html_tree__load(struct html_tree *tree, struct html *html)
{
	int err;

	tree->scratch.from_ns = html->model->from_ns;
	tree->scratch.to_ns = html->model->to_ns;
	err = fold__load(&tree->fold, &tree->scratch.hot, &tree->scratch, html->db);
	return err ? err : add_function(tree, "[folded]", &tree->folded);
}

void html_tree__release(struct html_tree *tree)
{
	fold__release(&tree->fold);
	model__release(&tree->scratch);
	map__release(&tree->reasons);
	free(tree->weights);
	free(tree->places);
	free(tree->folds);
}

static int find_reason(struct html_tree *tree, const char *none, uint32_t *ret)
{
	struct hot *hot = &tree->scratch.hot;
	struct hot_node *node;
	char name[256];
	uint64_t hash = 1;
	uint32_t function;
	uintptr_t known;

	if (tree->reasons.count >= MOST_REASONS)
		none = "other";
	hash = map__mix_text(hash, none);
	known = (uintptr_t)map__get(&tree->reasons, hash);
	*ret = (uint32_t)(known - 1);
	if (known)
		return 0;
	snprintf(name, sizeof(name), "[no stack: %.200s]", none);
	if (add_function(tree, name, &function))
		return -ENOMEM;
	node = APPEND(&hot->nodes, &hot->node_count);
	if (!node)
		return -ENOMEM;
	node->function = function;
	*ret = (uint32_t)(hot->node_count - 1);
	return map__put(&tree->reasons, hash, (void *)(uintptr_t)(*ret + 1ULL));
}

int html_tree__find(struct html_tree *tree, int64_t stack, const char *none, uint32_t *ret)
{
	const struct fold_stack *known = fold__stack(&tree->fold, stack);

	if (!known)
		return find_reason(tree, none ? none : stack ? "torn" : "none taken", ret);
	*ret = known->node;
	return 0;
}

static int by_weight(const void *a, const void *b, void *context)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int64_t *weights = context;

	if (weights[x] != weights[y])
		return weights[x] < weights[y] ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Adds each node's weight to its caller. Callers have lower indexes. */
static void add_to_callers(struct html_tree *tree)
{
	const struct hot *hot = &tree->scratch.hot;

	for (size_t i = hot->node_count; i-- > 1;) {
		int64_t *to = &tree->weights[hot->nodes[i].parent];

		if (__builtin_add_overflow(*to, tree->weights[i], to))
			*to = INT64_MAX;
	}
}

/* Finds for each node the one that represents it: itself or its nearest kept caller. */
static int choose_nodes(struct html_tree *tree, uint32_t *keepers)
{
	const struct hot *hot = &tree->scratch.hot;
	cleanup(free_p) uint32_t *list = calloc(hot->node_count, sizeof(*list));
	size_t used = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 1; i < hot->node_count; i++)
		if (tree->weights[i])
			list[used++] = i;
	qsort_r(list, used, sizeof(*list), by_weight, tree->weights);
	for (size_t i = 0; i < used && i < MOST_NODES; i++)
		keepers[list[i]] = list[i];
	for (uint32_t i = 1; i < hot->node_count; i++)
		if (!keepers[i])
			keepers[i] = keepers[hot->nodes[i].parent];
	return 0;
}

int html_tree__choose(struct html_tree *tree, struct html *html)
{
	size_t count = tree->scratch.hot.node_count;
	cleanup(free_p) uint32_t *keepers = calloc(count, sizeof(*keepers));
	cleanup(free_p) uint32_t *folds = calloc(count, sizeof(*folds));

	tree->places = calloc(count, sizeof(*tree->places));
	if (!keepers || !folds || !tree->places)
		return -ENOMEM;
	add_to_callers(tree);
	if (choose_nodes(tree, keepers))
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		if (keepers[i] == i)
			tree->places[i] = (uint32_t)tree->count++;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t *fold = &folds[keepers[i]], *parent;

		if (keepers[i] == i || !tree->weights[i])
			continue;
		if (!*fold) {
			parent = APPEND(&tree->folds, &tree->fold_count);
			if (!parent)
				return -ENOMEM;
			*parent = keepers[i];
			*fold = (uint32_t)(tree->count + tree->fold_count - 1);
		}
		tree->places[i] = *fold;
		html->folded.nodes++;
	}
	return 0;
}

/* Returns the page's number of a function. The first call for a function assigns it. */
static uint32_t number_of(uint32_t *numbers, uint32_t *list, size_t *count, uint32_t function)
{
	if (!numbers[function]) {
		list[(*count)++] = function;
		numbers[function] = (uint32_t)*count;
	}
	return numbers[function] - 1;
}

static bool is_kept(const struct html_tree *tree, size_t node)
{
	return !node || (tree->places[node] && tree->places[node] < tree->count);
}

static void put_parents(struct html_tree *tree, struct html_out *out)
{
	const struct hot *hot = &tree->scratch.hot;

	/* Distance to the caller: the number of the node minus that of the caller. */
	json_out__open(&out->json, "up", '[');
	for (size_t i = 0; i < hot->node_count; i++)
		if (is_kept(tree, i))
			json_out__number(&out->json, NULL,
					 (int64_t)tree->places[i] -
						 tree->places[hot->nodes[i].parent]);
	for (size_t i = 0; i < tree->fold_count; i++)
		json_out__number(&out->json, NULL,
				 (int64_t)(tree->count + i) - tree->places[tree->folds[i]]);
	json_out__close(&out->json, ']');
}

static bool has_runtimes(const struct hot *hot)
{
	for (size_t i = 0; i < hot->function_count; i++)
		if (code_language__has_runtime(hot->functions[i].language))
			return true;
	return false;
}

/* The languages that functions refer to by number, if there is one of a runtime. */
static void put_languages(const struct hot *hot, struct html_out *out)
{
	if (!has_runtimes(hot))
		return;
	json_out__open(&out->json, "languages", '[');
	for (int i = 0; i < LANGUAGE_COUNT; i++) {
		json_out__open(&out->json, NULL, '{');
		html_out__text(out, "key", code_language__key(i));
		html_out__text(out, "name", code_language__name(i));
		json_out__bool(&out->json, "runtime", code_language__has_runtime(i));
		html_out__colours(out, code_language__look(i)->light, code_language__look(i)->dark);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

static void put_functions(const struct hot *hot, struct html_out *out, const uint32_t *list,
			  size_t count, uint32_t *rows)
{
	json_out__open(&out->json, "functions", '{');
	json_out__open(&out->json, "name", '[');
	for (size_t i = 0; i < count; i++)
		json_out__number(&out->json, NULL,
				 html_out__keep(out, hot->functions[list[i]].name));
	json_out__close(&out->json, ']');
	json_out__open(&out->json, "module", '[');
	for (size_t i = 0; i < count; i++)
		json_out__number(&out->json, NULL,
				 html_out__keep(out, hot->functions[list[i]].module));
	json_out__close(&out->json, ']');
	json_out__open(&out->json, "file", '[');
	for (size_t i = 0; i < count; i++)
		json_out__number(&out->json, NULL,
				 html_out__keep(out, hot->functions[list[i]].file));
	json_out__close(&out->json, ']');
	json_out__open(&out->json, "line", '[');
	for (size_t i = 0; i < count; i++)
		json_out__number(&out->json, NULL, hot->functions[list[i]].line);
	json_out__close(&out->json, ']');
	/* 1: of the kernel, 2: has a name, 4: managed, 8: internal (model/hot.h). */
	json_out__open(&out->json, "flags", '[');
	for (size_t i = 0; i < count; i++)
		json_out__number(&out->json, NULL,
				 hot->functions[list[i]].kernel +
					 2 * hot->functions[list[i]].named +
					 4 * hot->functions[list[i]].is_managed +
					 8 * hot->functions[list[i]].is_internal);
	json_out__close(&out->json, ']');
	if (has_runtimes(hot)) {
		json_out__open(&out->json, "language", '[');
		for (size_t i = 0; i < count; i++)
			json_out__number(&out->json, NULL, hot->functions[list[i]].language);
		json_out__close(&out->json, ']');
	}
	/* Those without a name are summed up in one of their module. */
	json_out__open(&out->json, "row", '[');
	for (size_t i = 0; i < count; i++)
		json_out__number(&out->json, NULL, rows[hot->functions[list[i]].row] - 1);
	json_out__close(&out->json, ']');
	json_out__close(&out->json, '}');
}

int html_tree__write(struct html_tree *tree, struct html *html)
{
	struct hot *hot = &tree->scratch.hot;
	cleanup(free_p) uint32_t *numbers = calloc(hot->function_count + 1, sizeof(*numbers));
	cleanup(free_p) uint32_t *list = calloc(hot->function_count + 1, sizeof(*list));
	size_t count = 0;
	uint32_t folded;

	if (!numbers || !list)
		return -ENOMEM;
	folded = number_of(numbers, list, &count, tree->folded);
	json_out__open(&html->out.json, "nodes", '{');
	put_parents(tree, &html->out);
	json_out__open(&html->out.json, "function", '[');
	for (size_t i = 0; i < hot->node_count; i++)
		if (is_kept(tree, i))
			json_out__number(&html->out.json, NULL,
					 number_of(numbers, list, &count, hot->nodes[i].function));
	for (size_t i = 0; i < tree->fold_count; i++)
		json_out__number(&html->out.json, NULL, folded);
	json_out__close(&html->out.json, ']');
	json_out__close(&html->out.json, '}');
	for (size_t i = 0; i < count; i++)
		number_of(numbers, list, &count, hot->functions[list[i]].row);
	put_functions(hot, &html->out, list, count, numbers);
	put_languages(hot, &html->out);
	return 0;
}
