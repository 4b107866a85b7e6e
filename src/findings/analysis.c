/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "findings/answers.h"
#include "findings/inherit.h"

/* qsort() has no context argument in C, and qsort_r() differs between libraries. */
struct ordered {
	size_t thread;
	int64_t time_ns;
	uint32_t sample;
};

static int by_thread(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->sample > y->sample) - (x->sample < y->sample);
}

static int order_samples(struct analysis *analysis)
{
	const struct model *model = analysis->model;
	struct ordered *list = calloc(model->sample_count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < model->sample_count; i++)
		list[i] = (struct ordered) { thread_index(analysis, model->samples[i].thread),
					     model->samples[i].time_ns, (uint32_t)i };
	qsort(list, model->sample_count, sizeof(*list), by_thread);
	for (size_t i = 0; i < model->sample_count; i++) {
		struct working *thread = &analysis->threads[list[i].thread];

		if (!thread->sample_count++)
			thread->first_sample = i;
		analysis->order[i] = list[i].sample;
	}
	free(list);
	return 0;
}

static int sum_running(struct analysis *analysis)
{
	cleanup(map__release) struct map pids = {};
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->thread_count; i++)
		if (answers__is_target(model->threads[i].group) &&
		    map__put(&pids, (uint64_t)model->threads[i].pid, analysis))
			return -ENOMEM;
	for (size_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];
		struct working *working = &analysis->threads[i];

		working->run_ns = thread->kind_ns[KIND_RUN];
		working->ready_ns = thread->kind_ns[KIND_READY];
		working->life_ns = thread->lifetime_ns;
		working->foreground = analysis->is_command && thread->tid == thread->pid;
		working->started = map__get(&pids, (uint64_t)thread->parent_pid);
	}
	return 0;
}

static void sum_groups(struct analysis *analysis)
{
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->thread_count; i++) {
		const struct working *thread = &analysis->threads[i];
		struct group_work *group;

		if (!model->threads[i].group)
			continue;
		group = &analysis->groups[group_index(analysis, model->threads[i].group)];
		group->run_ns += thread->run_ns;
		group->ready_ns += thread->ready_ns;
		for (int j = 0; j < VERDICT_COUNT; j++)
			group->verdict_ns[j] += thread->verdict_ns[j];
	}
	for (size_t i = 0; i < model->group_count; i++)
		analysis->groups[i].busy_ns = analysis->groups[i].run_ns +
					      analysis->groups[i].ready_ns +
					      analysis->groups[i].verdict_ns[VERDICT_HELD];
}

static int allocate(struct analysis *analysis)
{
	const struct model *model = analysis->model;

	analysis->functions = calloc(model->hot.function_count + 1, sizeof(*analysis->functions));
	analysis->paths = calloc(model->hot.node_count + 1, sizeof(*analysis->paths));
	analysis->judged = calloc(model->sample_count + 1, sizeof(*analysis->judged));
	analysis->place_of = calloc(model->sample_count + 1, sizeof(*analysis->place_of));
	analysis->cause_of = calloc(model->sample_count + 1, sizeof(*analysis->cause_of));
	analysis->order = calloc(model->sample_count + 1, sizeof(*analysis->order));
	analysis->threads = calloc(model->thread_count + 1, sizeof(*analysis->threads));
	analysis->groups = calloc(model->group_count + 1, sizeof(*analysis->groups));
	return analysis->functions && analysis->paths && analysis->judged && analysis->place_of &&
			       analysis->cause_of && analysis->order && analysis->threads &&
			       analysis->groups
		       ? 0
		       : -ENOMEM;
}

int analysis__make(struct analysis *analysis, const struct model *model)
{
	int err;

	*analysis = (struct analysis) {
		.model = model,
		.is_command = model->target && !strncmp(model->target, "command:", 8),
		.has_turns = model->has_turns,
		.wall_ns = model->wall_ns,
	};
	err = allocate(analysis);
	if (err)
		return err;
	for (size_t i = 0; i < model->hot.function_count; i++)
		analysis->functions[i] = known__find(&model->hot.functions[i]);
	err = sum_running(analysis);
	if (!err)
		err = order_samples(analysis);
	if (!err)
		err = place__find(analysis);
	if (err)
		return err;
	home__find(analysis);
	judge__all(analysis);
	err = causes__find(analysis);
	if (!err)
		err = inherit__home(analysis);
	sum_groups(analysis);
	return err;
}

void analysis__release(struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->cause_count; i++)
		free(analysis->causes[i].samples);
	free(analysis->causes);
	free(analysis->cause_of);
	free(analysis->functions);
	free(analysis->paths);
	free(analysis->judged);
	free(analysis->places);
	free(analysis->place_of);
	free(analysis->order);
	free(analysis->threads);
	free(analysis->groups);
	*analysis = (struct analysis) {};
}
