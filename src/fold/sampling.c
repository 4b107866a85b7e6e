/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fold/sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"

/* The workload of rows beyond twice the limit: unknown. */
#define NO_WORKLOAD UINT64_MAX

struct sampling {
	struct sampling_limits limits;
	struct sampling_row *rows;
	size_t row_count;
	struct map row_by_key; /* 1 + index */
	struct sampling_stack *stacks;
	size_t stack_count;
	struct map stack_by_hash; /* 1 + index */
	uint64_t folded;
};

/* --- hashes ----------------------------------------------------------------------------------- */

static uint64_t not_zero(uint64_t hash)
{
	return hash ? hash : 1;
}

uint64_t sampling__hash_build_id(const char *build_id)
{
	return not_zero(map__mix_text(0, build_id));
}

uint64_t sampling__hash_file(const char *path, uint64_t size)
{
	return not_zero(map__mix(map__mix_text(size, path), size));
}

uint64_t sampling__hash_stack(const uint64_t *modules, const uint64_t *offsets, size_t depth)
{
	uint64_t hash = depth;

	for (size_t i = 0; i < depth; i++)
		hash = map__mix(map__mix(hash, modules[i]), offsets[i]);
	return not_zero(hash);
}

static uint64_t hash_key(const struct sampling_key *key)
{
	uint64_t hash = map__mix(map__mix(0, key->workload), key->stack);

	hash = map__mix(hash, key->waker_stack);
	return map__mix(hash, (uint64_t)key->slot << 8 | key->kind);
}

/* --- create and free -------------------------------------------------------------------------- */

int sampling__new(const struct sampling_limits *limits, struct sampling **ret)
{
	struct sampling *sampling = calloc(1, sizeof(*sampling));

	if (!sampling)
		return -ENOMEM;
	sampling->limits = *limits;
	*ret = sampling;
	return 0;
}

void sampling__clear(struct sampling *sampling)
{
	for (size_t i = 0; i < sampling->stack_count; i++)
		free((void *)sampling->stacks[i].modules);
	free(sampling->stacks);
	free(sampling->rows);
	sampling->stacks = NULL;
	sampling->rows = NULL;
	sampling->stack_count = sampling->row_count = 0;
	map__release(&sampling->stack_by_hash);
	map__release(&sampling->row_by_key);
	sampling->stack_by_hash = sampling->row_by_key = (struct map) {};
}

void sampling__free(struct sampling *sampling)
{
	if (!sampling)
		return;
	sampling__clear(sampling);
	free(sampling);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static int keep_stack(struct sampling *sampling, const struct sampling_stack *stack)
{
	cleanup(free_p) uint64_t *copy = calloc(stack->depth + 1, 2 * sizeof(*copy));
	struct sampling_stack *kept;

	if (!copy)
		return -ENOMEM;
	kept = APPEND(&sampling->stacks, &sampling->stack_count);
	if (!kept)
		return -ENOMEM;
	if (map__put(&sampling->stack_by_hash, stack->hash,
		     (void *)(uintptr_t)sampling->stack_count)) {
		sampling->stack_count--;
		return -ENOMEM;
	}
	*kept = *stack;
	for (size_t i = 0; i < stack->depth; i++) {
		copy[i] = stack->modules[i];
		copy[stack->depth + i] = stack->offsets[i];
	}
	kept->offsets = copy + stack->depth;
	kept->modules = TAKE(copy);
	return 0;
}

int sampling__add_stack(struct sampling *sampling, const uint64_t *modules, const uint64_t *offsets,
			size_t depth, uint64_t *ret)
{
	const struct sampling_stack stack = { .hash = sampling__hash_stack(modules, offsets, depth),
					      .depth = depth,
					      .modules = modules,
					      .offsets = offsets };
	int err;

	if (map__get(&sampling->stack_by_hash, stack.hash)) {
		*ret = stack.hash;
		return 0;
	}
	if (sampling->stack_count >= sampling->limits.most_stacks) {
		sampling->folded++;
		*ret = SAMPLING_OTHER;
		return 0;
	}
	err = keep_stack(sampling, &stack);
	if (!err)
		*ret = stack.hash;
	return err;
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct sampling_row *find_row(struct sampling *sampling, const struct sampling_key *key)
{
	size_t index = (size_t)(uintptr_t)map__get(&sampling->row_by_key, hash_key(key));

	return index ? &sampling->rows[index - 1] : NULL;
}

static struct sampling_row *make_row(struct sampling *sampling, const struct sampling_key *key)
{
	struct sampling_row *row = APPEND(&sampling->rows, &sampling->row_count);

	if (!row || map__put(&sampling->row_by_key, hash_key(key),
			     (void *)(uintptr_t)sampling->row_count)) {
		sampling->row_count -= row != NULL;
		return NULL;
	}
	row->key = *key;
	return row;
}

/* NULL: no memory. */
static struct sampling_row *row_of(struct sampling *sampling, const struct sampling_key *key)
{
	size_t most = sampling->limits.most_rows;
	struct sampling_row *row = find_row(sampling, key);
	struct sampling_key other = *key;

	if (row || sampling->row_count < most)
		return row ? row : make_row(sampling, key);
	sampling->folded++;
	other.stack = other.waker_stack = SAMPLING_OTHER;
	/* Rows without stacks may be many as well: workloads times states. */
	if (sampling->row_count >= 2 * most && !find_row(sampling, &other))
		other.workload = NO_WORKLOAD;
	row = find_row(sampling, &other);
	return row ? row : make_row(sampling, &other);
}

int sampling__add(struct sampling *sampling, const struct sampling_key *key, uint64_t weight_ns,
		  uint32_t count, double probability)
{
	struct sampling_row *row = row_of(sampling, key);
	double weight;

	if (!row)
		return -ENOMEM;
	if (!(probability > 0))
		probability = 1;
	weight = (double)weight_ns / probability;
	row->ns += probability < 1 ? (uint64_t)(weight + 0.5) : weight_ns;
	/* Of several samples that came as one, only the sum is known: they count as equal ones. */
	row->ns2 += count ? weight * weight / count : 0;
	row->n += count;
	return 0;
}

const struct sampling_row *sampling__rows(const struct sampling *sampling, size_t *ret_count)
{
	*ret_count = sampling->row_count;
	return sampling->rows;
}

const struct sampling_stack *sampling__stacks(const struct sampling *sampling, size_t *ret_count)
{
	*ret_count = sampling->stack_count;
	return sampling->stacks;
}

uint64_t sampling__folded(const struct sampling *sampling)
{
	return sampling->folded;
}
