/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "otlp/sampled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "vocabulary/states.h"

#define SECOND_NS UINT64_C(1000000000)
#define PAGE      4096

void sampled__release(struct sampled *sampled)
{
	map__release(&sampled->by_module);
	free(sampled->rows);
	*sampled = (struct sampled) {};
}

static int compare_series(const struct sampled_row *row, const struct sampled_row *other,
			  bool by_state)
{
	int order = strcmp(row->service, other->service);

	if (!order)
		order = strcmp(row->namespace_name, other->namespace_name);
	if (!order && by_state)
		order = strcmp(states__words(row->sample->slot)->state,
			       states__words(other->sample->slot)->state);
	return order;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sampled_row *row = a, *other = b;
	int order = compare_series(row, other, true);

	if (!order)
		order = row->sample->slot - other->sample->slot;
	/* The order does not depend on the machine's sort. */
	return order ? order : (row->sample > other->sample) - (row->sample < other->sample);
}

static int add_rows(struct sampled *sampled, const struct fact_profile *profile,
		    const struct fact_context *context, const struct map *stacks)
{
	sampled->rows = calloc(profile->sample_count + 1, sizeof(*sampled->rows));
	if (!sampled->rows)
		return -ENOMEM;
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct fact_sample *sample = &profile->samples[i];
		const struct workload *workload =
			context->find(context->find_context, sample->workload);

		sampled->rows[sampled->count++] = (struct sampled_row) {
			.sample = sample,
			.service =
				workload && *workload->service ? workload->service : FACT_UNKNOWN,
			.namespace_name = workload ? workload->namespace_name : "",
			.stack = map__get(stacks, sample->stack),
		};
	}
	qsort(sampled->rows, sampled->count, sizeof(*sampled->rows), compare_rows);
	return 0;
}

int sampled__make(const struct fact_profile *profile, const struct fact_context *context,
		  struct sampled *ret)
{
	cleanup(map__release) struct map stacks = {};
	struct sampled sampled = { .modules = profile->modules,
				   .module_count = profile->module_count,
				   .time_ns = context->bucket_s * SECOND_NS,
				   .duration_ns = profile->duration_ns,
				   .host_id = context->host->host_id };
	int err = 0;

	for (size_t i = 0; i < profile->stack_count && !err; i++)
		err = map__put(&stacks, profile->stacks[i].stack, (void *)&profile->stacks[i]);
	for (size_t i = 0; i < profile->module_count && !err; i++)
		err = map__put(&sampled.by_module, profile->modules[i].module, (void *)(i + 1));
	if (!err)
		err = add_rows(&sampled, profile, context, &stacks);
	if (err) {
		sampled__release(&sampled);
		return err;
	}
	*ret = sampled;
	return 0;
}

size_t sampled__run(const struct sampled *sampled, struct sampled_range range, bool by_state)
{
	const struct sampled_row *rows = sampled->rows + range.first;
	size_t count = 0;

	while (count < range.count && !compare_series(&rows[0], &rows[count], by_state))
		count++;
	return count;
}

bool sampled__is_kernel(const struct fact_module *module)
{
	return !strcmp(module->kind, "kernel");
}

const char *sampled__file(const struct fact_module *module)
{
	return sampled__is_kernel(module) ? "[kernel]" : module->path;
}

/* --- places --- */

void sampled__release_code(struct sampled_code *code)
{
	map__release(&code->by_hash);
	free(code->places);
	free(code->limits);
}

/* The first page after the place, or the end of the module if that is farther. */
static void extend(const struct sampled *sampled, struct sampled_code *code,
		   const struct sampled_place *place)
{
	uint64_t limit = (place->offset | (PAGE - 1)) + 1, *known;

	if (place->module == SAMPLED_NO_MODULE)
		return;
	known = &code->limits[place->module];
	if (!*known)
		*known = sampled->modules[place->module].size;
	if (!limit)
		limit = UINT64_MAX;
	if (limit > *known)
		*known = limit;
}

static int add_place(const struct sampled *sampled, struct sampled_code *code,
		     const struct sampled_place *place, uint64_t hash)
{
	struct sampled_place *added;

	if (!code->limits)
		code->limits = calloc(sampled->module_count + 1, sizeof(*code->limits));
	if (!code->limits)
		return -ENOMEM;
	added = APPEND(&code->places, &code->count);
	if (!added)
		return -ENOMEM;
	*added = *place;
	extend(sampled, code, place);
	return map__put(&code->by_hash, hash, (void *)code->count);
}

int sampled__find_place(const struct sampled *sampled, struct sampled_code *code,
			const struct fact_stack *stack, size_t frame, uint64_t *ret)
{
	size_t module = (size_t)map__get(&sampled->by_module, stack->modules[frame]);
	const struct sampled_place place = { module ? (uint32_t)(module - 1) : SAMPLED_NO_MODULE,
					     stack->offsets[frame] };
	uint64_t hash = map__mix(map__mix(0, place.module), place.offset);
	void *value;
	int err;

	/* A different place with the same hash uses the next hash. */
	for (; (value = map__get(&code->by_hash, hash)); hash++) {
		const struct sampled_place *known = &code->places[(size_t)value - 1];

		if (known->module != place.module || known->offset != place.offset)
			continue;
		*ret = (size_t)value - 1;
		return 0;
	}
	err = add_place(sampled, code, &place, hash);
	if (!err)
		*ret = code->count - 1;
	return err;
}
