/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/publish.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/map.h"

/* Limits per signal and recording. Beyond them, names are lost, and the losses are counted. */
#define MOST_SERIES  100000
#define MOST_OBJECTS 50000
#define MOST_EVENTS  100000
#define MOST_OWNED   20000

#define OTHER_NAME "other (too many to name)"

struct object {
	int64_t id;
	uint64_t used_ns;
	__u64 numbers[2];
};

struct publish {
	const struct signal *signal;
	int number;
	struct recording *recording;
	struct publish_finder finder;
	struct map series;        /* key: a hash of the series_key; value: the id */
	struct map distributions; /* key: a hash of place, operation and value; value: the id */
	struct map owned;         /* key: a hash of thread, place and operation */
	bool has_forgotten;
	struct map objects;
	int64_t last_series, last_distribution;
	int64_t other; /* the id of the object beyond MOST_OBJECTS; 0: not created yet */
	int64_t from, to;
	uint64_t events;
	struct publish_quality quality;
};

DEFINE_CLEANUP(struct publish *, publish__free)

static int describe(struct publish *publish)
{
	const struct signal *signal = publish->signal;
	int err = recording__add_signal(
		publish->recording,
		&(struct recording_signal) { .id = publish->number,
					     .name = signal->name,
					     .about = signal->about,
					     .events = signal->events,
					     .role = roles__name(signal->role) });

	for (size_t i = 0; i < signal__values(signal) && !err; i++)
		err = recording__add_measure(publish->recording, publish->number, (int)i,
					     signal->measures[i].name, signal->measures[i].unit);
	return err;
}

int publish__new(const struct signal *signal, int number, struct recording *recording,
		 struct publish **ret)
{
	cleanup(publish__free_p) struct publish *publish = calloc(1, sizeof(*publish));
	int err;

	if (!publish)
		return -ENOMEM;
	publish->signal = signal;
	publish->number = number;
	publish->recording = recording;
	/* All signals share one table of ids; each signal has a range of its own. */
	publish->last_series = publish->last_distribution = (int64_t)number << 32;
	err = describe(publish);
	if (!err)
		*ret = TAKE(publish);
	return err;
}

void publish__free(struct publish *publish)
{
	struct object *object;
	size_t at = 0;

	if (!publish)
		return;
	while ((object = map__next(&publish->objects, &at)))
		free(object);
	map__release(&publish->series);
	map__release(&publish->distributions);
	map__release(&publish->objects);
	map__release(&publish->owned);
	free(publish);
}

void publish__set_finder(struct publish *publish, const struct publish_finder *finder)
{
	publish->finder = *finder;
}

struct sweep {
	struct publish *publish;
	uint64_t before_ns;
	struct bpf_object *half;
	int err; /* the first error */
};

static bool forget_object(void *context, uint64_t key, void *value)
{
	struct sweep *sweep = context;
	const struct signal *signal = sweep->publish->signal;
	struct object *object = value;
	int err;

	if (object->used_ns >= sweep->before_ns ||
	    (signal->forget_object && !signal->forget_object(sweep->half, object->numbers)))
		return false;
	err = recording__drop(sweep->publish->recording, RECORDING_DROP_OBJECT, object->id);
	if (!sweep->err)
		sweep->err = err;
	free(object);
	return true;
}

int publish__forget(struct publish *publish, uint64_t before_ns, struct bpf_object *half)
{
	struct sweep sweep = { publish, before_ns, half, 0 };

	map__release(&publish->series);
	map__release(&publish->owned);
	publish->has_forgotten = true;
	publish->events = 0;
	map__sweep(&publish->objects, forget_object, &sweep);
	return sweep.err;
}

void publish__slices(struct publish *publish, int64_t from, int64_t to)
{
	publish->from = from;
	publish->to = to;
}

struct publish_quality publish__quality(const struct publish *publish)
{
	return publish->quality;
}

static int64_t known(const struct map *map, uint64_t hash)
{
	return (int64_t)(uintptr_t)map__get(map, hash);
}

static int remember(struct map *map, uint64_t hash, int64_t id)
{
	return map__put(map, hash, (void *)(uintptr_t)id);
}

/* The id of the object that stands for all objects beyond MOST_OBJECTS. */
static int other_object(struct publish *publish, int64_t *ret)
{
	int err = 0;

	if (!publish->other) {
		publish->other = recording__next_object(publish->recording);
		err = recording__put_object(
			publish->recording,
			&(struct recording_object) { publish->other, "other", OTHER_NAME });
	}
	*ret = publish->other;
	return err;
}

/* NULL: the object is new, and the limit is reached or memory is exhausted. */
static struct object *find_object(struct publish *publish, const __u64 numbers[2])
{
	uint64_t hash = map__mix(map__mix(0, numbers[0]), numbers[1]);
	struct object *object = map__get(&publish->objects, hash);

	if (!object && publish->objects.count < MOST_OBJECTS) {
		object = calloc(1, sizeof(*object));
		if (!object || map__put(&publish->objects, hash, object)) {
			free(object);
			return NULL;
		}
		object->numbers[0] = numbers[0];
		object->numbers[1] = numbers[1];
	}
	if (object)
		object->used_ns = clock__now_ns();
	return object;
}

static int ledger_object_id(struct publish *publish, uint32_t operation, const __u64 numbers[2],
			    int64_t *ret)
{
	uint32_t kind = publish->signal->ledger_object(operation);

	return publish->finder.find
		       ? publish->finder.find(publish->finder.context, kind, numbers, ret)
		       : 0;
}

/* `name`: NULL if only the object's numbers are known. */
static int object_id(struct publish *publish, uint32_t operation, const __u64 numbers[2],
		     const char *kind, const char *name, int64_t *ret)
{
	struct object *object;
	char text[128];

	*ret = 0;
	if (!numbers[0] && !numbers[1])
		return 0;
	if (publish->signal->ledger_object)
		return ledger_object_id(publish, operation, numbers, ret);
	object = find_object(publish, numbers);
	if (!object)
		return other_object(publish, ret);
	*ret = object->id;
	if (object->id && !name)
		return 0;
	if (!object->id)
		*ret = object->id = recording__next_object(publish->recording);
	if (!name && publish->signal->object)
		publish->signal->object(numbers, text, sizeof(text));
	else if (!name)
		snprintf(text, sizeof(text), "%#llx:%#llx", numbers[0], numbers[1]);
	return recording__put_object(
		publish->recording,
		&(struct recording_object) { *ret, kind ? kind : publish->signal->object_kind,
					     name ? name : text });
}

static const char *operation_name(const struct publish *publish, uint32_t operation)
{
	const char *name = NULL;

	if (operation == SERIES_OTHER)
		return "other";
	if (publish->signal->operation)
		name = publish->signal->operation(operation);
	return name ? name : "";
}

static void place_name(const struct publish *publish, uint32_t place, char *ret, size_t size)
{
	*ret = '\0';
	if (place && publish->signal->place)
		publish->signal->place(place, ret, size);
}

static uint64_t hash_of(const struct series_key *key)
{
	uint64_t hash = map__mix(map__mix(0, key->thread), key->object[0]);

	hash = map__mix(map__mix(hash, key->object[1]), key->place);
	return map__mix(hash, (uint64_t)key->operation << 16 | key->error);
}

static int new_series(struct publish *publish, const struct series_key *key, uint64_t hash,
		      int64_t *ret)
{
	char place[128];
	struct recording_series row = {
		.id = ++publish->last_series,
		.signal = publish->number,
		.thread = (int64_t)key->thread,
		.place = place,
		.operation = operation_name(publish, key->operation),
		.error = key->error,
	};
	int err = object_id(publish, key->operation, key->object, NULL, NULL, &row.object);

	if (row.object && row.object == publish->other)
		publish->quality.unnamed++;
	place_name(publish, key->place, place, sizeof(place));
	if (!err)
		err = remember(&publish->series, hash, row.id);
	*ret = row.id;
	return err ? err : recording__add_series(publish->recording, &row);
}

/* Its object is still in use. */
static int mark_used(struct publish *publish, const struct series_key *key)
{
	int64_t ignored;

	if (!key->object[0] && !key->object[1])
		return 0;
	if (publish->signal->ledger_object)
		return ledger_object_id(publish, key->operation, key->object, &ignored);
	find_object(publish, key->object);
	return 0;
}

/* Beyond MOST_SERIES, the sum is kept without its object and thread. */
static int series_id(struct publish *publish, const struct series_key *key, int64_t *ret)
{
	struct series_key less = *key;
	uint64_t hash = hash_of(&less);

	*ret = known(&publish->series, hash);
	if (*ret)
		return mark_used(publish, key);
	if (publish->series.count >= MOST_SERIES) {
		publish->quality.unnamed++;
		less.object[0] = less.object[1] = 0;
		less.thread = 0;
		hash = hash_of(&less);
		*ret = known(&publish->series, hash);
		if (*ret)
			return 0;
	}
	return new_series(publish, &less, hash, ret);
}

int publish__sum(void *context, const struct series_key *key, const struct series_sum *sum)
{
	struct publish *publish = context;
	struct recording_sum row = { .from = publish->from,
				     .to = publish->to,
				     .count = (int64_t)sum->count };
	int err = series_id(publish, key, &row.series);

	for (int i = 0; i < SERIES_VALUES; i++) {
		row.sum[i] = (int64_t)sum->sum[i];
		row.max[i] = (int64_t)sum->max[i];
	}
	return err ? err : recording__add_sum(publish->recording, &row);
}

static int distribution_id(struct publish *publish, const struct series_place *place,
			   uint32_t value, int64_t *ret)
{
	uint64_t hash = map__mix(map__mix(map__mix(0, place->place), place->operation), value);
	char name[128];
	int err;

	*ret = known(&publish->distributions, hash);
	if (*ret)
		return 0;
	*ret = ++publish->last_distribution;
	place_name(publish, place->place, name, sizeof(name));
	err = remember(&publish->distributions, hash, *ret);
	return err ? err
		   : recording__add_distribution(
			     publish->recording,
			     &(struct recording_distribution) {
				     .id = *ret,
				     .signal = publish->number,
				     .measure = (int)value,
				     .place = name,
				     .operation = operation_name(publish, place->operation) });
}

int publish__bucket(void *context, const struct series_place *place, uint32_t value,
		    uint32_t bucket, uint32_t added)
{
	struct publish *publish = context;
	int64_t id;
	int err = distribution_id(publish, place, value, &id);

	return err ? err
		   : recording__add_distributed(publish->recording, id, (int)bucket, publish->from,
						publish->to, added);
}

/* Whether there is room for the distribution of this thread. */
static bool is_kept(struct publish *publish, const struct series_owned *owned)
{
	uint64_t hash =
		map__mix(map__mix(map__mix(0, owned->thread), owned->place), owned->operation);

	if (publish->has_forgotten)
		return false;
	return known(&publish->owned, hash) ||
	       (publish->owned.count < MOST_OWNED && !remember(&publish->owned, hash, 1));
}

int publish__owned(void *context, const struct series_owned *owned, uint64_t count)
{
	const struct series_place place = { owned->place, owned->operation };
	struct publish *publish = context;
	int64_t id;
	int err;

	if (!is_kept(publish, owned))
		return 0;
	err = distribution_id(publish, &place, 0, &id);
	return err ? err
		   : recording__add_owned(publish->recording, id, (int64_t)owned->thread,
					  owned->bucket, (int64_t)count);
}

static char *fields_of(const struct signal *signal, const struct event *event)
{
	json_t *fields = json_object();
	char *text;

	for (size_t i = 0; signal->columns[i].name; i++) {
		const struct value *value = &event->values[i];
		bool is_text = signal->columns[i].kind == COLUMN_TEXT;

		json_object_set_new(fields, signal->columns[i].name,
				    value->none ? json_null()
				    : is_text   ? json__text(value->text ? value->text : "")
						: json_integer((json_int_t)value->number));
	}
	text = json_dumps(fields, JSON_COMPACT);
	json_decref(fields);
	return text;
}

int publish__event(struct publish *publish, const struct event *event, int64_t stack)
{
	cleanup(free_p) char *fields = NULL;
	char place[128];
	struct recording_event row = {
		.signal = publish->number,
		.time_ns = (int64_t)event->time_ns,
		.duration_ns = (int64_t)event->duration_ns,
		.thread = (int64_t)event->thread,
		.place = place,
		.operation = operation_name(publish, event->operation),
		.error = event->error,
		.stack = stack,
	};
	int err = object_id(publish, event->operation, event->object, event->object_kind,
			    event->object_name, &row.object);

	if (err || event->kind == EVENT_NAMES)
		return err;
	if (publish->events++ >= MOST_EVENTS) {
		publish->quality.events_over++;
		return 0;
	}
	place_name(publish, event->place, place, sizeof(place));
	row.fields = fields = fields_of(publish->signal, event);
	return fields ? recording__add_event(publish->recording, &row) : -ENOMEM;
}
