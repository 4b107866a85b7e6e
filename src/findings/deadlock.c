/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A deadlock: threads that wait for each other's locks in a circle, at the end of the recording.
 * The locks must all differ: owners are read when a wait begins, and the waiters of one lock that
 * is handed on can look like a circle.
 */
#include "findings/deadlock.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/words.h"

#define MOST_THREADS 8
#define LEAST_NS     500000000

/* The open wait of each thread for a lock whose owner is known. Index as in model->threads. */
static const struct model_sample **open_waits(const struct model *model)
{
	const struct model_sample **list = calloc(model->thread_count + 1, sizeof(*list));

	for (size_t i = 0; list && i < model->sample_count; i++) {
		const struct model_sample *sample = &model->samples[i];

		if (sample->ended == ENDED_OPEN && sample->is_owned && sample->by &&
		    sample->by->id > 0 && sample->object && sample->wait_ns >= LEAST_NS)
			list[sample->thread - model->threads] = sample;
	}
	return list;
}

static bool repeats(const struct model_sample *const *circle, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			if (circle[i]->object == circle[j]->object)
				return true;
	return false;
}

/* Follows owners from a thread; returns the length of the circle back to it, 0 if there is none. */
static size_t follow(const struct model *model, const struct model_sample *const *waits,
		     const struct model_sample *first, const struct model_sample **circle)
{
	const struct model_sample *at = first;
	size_t count = 0;

	while (at && count < MOST_THREADS) {
		circle[count++] = at;
		if (at->by == first->thread)
			return count > 1 && !repeats(circle, count) ? count : 0;
		at = waits[at->by - model->threads];
	}
	return 0;
}

static void put(struct finding *finding, const struct analysis *analysis,
		const struct model_sample *const *circle, size_t count)
{
	int64_t shortest_ns = INT64_MAX;

	say(finding, "Deadlock: ");
	for (size_t i = 0; i < count; i++) {
		const struct signals_object *object =
			signals__object(&analysis->model->signals, circle[i]->object);

		say(finding, i ? ", " : "");
		say__who(finding, circle[i]->thread->group, 1, circle[i]->thread);
		say(finding, " waits for the lock %s that ",
		    words__clean(object ? object->name : "?", SAY_OBJECT_COLUMNS).text);
		say__who(finding, circle[i]->by->group, 1, circle[i]->by);
		say(finding, " holds");
		if (circle[i]->wait_ns < shortest_ns)
			shortest_ns = circle[i]->wait_ns;
	}
	say(finding, "; for %s at the end of the recording.", words__time(shortest_ns).text);
	finding->ns = finding->of_ns = shortest_ns;
}

bool deadlock__put(struct finding *finding, const struct analysis *analysis)
{
	const struct model *model = analysis->model;
	const struct model_sample *circle[MOST_THREADS];
	cleanup(free_p) const struct model_sample **waits = open_waits(model);

	for (size_t i = 0; waits && i < model->thread_count; i++) {
		size_t count = waits[i] ? follow(model, waits, waits[i], circle) : 0;

		if (!count)
			continue;
		put(finding, analysis, circle, count);
		return true;
	}
	return false;
}
