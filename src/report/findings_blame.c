/*
 * What a group waited for, because of whom and from where, as far as one answer stands for much of
 * the time. The three are asked apart: the same lock can have many holders, and one line of code
 * can wait for many locks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "report/findings.h"
#include "report/load.h"
#include "report/words.h"

#define OBJECT_COLUMNS 100

#define WORTH_NAMING_PERCENT 30
#define NEARLY_ALL_PERCENT   90

#define say(finding, ...) words__say((finding)->text, sizeof((finding)->text), __VA_ARGS__)

/* One object, with what was waited for it. */
struct share {
	const struct model_blame *most; /* its longest one */
	int64_t ns;
};

/* All of a group's waits for one cause. */
struct waits {
	struct map objects; /* the object's id + 1 → the place of its share + 1 */
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

/* False if there is no memory. */
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

/* Of what was waited for one object, if one culprit stands for much of it. */
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
	/* It went from hand to hand, maybe through others' too. */
	if (wait->first && wait->by && wait->by->group != wait->first->group)
		say(finding, " (the time belongs to neither alone)");
}

/* From where, if one path has so much of it; of the waits for this object, or for all. */
static bool say_path(struct finding *finding, const struct model *model, const struct share *share,
		     bool all, int least_percent)
{
	cleanup(free_p) uint32_t *owners = calloc(model->blame_count + 1, sizeof(*owners));
	const struct model_wait *like = share->most->first;
	size_t count = 0;

	for (size_t i = 0; owners && i < model->blame_count; i++) {
		const struct model_blame *blame = &model->blames[i];

		if (is_about(blame, like->waiter->group, like->state) &&
		    (all || blame->first->alike == like->alike))
			owners[count++] = blame->owner;
	}
	return hot__say_waits(model, owners, count, least_percent, finding->text,
			      sizeof(finding->text));
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
