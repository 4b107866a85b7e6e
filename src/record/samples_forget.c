/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forgetting old stacks; samples.c says how. */
#include <bpf/bpf.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "record/samples_internal.h"

struct sweep {
	struct samples *samples;
	uint64_t before_ns;
	uint64_t unsend_ns; /* halfway between before_ns and now */
	int err;            /* the first error */
};

static bool forget_stack(void *context, uint64_t hash, void *value)
{
	const struct sweep *sweep = context;
	struct seen *seen = value;
	bool is_idle = seen->used_ns < sweep->unsend_ns;

	if (seen->used_ns < sweep->before_ns && seen->unsent_ns &&
	    seen->unsent_ns != sweep->before_ns) {
		free(seen);
		return true;
	}
	if (is_idle && !seen->unsent_ns) {
		(void)bpf_map_delete_elem(sweep->samples->stacks_fd, &hash);
		seen->unsent_ns = sweep->before_ns;
	}
	if (!is_idle)
		seen->unsent_ns = 0;
	for (uint32_t i = 0; i < seen->count; i++)
		seen->frames[i]->kept_ns = sweep->before_ns;
	return false;
}

static bool forget_node(void *context, uint64_t key, void *value)
{
	struct sweep *sweep = context;
	struct samples *samples = sweep->samples;
	struct node *node = value;
	int err;

	if (node->used_ns >= sweep->before_ns)
		return false;
	err = recording__drop(samples->recording, RECORDING_DROP_STACK, node->id);
	if (!sweep->err)
		sweep->err = err;
	free(node);
	return true;
}

static bool forget_futex(void *context, uint64_t object, void *value)
{
	const struct sweep *sweep = context;
	struct futex *futex = value;

	if (futex->used_ns >= sweep->before_ns)
		return false;
	free(futex);
	return true;
}

/* Drops variables that were not named since `before_ns`. Futexes still in use are tried again. */
static int forget_variables(struct samples *samples, uint64_t before_ns)
{
	size_t count = 0;
	int err = 0;

	for (size_t i = 0; i < samples->variable_count; i++) {
		struct variable *variable = &samples->variables[i];

		if (variable->found_ns >= before_ns) {
			samples->variables[count++] = *variable;
			continue;
		}
		free(map__take(&samples->futexes, (uint64_t)variable->object));
		err = err ? err : places__leave(samples, variable->code);
	}
	samples->variable_count = count;
	return err;
}

int samples__forget(struct samples *samples, uint64_t before_ns)
{
	struct sweep sweep = { .samples = samples, .before_ns = before_ns };
	int err = forget_variables(samples, before_ns);

	sweep.unsend_ns = before_ns + (clock__now_ns() - before_ns) / 2;
	map__sweep(&samples->futexes, forget_futex, &sweep);
	map__sweep(&samples->stacks, forget_stack, &sweep);
	map__sweep(&samples->nodes, forget_node, &sweep);
	if (!err)
		err = sweep.err;
	return err ? err : places__sweep(samples, before_ns);
}
