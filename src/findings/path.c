/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the functions of a stack tell. */
#include "findings/analysis.h"

static bool is_named(const struct hot_function *function)
{
	return function->named && function->module &&
	       (function->is_managed || *function->module != '[');
}

/* What a walk from the inner end of a path outward has found so far. */
struct search {
	uint32_t first, first_library;   /* outside of tails, and what it called */
	uint32_t native, native_library; /* the same, neither a runtime's nor a library's */
};

/* Whether this is a function of a program that runs on a runtime: nothing is more telling. */
static bool look_at(struct search *search, const struct hot_function *of, const struct known *known,
		    uint32_t function, uint32_t library)
{
	bool own = !(known->flags & (KNOWN_LIBRARY | KNOWN_ENTRY));

	if (!search->first) {
		search->first = function;
		search->first_library = library;
	}
	if (own && !of->is_managed && !search->native) {
		search->native = function;
		search->native_library = library;
	}
	return own && of->is_managed;
}

/* Without a function of such a program: what is machine code can call libraries as well. */
static uint32_t choose(const struct hot *hot, const struct search *search, uint32_t *ret_library)
{
	bool native = search->native && !hot->functions[search->first].is_managed;

	*ret_library = native ? search->native_library : search->first_library;
	return native ? search->native : search->first;
}

uint32_t path__caller(const struct hot *hot, const struct known *functions, uint32_t node,
		      uint32_t *ret_library)
{
	uint32_t leaf = node, library = *ret_library;
	struct search search = {};

	for (; node; node = hot->nodes[node].parent) {
		uint32_t function = hot->nodes[node].function;

		if (hot__is_internal(hot, leaf, node))
			continue;
		if (functions[function].flags & KNOWN_ROOT)
			break;
		if (!is_named(&hot->functions[function]))
			continue;
		if (!(functions[function].flags & KNOWN_TAIL) &&
		    look_at(&search, &hot->functions[function], &functions[function], function,
			    library)) {
			*ret_library = library;
			return function;
		}
		library = function;
	}
	if (search.first)
		return choose(hot, &search, ret_library);
	*ret_library = library;
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
		path->flags |=
			known->flags & (KNOWN_CARRIER | KNOWN_SLEEP | KNOWN_COLLECTOR | KNOWN_LOOP);
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
