/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A queue in a program's memory cannot be seen. What can be seen is where threads wait that come
 * back to the same place, and who ends these waits.
 *
 * Workers that wait at an empty queue, and producers that wait at a full one, look alike: both
 * return to the place and wait until the other side wakes them. If the other side is busy nearly
 * all of the time, it sets the pace in both cases, so that is what is said, and not who is starved.
 * If the threads that somebody wakes hardly ever wait, the pool is full.
 */
#include "findings/pools.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "findings/say.h"

#define LEAST_WAIT_PERCENT  50 /* of the waiting group's life */
#define LEAST_BY_PERCENT    80 /* of these waits are ended by one group */
#define LEAST_BUSY_PERCENT  80 /* of the life of the group that ends them */
#define FULL_BUSY_PERCENT   90 /* of the life of each thread of a full pool */
#define FULL_WAIT_PERCENT   5  /* more waiting for work than this: it is not full */
#define LEAST_WAITS_OF_FULL 3

/* The waits of a group for work, or for room. */
struct queue {
	const struct model_group *group;
	const struct model_group *by; /* the group that ended most of them; NULL: unknown */
	int64_t ns, by_ns;
	int64_t count, by_count; /* of the samples, what they stand for */
	uint32_t function;       /* where most of it was; 0: unknown */
};

/* A wait at a futex without an owner, at the place to which the thread returns. */
static bool is_queued(const struct analysis *analysis, size_t i)
{
	return analysis->place_of[i] && analysis->judged[i].verdict == VERDICT_HOME &&
	       analysis->model->samples[i].state->slot == SLOT_WAIT_LOCK;
}

static void choose_function(struct queue *queue, uint32_t function, int64_t ns, int64_t *lead_ns)
{
	*lead_ns += queue->function == function ? ns : -ns;
	if (*lead_ns >= 0)
		return;
	queue->function = function;
	*lead_ns = -*lead_ns;
}

static int find_queue(struct analysis *analysis, const struct model_group *group, struct queue *ret)
{
	const struct model *model = analysis->model;
	cleanup(free_p) int64_t *by_ns = calloc(model->group_count + 1, sizeof(*by_ns));
	cleanup(free_p) int64_t *by_count = calloc(model->group_count + 1, sizeof(*by_count));
	int64_t lead_ns = 0;

	*ret = (struct queue) { .group = group };
	if (!by_ns || !by_count)
		return -1;
	for (size_t i = 0; i < model->sample_count; i++) {
		const struct model_sample *sample = &model->samples[i];
		int64_t ns = analysis->judged[i].ns;

		if (sample->thread->group != group || !is_queued(analysis, i))
			continue;
		ret->ns += ns;
		ret->count += sample->count;
		choose_function(ret, analysis__path(analysis, sample->node)->caller, ns, &lead_ns);
		if (!sample->by || sample->by->id <= 0 || !sample->by->group)
			continue;
		by_ns[group_index(analysis, sample->by->group)] += ns;
		by_count[group_index(analysis, sample->by->group)] += sample->count;
	}
	for (size_t i = 0; i < model->group_count; i++) {
		if (by_ns[i] <= ret->by_ns)
			continue;
		ret->by_ns = by_ns[i];
		ret->by_count = by_count[i];
		ret->by = &model->groups[i];
	}
	return 0;
}

static const struct group_work *work_of(const struct analysis *analysis,
					const struct model_group *group)
{
	return &analysis->groups[group_index(analysis, group)];
}

/* Another group of the target, which ended these waits, is busy itself. */
static bool is_outpaced(const struct analysis *analysis, const struct queue *queue)
{
	return queue->by && queue->by != queue->group && answers__is_target(queue->by) &&
	       (queue->group->threads > 1 || queue->by->threads > 1) &&
	       model__reaches(queue->ns, queue->group->lifetime_ns, LEAST_WAIT_PERCENT) &&
	       model__reaches(queue->by_ns, queue->ns, LEAST_BY_PERCENT) &&
	       model__reaches(work_of(analysis, queue->by)->busy_ns, queue->by->lifetime_ns,
			      LEAST_BUSY_PERCENT);
}

/* Several threads that somebody else gives work to, and none of them waits for more. */
static bool is_full(const struct analysis *analysis, const struct queue *queue)
{
	const struct model *model = analysis->model;

	if (!queue->by || queue->by == queue->group || !answers__is_target(queue->by) ||
	    queue->group->threads < 2 || queue->count < LEAST_WAITS_OF_FULL ||
	    !model__reaches(queue->by_count, queue->count, LEAST_BY_PERCENT) ||
	    model__reaches(queue->ns, queue->group->lifetime_ns, FULL_WAIT_PERCENT))
		return false;
	for (size_t i = 0; i < model->thread_count; i++) {
		const struct working *thread = &analysis->threads[i];
		int64_t busy_ns =
			thread->run_ns + thread->ready_ns + thread->verdict_ns[VERDICT_HELD];

		if (model->threads[i].group == queue->group && model->threads[i].measured &&
		    !model__reaches(busy_ns, thread->life_ns, FULL_BUSY_PERCENT))
			return false;
	}
	return true;
}

/* "(running 95 %, without a CPU 1.2 %, held up 3 %)" */
static void say_busy(struct finding *finding, const struct analysis *analysis,
		     const struct model_group *group)
{
	const struct group_work *work = work_of(analysis, group);

	say(finding, "busy %s of the time (running %s, ",
	    words__about(work->busy_ns, group->lifetime_ns).text,
	    words__about(work->run_ns, group->lifetime_ns).text);
	say(finding, "without a CPU %s, held up %s)",
	    words__about(work->ready_ns, group->lifetime_ns).text,
	    words__about(work->verdict_ns[VERDICT_HELD], group->lifetime_ns).text);
}

static void say_where(struct finding *finding, const struct analysis *analysis,
		      const struct queue *queue)
{
	if (!queue->function)
		return;
	say(finding, " in ");
	say__function(finding, analysis, queue->function);
}

static void say_outpaced(struct finding *finding, const struct analysis *analysis,
			 const struct queue *queue)
{
	say(finding, "Queue: ");
	say__who(finding, queue->group, queue->group->threads, queue->group->first);
	say(finding, " waited %s of the time",
	    words__about(queue->ns, queue->group->lifetime_ns).text);
	say_where(finding, analysis, queue);
	say(finding, " until woken by ");
	say__who(finding, queue->by, queue->by->threads, queue->by->first);
	say(finding, "; ");
	say__group(finding, queue->by);
	say(finding, queue->by->threads > 1 ? " were " : " was ");
	say_busy(finding, analysis, queue->by);
	say(finding, " and %s the pace (inferred).", queue->by->threads > 1 ? "set" : "sets");
	say__blame(finding, queue->by);
}

static void say_full(struct finding *finding, const struct analysis *analysis,
		     const struct queue *queue)
{
	say(finding, "Queue: all of ");
	say__who(finding, queue->group, queue->group->threads, NULL);
	say(finding, " were ");
	say_busy(finding, analysis, queue->group);
	say(finding, " and waited for work only %s of it",
	    words__about(queue->ns, queue->group->lifetime_ns).text);
	say_where(finding, analysis, queue);
	say(finding, "; what ");
	say__group(finding, queue->by);
	say(finding, " gives them meanwhile has to queue (inferred).");
}

size_t pools__put(struct finding *finding, struct analysis *analysis)
{
	const struct model *model = analysis->model;
	struct queue most = {};
	bool most_full = false;

	if (!signals__of(&model->signals, ROLE_LOCKS))
		return 0;
	for (size_t i = 0; i < model->group_count; i++) {
		struct queue queue;
		bool full;

		if (!answers__is_target(&model->groups[i]) ||
		    find_queue(analysis, &model->groups[i], &queue))
			continue;
		full = is_full(analysis, &queue);
		if (!full && !is_outpaced(analysis, &queue))
			continue;
		/* A full pool says more than those who wait for it. */
		if (most.group && (most_full > full || (most_full == full && most.ns >= queue.ns)))
			continue;
		most = queue;
		most_full = full;
	}
	if (!most.group)
		return 0;
	*finding = (struct finding) { .ns = most_full ? work_of(analysis, most.group)->busy_ns
						      : most.ns,
				      .of_ns = most.group->lifetime_ns,
				      .group = most.group };
	if (most_full)
		say_full(finding, analysis, &most);
	else
		say_outpaced(finding, analysis, &most);
	return 1;
}
