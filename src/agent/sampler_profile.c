/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a minute, as the store and other outlets get them.
 *
 * A change of the level begins or ends sampling within a minute. Its samples then stand for the
 * whole minute, like those of other minutes: they weigh more by the part of it that was sampled. If
 * that is less than a tenth, they say too little and are left out. In a minute that was not chosen,
 * there are only samples that the ring still had of the minute before, and their weights are right.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "agent/sampler_internal.h"

#define LEAST_PART 10

void sampler__release_profile(struct sampler *sampler)
{
	free(sampler->samples);
	free(sampler->stacks);
	free(sampler->listed);
	sampler->samples = NULL;
	sampler->stacks = NULL;
	sampler->listed = NULL;
	sampler->profile = (struct fact_profile) {};
}

/* The factor by which the weights of the minute grow; 0: too little of it was sampled. */
static double scale_of(const struct sampler *sampler, uint64_t on_ns, uint64_t now_ns)
{
	uint64_t whole_ns = now_ns > sampler->begin_ns ? now_ns - sampler->begin_ns : 0;

	if (!sampler->is_chosen || on_ns >= whole_ns)
		return 1;
	return on_ns < whole_ns / LEAST_PART ? 0 : (double)whole_ns / (double)on_ns;
}

static uint64_t samples_of(const struct sampling_row *rows, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += rows[i].n;
	return sum;
}

static void fill_samples(struct sampler *sampler, const struct sampling_row *rows, size_t count,
			 double scale)
{
	for (size_t i = 0; i < count; i++)
		sampler->samples[i] = (struct fact_sample) {
			.workload = rows[i].key.workload,
			.slot = rows[i].key.slot,
			.kind = rows[i].key.kind,
			.stack = rows[i].key.stack,
			.waker_stack = rows[i].key.waker_stack,
			.ns = (uint64_t)llround((double)rows[i].ns * scale),
			.ns2 = (float)(rows[i].ns2 * scale * scale),
			.n = rows[i].n < UINT32_MAX ? (uint32_t)rows[i].n : UINT32_MAX,
		};
}

static void fill_stacks(struct sampler *sampler, const struct sampling_stack *stacks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sampler->stacks[i] = (struct fact_stack) { .stack = stacks[i].hash,
							   .modules = stacks[i].modules,
							   .offsets = stacks[i].offsets,
							   .depth = stacks[i].depth };
}

static void fill_modules(struct sampler *sampler, uint64_t begin_s)
{
	const struct code_module *module;
	size_t at = 0, count = 0;

	while ((module = map__next(&sampler->modules, &at)))
		sampler->listed[count++] = (struct fact_module) {
			.module = module->hash,
			.build_id = module->build_id,
			.kind = module->kind,
			.path = module->path,
			.size = module->size,
			.first_seen_s = module->first_seen_s,
			.last_seen_s = begin_s,
		};
}

int sampler__profile(struct sampler *sampler, uint64_t begin_s, uint64_t now_ns,
		     const struct fact_profile **ret)
{
	const struct sampling_stack *stack;
	const struct sampling_row *row;
	size_t rows, stacks;
	uint64_t on_ns;
	double scale;

	*ret = NULL;
	if (!sampler)
		return 0;
	on_ns = sampler->client
			? code_client__on_ns(sampler->client, now_ns) - sampler->on_before_ns
			: 0;
	row = sampling__rows(sampler->sampling, &rows);
	stack = sampling__stacks(sampler->sampling, &stacks);
	sampler__release_profile(sampler);
	scale = scale_of(sampler, on_ns, now_ns);
	if (scale <= 0) {
		sampler->quality.left_out += samples_of(row, rows);
		return 0;
	}
	if (!on_ns && !rows)
		return 0;
	sampler->samples = calloc(rows + 1, sizeof(*sampler->samples));
	sampler->stacks = calloc(stacks + 1, sizeof(*sampler->stacks));
	sampler->listed = calloc(sampler->modules.count + 1, sizeof(*sampler->listed));
	if (!sampler->samples || !sampler->stacks || !sampler->listed)
		return -ENOMEM;
	fill_samples(sampler, row, rows, scale);
	fill_stacks(sampler, stack, stacks);
	fill_modules(sampler, begin_s);
	sampler->profile =
		(struct fact_profile) { .samples = sampler->samples,
					.sample_count = rows,
					.stacks = sampler->stacks,
					.stack_count = stacks,
					.modules = sampler->listed,
					.module_count = sampler->modules.count,
					.duration_ns = (uint64_t)((double)on_ns * scale) };
	*ret = &sampler->profile;
	return 0;
}
