/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a minute in the order in which they are encoded: by service, namespace, state and
 * cause, so that those of a series follow each other; and numbers for the places in code that they
 * refer to. Points into the profile and into workloads.
 *
 * Pure. One thread.
 */
#pragma once

#include "base/map.h"
#include "store/fact.h"

struct sampled_row {
	const struct fact_sample *sample;
	const char *service, *namespace_name;
	const struct fact_stack *stack; /* NULL: the sample has none */
};

struct sampled {
	struct sampled_row *rows;
	size_t count;
	const struct fact_module *modules;
	size_t module_count;
	struct map by_module; /* index + 1 */
	uint64_t time_ns;     /* Unix time at which the minute began */
	uint64_t duration_ns, host_id;
};

/* Rows that are encoded together. */
struct sampled_range {
	size_t first, count;
};

/* -ENOMEM. */
int sampled__make(const struct fact_profile *profile, const struct fact_context *context,
		  struct sampled *ret);
void sampled__release(struct sampled *sampled);
/* How many rows from `first` on have its service and namespace, and its state if `by_state`. */
size_t sampled__run(const struct sampled *sampled, struct sampled_range range, bool by_state);
/* The name of a module's file: that of the kernel is "[kernel]". */
const char *sampled__file(const struct fact_module *module);
bool sampled__is_kernel(const struct fact_module *module);

/* --- places --- */

#define SAMPLED_NO_MODULE UINT32_MAX

struct sampled_place {
	uint32_t module; /* index, or SAMPLED_NO_MODULE */
	uint64_t offset;
};

/* Places, in the order in which they were asked for. Initialize with zeroes. */
struct sampled_code {
	struct sampled_place *places;
	size_t count;
	struct map by_hash;
	uint64_t *limits; /* by module: the end of its code as far as it is known; 0: not used */
};

void sampled__release_code(struct sampled_code *code);
/* The index of a frame's place. -ENOMEM. */
int sampled__find_place(const struct sampled *sampled, struct sampled_code *code,
			const struct fact_stack *stack, size_t frame, uint64_t *ret);
