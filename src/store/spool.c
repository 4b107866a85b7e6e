/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/spool_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define MOST_BYTES      (64u << 20)
#define MOST_MEMORY     (4u << 20)
#define MEMORY_MINUTES  10
#define MOST_FILE_BYTES (2u * BATCH_MOST_BYTES)

/* The first entry that is not before the id. */
static size_t position(const struct spool *spool, const struct batch_id *id)
{
	size_t low = 0, high = spool->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (batch__compare(&spool->entries[middle].id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct spool_entry *spool__find(struct spool *spool, const struct batch_id *id)
{
	size_t at = position(spool, id);

	if (at == spool->count || batch__compare(&spool->entries[at].id, id) != 0)
		return NULL;
	return &spool->entries[at];
}

static int insert(struct spool *spool, const struct spool_entry *entry)
{
	size_t at = position(spool, &entry->id);

	if (at < spool->count && !batch__compare(&spool->entries[at].id, &entry->id))
		return -EEXIST;
	if (spool->count == spool->room) {
		size_t room = spool->room ? spool->room * 2 : 64;
		void *grown = reallocarray(spool->entries, room, sizeof(*spool->entries));

		if (!grown)
			return -ENOMEM;
		spool->entries = grown;
		spool->room = room;
	}
	memmove(&spool->entries[at + 1], &spool->entries[at],
		(spool->count - at) * sizeof(*spool->entries));
	spool->entries[at] = *entry;
	spool->count++;
	spool->bytes += entry->bytes;
	if (entry->content)
		spool->memory_bytes += entry->bytes;
	return 0;
}

/* The file is the caller's business. */
static void forget(struct spool *spool, struct spool_entry *entry)
{
	size_t at = (size_t)(entry - spool->entries);

	spool->bytes -= entry->bytes;
	if (entry->content)
		spool->memory_bytes -= entry->bytes;
	free(entry->content);
	spool->count--;
	memmove(entry, entry + 1, (spool->count - at) * sizeof(*entry));
}

static void drop(struct spool *spool, struct spool_entry *entry)
{
	spool__delete_file(spool, entry);
	spool->totals.dropped++;
	spool->totals.dropped_bytes += entry->bytes;
	forget(spool, entry);
}

/* The oldest that is not being sent; of those in memory only, if `in_memory`. */
static struct spool_entry *oldest(struct spool *spool, bool in_memory)
{
	for (size_t i = 0; i < spool->count; i++)
		if (!spool->entries[i].is_busy && (!in_memory || spool->entries[i].content))
			return &spool->entries[i];
	return NULL;
}

static void keep_limits(struct spool *spool)
{
	uint64_t newest_s = spool->count ? spool->entries[spool->count - 1].id.minute_s : 0;
	uint64_t kept_s = (uint64_t)spool->limits.memory_minutes * 60;
	struct spool_entry *entry;

	while (spool->bytes > spool->limits.most_bytes && (entry = oldest(spool, false)))
		drop(spool, entry);
	while (spool->memory_bytes && (entry = oldest(spool, true)) &&
	       (spool->memory_bytes > spool->limits.most_memory_bytes ||
		entry->id.minute_s + kept_s <= newest_s))
		drop(spool, entry);
}

/* Batches that are in memory because the disk was full: try again. */
static void flush_memory(struct spool *spool)
{
	for (size_t i = 0; spool->memory_bytes && i < spool->count; i++) {
		struct spool_entry *entry = &spool->entries[i];

		if (!entry->content)
			continue;
		entry->named_s = entry->tried_s;
		if (spool__write_file(spool, entry, entry->content))
			return;
		free(TAKE(entry->content));
		spool->memory_bytes -= entry->bytes;
	}
}

static void set_aside(struct spool *spool, struct spool_entry *entry)
{
	spool__move_aside(spool, entry);
	forget(spool, entry);
}

/* --- opening --- */

static int add_file(struct spool *spool, const char *name)
{
	struct spool_entry entry = { 0 };
	struct stat about;
	int err;

	if (name[0] == '.' || !strcmp(name, SPOOL_LOCK) || !strcmp(name, SPOOL_ASIDE))
		return 0;
	/* The agent was killed while it wrote. */
	if (!strcmp(name, SPOOL_TEMPORARY)) {
		unlinkat(spool->folder, name, 0);
		spool->totals.corrupt++;
		return 0;
	}
	if (batch__parse_name(name, &entry.id, &entry.tried_s) ||
	    fstatat(spool->folder, name, &about, AT_SYMLINK_NOFOLLOW) || !S_ISREG(about.st_mode)) {
		spool->totals.foreign++;
		return 0;
	}
	entry.named_s = entry.tried_s;
	/* On a read-only disk, what was stored could neither be renamed nor deleted. */
	if (spool->lock < 0 && !entry.tried_s)
		entry.tried_s = entry.id.minute_s;
	entry.is_unknown = entry.tried_s != 0;
	entry.bytes = (uint64_t)about.st_size;
	err = insert(spool, &entry);
	if (err == -ENOMEM)
		return err;
	if (err)
		spool->totals.foreign++;
	else if (entry.bytes > MOST_FILE_BYTES) {
		spool->totals.corrupt++;
		set_aside(spool, spool__find(spool, &entry.id));
	}
	return 0;
}

static int scan(struct spool *spool)
{
	cleanup(closedir_p) DIR *dir = NULL;
	int fd = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	const struct dirent *entry;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		spool->totals.error = -errno;
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!err && (entry = readdir(dir)))
		err = add_file(spool, entry->d_name);
	return err;
}

static void spool_free_p(struct spool **spool)
{
	spool__free(*spool);
}

int spool__open(const struct spool_options *options, struct spool **ret)
{
	cleanup(spool_free_p) struct spool *spool = calloc(1, sizeof(*spool));
	int err;

	if (!spool)
		return -ENOMEM;
	spool->lock = -1;
	spool->limits = *options;
	spool->limits.most_bytes = options->most_bytes ?: MOST_BYTES;
	spool->limits.most_memory_bytes = options->most_memory_bytes ?: MOST_MEMORY;
	spool->limits.memory_minutes = options->memory_minutes ?: MEMORY_MINUTES;
	if (mkdir(options->folder, 0700) && errno != EEXIST)
		spool->totals.error = -errno;
	spool->folder = open(options->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool->folder < 0) {
		spool->totals.error = -errno;
	} else {
		err = spool__lock(spool);
		if (!err) {
			spool__measure_aside(spool);
			err = scan(spool);
		}
		if (err)
			return err;
		keep_limits(spool);
	}
	*ret = TAKE(spool);
	return 0;
}

void spool__free(struct spool *spool)
{
	if (!spool)
		return;
	flush_memory(spool);
	for (size_t i = 0; i < spool->count; i++)
		free(spool->entries[i].content);
	free(spool->entries);
	close_p(&spool->lock);
	close_p(&spool->folder);
	free(spool);
}

/* --- batches --- */

int spool__put(struct spool *spool, const struct batch_id *id, void *content, size_t bytes)
{
	cleanup(free_p) void *owned = content;
	struct spool_entry entry = { .id = *id, .bytes = bytes };
	int err = spool__find(spool, id) ? -EEXIST : 0;

	if (!err && spool__write_file(spool, &entry, content))
		entry.content = content;
	err = err ?: insert(spool, &entry);
	if (err) {
		spool->totals.dropped++;
		spool->totals.dropped_bytes += bytes;
		return err;
	}
	if (entry.content)
		TAKE(owned);
	else
		flush_memory(spool);
	keep_limits(spool);
	return 0;
}

static bool is_same_minute(const struct batch_id *id, const struct batch_id *other)
{
	struct batch_id like = *other;

	like.part = id->part;
	return !batch__compare(id, &like);
}

/* The first part of the entry's minute that is still here, if it may be sent now. */
static struct spool_entry *first_part(struct spool *spool, size_t at, uint64_t now_ns)
{
	while (at && is_same_minute(&spool->entries[at - 1].id, &spool->entries[at].id))
		at--;
	return spool->entries[at].not_before_ns <= now_ns ? &spool->entries[at] : NULL;
}

struct spool_entry *spool__pick(struct spool *spool, uint64_t fresh_s, uint64_t now_ns)
{
	struct spool_entry *entry = NULL;
	size_t end = spool->count;

	/* Of the newest minute, the first table first. */
	while (!entry && end && spool->entries[end - 1].id.minute_s >= fresh_s) {
		uint64_t minute_s = spool->entries[end - 1].id.minute_s;
		size_t first = end;

		while (first && spool->entries[first - 1].id.minute_s == minute_s)
			first--;
		for (size_t i = first; !entry && i < end; i++)
			entry = first_part(spool, i, now_ns);
		end = first;
	}
	for (size_t i = 0; !entry && i < end; i++)
		entry = first_part(spool, i, now_ns);
	return entry;
}

uint64_t spool__earliest_ns(const struct spool *spool)
{
	uint64_t earliest = UINT64_MAX;

	for (size_t i = 0; i < spool->count; i++) {
		/* A later part waits for the first one. */
		if (i && is_same_minute(&spool->entries[i - 1].id, &spool->entries[i].id))
			continue;
		if (spool->entries[i].not_before_ns < earliest)
			earliest = spool->entries[i].not_before_ns;
	}
	return earliest;
}

int spool__load(struct spool *spool, struct spool_entry *entry, void **ret, size_t *ret_bytes)
{
	cleanup(free_p) void *bytes = NULL, *raw = NULL;
	struct batch_view view;
	int err = 0;

	if (entry->content) {
		bytes = malloc(entry->bytes);
		if (!bytes)
			return -ENOMEM;
		memcpy(bytes, entry->content, entry->bytes);
	} else {
		err = spool__read_file(spool, entry, &bytes);
	}
	err = err ?: batch__view(bytes, entry->bytes, &view);
	/* A damaged batch must not leave the host. */
	err = err ?: batch__unpack(&view, &raw);
	if (err == -EBADMSG) {
		spool->totals.corrupt++;
		set_aside(spool, entry);
	}
	if (err)
		return err;
	*ret_bytes = entry->bytes;
	*ret = TAKE(bytes);
	return 0;
}

void spool__mark_tried(struct spool *spool, struct spool_entry *entry, uint64_t now_s)
{
	char name[BATCH_TEXT_BYTES], tried[BATCH_TEXT_BYTES];

	if (entry->tried_s)
		return;
	entry->tried_s = now_s;
	batch__file_name(&entry->id, entry->named_s, name);
	batch__file_name(&entry->id, now_s, tried);
	if (entry->content)
		return;
	if (renameat(spool->folder, name, spool->folder, tried))
		spool->totals.error = -errno;
	else
		entry->named_s = now_s;
}

void spool__remove(struct spool *spool, const struct batch_id *id)
{
	struct spool_entry *entry = spool__find(spool, id);

	if (!entry)
		return;
	spool__delete_file(spool, entry);
	forget(spool, entry);
}

void spool__refuse(struct spool *spool, const struct batch_id *id)
{
	struct spool_entry *entry = spool__find(spool, id);

	if (!entry)
		return;
	spool->totals.refused++;
	set_aside(spool, entry);
}

void spool__status(const struct spool *spool, struct spool_status *ret)
{
	*ret = spool->totals;
	ret->batches = spool->count;
	ret->bytes = spool->bytes;
	ret->oldest_s = spool->count ? spool->entries[0].id.minute_s : 0;
	for (size_t i = 0; spool->memory_bytes && i < spool->count; i++)
		ret->memory_batches += spool->entries[i].content != NULL;
}
