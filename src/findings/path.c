/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the functions of a stack tell. */
#include "findings/analysis.h"

static bool is_named(const struct hot_function *function)
{
	return function->named && function->module &&
	       (function->is_managed || *function->module != '[');
}

uint32_t path__caller(const struct hot *hot, const struct known *functions, uint32_t node,
		      uint32_t *ret_library)
{
	uint32_t leaf = node;

	for (; node; node = hot->nodes[node].parent) {
		uint32_t function = hot->nodes[node].function;
		bool named = is_named(&hot->functions[function]);

		if (hot__is_internal(hot, leaf, node))
			continue;
		if (functions[function].flags & KNOWN_ROOT)
			return 0;
		if (named && !(functions[function].flags & KNOWN_TAIL))
			return function;
		if (named)
			*ret_library = function;
	}
	return 0;
}

static void compute(const struct analysis *analysis, uint32_t node, struct path *path)
{
	const struct hot *hot = &analysis->model->hot;
	bool weak = false;

	path->is_named = true;
	path->caller = path__caller(hot, analysis->functions, node, &path->library);
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
