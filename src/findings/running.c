/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/running.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define HOT_PERCENT    50
#define LEAST_PERCENT  10
#define MOST_INNERMOST 3

/* Time below one function. */
struct below {
	int64_t ns, self_ns;
	uint32_t depth;
	bool is_home;  /* on the way to the place where the group waits for work */
	uint32_t seen; /* the last sample that was added, + 1 */
};

struct call {
	char name[64];
	int64_t ns;
	uint32_t caller; /* of more than half of the time, if there is such a function */
	int64_t lead_ns; /* by which it leads over all others */
};

struct sums {
	struct below *functions;
	struct call *calls;
	size_t call_count;
};

static void mark_home(struct analysis *analysis, const struct model_group *group, struct sums *sums)
{
	const struct hot_node *nodes = analysis->model->hot.nodes;
	const struct place *place;

	for (uint32_t i = analysis->groups[group_index(analysis, group)].first_place; i;
	     i = place->next) {
		place = &analysis->places[i - 1];
		if (!place->home || !place->candidate)
			continue;
		for (uint32_t node = place->node; node; node = nodes[node].parent)
			sums->functions[nodes[node].function].is_home = true;
	}
}

/* "read" for __x64_sys_read; NULL if it is not the entry of a syscall. */
static const char *syscall_name(const char *function)
{
	static const char *const prefixes[] = { "__x64_sys_", "__arm64_sys_", "__se_sys_",
						"__do_sys_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
			return function + strlen(prefixes[i]);
	return NULL;
}

static int add_call(struct sums *sums, const char *name, uint32_t caller, int64_t ns)
{
	struct call *call = NULL;

	for (size_t i = 0; i < sums->call_count && !call; i++)
		if (!strcmp(sums->calls[i].name, name))
			call = &sums->calls[i];
	if (!call) {
		call = APPEND(&sums->calls, &sums->call_count);
		if (!call)
			return -ENOMEM;
		snprintf(call->name, sizeof(call->name), "%s", name);
	}
	call->ns += ns;
	call->lead_ns += call->caller == caller ? ns : -ns;
	if (call->lead_ns < 0) {
		call->caller = caller;
		call->lead_ns = -call->lead_ns;
	}
	return 0;
}

/* Divides by what the kernel did: page faults and interrupts come before the syscall. */
static int add_kernel(struct analysis *analysis, const struct model_sample *sample,
		      struct sums *sums, struct running *ret)
{
	const struct hot *hot = &analysis->model->hot;
	bool fault = false, interrupt = false, reclaim = false;
	const char *call = NULL;

	for (uint32_t node = sample->node; node && hot->functions[hot->nodes[node].function].kernel;
	     node = hot->nodes[node].parent) {
		const char *name = hot->functions[hot->nodes[node].function].name;

		fault |= strstr(name, "page_fault") || strstr(name, "user_addr_fault") ||
			 !strcmp(name, "do_mem_abort");
		interrupt |= !strncmp(name, "asm_sysvec", 10) ||
			     !strncmp(name, "asm_common_interrupt", 20) ||
			     !strcmp(name, "common_interrupt") || !strcmp(name, "el0_interrupt") ||
			     !strcmp(name, "el1_interrupt");
		reclaim |= !strncmp(name, "try_to_free_mem_cgroup_pages", 28);
		call = syscall_name(name) ? syscall_name(name) : call;
	}
	ret->reclaim_ns += reclaim ? sample->weight_ns : 0;
	if (fault)
		ret->fault_ns += sample->weight_ns;
	else if (interrupt)
		ret->interrupt_ns += sample->weight_ns;
	else if (call)
		return add_call(sums, call, analysis__path(analysis, sample->node)->caller,
				sample->weight_ns);
	return 0;
}

static void add_functions(const struct analysis *analysis, const struct model_sample *sample,
			  struct sums *sums, struct running *ret)
{
	const struct hot *hot = &analysis->model->hot;
	uint32_t number = (uint32_t)(sample - analysis->model->samples) + 1, depth = 0, inner = 0;
	uint32_t leaf = hot->nodes[sample->node].user;
	bool has_self = false, unnamed = false;

	for (uint32_t node = leaf; node; node = hot->nodes[node].parent)
		depth++;
	for (uint32_t node = leaf; node; node = hot->nodes[node].parent, depth--, inner++) {
		uint32_t function = hot->nodes[node].function;
		const struct known *known = &analysis->functions[function];
		struct below *below = &sums->functions[function];

		if (hot__is_internal(hot, leaf, node))
			continue;
		unnamed |= inner < MOST_INNERMOST && !hot->functions[function].named;
		if (!hot->functions[function].named || known->flags & (KNOWN_TAIL | KNOWN_ROOT))
			continue;
		if (!has_self)
			below->self_ns += sample->weight_ns;
		has_self = true;
		if (below->seen == number || below->is_home)
			continue;
		below->seen = number;
		below->ns += sample->weight_ns;
		if (depth > below->depth)
			below->depth = depth;
	}
	ret->unnamed_ns += unnamed ? sample->weight_ns : 0;
}

/* Whether a function is the program's own, below its first line, not a package's. */
static bool is_own(const struct analysis *analysis, uint32_t function)
{
	return !(analysis->functions[function].flags & (KNOWN_LIBRARY | KNOWN_ENTRY));
}

/* The deepest function with half of the time, other than `but`; of a program's own ones if `own`.
 */
static uint32_t deepest(const struct analysis *analysis, const struct sums *sums, int64_t of_ns,
			uint32_t but, bool own)
{
	const struct below *all = sums->functions;
	uint32_t found = 0;

	for (uint32_t i = 1; i < analysis->model->hot.function_count; i++)
		if (i != but && model__reaches(all[i].ns, of_ns, HOT_PERCENT) &&
		    (!found || all[i].depth > all[found].depth) && (!own || is_own(analysis, i)))
			found = i;
	return found;
}

/* The deepest function, and the program's own one that leads there, or else the next deepest. */
static void choose(const struct analysis *analysis, const struct sums *sums, struct running *ret)
{
	const struct below *all = sums->functions;

	ret->function = deepest(analysis, sums, ret->sampled_ns, 0, false);
	ret->caller = deepest(analysis, sums, ret->sampled_ns, ret->function, true);
	if (!ret->caller)
		ret->caller = deepest(analysis, sums, ret->sampled_ns, ret->function, false);
	if (analysis->functions[ret->caller].flags & KNOWN_ENTRY)
		ret->caller = 0;
	for (uint32_t i = 1; i < analysis->model->hot.function_count; i++) {
		if (all[i].self_ns <= ret->most_ns)
			continue;
		ret->most_ns = all[i].self_ns;
		ret->most = i;
	}
	ret->function_ns = ret->function ? all[ret->function].ns : 0;
	if (!model__reaches(ret->most_ns, ret->sampled_ns, LEAST_PERCENT))
		ret->most = 0;
	for (size_t i = 0; i < sums->call_count; i++) {
		if (sums->calls[i].ns <= ret->call_ns)
			continue;
		ret->call_ns = sums->calls[i].ns;
		ret->call_caller = sums->calls[i].caller;
		snprintf(ret->call, sizeof(ret->call), "%s", sums->calls[i].name);
	}
}

/* If interrupts were recorded, the ledger has the exact time that they took from the group. */
static void measure_interrupts(const struct model *model, const struct model_group *group,
			       struct running *ret)
{
	ret->interrupt_of_ns = ret->sampled_ns;
	for (size_t i = 0; i < model->state_count; i++) {
		if (model->states[i].slot != SLOT_RUN_IRQ || !model->states[i].ns)
			continue;
		ret->is_interrupt_exact = true;
		ret->interrupt_ns = group->state_ns[i];
		ret->interrupt_of_ns = group->kind_ns[KIND_RUN];
	}
}

int running__find(struct analysis *analysis, const struct model_group *group, struct running *ret)
{
	const struct model *model = analysis->model;
	cleanup(free_p) struct below *functions =
		calloc(model->hot.function_count + 1, sizeof(*functions));
	struct sums sums = { .functions = functions };
	int err = functions ? 0 : -ENOMEM;

	*ret = (struct running) {};
	if (err || !model->hot.nodes)
		return err;
	mark_home(analysis, group, &sums);
	for (size_t i = 0; !err && i < model->sample_count; i++) {
		const struct model_sample *sample = &model->samples[i];

		if (sample->thread->group != group || sample->state->kind != KIND_RUN)
			continue;
		ret->sampled_ns += sample->weight_ns;
		if (analysis__path(analysis, sample->node)->flags & KNOWN_COLLECTOR)
			ret->collector_ns += sample->weight_ns;
		add_functions(analysis, sample, &sums, ret);
		err = add_kernel(analysis, sample, &sums, ret);
	}
	if (!err)
		choose(analysis, &sums, ret);
	measure_interrupts(model, group, ret);
	free(sums.calls);
	return err;
}
