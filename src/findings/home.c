/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where threads wait for work. A thread of a loop or a pool returns to one place to wait for its
 * next task; there its stack is the shallowest of all its waits. Home acquits: who waits there is
 * idle. It hardly ever convicts, because a wait deeper in the code may be part of the loop as well.
 */
#include <stdlib.h>

#include "findings/analysis.h"

/* A thread without a home borrows a sibling's if its stacks share this much of that path. */
#define SHARED_PERCENT 60
/* The work for one thread that borrows is bounded. */
#define MOST_CANDIDATES 32
#define LEAST_SUFFIX    3

static uint32_t parent_of(const struct analysis *analysis, uint32_t node)
{
	return analysis->model->hot.nodes[node].parent;
}

/* Puts the candidates of a group before its other places, so that few places are looked at. */
static void put_candidates_first(struct analysis *analysis, struct group_work *group)
{
	uint32_t candidates = 0, others = 0, *last_candidate = &candidates, *last_other = &others;
	struct place *place;

	for (uint32_t i = group->first_place; i; i = place->next) {
		uint32_t **last;

		place = &analysis->places[i - 1];
		last = place->candidate ? &last_candidate : &last_other;
		**last = i;
		*last = &place->next;
	}
	*last_other = 0;
	*last_candidate = others;
	group->first_place = candidates;
}

/* The place of this number if it is a candidate; NULL: there are no more. */
static const struct place *candidate_at(const struct analysis *analysis, uint32_t number)
{
	const struct place *place = number ? &analysis->places[number - 1] : NULL;

	return place && place->candidate ? place : NULL;
}

static void own_homes(struct analysis *analysis)
{
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->sample_count; i++) {
		const struct place *place = place__of(analysis, &model->samples[i]);
		struct working *thread;
		uint32_t depth;

		if (!place || !place->candidate)
			continue;
		thread = &analysis->threads[thread_index(analysis, model->samples[i].thread)];
		depth = analysis__path(analysis, place->node)->depth;
		if (thread->foreground || (thread->home && thread->home <= depth))
			continue;
		thread->home = depth;
		thread->home_node = place->node;
	}
}

/* How many functions two paths share, counted from the root. */
static uint32_t shared_depth(struct analysis *analysis, uint32_t a, uint32_t b)
{
	uint32_t depth_a = analysis__path(analysis, a)->depth;
	uint32_t depth_b = analysis__path(analysis, b)->depth;

	for (; depth_a > depth_b; depth_a--)
		a = parent_of(analysis, a);
	for (; depth_b > depth_a; depth_b--)
		b = parent_of(analysis, b);
	for (; a != b; depth_a--) {
		a = parent_of(analysis, a);
		b = parent_of(analysis, b);
	}
	return depth_a;
}

static void borrow_from(struct analysis *analysis, struct working *thread, uint32_t node,
			const struct place *place, uint32_t *best)
{
	uint32_t depth = analysis__path(analysis, place->node)->depth;
	uint32_t shared = shared_depth(analysis, node, place->node);

	if (shared <= *best || (uint64_t)shared * 100 < (uint64_t)depth * SHARED_PERCENT)
		return;
	*best = shared;
	thread->home = depth;
	thread->home_node = place->node;
}

static void borrow_any(struct analysis *analysis, struct working *thread, uint32_t node,
		       uint32_t group, uint32_t *best)
{
	const struct place *place = candidate_at(analysis, analysis->groups[group].first_place);

	for (; place; place = candidate_at(analysis, place->next))
		borrow_from(analysis, thread, node, place, best);
}

static void borrow_home(struct analysis *analysis, struct working *thread, uint32_t group)
{
	uint32_t best = 0, last = 0, tried = 0;

	for (size_t i = 0; i < thread->sample_count; i++) {
		const struct model_sample *sample =
			&analysis->model->samples[analysis->order[thread->first_sample + i]];
		const struct place *own = place__of(analysis, sample);

		if (!own || !own->node || own->node == last || tried >= MOST_CANDIDATES)
			continue;
		last = own->node;
		tried++;
		borrow_any(analysis, thread, own->node, group, &best);
	}
}

/* Marks the candidates that are at most HOME_SLACK deeper than the home of a thread that waits
 * there. */
static void mark_places(struct analysis *analysis)
{
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->sample_count; i++) {
		const struct model_sample *sample = &model->samples[i];
		struct place *place = (struct place *)place__of(analysis, sample);
		const struct working *thread;

		if (!place || !place->candidate || place->home)
			continue;
		thread = &analysis->threads[thread_index(analysis, sample->thread)];
		place->home = thread->home && analysis__path(analysis, place->node)->depth <=
						      thread->home + HOME_SLACK;
	}
}

/* Whether `node` is the inner end of the path to `home`: the same functions, as far as it goes. */
static bool is_inner_end(const struct analysis *analysis, uint32_t node, uint32_t home)
{
	const struct hot_node *nodes = analysis->model->hot.nodes;
	uint32_t length = 0;

	for (; node && home; node = nodes[node].parent, home = nodes[home].parent, length++)
		if (nodes[node].function != nodes[home].function)
			return false;
	return !node && length >= LEAST_SUFFIX;
}

/* Stacks that were cut, or taken from a thread that borrows its home, can still end at a home. */
static void match_places(struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->place_count; i++) {
		struct place *place = &analysis->places[i];
		const struct place *other;

		if (place->home || !place->node || place->asked)
			continue;
		other = candidate_at(analysis, analysis->groups[place->group].first_place);
		for (; other && !place->home; other = candidate_at(analysis, other->next))
			place->home =
				other->home && is_inner_end(analysis, place->node, other->node);
	}
}

void home__find(struct analysis *analysis)
{
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->group_count; i++)
		put_candidates_first(analysis, &analysis->groups[i]);
	own_homes(analysis);
	for (size_t i = 0; i < model->thread_count; i++) {
		struct working *thread = &analysis->threads[i];

		if (thread->sample_count && !thread->home && !thread->foreground)
			borrow_home(analysis, thread,
				    (uint32_t)group_index(analysis, model->threads[i].group));
	}
	mark_places(analysis);
	match_places(analysis);
}
