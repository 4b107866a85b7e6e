/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which findings are made, and in which order. The score is time: held-up time counts in full,
 * running time by half, because running is also work. Ready time counts as far as others, not the
 * target itself, used the CPUs. Waits for a child or a pipe whose other end is recorded are not
 * findings: they are added to the largest finding of the group that was waited for.
 */
#include "findings/answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "findings/storm.h"

#define LEAST_SHARE_PERCENT  3  /* of the group's running, ready and held-up time */
#define LEAST_WALL_PERCENT   3  /* of one thread's life */
#define LEAST_OF_ALL_PERCENT 1  /* of the wall time */
#define BUSY_PERCENT         30 /* of the wall time: running below this is not a finding */
#define GROUP_BUSY_PERCENT   50
#define HEAVY_CALL_PERCENT   15 /* of the running time: such a syscall is a finding at any load */
#define HEAVY_WALL_PERCENT   1
#define LEAST_SLEPT_PERCENT  25 /* of the waiting time of all threads */
#define RUN_WEIGHT           0.5
#define MOST_HANDED_ON       8

/* What other groups waited for. Index as in model->groups. */
struct waited {
	int64_t ns;
	const struct cause *cause; /* the longest of these waits */
	const struct model_group *by[ANSWER_MOST_WAITERS];
	size_t count;
};

struct making {
	struct analysis *analysis;
	struct answers *answers;
	struct waited *waited;
	const struct model_group **on; /* the group that a group waited for; NULL: none */
};

bool answers__is_target(const struct model_group *group)
{
	return group && !group->own && !group->kernel && group->threads;
}

int64_t answers__kernel_ns(const struct model *model, const struct model_group *group)
{
	int64_t ns = 0;

	for (size_t i = 0; i < model->state_count; i++)
		if (model->states[i].slot == SLOT_RUN_KERNEL)
			ns += group->state_ns[i];
	return ns;
}

int answers__add(struct answers *answers, const struct answer *answer)
{
	struct answer *new = APPEND(&answers->list, &answers->count);

	if (!new)
		return -ENOMEM;
	*new = *answer;
	return 0;
}

/* --- waits ----------------------------------------------------------------------------------- */

static int64_t busy_of_all(const struct analysis *analysis)
{
	int64_t ns = 0;

	for (size_t i = 0; i < analysis->model->group_count; i++)
		if (answers__is_target(&analysis->model->groups[i]))
			ns += analysis->groups[i].busy_ns;
	return ns;
}

static int64_t waiting_of_all(const struct analysis *analysis)
{
	int64_t ns = 0;

	for (size_t i = 0; i < analysis->model->group_count; i++)
		for (int j = 0;
		     j < VERDICT_COUNT && answers__is_target(&analysis->model->groups[i]); j++)
			ns += analysis->groups[i].verdict_ns[j];
	return ns;
}

/*
 * A sleep is a finding only so far as nothing else happened: main threads that only sleep or join
 * are no news, nor is a program that sleeps among others that wait for work.
 */
static double score_wait(const struct analysis *analysis, const struct cause *cause)
{
	double rest;

	if (cause->verdict == VERDICT_SLEPT &&
	    !model__reaches(cause->ns, waiting_of_all(analysis), LEAST_SLEPT_PERCENT))
		return 0;
	if (!cause->asleep || cause->ground == GROUND_REQUEST || cause->ground == GROUND_HOME)
		return (double)cause->ns;
	rest = (double)(busy_of_all(analysis) - (cause->verdict == VERDICT_HELD ? cause->ns : 0));
	return (double)cause->ns > rest ? (double)cause->ns - rest : 0;
}

/* The time of which a wait is a part. */
static int64_t time_of(const struct analysis *analysis, const struct cause *cause)
{
	const struct model_thread *last = NULL;
	int64_t ns = 0;

	if (cause->verdict == VERDICT_HELD)
		return analysis->groups[group_index(analysis, cause->group)].busy_ns;
	/* Whether a sleeping thread had work is not known. */
	for (size_t i = 0; i < cause->sample_count; i++) {
		const struct model_thread *thread =
			analysis->model->samples[cause->samples[i]].thread;

		if (thread != last)
			ns += analysis->threads[thread_index(analysis, thread)].life_ns;
		last = thread;
	}
	return ns;
}

static struct answer answer_of(const struct analysis *analysis, const struct cause *cause)
{
	return (struct answer) { .kind = ANSWER_WAIT,
				 .group = cause->group,
				 .cause = cause,
				 .ns = cause->ns,
				 .of_ns = time_of(analysis, cause),
				 .score = score_wait(analysis, cause) };
}

/* --- waits for other groups ------------------------------------------------------------------ */

/* The group of the target that ended more than half of a cause's waits; NULL: none did. */
static const struct model_group *ended_by(const struct analysis *analysis,
					  const struct cause *cause)
{
	struct cause_share most = causes__largest(analysis, cause, causes__culprit);
	const struct model_group *group = most.id ? &analysis->model->groups[most.id - 1] : NULL;

	return answers__is_target(group) && most.ns * 2 > cause->ns ? group : NULL;
}

/* The group of a child process of this thread that is in the recording, the longest-lived first. */
static const struct model_group *child_of(const struct analysis *analysis,
					  const struct model_thread *parent)
{
	const struct model *model = analysis->model;
	const struct model_thread *most = NULL;

	for (size_t i = 0; parent && i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];

		if (thread->measured && thread->parent_pid == parent->pid &&
		    thread->pid != parent->pid && thread->group != parent->group &&
		    answers__is_target(thread->group) &&
		    (!most || thread->lifetime_ns > most->lifetime_ns))
			most = thread;
	}
	return most ? most->group : NULL;
}

static void add_waiter(struct waited *waited, const struct model_group *group)
{
	for (size_t i = 0; i < waited->count; i++)
		if (waited->by[i] == group)
			return;
	if (waited->count < ANSWER_MOST_WAITERS)
		waited->by[waited->count++] = group;
}

/* Hands a wait on to the group that was waited for. Returns false if that is not known. */
static bool hand_on(struct making *making, const struct cause *cause)
{
	struct analysis *analysis = making->analysis;
	const struct model_group *to = NULL;
	struct waited *waited;

	if (cause->state->slot == SLOT_WAIT_CHILD && !analysis->is_command)
		return true; /* a shell or a supervisor: its children have accounts of their own */
	if (cause->state->slot == SLOT_WAIT_CHILD)
		to = child_of(analysis, cause->thread);
	if (!to && (cause->state->slot == SLOT_WAIT_CHILD || cause->state->slot == SLOT_WAIT_PIPE))
		to = ended_by(analysis, cause);
	if (!to || to == cause->group)
		return false;
	waited = &making->waited[group_index(analysis, to)];
	making->on[group_index(analysis, cause->group)] = to;
	add_waiter(waited, cause->group);
	if (cause->ns > waited->ns) {
		waited->ns = cause->ns;
		waited->cause = cause;
	}
	return true;
}

static struct answer *largest_of(const struct answers *answers, const struct model_group *group)
{
	struct answer *most = NULL;

	for (size_t i = 0; i < answers->count; i++)
		if (answers->list[i].group == group &&
		    (!most || answers->list[i].score > most->score))
			most = &answers->list[i];
	return most;
}

static void merge_waited(struct waited *to, struct waited *from)
{
	if (from->ns > to->ns) {
		to->ns = from->ns;
		to->cause = from->cause;
	}
	for (size_t i = 0; i < from->count; i++)
		add_waiter(to, from->by[i]);
	*from = (struct waited) {};
}

/* Gives what others waited for to the finding of the group, or of the group that it waits for. */
static void settle_waited(struct making *making)
{
	const struct model *model = making->analysis->model;

	for (int hop = 0; hop < MOST_HANDED_ON; hop++)
		for (size_t i = 0; i < model->group_count; i++) {
			const struct model_group *next = making->on[i];

			if (making->waited[i].ns && next &&
			    !largest_of(making->answers, &model->groups[i]))
				merge_waited(&making->waited[group_index(making->analysis, next)],
					     &making->waited[i]);
		}
	for (size_t i = 0; i < model->group_count; i++) {
		struct answer *answer = largest_of(making->answers, &model->groups[i]);
		const struct waited *waited = &making->waited[i];

		if (!answer || !waited->ns)
			continue;
		answer->score += (double)waited->ns;
		answer->waiters_ns = waited->ns;
		answer->waiter_count = waited->count;
		memcpy(answer->waiters, waited->by, sizeof(answer->waiters));
	}
}

/* With nothing else to say, the longest wait for another group is the finding. */
static int offer_handed_on(struct making *making)
{
	const struct cause *most = NULL;
	struct answer answer;

	if (making->answers->count)
		return 0;
	for (size_t i = 0; i < making->analysis->model->group_count; i++)
		if (making->waited[i].ns && (!most || making->waited[i].ns > most->ns))
			most = making->waited[i].cause;
	if (!most)
		return 0;
	answer = answer_of(making->analysis, most);
	return answers__add(making->answers, &answer);
}

static int offer_waits(struct making *making)
{
	struct analysis *analysis = making->analysis;

	for (size_t i = 0; i < analysis->cause_count; i++) {
		const struct cause *cause = &analysis->causes[i];
		struct answer answer;
		int64_t life_ns;

		if (!answers__is_target(cause->group) || !cause->thread ||
		    cause->verdict == VERDICT_HOME)
			continue;
		answer = answer_of(analysis, cause);
		life_ns = analysis->threads[thread_index(analysis, cause->thread)].life_ns;
		if (!model__reaches(cause->ns, answer.of_ns, LEAST_SHARE_PERCENT) ||
		    !model__reaches(cause->ns, analysis->wall_ns, LEAST_OF_ALL_PERCENT) ||
		    (!model__reaches(cause->thread_ns, life_ns, LEAST_WALL_PERCENT) &&
		     !model__reaches(cause->ns, analysis->wall_ns, LEAST_WALL_PERCENT)))
			continue;
		if (hand_on(making, cause))
			continue;
		if (answer.score > 0 && answers__add(making->answers, &answer))
			return -ENOMEM;
	}
	return 0;
}

/* --- the CPU --------------------------------------------------------------------------------- */

/* The share of all CPUs that the target itself used. */
static double own_share(const struct analysis *analysis)
{
	const struct model *model = analysis->model;
	double run = 0, capacity = (double)model->cpus * (double)analysis->wall_ns;

	if (model->has_idle || capacity <= 0)
		return 0;
	for (size_t i = 0; i < model->group_count; i++)
		if (answers__is_target(&model->groups[i]))
			run += (double)analysis->groups[i].run_ns;
	return run < capacity ? run / capacity : 1;
}

/*
 * Whether one syscall takes a good part of the group's running time, by the exact sums of all
 * threads: it is what a programmer can change at once.
 */
static bool has_heavy_call(const struct analysis *analysis, const struct group_work *work)
{
	const struct model *model = analysis->model;
	int64_t all_ns = 0, call_ns = model->syscall_count ? model->syscalls->run_ns : 0;
	int64_t kernel_ns = 0;

	for (size_t i = 0; i < model->group_count; i++) {
		if (!answers__is_target(&model->groups[i]))
			continue;
		all_ns += analysis->groups[i].run_ns;
		kernel_ns += answers__kernel_ns(model, &model->groups[i]);
	}
	return call_ns <= kernel_ns && model__reaches(work->run_ns, all_ns, GROUP_BUSY_PERCENT) &&
	       model__reaches(call_ns, all_ns, HEAVY_CALL_PERCENT) &&
	       model__reaches(call_ns, analysis->wall_ns, HEAVY_WALL_PERCENT);
}

/* Whether one thread of the group, or the group as a whole, wants a CPU for a good part of it. */
static bool is_busy(const struct analysis *analysis, const struct model_group *group)
{
	const struct model *model = analysis->model;
	const struct group_work *work = &analysis->groups[group_index(analysis, group)];
	int64_t cpu_ns = work->run_ns + work->ready_ns;

	if (model__reaches(cpu_ns, analysis->wall_ns, GROUP_BUSY_PERCENT) ||
	    has_heavy_call(analysis, work))
		return true;
	if (analysis->is_command)
		return model__reaches(cpu_ns, work->busy_ns, BUSY_PERCENT) &&
		       model__reaches(cpu_ns, analysis->wall_ns, LEAST_WALL_PERCENT);
	for (size_t i = 0; i < model->thread_count; i++) {
		const struct working *thread = &analysis->threads[i];

		if (model->threads[i].group == group &&
		    model__reaches(thread->run_ns + thread->ready_ns, analysis->wall_ns,
				   BUSY_PERCENT))
			return true;
	}
	return false;
}

static int offer_cpu(struct making *making)
{
	const struct analysis *analysis = making->analysis;
	double own = own_share(analysis);

	for (size_t i = 0; i < analysis->model->group_count; i++) {
		const struct model_group *group = &analysis->model->groups[i];
		const struct group_work *work = &analysis->groups[i];
		double run = RUN_WEIGHT * (double)work->run_ns;
		double ready = (1 - own) * (double)work->ready_ns;

		if (!answers__is_target(group) || !is_busy(analysis, group))
			continue;
		if (answers__add(making->answers,
				 &(struct answer) { .kind = ANSWER_CPU,
						    .group = group,
						    .ns = work->run_ns + work->ready_ns,
						    .of_ns = work->busy_ns,
						    .score = run > ready ? run : ready }))
			return -ENOMEM;
	}
	return 0;
}

/* --- all of them ----------------------------------------------------------------------------- */

static int by_score(const void *a, const void *b)
{
	const struct answer *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->group > y->group) - (x->group < y->group);
}

/* A sleep that may be idleness is said only if there is nothing else. */
static void drop_sleeps(struct answers *answers)
{
	size_t kept = 0, real = 0;

	for (size_t i = 0; i < answers->count; i++)
		real += !answers->list[i].cause || answers->list[i].cause->verdict == VERDICT_HELD;
	for (size_t i = 0; real && i < answers->count; i++)
		if (!answers->list[i].cause || answers->list[i].cause->verdict == VERDICT_HELD)
			answers->list[kept++] = answers->list[i];
	if (real)
		answers->count = kept;
}

int answers__make(struct analysis *analysis, struct answers *ret)
{
	size_t groups = analysis->model->group_count + 1;
	cleanup(free_p) struct waited *waited = calloc(groups, sizeof(*waited));
	cleanup(free_p) const struct model_group **on = calloc(groups, sizeof(*on));
	struct making making = { analysis, ret, waited, on };
	int err = waited && on ? 0 : -ENOMEM;

	*ret = (struct answers) {};
	if (!err)
		err = offer_waits(&making);
	if (!err)
		err = offer_cpu(&making);
	if (!err)
		err = storm__offer(analysis, ret);
	if (err)
		return err;
	drop_sleeps(ret);
	err = offer_handed_on(&making);
	settle_waited(&making);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_score);
	return err;
}

void answers__release(struct answers *answers)
{
	free(answers->list);
	*answers = (struct answers) {};
}
