/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Items are merged step by step; each path follows its item (struct item.merged_into).
 *
 *   1. numbers         paths that differ only in numbers; two are enough
 *   2. one component   paths that differ in one component only: FEW_FOLDERS folders or FEW_NAMES
 *                      names. Again while there are more than PATTERNS_MOST patterns
 *   3. folders         the same name in FEW_FOLDERS folders of any depth
 */
#include "record/patterns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/numbers.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define FEW_NUMBERS     2
#define FEW_FOLDERS     4
#define FEW_NAMES       8
#define MOST_ROUNDS     4
#define MOST_COMPONENTS 32
#define TEXT_BYTES      512

struct item {
	char *text; /* NULL: merged into another item */
	int64_t count, paths;
	uint32_t merged_into;
	bool is_changed; /* in this round: it is no longer what its other groups have in common */
};

/* Items that would become the same pattern if `hole` (a component) became a star. */
struct candidate {
	uint64_t key;
	uint32_t item;
	uint32_t hole;
	uint32_t size; /* number of items with this key */
};

struct folding {
	struct item *items;
	size_t count, alive;
	struct candidate *candidates;
	size_t candidate_count;
};

static uint64_t hash_bytes(const char *bytes, size_t size, uint64_t hash)
{
	for (size_t i = 0; i < size; i++)
		hash = map__mix(hash, (unsigned char)bytes[i]);
	return hash;
}

/* Replaces each number by a star, to find paths that differ in numbers only. */
static uint64_t hash_without_numbers(const char *path)
{
	uint64_t hash = 1;
	bool is_number;

	for (size_t length; *path; path += length) {
		length = numbers__token(path, &is_number);
		hash = is_number ? hash_bytes("*", 1, hash) : hash_bytes(path, length, hash);
	}
	return hash;
}

/* The text of `a` with a star for each number that differs in `b`. */
static void join_numbers(const char *a, const char *b, char ret[TEXT_BYTES])
{
	struct strbuf to = { ret, TEXT_BYTES };
	size_t a_length, b_length;
	bool is_number;

	*ret = '\0';
	for (; *a && *b; a += a_length, b += b_length) {
		a_length = numbers__token(a, &is_number);
		b_length = numbers__token(b, &is_number);
		if (a_length == b_length && !strncmp(a, b, a_length))
			strbuf__add(&to, "%.*s", (int)a_length, a);
		else
			strbuf__add(&to, "*");
	}
}

/* Splits at slashes: the begin of each component, and the end of the last one. */
static size_t split(const char *text, const char *ret[MOST_COMPONENTS + 1])
{
	size_t count = 0;

	ret[count++] = text;
	for (; *text; text++)
		if (*text == '/' && count < MOST_COMPONENTS)
			ret[count++] = text + 1;
	ret[count] = text + 1;
	return count;
}

static bool add_candidate(struct folding *folding, uint64_t key, size_t item, size_t hole)
{
	struct candidate *candidate = APPEND(&folding->candidates, &folding->candidate_count);

	if (!candidate)
		return false;
	*candidate =
		(struct candidate) { .key = key, .item = (uint32_t)item, .hole = (uint32_t)hole };
	return true;
}

static int by_key(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

/* The largest groups first; a group stays together. */
static int by_size(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->size != y->size ? (x->size > y->size ? -1 : 1) : by_key(a, b);
}

static void sort_candidates(struct folding *folding)
{
	struct candidate *list = folding->candidates;

	if (!folding->candidate_count)
		return;
	qsort(list, folding->candidate_count, sizeof(*list), by_key);
	for (size_t i = 0, end; i < folding->candidate_count; i = end) {
		for (end = i + 1; end < folding->candidate_count && list[end].key == list[i].key;)
			end++;
		for (size_t j = i; j < end; j++)
			list[j].size = (uint32_t)(end - i);
	}
	qsort(list, folding->candidate_count, sizeof(*list), by_size);
}

/* Adds what two words have in common: their begin, a star, and their end. */
static void add_common(struct strbuf *to, const char *a, size_t a_length, const char *b,
		       size_t b_length)
{
	size_t most = a_length < b_length ? a_length : b_length, begin = 0, end = 0;

	while (begin < most && a[begin] == b[begin])
		begin++;
	while (end < most - begin && a[a_length - 1 - end] == b[b_length - 1 - end])
		end++;
	/* Do not leave a star beside a star. */
	while (begin && a[begin - 1] == '*')
		begin--;
	while (end && a[a_length - end] == '*')
		end--;
	strbuf__add(to, "%.*s*%.*s", (int)begin, a, (int)end, a + a_length - end);
}

/* The text of `a` with the component `hole` joined with that of `b`. */
static void join(const char *a, const char *b, size_t hole, char ret[TEXT_BYTES])
{
	const char *a_parts[MOST_COMPONENTS + 1], *b_parts[MOST_COMPONENTS + 1];
	struct strbuf to = { ret, TEXT_BYTES };

	split(a, a_parts);
	split(b, b_parts);
	strbuf__add(&to, "%.*s", (int)(a_parts[hole] - a), a);
	add_common(&to, a_parts[hole], (size_t)(a_parts[hole + 1] - a_parts[hole] - 1),
		   b_parts[hole], (size_t)(b_parts[hole + 1] - b_parts[hole] - 1));
	strbuf__add(&to, "%s", a_parts[hole + 1] - 1);
}

/* The folders that `a` and `b` have in common, then any folders, then the name of `a`. */
static void join_folders(const char *a, const char *b, char ret[TEXT_BYTES])
{
	const char *name = strrchr(a, '/');
	size_t same = 0;

	for (size_t i = 0; a[i] && a[i] == b[i] && a + i <= name; i++)
		if (a[i] == '/')
			same = i + 1;
	/* The common part may end with the stars of an earlier step. */
	if (same >= 3 && !strncmp(a + same - 3, "**/", 3))
		same -= 3;
	snprintf(ret, TEXT_BYTES, "%.*s**%s", (int)same, a, name);
}

#define HOLE_NUMBERS 1000
#define HOLE_FOLDERS 1001

static void join_at(const char *a, const char *b, size_t hole, char ret[TEXT_BYTES])
{
	if (hole == HOLE_NUMBERS)
		join_numbers(a, b, ret);
	else if (hole == HOLE_FOLDERS)
		join_folders(a, b, ret);
	else
		join(a, b, hole, ret);
}

static bool can_merge(const struct item *item)
{
	return item->text && !item->is_changed;
}

/* Merges the items of a group into the first of them that no other group has changed. */
static int merge(struct folding *folding, const struct candidate *group, uint32_t few)
{
	struct item *to = NULL, *items = folding->items;
	char text[TEXT_BYTES];
	uint32_t alive = 0;

	for (uint32_t i = 0; i < group->size; i++)
		alive += can_merge(&items[group[i].item]);
	for (uint32_t i = 0; i < group->size && alive >= few; i++) {
		struct item *item = &items[group[i].item];

		if (!can_merge(item))
			continue;
		if (!to) {
			to = item;
			continue;
		}
		join_at(to->text, item->text, group->hole, text);
		free(to->text);
		to->text = strdup(text);
		if (!to->text)
			return -ENOMEM;
		to->count += item->count;
		to->paths += item->paths;
		item->merged_into = (uint32_t)(to - items);
		free(item->text);
		item->text = NULL;
		folding->alive--;
	}
	if (to)
		to->is_changed = true;
	return 0;
}

/* Whether the items of a group differ in the last component. */
static bool is_at_end(const struct folding *folding, const struct candidate *group)
{
	const char *parts[MOST_COMPONENTS + 1];

	for (uint32_t i = 0; i < group->size; i++) {
		const char *text = folding->items[group[i].item].text;

		if (text)
			return group->hole + 1 == split(text, parts);
	}
	return false;
}

static int merge_groups(struct folding *folding, uint32_t few, uint32_t few_at_end)
{
	int err = 0;

	for (size_t i = 0; i < folding->count; i++)
		folding->items[i].is_changed = false;
	sort_candidates(folding);
	for (size_t i = 0; i < folding->candidate_count && !err;) {
		const struct candidate *group = &folding->candidates[i];

		err = merge(folding, group, is_at_end(folding, group) ? few_at_end : few);
		i += group->size;
	}
	free(folding->candidates);
	folding->candidates = NULL;
	folding->candidate_count = 0;
	return err;
}

static int fold_numbers(struct folding *folding)
{
	for (size_t i = 0; i < folding->count; i++)
		if (!add_candidate(folding, hash_without_numbers(folding->items[i].text), i,
				   HOLE_NUMBERS))
			return -ENOMEM;
	return merge_groups(folding, FEW_NUMBERS, FEW_NUMBERS);
}

static int fold_components(struct folding *folding)
{
	for (size_t i = 0; i < folding->count; i++) {
		const char *parts[MOST_COMPONENTS + 1], *text = folding->items[i].text;
		size_t count = text ? split(text, parts) : 0, length = text ? strlen(text) : 0;

		for (size_t hole = 0; hole < count; hole++) {
			uint64_t key = map__mix(map__mix(2, count), hole);
			size_t after = (size_t)(parts[hole + 1] - text) - 1;

			if (parts[hole + 1] - parts[hole] == 1)
				continue; /* the empty component before the first slash */
			key = hash_bytes(text, (size_t)(parts[hole] - text), key);
			key = hash_bytes(text + after, length - after, map__mix(key, 0));
			if (!add_candidate(folding, key, i, hole))
				return -ENOMEM;
		}
	}
	return merge_groups(folding, FEW_FOLDERS, FEW_NAMES);
}

static int fold_folders(struct folding *folding)
{
	for (size_t i = 0; i < folding->count; i++) {
		const char *text = folding->items[i].text, *name = text ? strrchr(text, '/') : NULL;

		if (name &&
		    !add_candidate(folding, hash_bytes(name, strlen(name), 3), i, HOLE_FOLDERS))
			return -ENOMEM;
	}
	return merge_groups(folding, FEW_FOLDERS, FEW_FOLDERS);
}

static int fold(struct folding *folding)
{
	int err = fold_numbers(folding);

	for (int i = 0; i < MOST_ROUNDS && !err; i++) {
		size_t before = folding->alive;

		if (i && folding->alive <= PATTERNS_MOST)
			break;
		err = fold_components(folding);
		if (folding->alive == before)
			break;
	}
	return err ? err : fold_folders(folding);
}

static int by_count(const void *a, const void *b)
{
	const struct item *const *x = a, *const *y = b;

	if ((*x)->count != (*y)->count)
		return (*x)->count > (*y)->count ? -1 : 1;
	return strcmp((*x)->text, (*y)->text);
}

static uint32_t last_of(const struct item *items, uint32_t at)
{
	while (!items[at].text)
		at = items[at].merged_into;
	return at;
}

/* Puts the most frequent items into ret->list. `places` gets the place of each item in it. */
static int choose(const struct folding *folding, uint32_t *places, struct patterns *ret)
{
	cleanup(free_p) struct item **order = calloc(folding->alive + 1, sizeof(*order));
	size_t alive = 0;

	ret->list = calloc(PATTERNS_MOST + 1, sizeof(*ret->list));
	if (!order || !ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < folding->count; i++)
		if (folding->items[i].text)
			order[alive++] = &folding->items[i];
	qsort(order, alive, sizeof(struct item *), by_count);
	for (size_t i = 0; i < alive; i++) {
		size_t at = i < PATTERNS_MOST ? i : PATTERNS_MOST;
		struct pattern *pattern = &ret->list[at];

		if (!pattern->text)
			pattern->text = strdup(i < PATTERNS_MOST ? order[i]->text : PATTERNS_OTHER);
		if (!pattern->text)
			return -ENOMEM;
		pattern->count += order[i]->count;
		pattern->paths += order[i]->paths;
		places[order[i] - folding->items] = (uint32_t)at;
		ret->count = at + 1;
	}
	return 0;
}

static void release(struct folding *folding)
{
	for (size_t i = 0; folding->items && i < folding->count; i++)
		free(folding->items[i].text);
	free(folding->items);
	free(folding->candidates);
}

static int fill(struct folding *folding, const struct pattern_path *paths)
{
	for (size_t i = 0; i < folding->count; i++) {
		struct item *item = &folding->items[i];

		*item = (struct item) { strndup(paths[i].path, TEXT_BYTES - 1), paths[i].count, 1 };
		if (!item->text)
			return -ENOMEM;
	}
	folding->alive = folding->count;
	return fold(folding);
}

int patterns__fold(const struct pattern_path *paths, size_t count, struct patterns *ret)
{
	struct folding folding = { .items = calloc(count + 1, sizeof(struct item)),
				   .count = count };
	cleanup(free_p) uint32_t *places = calloc(count + 1, sizeof(*places));
	struct patterns patterns = { .of = calloc(count + 1, sizeof(*patterns.of)) };
	int err = folding.items && places && patterns.of ? fill(&folding, paths) : -ENOMEM;

	if (!err)
		err = choose(&folding, places, &patterns);
	for (size_t i = 0; i < count && !err; i++)
		patterns.of[i] = places[last_of(folding.items, (uint32_t)i)];
	release(&folding);
	if (err)
		patterns__release(&patterns);
	else
		*ret = patterns;
	return err;
}

void patterns__release(struct patterns *patterns)
{
	for (size_t i = 0; patterns->list && i < PATTERNS_MOST + 1; i++)
		free(patterns->list[i].text);
	free(patterns->list);
	free(patterns->of);
	*patterns = (struct patterns) {};
}
