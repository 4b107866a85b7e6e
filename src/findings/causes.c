/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/causes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"

#define SIBLINGS "each other, at a lock or in a pool that wakes itself"

static const struct signals_object *object_of(const struct analysis *analysis,
					      const struct model_sample *sample)
{
	return signals__object(&analysis->model->signals, sample->object);
}

/* A lock by name explains waits for futexes, and PostgreSQL's waits for latches in epoll. */
static bool may_be_lock(enum ledger_slot slot)
{
	return slot == SLOT_WAIT_LOCK || slot == SLOT_WAIT_LOCK_OWNED || slot == SLOT_WAIT_POLL;
}

/* What stops threads of a runtime, whatever code they are in; NULL: it is something else. */
static const char *words_for_runtime(enum ledger_slot slot)
{
	const char *before = "waiting for ";

	if (slot != SLOT_WAIT_GIL && slot != SLOT_WAIT_SAFEPOINT && slot != SLOT_WAIT_GC)
		return NULL;
	return states__words(slot)->phrase + strlen(before);
}

static const char *words_for(struct analysis *analysis, const struct model_sample *sample,
			     const struct judged *judged)
{
	const struct path *path = analysis__path(analysis, sample->node);
	const char *kernel, *runtime = words_for_runtime(sample->state->slot);

	if (runtime)
		return runtime;
	if (path->lock && may_be_lock(sample->state->slot))
		return path->lock;
	if (judged->ground == GROUND_SIBLING)
		return SIBLINGS;
	kernel = analysis__kernel_wait(analysis, sample->node);
	if (kernel && sample->state->slot != SLOT_WAIT_POLL)
		return kernel;
	return path->lock ? NULL : path->wait;
}

/* The other end of a connection on which this side waits for an answer. */
static const char *peer_of(const struct analysis *analysis, const struct model_sample *sample,
			   const struct judged *judged)
{
	const struct signals_object *object;
	const char *arrow;

	if (judged->ground != GROUND_SOCKET)
		return NULL;
	object = object_of(analysis, sample);
	arrow = object && object->name ? strstr(object->name, MODEL_ARROW) : NULL;
	return arrow ? arrow + strlen(MODEL_ARROW) : object ? object->name : NULL;
}

uint64_t causes__hash(const char *text)
{
	uint64_t hash = 1469598103934665603ULL;

	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211ULL;
	return hash;
}

static uint64_t key_of(const struct analysis *analysis, const struct cause *cause)
{
	uint64_t key = map__mix(0, group_index(analysis, cause->group));

	key = map__mix(key, (uint64_t)cause->verdict << 8 | cause->turn << 2 | cause->in_loop << 1 |
				    cause->asleep);
	if (cause->peer)
		return map__mix(map__mix(key, 3), causes__hash(cause->peer));
	if (cause->what)
		return map__mix(map__mix(key, 1), causes__hash(cause->what));
	key = map__mix(map__mix(key, 2), causes__hash(cause->state->cause));
	return map__mix(key, cause->caller ? cause->caller : (uint64_t)cause->library << 32);
}

/* Returns the cause that is like `like`, made if there is none yet. */
static struct cause *find_cause(struct analysis *analysis, struct map *known,
				const struct cause *like)
{
	uint64_t key = key_of(analysis, like);
	uintptr_t at = (uintptr_t)map__get(known, key);
	struct cause *cause;

	if (at)
		return &analysis->causes[at - 1];
	cause = APPEND(&analysis->causes, &analysis->cause_count);
	if (!cause || map__put(known, key, (void *)analysis->cause_count))
		return NULL;
	*cause = *like;
	return cause;
}

/*
 * An event loop called what waits. In poll it may be the loop itself that waits, and what stops
 * all threads of a runtime is said without that.
 */
static bool is_in_loop(const struct model_sample *sample, const struct path *path)
{
	switch (sample->state->slot) {
	case SLOT_WAIT_POLL:
	case SLOT_WAIT_URING:
	case SLOT_WAIT_GIL:
	case SLOT_WAIT_SAFEPOINT:
	case SLOT_WAIT_GC:
		return false;
	default:
		return path->flags & KNOWN_LOOP;
	}
}

static int add_sample(struct analysis *analysis, struct map *known, uint32_t at)
{
	const struct model_sample *sample = &analysis->model->samples[at];
	const struct judged *judged = &analysis->judged[at];
	const struct path *path = analysis__path(analysis, sample->node);
	struct cause *cause = find_cause(analysis, known,
					 &(struct cause) {
						 .group = sample->thread->group,
						 .state = sample->state,
						 .verdict = judged->verdict,
						 .ground = judged->ground,
						 .turn = sample->turn,
						 .in_loop = is_in_loop(sample, path),
						 .asleep = is_sleep(sample->state->slot, path),
						 .what = words_for(analysis, sample, judged),
						 .caller = path->caller,
						 .library = path->library,
						 .peer = peer_of(analysis, sample, judged),
					 });
	uint32_t *kept;

	if (!cause)
		return -ENOMEM;
	kept = APPEND(&cause->samples, &cause->sample_count);
	if (!kept)
		return -ENOMEM;
	*kept = at;
	analysis->cause_of[at] = (uint32_t)(cause - analysis->causes) + 1;
	cause->ns += judged->ns;
	return 0;
}

static bool is_sampled(const struct analysis *analysis, const struct model_thread *thread,
		       const struct model_state *state)
{
	const struct working *working = &analysis->threads[thread_index(analysis, thread)];

	for (size_t i = 0; i < working->sample_count; i++)
		if (analysis->model->samples[analysis->order[working->first_sample + i]].state ==
		    state)
			return true;
	return false;
}

/* Held-up time of which there is no sample: the cause is all that is known. */
static int add_unsampled(struct analysis *analysis, struct map *known,
			 const struct model_thread *thread)
{
	for (size_t i = 0; i < thread->cell_count; i++) {
		const struct model_cell *cell = &thread->cells[i];
		struct cause *cause;

		if (!judge__is_sure(cell->state->slot) || !cell->ns || !thread->group ||
		    is_sampled(analysis, thread, cell->state))
			continue;
		cause = find_cause(analysis, known,
				   &(struct cause) { .group = thread->group,
						     .state = cell->state,
						     .what = words_for_runtime(cell->state->slot),
						     .verdict = VERDICT_HELD,
						     .ground = judge__ground(cell->state->slot) });
		if (!cause)
			return -ENOMEM;
		cause->ns += cell->ns;
		cause->threads++;
		if (cell->ns <= cause->thread_ns)
			continue;
		cause->thread_ns = cell->ns;
		cause->thread = thread;
	}
	return 0;
}

/* Samples are in the order of threads, so each thread's part of a cause is in one piece. */
static void sum_threads(const struct analysis *analysis, struct cause *cause)
{
	const struct model_thread *last = NULL;
	int64_t ns = 0;

	for (size_t i = 0; i < cause->sample_count; i++) {
		const struct model_sample *sample = &analysis->model->samples[cause->samples[i]];

		if (sample->thread != last) {
			cause->threads++;
			ns = 0;
		}
		last = sample->thread;
		ns += analysis->judged[cause->samples[i]].ns;
		if (ns <= cause->thread_ns)
			continue;
		cause->thread_ns = ns;
		cause->thread = last;
	}
}

static int by_ns(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int by_id(const void *a, const void *b)
{
	const struct cause_share *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

struct cause_share causes__largest(const struct analysis *analysis, const struct cause *cause,
				   cause_id_fn *id)
{
	cleanup(free_p) struct cause_share *list = calloc(cause->sample_count + 1, sizeof(*list));
	struct cause_share most = {}, sum = {};

	if (!list)
		return most;
	for (size_t i = 0; i < cause->sample_count; i++)
		list[i] = (struct cause_share) { id(analysis,
						    &analysis->model->samples[cause->samples[i]]),
						 analysis->judged[cause->samples[i]].ns };
	qsort(list, cause->sample_count, sizeof(*list), by_id);
	for (size_t i = 0; i < cause->sample_count; i++) {
		if (!i || list[i].id != sum.id)
			sum = (struct cause_share) { .id = list[i].id };
		sum.ns += list[i].ns;
		if (sum.id && sum.ns > most.ns)
			most = sum;
	}
	return most;
}

int64_t causes__culprit(const struct analysis *analysis, const struct model_sample *sample)
{
	return sample->by && sample->by->id > 0 && sample->by->group
		       ? (int64_t)group_index(analysis, sample->by->group) + 1
		       : 0;
}

static int64_t state_id(const struct analysis *analysis, const struct model_sample *sample)
{
	return sample->state - analysis->model->states + 1;
}

static int64_t ground_id(const struct analysis *analysis, const struct model_sample *sample)
{
	return analysis->judged[sample - analysis->model->samples].ground + 1;
}

/* Different states and grounds can lead to the same words. Those of most of the time are kept. */
static void settle(const struct analysis *analysis, struct cause *cause)
{
	struct cause_share state = causes__largest(analysis, cause, state_id);
	struct cause_share ground = causes__largest(analysis, cause, ground_id);

	if (state.id)
		cause->state = &analysis->model->states[state.id - 1];
	if (ground.id)
		cause->ground = (enum ground)(ground.id - 1);
}

int causes__find(struct analysis *analysis)
{
	cleanup(map__release) struct map known = {};
	int err = 0;

	for (size_t i = 0; !err && i < analysis->model->sample_count; i++) {
		uint32_t at = analysis->order[i];
		enum verdict verdict = analysis->judged[at].verdict;

		if (analysis->place_of[at] && (verdict == VERDICT_HELD || verdict == VERDICT_SLEPT))
			err = add_sample(analysis, &known, at);
	}
	for (size_t i = 0; !err && i < analysis->model->thread_count; i++)
		err = add_unsampled(analysis, &known, &analysis->model->threads[i]);
	for (size_t i = 0; i < analysis->cause_count; i++) {
		sum_threads(analysis, &analysis->causes[i]);
		settle(analysis, &analysis->causes[i]);
	}
	if (analysis->cause_count)
		qsort(analysis->causes, analysis->cause_count, sizeof(*analysis->causes), by_ns);
	for (size_t i = 0; i < analysis->cause_count; i++)
		for (size_t j = 0; j < analysis->causes[i].sample_count; j++)
			analysis->cause_of[analysis->causes[i].samples[j]] = (uint32_t)i + 1;
	return err;
}
