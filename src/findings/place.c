/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over the waits of a group at one place, and what they tell about it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "findings/analysis.h"

#define LEAST_RETURNS     2
#define HAND_OVER_PERCENT 50
#define TIMER_PERCENT     80
#define LEAST_TIMED       3
#define TIMED_SPREAD      0.15
#define LEAST_TICKS       10
#define REQUEST_PERCENT   50 /* of the running time: more is between requests than it seems */
#define WITHIN_PERCENT    10 /* of the waiting */

/* The length of a wait that a timer ended. */
struct timed {
	uint32_t place;
	int64_t wait_ns;
};

/*
 * Services whose clients speak last by nature: they answer calls that the service passes on, or
 * draw and acknowledge. To wait there is to wait for work.
 */
static bool is_hub(const struct signals_object *object)
{
	static const char *const hubs[] = { "dbus-daemon", "dbus-broker", "Xorg",     "Xwayland",
					    "gnome-shell", "kwin",        "pipewire", "systemd" };
	const char *name = object && object->name ? object->name : "";

	if (strncmp(name, MODEL_UNIX_PEER, strlen(MODEL_UNIX_PEER)))
		return false;
	name += strlen(MODEL_UNIX_PEER);
	for (size_t i = 0; i < sizeof(hubs) / sizeof(*hubs); i++)
		if (!strncmp(name, hubs[i], strlen(hubs[i])))
			return true;
	return false;
}

static bool is_asked(const struct analysis *analysis, const struct model_sample *sample)
{
	return (sample->turn == TURN_ASKED || sample->turn == TURN_CONNECTING ||
		sample->turn == TURN_UNSENT) &&
	       !is_hub(signals__object(&analysis->model->signals, sample->object));
}

static bool by_timer(const struct model_sample *sample)
{
	if (sample->ended != ENDED_UNKNOWN)
		return sample->ended == ENDED_TIMEOUT;
	return sample->by && sample->by->id < 0;
}

static uint64_t key_of(const struct analysis *analysis, const struct model_sample *sample,
		       uint32_t node)
{
	uint64_t group = group_index(analysis, sample->thread->group);
	uint64_t state = (uint64_t)(sample->state - analysis->model->states);

	return (uint64_t)node << 32 | (group & 0xfffff) << 12 | (state & 0x7ff) << 1 |
	       is_asked(analysis, sample);
}

static struct place *find_place(struct analysis *analysis, struct map *known,
				const struct model_sample *sample, uint32_t *ret_number)
{
	uint32_t node =
		analysis->model->hot.nodes ? analysis->model->hot.nodes[sample->node].user : 0;
	uint64_t key = key_of(analysis, sample, node);
	uintptr_t at = (uintptr_t)map__get(known, key);
	struct place *place;

	if (!at) {
		place = APPEND(&analysis->places, &analysis->place_count);
		at = analysis->place_count;
		if (!place || map__put(known, key, (void *)at))
			return NULL;
		place->group = (uint32_t)group_index(analysis, sample->thread->group);
		place->node = node;
		place->state = sample->state;
		place->asked = is_asked(analysis, sample);
		place->next = analysis->groups[place->group].first_place;
		analysis->groups[place->group].first_place = (uint32_t)at;
	}
	*ret_number = (uint32_t)at;
	return &analysis->places[at - 1];
}

static uint64_t thread_key(const struct analysis *analysis, const struct model_thread *thread,
			   uint32_t place)
{
	return (uint64_t)thread_index(analysis, thread) << 32 | place;
}

static bool is_in_request(const struct model *model, const struct model_sample *sample)
{
	const struct windows_one *window = model_windows__of(&model->windows, sample->window,
							     sample->time_ns - sample->wait_ns);

	return window && window->class &&
	       window_words__find_kind(window->class->kind) == WORDS_KIND_SERVER;
}

static int add_sample(struct analysis *analysis, struct map *known, struct map *waiters, size_t i)
{
	const struct model_sample *sample = &analysis->model->samples[i];
	struct place *place = find_place(analysis, known, sample, &analysis->place_of[i]);

	if (!place)
		return -ENOMEM;
	if ((sample->by || sample->ended == ENDED_EVENT) && !by_timer(sample))
		place->returns += sample->count;
	place->weight_ns += sample->weight_ns;
	if (is_in_request(analysis->model, sample))
		place->request_ns += sample->weight_ns;
	if (by_timer(sample))
		place->timer_ns += sample->weight_ns;
	place->is_cut |= !sample->whole;
	return map__put(waiters, thread_key(analysis, sample->thread, analysis->place_of[i]),
			analysis);
}

/* Adds up how much of each place's waits ended by a thread that waits there itself. */
static void add_siblings(struct analysis *analysis, const struct map *waiters)
{
	for (size_t i = 0; i < analysis->model->sample_count; i++) {
		const struct model_sample *sample = &analysis->model->samples[i];
		uint32_t number = analysis->place_of[i];

		if (number && sample->by && sample->by != sample->thread &&
		    map__get(waiters, thread_key(analysis, sample->by, number)))
			analysis->places[number - 1].sibling_ns += sample->weight_ns;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->wait_ns > y->wait_ns) - (x->wait_ns < y->wait_ns);
}

static bool is_regular(const struct timed *timed, size_t count)
{
	size_t low = count / 10, middle = count / 2, high = count - 1 - count / 10;

	return count >= LEAST_TIMED && (double)(timed[high].wait_ns - timed[low].wait_ns) <
					       TIMED_SPREAD * (double)timed[middle].wait_ns;
}

/* Finds the places where a timer ends nearly all waits, always after the same time. */
static int find_paced(struct analysis *analysis)
{
	const struct model *model = analysis->model;
	cleanup(free_p) struct timed *list = calloc(model->sample_count + 1, sizeof(*list));
	size_t count = 0, begin = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < model->sample_count; i++)
		if (analysis->place_of[i] && by_timer(&model->samples[i]))
			list[count++] =
				(struct timed) { analysis->place_of[i], model->samples[i].wait_ns };
	qsort(list, count, sizeof(*list), by_place);
	for (size_t i = 1; i <= count; i++) {
		struct place *place = &analysis->places[list[begin].place - 1];

		if (i < count && list[i].place == list[begin].place)
			continue;
		place->paced = is_regular(list + begin, i - begin) &&
			       model__reaches(place->timer_ns, place->weight_ns, TIMER_PERCENT);
		begin = i;
	}
	return 0;
}

/* Causes that a thread can have while it waits for work. */
static bool may_be_home(const struct model_state *state)
{
	switch (state->slot) {
	case SLOT_WAIT_POLL:
	case SLOT_WAIT_NET:
	case SLOT_WAIT_ACCEPT:
	case SLOT_WAIT_PIPE:
	case SLOT_WAIT_LOCK:
	case SLOT_WAIT_OTHER:
		return true;
	default:
		return false;
	}
}

static void add_tick(struct analysis *analysis, const struct model_sample *sample)
{
	struct group_work *group = &analysis->groups[group_index(analysis, sample->thread->group)];

	group->ticks += sample->count;
	if (is_in_request(analysis->model, sample))
		group->request_ticks += sample->count;
}

/*
 * The threads run for requests only, and wait here when they have none: a pool whose threads wake
 * each other. Where requests are handed over, it is not known meanwhile for which one a thread
 * runs.
 */
static bool is_between_requests(const struct analysis *analysis, const struct place *place)
{
	const struct group_work *group = &analysis->groups[place->group];

	return group->ticks >= LEAST_TICKS &&
	       model__reaches(group->request_ticks, group->ticks, REQUEST_PERCENT) &&
	       !model__reaches(place->request_ns, place->weight_ns, WITHIN_PERCENT);
}

static void judge_place(struct analysis *analysis, struct place *place)
{
	const struct path *path = analysis__path(analysis, place->node);

	place->hand_over = !(path->flags & KNOWN_CARRIER) && place->node &&
			   place->state->slot == SLOT_WAIT_LOCK &&
			   model__reaches(place->sibling_ns, place->weight_ns, HAND_OVER_PERCENT) &&
			   !is_between_requests(analysis, place);
	place->candidate = may_be_home(place->state) && place->node && !place->asked &&
			   !place->is_cut && !place->hand_over && !path->lock &&
			   !(path->flags & KNOWN_SLEEP) && place->returns >= LEAST_RETURNS &&
			   !(path->wait && strstr(path->wait, "name server"));
}

int place__find(struct analysis *analysis)
{
	cleanup(map__release) struct map known = {}, waiters = {};
	int err;

	for (size_t i = 0; i < analysis->model->sample_count; i++) {
		const struct model_sample *sample = &analysis->model->samples[i];

		if (!sample->thread->group)
			continue;
		if (sample->tick && sample->state->kind == KIND_RUN)
			add_tick(analysis, sample);
		if (!is_wait(sample->state))
			continue;
		err = add_sample(analysis, &known, &waiters, i);
		if (err)
			return err;
	}
	add_siblings(analysis, &waiters);
	err = find_paced(analysis);
	for (size_t i = 0; !err && i < analysis->place_count; i++)
		judge_place(analysis, &analysis->places[i]);
	return err;
}

const struct place *place__of(const struct analysis *analysis, const struct model_sample *sample)
{
	uint32_t number = analysis->place_of[sample - analysis->model->samples];

	return number ? &analysis->places[number - 1] : NULL;
}
