/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the functions of a stack tell. */
#include "findings/analysis.h"

static bool is_named(const struct hot_function *function)
{
	return function->named && function->module && *function->module != '[';
}

/*
 * Folds the tail of a path: the library functions at its inner end. The caller is the innermost
 * named function outside of libraries, the library function the outermost named one that it called.
 */
static void fold_tail(const struct analysis *analysis, uint32_t node, struct path *path)
{
	const struct hot *hot = &analysis->model->hot;

	for (; node; node = hot->nodes[node].parent) {
		uint32_t function = hot->nodes[node].function;
		const struct known *known = &analysis->functions[function];
		bool named = is_named(&hot->functions[function]);

		if (known->flags & KNOWN_ROOT)
			return;
		if (named && !(known->flags & KNOWN_TAIL)) {
			path->caller = function;
			return;
		}
		if (named)
			path->library = function;
	}
}

static void compute(const struct analysis *analysis, uint32_t node, struct path *path)
{
	const struct hot *hot = &analysis->model->hot;
	bool weak = false;

	path->is_named = true;
	fold_tail(analysis, node, path);
	for (; node; node = hot->nodes[node].parent) {
		uint32_t function = hot->nodes[node].function;
		const struct known *known = &analysis->functions[function];

		path->depth++;
		path->is_named &= hot->functions[function].named;
		if ((!path->lock && !path->wait) || (weak && known->lock)) {
			path->lock = known->lock;
			path->wait = known->wait;
			weak = known->flags & KNOWN_WEAK;
		}
		weak &= !!(known->flags & KNOWN_TAIL);
		path->flags |= known->flags & (KNOWN_CARRIER | KNOWN_SLEEP | KNOWN_COLLECTOR);
	}
	path->computed = true;
}

const struct path *analysis__path(struct analysis *analysis, uint32_t node)
{
	uint32_t user = analysis->model->hot.nodes ? analysis->model->hot.nodes[node].user : 0;
	struct path *path = &analysis->paths[user];

	if (!path->computed)
		compute(analysis, user, path);
	return path;
}

const char *analysis__kernel_wait(const struct analysis *analysis, uint32_t node)
{
	const struct hot *hot = &analysis->model->hot;

	for (; node && hot->functions[hot->nodes[node].function].kernel;
	     node = hot->nodes[node].parent) {
		const struct known *known = &analysis->functions[hot->nodes[node].function];

		if (known->lock || known->wait)
			return known->lock ? known->lock : known->wait;
	}
	return NULL;
}

bool analysis__sends(const struct analysis *analysis, uint32_t node)
{
	const struct hot *hot = &analysis->model->hot;

	for (; node && hot->functions[hot->nodes[node].function].kernel;
	     node = hot->nodes[node].parent)
		if (analysis->functions[hot->nodes[node].function].lock)
			return true;
	return false;
}
