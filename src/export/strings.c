#include "export/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* FNV-1a. */
static uint64_t hash(const char *text)
{
	uint64_t sum = 0xcbf29ce484222325;

	while (*text)
		sum = (sum ^ (unsigned char)*text++) * 0x100000001b3;
	return sum;
}

static int grow(struct strings *strings)
{
	size_t capacity = strings->capacity ? strings->capacity * 2 : 64;
	struct strings_entry *entries;

	if (strings->count < strings->capacity)
		return 0;
	if (capacity > UINT32_MAX)
		return -ENOMEM;
	entries = reallocarray(strings->entries, capacity, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	strings->entries = entries;
	strings->capacity = capacity;
	return 0;
}

int strings__add(struct strings *strings, const char *text, uint32_t *ret)
{
	cleanup(free_p) char *copy = NULL;
	uint64_t key = hash(text);
	uintptr_t first = (uintptr_t)map__get(&strings->by_hash, key);
	uint32_t at = first ? (uint32_t)first - 1 : UINT32_MAX;
	int err;

	for (; at != UINT32_MAX; at = strings->entries[at].next) {
		if (!strcmp(strings->entries[at].text, text)) {
			*ret = at;
			return 0;
		}
	}
	err = grow(strings);
	copy = strdup(text);
	if (err || !copy)
		return -ENOMEM;
	err = map__put(&strings->by_hash, key, (void *)(uintptr_t)(strings->count + 1));
	if (err)
		return err;
	*ret = (uint32_t)strings->count;
	strings->entries[strings->count++] = (struct strings_entry) {
		.text = TAKE(copy),
		.next = first ? (uint32_t)first - 1 : UINT32_MAX,
	};
	return 0;
}

void strings__release(struct strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		free(strings->entries[i].text);
	free(strings->entries);
	map__release(&strings->by_hash);
	*strings = (struct strings) {};
}
