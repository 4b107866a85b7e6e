/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fold/bucket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "fold/lexicon.h"

struct bucket {
	struct bucket_limits limits;
	struct bucket_row *rows;
	size_t count;
	struct map by_key;   /* hash of the key, or one of its successors: number of the row + 1 */
	struct map by_group; /* hash of workload and threads: the row with the lifetime + 1 */
	struct map sizes;    /* hash of what is counted: how many there are */
	struct map named;    /* hash of workload, slot and object: 1 */
	/* Workload: time in rows of the one that stands for others, without its lifetime so far. */
	struct map spilled;
	uint64_t folded;
};

/* What `sizes` counts. */
enum counted { COUNTED_GROUPS = 1, COUNTED_OBJECTS };

int bucket__new(const struct bucket_limits *limits, struct bucket **ret)
{
	struct bucket *bucket = calloc(1, sizeof(*bucket));

	if (!bucket)
		return -ENOMEM;
	bucket->limits = *limits;
	*ret = bucket;
	return 0;
}

void bucket__clear(struct bucket *bucket)
{
	map__release(&bucket->by_key);
	map__release(&bucket->by_group);
	map__release(&bucket->sizes);
	map__release(&bucket->named);
	map__release(&bucket->spilled);
	free(TAKE(bucket->rows));
	bucket->count = 0;
}

void bucket__free(struct bucket *bucket)
{
	if (!bucket)
		return;
	bucket__clear(bucket);
	free(bucket);
}

static uint64_t hash_of(const struct bucket_key *key)
{
	uint64_t hash = map__mix(map__mix(0, key->workload), (uintptr_t)key->threads);

	hash = map__mix(map__mix(hash, (uintptr_t)key->object), (uintptr_t)key->by_service);
	hash = map__mix(map__mix(hash, (uintptr_t)key->by_threads), key->slot);
	return map__mix(map__mix(hash, key->kind), key->evidence);
}

static uint64_t hash_of_group(uint64_t workload, const char *threads)
{
	return map__mix(map__mix(0, workload), (uintptr_t)threads);
}

static bool same_key(const struct bucket_key *a, const struct bucket_key *b)
{
	return a->workload == b->workload && a->threads == b->threads && a->object == b->object &&
	       a->by_service == b->by_service && a->by_threads == b->by_threads &&
	       a->slot == b->slot && a->kind == b->kind && a->evidence == b->evidence;
}

/* The row of the key, or NULL and in *ret_hash where it would be. */
static struct bucket_row *find(const struct bucket *bucket, const struct bucket_key *key,
			       uint64_t *ret_hash)
{
	uintptr_t number;

	*ret_hash = hash_of(key);
	for (; (number = (uintptr_t)map__get(&bucket->by_key, *ret_hash)); ++*ret_hash)
		if (same_key(&bucket->rows[number - 1].key, key))
			return &bucket->rows[number - 1];
	return NULL;
}

static int make(struct bucket *bucket, const struct bucket_key *key, uint64_t hash,
		struct bucket_row **ret)
{
	uint64_t group = hash_of_group(key->workload, key->threads);
	struct bucket_row *row = APPEND(&bucket->rows, &bucket->count);
	uintptr_t number = bucket->count;

	if (!row)
		return -ENOMEM;
	if (map__put(&bucket->by_key, hash, (void *)number) ||
	    (!map__get(&bucket->by_group, group) &&
	     map__put(&bucket->by_group, group, (void *)number))) {
		map__take(&bucket->by_key, hash);
		bucket->count--;
		return -ENOMEM;
	}
	row->key = *key;
	*ret = row;
	return 0;
}

/* Whether one more of them is allowed; if so, counts it. */
static int count_one(struct bucket *bucket, enum counted what, uint64_t of, size_t most,
		     bool *ret_fits)
{
	uint64_t hash = map__mix(map__mix(0, what), of);
	uintptr_t size = (uintptr_t)map__get(&bucket->sizes, hash);

	*ret_fits = size < most;
	return *ret_fits ? map__put(&bucket->sizes, hash, (void *)(size + 1)) : 0;
}

/* Only a group without a row is new. */
static int limit_groups(struct bucket *bucket, struct bucket_key *key)
{
	bool fits = true;
	int err = 0;

	if (!map__get(&bucket->by_group, hash_of_group(key->workload, key->threads)))
		err = count_one(bucket, COUNTED_GROUPS, key->workload, bucket->limits.most_groups,
				&fits);
	if (!fits)
		key->threads = LEXICON_OTHER;
	return err;
}

static int limit_objects(struct bucket *bucket, struct bucket_key *key)
{
	uint64_t place = map__mix(map__mix(0, key->workload), key->slot);
	uint64_t name = map__mix(place, (uintptr_t)key->object);
	bool fits = true;
	int err;

	if (!*key->object || map__get(&bucket->named, name))
		return 0;
	err = count_one(bucket, COUNTED_OBJECTS, place, bucket->limits.most_objects, &fits);
	if (!fits)
		key->object = LEXICON_OTHER;
	else if (!err)
		err = map__put(&bucket->named, name, (void *)1);
	return err;
}

static uint64_t other_of(const struct bucket *bucket)
{
	return bucket->limits.other_workload(bucket->limits.context);
}

static bool is_full(const struct bucket *bucket)
{
	return bucket->limits.other_workload && bucket->count >= bucket->limits.most_rows;
}

static void limit_rows(const struct bucket *bucket, struct bucket_key *key)
{
	size_t most = bucket->limits.most_rows;

	if (bucket->count < (bucket->limits.other_workload ? most - most / 4 : most))
		return;
	key->threads = LEXICON_OTHER;
	key->object = *key->object ? LEXICON_OTHER : key->object;
	key->by_service = key->by_threads = LEXICON_NONE;
	key->evidence = EVIDENCE_NONE;
}

static int find_or_make(struct bucket *bucket, const struct bucket_key *wish,
			struct bucket_row **ret)
{
	struct bucket_key key = *wish;
	uint64_t hash;
	int err;

	*ret = find(bucket, &key, &hash);
	if (*ret)
		return 0;
	err = limit_groups(bucket, &key);
	if (!err)
		err = limit_objects(bucket, &key);
	if (err)
		return err;
	limit_rows(bucket, &key);
	*ret = find(bucket, &key, &hash);
	if (!*ret && is_full(bucket)) {
		key.workload = other_of(bucket);
		key.object = LEXICON_NONE;
		*ret = find(bucket, &key, &hash);
	}
	bucket->folded += !same_key(&key, wish);
	return *ret ? 0 : make(bucket, &key, hash, ret);
}

static int note_spilled(struct bucket *bucket, uint64_t workload, uint64_t ns)
{
	uintptr_t before = (uintptr_t)map__get(&bucket->spilled, workload);

	return ns ? map__put(&bucket->spilled, workload, (void *)(before + ns)) : 0;
}

int bucket__add(struct bucket *bucket, const struct bucket_key *key, uint64_t ns, uint64_t count)
{
	struct bucket_row *row;
	int err = find_or_make(bucket, key, &row);

	if (err)
		return err;
	if (row->key.workload != key->workload)
		err = note_spilled(bucket, key->workload, ns);
	if (err)
		return err;
	row->ns += ns;
	row->count += count;
	return 0;
}

static uintptr_t number_of_other(const struct bucket *bucket)
{
	if (!bucket->limits.other_workload)
		return 0;
	return (uintptr_t)map__get(&bucket->by_group,
				   hash_of_group(other_of(bucket), LEXICON_OTHER));
}

/* The lifetime follows its rows into the workload that stands for others. Returns the rest. */
static uint64_t spill_life(struct bucket *bucket, uint64_t workload, uint64_t thread_ns)
{
	uintptr_t spilled = (uintptr_t)map__get(&bucket->spilled, workload);
	uint64_t part = spilled < thread_ns ? spilled : thread_ns;

	if (!part)
		return thread_ns;
	map__take(&bucket->spilled, workload);
	/* There is room for what was just taken. */
	if (spilled > part)
		(void)!map__put(&bucket->spilled, workload, (void *)(spilled - part));
	bucket->rows[number_of_other(bucket) - 1].thread_ns += part;
	return thread_ns - part;
}

int bucket__add_life(struct bucket *bucket, uint64_t workload, const char *threads,
		     uint64_t thread_ns, uint64_t unexplained_ns)
{
	uintptr_t number = (uintptr_t)map__get(&bucket->by_group, hash_of_group(workload, threads));

	if (!number)
		number = (uintptr_t)map__get(&bucket->by_group,
					     hash_of_group(workload, LEXICON_OTHER));
	thread_ns = spill_life(bucket, workload, thread_ns);
	if (!number)
		number = number_of_other(bucket);
	if (!number)
		return -ENOENT;
	bucket->rows[number - 1].thread_ns += thread_ns;
	bucket->rows[number - 1].unexplained_ns += unexplained_ns;
	return 0;
}

int bucket__move(struct bucket *bucket, const struct bucket_key *from, const struct bucket_key *to,
		 uint64_t ns, uint64_t count)
{
	uint64_t hash;
	struct bucket_row *row = find(bucket, from, &hash);

	if (!row || row->ns < ns || row->count < count)
		return 0; /* it was merged into "(other)" */
	/* Its lifetime is booked already, so it stays with its workload. */
	if (is_full(bucket) && !find(bucket, to, &hash)) {
		bucket->folded++;
		return 0;
	}
	row->ns -= ns;
	row->count -= count;
	return bucket__add(bucket, to, ns, count);
}

int bucket__merge(struct bucket *bucket, const struct bucket *from)
{
	int err = 0;

	for (size_t i = 0; i < from->count && !err; i++)
		err = bucket__add(bucket, &from->rows[i].key, from->rows[i].ns,
				  from->rows[i].count);
	for (size_t i = 0; i < from->count && !err; i++) {
		const struct bucket_row *row = &from->rows[i];

		if (row->thread_ns || row->unexplained_ns)
			err = bucket__add_life(bucket, row->key.workload, row->key.threads,
					       row->thread_ns, row->unexplained_ns);
	}
	return err;
}

const struct bucket_row *bucket__rows(const struct bucket *bucket, size_t *ret_count)
{
	*ret_count = bucket->count;
	return bucket->rows;
}

uint64_t bucket__folded(const struct bucket *bucket)
{
	return bucket->folded;
}

/* Differences modulo 2^64, so that they fit into the map's values. */
bool bucket__closes(const struct bucket *bucket)
{
	struct map differences = {};
	bool closes = true;

	for (size_t i = 0; i < bucket->count && closes; i++) {
		const struct bucket_row *row = &bucket->rows[i];
		uintptr_t now = (uintptr_t)map__get(&differences, row->key.workload);

		now += row->ns - row->thread_ns;
		if (now)
			closes = !map__put(&differences, row->key.workload, (void *)now);
		else
			map__take(&differences, row->key.workload);
	}
	closes = closes && !differences.count;
	map__release(&differences);
	return closes;
}
