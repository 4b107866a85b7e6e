/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says what a group waited for, which thread was the culprit, and from which code, if one answer
 * covers much of the time. The three questions are answered separately: one lock can have many
 * holders, and one line of code can wait for many locks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/words.h"
#include "findings/findings.h"
#include "model/load.h"

#define OBJECT_COLUMNS 100

#define WORTH_NAMING_PERCENT 30
#define NEARLY_ALL_PERCENT   90

#define say(finding, ...) words__say((finding)->text, sizeof((finding)->text), __VA_ARGS__)

/* One object and the waits for it. */
struct share {
	const struct model_blame *most; /* the longest wait for it */
	int64_t ns;
};

/* All of a group's waits for one cause. */
struct waits {
	struct map objects; /* object id + 1 → index of its share + 1 */
	struct share *shares;
	size_t count;
	const struct share *largest;
	int64_t ns;
};

static bool is_about(const struct model_blame *blame, const struct model_group *group,
		     const struct model_state *state)
{
	return blame->first->waiter->group == group && blame->first->state == state;
}

static bool add_blame(struct waits *waits, const struct model_blame *blame)
{
	uint64_t key = (uint64_t)blame->first->alike + 1;
	uintptr_t at = (uintptr_t)map__get(&waits->objects, key);
	struct share *share;

	if (at) {
		share = &waits->shares[at - 1];
	} else {
		share = APPEND(&waits->shares, &waits->count);
		if (!share || map__put(&waits->objects, key, (void *)waits->count))
			return false;
		share->most = blame;
	}
	share->ns += blame->ns;
	waits->ns += blame->ns;
	return true;
}

/* Returns false when out of memory. */
static bool sum_waits(const struct model *model, const struct model_group *group,
		      const struct model_state *state, struct waits *ret)
{
	for (size_t i = 0; i < model->blame_count; i++)
		if (is_about(&model->blames[i], group, state) && !add_blame(ret, &model->blames[i]))
			return false;
	for (size_t i = 0; i < ret->count; i++)
		if (!ret->largest || ret->shares[i].ns > ret->largest->ns)
			ret->largest = &ret->shares[i];
	return true;
}

static void say_object(struct finding *finding, const struct model_wait *wait, bool partly)
{
	const char *kind = wait->object_kind ? wait->object_kind : "";
	struct words name = words__clean(wait->object_name, OBJECT_COLUMNS);
	bool is_lock = !strcmp(kind, "futex") || !strcmp(kind, "kernel lock");
	char object[1024];

	findings__object(wait, object, sizeof(object));
	if (is_lock && !strncmp(name.text, "0x", 2))
		say(finding, " at %s", name.text);
	else if (is_lock)
		say(finding, partly ? " for %s" : " (%s)", name.text);
	else if (!strcmp(kind, "syscall"))
		say(finding, " in %s", name.text);
	else if (*object && strcmp(object, "a child") && strcmp(object, "other"))
		say(finding, partly ? " for %s" : " (%s)", object);
}

/* Names the culprit of the waits for one object, if one culprit covers much of them. */
static void say_culprit(struct finding *finding, const struct share *share)
{
	static const char held_by[] = "held by ";
	const struct model_wait *wait = share->most->first;
	char culprit[1200];

	findings__culprit(share->most, culprit, sizeof(culprit));
	if (!*culprit || !model__reaches(share->most->ns, share->ns, WORTH_NAMING_PERCENT))
		return;
	if (!model__reaches(share->most->ns, share->ns, NEARLY_ALL_PERCENT))
		say(finding, ", %s of it %s", words__about(share->most->ns, share->ns).text,
		    culprit);
	else if (!strncmp(culprit, held_by, strlen(held_by)))
		say(finding, " that %s held", culprit + strlen(held_by));
	else if (!strcmp(wait->evidence, "timeout"))
		say(finding, ", until it timed out");
	else
		say(finding, ", %s", culprit);
	/* The lock passed from holder to holder, perhaps through other threads too. */
	if (wait->first && wait->by && wait->by->group != wait->first->group)
		say(finding, " (the time belongs to neither alone)");
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int by_place(const void *a, const void *b)
{
	return by_number(&((const struct hot_cell *)a)->place,
			 &((const struct hot_cell *)b)->place);
}

/* Returns the place with the most time, summed over all owners. `owners` may have duplicates. */
static struct hot_cell find_most(const struct hot *hot, uint32_t *owners, size_t count,
				 struct hot_sum *ret_whole)
{
	cleanup(free_p) struct hot_cell *all = calloc(hot->paths.count + 1, sizeof(*all));
	struct hot_cell most = {}, place = {};
	size_t taken = 0, cells;

	*ret_whole = (struct hot_sum) {};
	if (!all || !count)
		return most;
	qsort(owners, count, sizeof(*owners), by_number);
	for (size_t i = 0; i < count; i++) {
		const struct hot_cell *cell;
		struct hot_sum whole;

		if (i && owners[i] == owners[i - 1])
			continue;
		cell = hot__find(&hot->paths, owners[i], &cells, &whole);
		hot__add(ret_whole, &whole);
		for (size_t j = 0; j < cells; j++)
			all[taken++] = cell[j];
	}
	if (taken)
		qsort(all, taken, sizeof(*all), by_place);
	for (size_t i = 0; i < taken; i++) {
		if (!i || all[i].place != place.place)
			place = (struct hot_cell) { .place = all[i].place };
		hot__add(&place.sum, &all[i].sum);
		if (place.sum.ns > most.sum.ns)
			most = place;
	}
	return most;
}

/*
 * Names the call path if it covers at least `least_percent` of the waits for this object, or, with
 * `all`, of all waits.
 */
static bool say_path(struct finding *finding, const struct model *model, const struct share *share,
		     bool all, int least_percent)
{
	cleanup(free_p) uint32_t *owners = calloc(model->blame_count + 1, sizeof(*owners));
	const struct model_wait *like = share->most->first;
	struct hot_sum whole;
	struct hot_cell most;
	size_t count = 0;

	for (size_t i = 0; owners && i < model->blame_count; i++) {
		const struct model_blame *blame = &model->blames[i];

		if (is_about(blame, like->waiter->group, like->state) &&
		    (all || blame->first->alike == like->alike))
			owners[count++] = blame->owner;
	}
	most = find_most(&model->hot, owners, count, &whole);
	if (!most.place || !hot__is_enough(&most.sum, &whole) ||
	    !model__reaches(most.sum.ns, whole.ns, least_percent))
		return false;
	say(finding, ", entered from ");
	hot__say_path(&model->hot, most.place, finding->text, sizeof(finding->text));
	say(finding, " (%s)", hot__share(&most.sum, &whole).text);
	return true;
}

static void say_waits(struct finding *finding, const struct model *model, const struct waits *waits)
{
	const struct share *largest = waits->largest;
	const struct model_wait *wait = largest->most->first;
	bool partly = !model__reaches(largest->ns, waits->ns, NEARLY_ALL_PERCENT);

	if (!wait->object && !(wait->by && model__has_culprit(wait->state)))
		return;
	if (!model__reaches(largest->ns, waits->ns, WORTH_NAMING_PERCENT)) {
		if (!say_path(finding, model, largest, true, NEARLY_ALL_PERCENT))
			say(finding, ", spread over %zu objects", waits->count);
		return;
	}
	if (partly)
		say(finding, ", %s of that%s", words__about(largest->ns, waits->ns).text,
		    model->cut ? " (in the whole recording)" : "");
	say_object(finding, wait, partly);
	say_culprit(finding, largest);
	say_path(finding, model, largest, false, 0);
}

void findings__blame(const struct model *model, const struct model_group *group,
		     const struct model_state *state, struct finding *finding)
{
	struct waits waits = {};

	if (sum_waits(model, group, state, &waits) && waits.largest)
		say_waits(finding, model, &waits);
	map__release(&waits.objects);
	free(waits.shares);
}
