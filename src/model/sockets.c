/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names sockets in waits. Each connection is an object of its own, with a client port that means
 * nothing to the user. What a thread waits for is the service. Connections that share an end are
 * named after it: "sockets to 10.0.0.1:5432" if many local ports have one peer, "sockets at
 * 0.0.0.0:80" if many peers have one local end. A single connection keeps its name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "model/load.h"
#include "model/model.h"

/* An end that one or more connections have. Found by a hash of its name. */
struct end {
	size_t count;
	int64_t first; /* object id of its first connection */
	const char *name;
};

struct sockets {
	struct map seen;  /* connections that are counted, by object id */
	struct map ends;  /* hash of the end → index in `list` + 1 */
	struct map waits; /* merged waits, by a hash of everything that must be equal */
	struct end *list;
	size_t count;
};

/* The two ends of "a ↔ b". */
struct sides {
	const char *text[2];
	size_t length[2];
};

static bool find_sides(const struct model_wait *wait, struct sides *ret)
{
	const char *arrow;

	if (!wait->object_kind || !wait->object_name || strcmp(wait->object_kind, "socket") ||
	    wait->object <= 0)
		return false;
	arrow = strstr(wait->object_name, MODEL_ARROW);
	if (!arrow)
		return false;
	ret->text[0] = wait->object_name;
	ret->length[0] = (size_t)(arrow - wait->object_name);
	ret->text[1] = arrow + strlen(MODEL_ARROW);
	ret->length[1] = strlen(ret->text[1]);
	return true;
}

static uint64_t hash_of(const struct sides *sides, int side)
{
	uint64_t hash = map__mix(0, (uint64_t)side);

	for (size_t i = 0; i < sides->length[side]; i++)
		hash = map__mix(hash, (unsigned char)sides->text[side][i]);
	return hash;
}

static struct end *end_of(const struct sockets *sockets, const struct sides *sides, int side)
{
	uintptr_t place = (uintptr_t)map__get(&sockets->ends, hash_of(sides, side));

	return place ? &sockets->list[place - 1] : NULL;
}

static int count_end(struct sockets *sockets, const struct sides *sides, int side, int64_t object)
{
	struct end *end = end_of(sockets, sides, side);

	if (!end) {
		end = APPEND(&sockets->list, &sockets->count);
		if (!end)
			return -ENOMEM;
		end->first = object;
		if (map__put(&sockets->ends, hash_of(sides, side), (void *)sockets->count))
			return -ENOMEM;
	}
	end->count++;
	return 0;
}

static int count_socket(struct sockets *sockets, const struct model_wait *wait)
{
	struct sides sides;
	int err;

	if (!find_sides(wait, &sides) || map__get(&sockets->seen, (uint64_t)wait->object))
		return 0;
	err = map__put(&sockets->seen, (uint64_t)wait->object, (void *)wait);
	for (int side = 0; side < 2 && !err; side++)
		err = count_end(sockets, &sides, side, wait->object);
	return err;
}

static const char *name_end(struct model *model, const struct sides *sides, int side)
{
	char name[256];

	snprintf(name, sizeof(name), "sockets %s %.*s", side ? "to" : "at",
		 (int)sides->length[side], sides->text[side]);
	return load__keep(model, name);
}

/*
 * Names a wait after the end that more connections share. If both ends have equally many, the wait
 * keeps its name.
 */
static int name_socket(const struct sockets *sockets, struct model *model, struct model_wait *wait)
{
	struct end *local, *peer, *shared;
	struct sides sides;

	if (!find_sides(wait, &sides))
		return 0;
	local = end_of(sockets, &sides, 0);
	peer = end_of(sockets, &sides, 1);
	if (!local || !peer || local->count == peer->count)
		return 0;
	shared = peer->count > local->count ? peer : local;
	if (!shared->name)
		shared->name = name_end(model, &sides, shared == peer);
	if (!shared->name)
		return -ENOMEM;
	wait->object_name = shared->name;
	/* One object can be the first of both ends, so complement the id for a local end. */
	wait->alike = shared == peer ? shared->first : ~shared->first;
	return map__put(&model->alike, (uint64_t)wait->object, (void *)(uintptr_t)wait->alike);
}

int64_t model__merged_object(const struct model *model, int64_t object)
{
	int64_t alike = (int64_t)(uintptr_t)map__get(&model->alike, (uint64_t)object);

	return alike ? alike : object;
}

static uint64_t hash_wait(const struct model_wait *wait)
{
	uint64_t hash = map__mix(0, (uintptr_t)wait->waiter);

	hash = map__mix(map__mix(hash, (uintptr_t)wait->state), (uint64_t)wait->alike);
	hash = map__mix(map__mix(hash, (uintptr_t)wait->by), (uintptr_t)wait->first);
	hash = map__mix_text(map__mix_text(hash, wait->evidence), wait->ended);
	hash = map__mix(map__mix(hash, (uint64_t)wait->turn), wait->in_request);
	return hash;
}

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int64_t id_of(const struct model_thread *thread)
{
	return thread ? thread->id : 0;
}

/* The order in which the recording lists them: the longest first. */
static int by_length(const void *a, const void *b)
{
	const struct model_wait *x = a, *y = b;
	int order = compare(y->ns, x->ns);

	if (!order)
		order = compare(id_of(x->waiter), id_of(y->waiter));
	if (!order)
		order = compare(x->state->id, y->state->id);
	if (!order)
		order = compare(x->object, y->object);
	if (!order)
		order = compare(id_of(x->by), id_of(y->by));
	if (!order)
		order = strcmp(x->evidence, y->evidence);
	if (!order)
		order = compare(id_of(x->first), id_of(y->first));
	if (!order)
		order = strcmp(x->ended, y->ended);
	if (!order)
		order = compare(x->turn, y->turn);
	return order ? order : compare(x->in_request, y->in_request);
}

/* Merges waits for connections that now share a name. */
static int join_waits(struct sockets *sockets, struct model *model)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->wait_count; i++) {
		const struct model_wait *wait = &model->waits[i];
		struct model_wait *same = NULL;
		uint64_t hash = hash_wait(wait);

		if (map__get(&model->alike, (uint64_t)wait->object)) {
			same = map__get(&sockets->waits, hash);
			if (!same && map__put(&sockets->waits, hash, &model->waits[kept]))
				return -ENOMEM;
		}
		if (same) {
			same->ns += wait->ns;
			same->count += wait->count;
		} else {
			model->waits[kept++] = *wait;
		}
	}
	if (kept == model->wait_count)
		return 0;
	model->wait_count = kept;
	qsort(model->waits, kept, sizeof(*model->waits), by_length);
	return 0;
}

int load__sockets(struct model *model)
{
	struct sockets sockets = {};
	int err = 0;

	for (size_t i = 0; i < model->wait_count && !err; i++)
		err = count_socket(&sockets, &model->waits[i]);
	for (size_t i = 0; i < model->wait_count && !err; i++)
		err = name_socket(&sockets, model, &model->waits[i]);
	if (!err)
		err = join_waits(&sockets, model);
	map__release(&sockets.seen);
	map__release(&sockets.ends);
	map__release(&sockets.waits);
	free(sockets.list);
	return err;
}
