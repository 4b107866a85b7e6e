/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/storm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "recording/recording.h"

#define STORM_LEAST      50
#define STORM_PER_SECOND 20
#define STORM_MOST_NS    100000000
#define STORM_PERCENT    10

static bool is_brief(const struct model *model, const struct model_thread *thread)
{
	return thread->measured && thread->tid == thread->pid &&
	       thread->flags & RECORDING_THREAD_EXITED && thread->first_ns > model->start_ns &&
	       thread->lifetime_ns < STORM_MOST_NS && answers__is_target(thread->group);
}

static const struct model_thread *thread_of(const struct model *model, int64_t tid)
{
	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == tid && model->threads[i].measured)
			return &model->threads[i];
	return NULL;
}

static int by_parent(const void *a, const void *b)
{
	const struct model_thread *x = *(const struct model_thread *const *)a;
	const struct model_thread *y = *(const struct model_thread *const *)b;

	if (x->parent_pid != y->parent_pid)
		return x->parent_pid < y->parent_pid ? -1 : 1;
	return strcmp(x->comm, y->comm);
}

static struct answer sum_storm(const struct analysis *analysis,
			       const struct model_thread *const *list, size_t count)
{
	const struct model_thread *parent = thread_of(analysis->model, list[0]->parent_pid);
	struct answer answer = { .kind = ANSWER_STORM, .started = (int64_t)count };
	size_t same = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		answer.lifetime_ns += list[i]->lifetime_ns;
		same = i && !strcmp(list[i]->comm, list[i - 1]->comm) ? same + 1 : 1;
		if (same <= most)
			continue;
		most = same;
		answer.program = list[i]->comm;
	}
	answer.group = parent && answers__is_target(parent->group) ? parent->group : NULL;
	answer.ns = answer.lifetime_ns;
	answer.of_ns = analysis->wall_ns;
	answer.score = (double)answer.lifetime_ns;
	if (answer.group)
		answer.score += (double)(parent->kind_ns[KIND_RUN] + parent->kind_ns[KIND_READY]);
	return answer;
}

int storm__offer(const struct analysis *analysis, struct answers *answers)
{
	const struct model *model = analysis->model;
	cleanup(free_p) const struct model_thread **list =
		calloc(model->thread_count + 1, sizeof(*list));
	size_t count = 0, begin = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < model->thread_count; i++)
		if (is_brief(model, &model->threads[i]))
			list[count++] = &model->threads[i];
	qsort(list, count, sizeof(*list), by_parent);
	for (size_t i = 1; i <= count; i++) {
		struct answer answer;

		if (i < count && list[i]->parent_pid == list[begin]->parent_pid)
			continue;
		answer = sum_storm(analysis, list + begin, i - begin);
		begin = i;
		if (answer.group && answer.started >= STORM_LEAST &&
		    (double)answer.started * 1e9 >= STORM_PER_SECOND * (double)model->wall_ns &&
		    model__reaches(answer.lifetime_ns, model->wall_ns, STORM_PERCENT) &&
		    answers__add(answers, &answer))
			return -ENOMEM;
	}
	return 0;
}
