/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths are kept once for each call and errno; how often each thread used one is kept beside. Both
 * are limited, because a run may last for weeks: further paths count as PATTERNS_OTHER, and further
 * threads together, as thread 0.
 */
#include "record/path_calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "record/patterns.h"

#define MOST_PATHS 4096
#define MOST_USES  16384

/* The calls of one number that ended with one errno. */
struct outcome {
	uint32_t number;
	uint16_t error;
	size_t paths;
};

/* A path, in the order of their arrival. */
struct used_path {
	char *text; /* NULL: all that came after MOST_PATHS */
	size_t outcome;
	int64_t count;
	uint32_t place; /* among the paths of its outcome, while they are written */
};

/* How often a thread used a path. */
struct use {
	uint64_t thread;
	size_t path;
	int64_t count;
	uint64_t used_ns;
};

struct path_calls {
	struct recording *recording;
	struct outcome *outcomes;
	size_t outcome_count;
	struct used_path *paths;
	size_t path_count;
	struct use *uses;
	size_t use_count;
	struct map by_outcome, by_path, by_use; /* values: index + 1 */
	bool is_changed;
};

int path_calls__new(struct recording *recording, struct path_calls **ret)
{
	struct path_calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return -ENOMEM;
	calls->recording = recording;
	*ret = calls;
	return 0;
}

/* Maps a key to an index. SIZE_MAX if it has none yet. */
static size_t index_of(const struct map *map, uint64_t key)
{
	uintptr_t value = (uintptr_t)map__get(map, key);

	return value ? value - 1 : SIZE_MAX;
}

static int remember(struct map *map, uint64_t key, size_t index)
{
	return map__put(map, key, (void *)(index + 1));
}

static int find_outcome(struct path_calls *calls, uint32_t number, uint16_t error, size_t *ret)
{
	uint64_t key = map__mix(map__mix(0, number), error);
	size_t index = index_of(&calls->by_outcome, key);

	if (index == SIZE_MAX) {
		struct outcome *outcome = APPEND(&calls->outcomes, &calls->outcome_count);

		if (!outcome)
			return -ENOMEM;
		outcome->number = number;
		outcome->error = error;
		index = calls->outcome_count - 1;
		if (remember(&calls->by_outcome, key, index))
			return -ENOMEM;
	}
	*ret = index;
	return 0;
}

/* `text` is NULL for the path that stands for all further ones. */
static int find_path(struct path_calls *calls, size_t outcome, const char *text, size_t *ret)
{
	uint64_t key = map__mix(1, outcome);
	struct used_path *path;
	size_t index;

	for (const char *at = text; at && *at; at++)
		key = map__mix(key, (unsigned char)*at);
	index = index_of(&calls->by_path, key);
	if (index == SIZE_MAX && text && calls->path_count >= MOST_PATHS)
		return find_path(calls, outcome, NULL, ret);
	if (index == SIZE_MAX) {
		path = APPEND(&calls->paths, &calls->path_count);
		if (!path)
			return -ENOMEM;
		path->outcome = outcome;
		path->text = text ? strdup(text) : NULL;
		index = calls->path_count - 1;
		if ((text && !path->text) || remember(&calls->by_path, key, index))
			return -ENOMEM;
		calls->outcomes[outcome].paths += text != NULL;
	}
	*ret = index;
	return 0;
}

static int find_use(struct path_calls *calls, uint64_t thread, size_t path, struct use **ret)
{
	uint64_t key = map__mix(map__mix(2, thread), path);
	size_t index = index_of(&calls->by_use, key);
	struct use *use;

	if (index == SIZE_MAX && thread && calls->use_count >= MOST_USES)
		return find_use(calls, 0, path, ret);
	if (index == SIZE_MAX) {
		use = APPEND(&calls->uses, &calls->use_count);
		if (!use)
			return -ENOMEM;
		use->thread = thread;
		use->path = path;
		index = calls->use_count - 1;
		if (remember(&calls->by_use, key, index))
			return -ENOMEM;
	}
	*ret = &calls->uses[index];
	return 0;
}

/* Adds calls of a thread: `more` has its id, their count and their time. */
static int add(struct path_calls *calls, const struct outcome *of, const char *text,
	       const struct use *more)
{
	size_t outcome, path;
	struct use *use;
	int err = find_outcome(calls, of->number, of->error, &outcome);

	if (!err)
		err = find_path(calls, outcome, text, &path);
	if (!err)
		err = find_use(calls, more->thread, path, &use);
	if (err)
		return err;
	use->count += more->count;
	if (use->used_ns < more->used_ns)
		use->used_ns = more->used_ns;
	calls->paths[path].count += more->count;
	calls->is_changed = true;
	return 0;
}

#define ELLIPSIS "…"

/* Shows that a path that fills its field was cut. */
static void mark_cut(char text[LEDGER_PATH_BYTES])
{
	size_t end = LEDGER_PATH_BYTES - sizeof(ELLIPSIS);

	if (strlen(text) < LEDGER_PATH_BYTES - 1)
		return;
	while (end && (text[end] & 0xc0) == 0x80)
		end--; /* not inside a character */
	memcpy(text + end, ELLIPSIS, sizeof(ELLIPSIS));
}

int path_calls__take(struct path_calls *calls, const struct ledger_path_record *record)
{
	const struct outcome outcome = { record->number, record->error };
	const struct use use = { .thread = record->thread,
				 .count = (int64_t)record->weight,
				 .used_ns = record->head.time_ns };
	char text[LEDGER_PATH_BYTES];

	if (record->number >= LEDGER_SYSCALLS || !record->weight || record->weight >> 32 ||
	    !memchr(record->path, '\0', sizeof(record->path)))
		return -EBADMSG;
	memcpy(text, record->path, sizeof(text));
	mark_cut(text);
	utf8__sanitize(text);
	return add(calls, &outcome, text, &use);
}

static void release(struct path_calls *calls)
{
	for (size_t i = 0; i < calls->path_count; i++)
		free(calls->paths[i].text);
	free(calls->paths);
	free(calls->outcomes);
	free(calls->uses);
	map__release(&calls->by_outcome);
	map__release(&calls->by_path);
	map__release(&calls->by_use);
}

void path_calls__free(struct path_calls *calls)
{
	if (!calls)
		return;
	release(calls);
	free(calls);
}

int path_calls__forget(struct path_calls *calls, uint64_t before_ns)
{
	struct path_calls kept = { .recording = calls->recording, .is_changed = true };
	int err = 0;

	for (size_t i = 0; i < calls->use_count && !err; i++) {
		const struct use *use = &calls->uses[i];
		const struct used_path *path = &calls->paths[use->path];

		if (use->used_ns >= before_ns)
			err = add(&kept, &calls->outcomes[path->outcome], path->text, use);
	}
	if (err) {
		release(&kept);
		return err;
	}
	release(calls);
	*calls = kept;
	return 0;
}

/* The patterns of one outcome. */
static int fold(struct path_calls *calls, size_t outcome, struct patterns *ret)
{
	size_t count = calls->outcomes[outcome].paths, used = 0;
	cleanup(free_p) struct pattern_path *list = calloc(count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < calls->path_count && used < count; i++) {
		struct used_path *path = &calls->paths[i];

		if (path->outcome != outcome || !path->text)
			continue;
		path->place = (uint32_t)used;
		list[used++] = (struct pattern_path) { path->text, path->count };
	}
	return patterns__fold(list, used, ret);
}

static int write_outcome(struct path_calls *calls, size_t outcome, const struct patterns *patterns)
{
	int err = 0;

	for (size_t i = 0; i < calls->use_count && !err; i++) {
		const struct use *use = &calls->uses[i];
		const struct used_path *path = &calls->paths[use->path];
		const struct pattern *pattern = NULL;

		if (path->outcome != outcome)
			continue;
		if (path->text)
			pattern = &patterns->list[patterns->of[path->place]];
		err = recording__add_failed_path(
			calls->recording,
			&(struct recording_failed_path) {
				.thread = (int64_t)use->thread,
				.number = (int)calls->outcomes[outcome].number,
				.error = calls->outcomes[outcome].error,
				.pattern = pattern ? pattern->text : PATTERNS_OTHER,
				.count = use->count,
				.paths = pattern ? pattern->paths : 0 });
	}
	return err;
}

int path_calls__write(struct path_calls *calls)
{
	int err;

	if (!calls->is_changed)
		return 0;
	err = recording__drop_failed_paths(calls->recording);
	for (size_t i = 0; i < calls->outcome_count && !err; i++) {
		struct patterns patterns;

		err = fold(calls, i, &patterns);
		if (err)
			return err;
		err = write_outcome(calls, i, &patterns);
		patterns__release(&patterns);
	}
	calls->is_changed = err != 0;
	return err;
}
