#include "export/profile_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

void loader__release(struct loader *loader)
{
	free(loader->processes.ids);
	free(loader->threads.ids);
	free(loader->states.ids);
	free(loader->modules.ids);
	free(loader->functions.ids);
	free(loader->frames.ids);
	free(loader->stacks.ids);
	free(loader->objects.ids);
	free(loader->object_names);
	free(loader->heights);
	sqlite3_close(loader->db);
}

void *rows__append(void *array, size_t *count, size_t size)
{
	void **at = array;

	if (*count >= PROFILE_NONE)
		return NULL;
	if (!(*count & (*count - 1))) {
		void *grown = reallocarray(*at, *count ? *count * 2 : 1, size);

		if (!grown)
			return NULL;
		*at = grown;
	}
	return memset((char *)*at + (*count)++ * size, 0, size);
}

void *rows__append_with_id(struct ids *ids, int64_t id, void *array, size_t *count, size_t size)
{
	int64_t *slot = APPEND(&ids->ids, &ids->count);

	if (!slot)
		return NULL;
	*slot = id;
	return rows__append(array, count, size);
}

uint32_t rows__find(const struct ids *ids, int64_t id)
{
	size_t low = 0, high = ids->count;

	if (!high || id < ids->ids[0])
		return PROFILE_NONE;
	/* Mostly ids follow each other. */
	if ((uint64_t)id - (uint64_t)ids->ids[0] < high && ids->ids[id - ids->ids[0]] == id)
		return (uint32_t)(id - ids->ids[0]);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ids->ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ids->count && ids->ids[low] == id ? (uint32_t)low : PROFILE_NONE;
}

static int error_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_DONE:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
		return -EBUSY;
	case SQLITE_IOERR:
		return -EIO;
	default:
		return -EBADMSG;
	}
}

int rows__each(struct loader *loader, const char *sql, take_row *take)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(loader->db, sql, -1, &row, NULL);

	if (rc)
		return error_of(rc);
	if (sqlite3_bind_parameter_count(row)) {
		sqlite3_bind_int64(row, 1, loader->profile->start_ns);
		sqlite3_bind_int64(row, 2, loader->profile->end_ns);
	}
	while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
		int err = take(loader, row);

		if (err)
			return err;
	}
	return error_of(rc);
}

int rows__text(struct loader *loader, sqlite3_stmt *row, int column, const char **ret)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	*ret = text ? texts__keep(loader->texts, text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

int rows__name(struct loader *loader, sqlite3_stmt *row, int column, const char **ret)
{
	int err = rows__text(loader, row, column, ret);

	if (!*ret)
		*ret = "?";
	return err;
}

int64_t rows__clamp(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

uint32_t rows__number(sqlite3_stmt *row, int column)
{
	return (uint32_t)rows__clamp(sqlite3_column_int64(row, column), 0, INT32_MAX);
}

int64_t rows__time(const struct loader *loader, sqlite3_stmt *row, int column)
{
	return rows__clamp(sqlite3_column_int64(row, column), loader->profile->start_ns,
			   loader->profile->end_ns);
}
