/* Between the files of the profile: rows of a recording into arrays. */
#pragma once

#include <sqlite3.h>

#include "base/cleanup.h"
#include "export/profile.h"
#include "export/texts.h"

struct ids {
	int64_t *ids; /* ascending; an id's place is its index */
	size_t count;
};

struct loader {
	struct profile *profile;
	struct texts *texts;
	const struct profile_options *options;
	sqlite3 *db;
	struct ids processes, threads, states, modules, functions, frames, stacks, objects;
	const char **object_names;
	size_t object_count;
	uint32_t *heights; /* functions from each stack to its root */
	size_t height_count;
	int64_t total_ns, total_wait_ns, total_account_ns;
	bool complete;
	bool has_unknown_module; /* the last one */
	size_t unknown_frame;    /* its index + 1; 0: not made */
};

void loader__release(struct loader *loader);

/* One more zeroed element at the end of *array; NULL when out of memory or of indexes. */
void *rows__append(void *array, size_t *count, size_t size);
#define APPEND(array, count) ((__typeof__(*(array)))rows__append(array, count, sizeof(**(array))))

/* The same for a row with an id, which is its first column. Ids must come in ascending order. */
void *rows__append_with_id(struct ids *ids, int64_t id, void *array, size_t *count, size_t size);
#define APPEND_ROW(ids, row, array, count)                                                         \
	((__typeof__(*(array)))rows__append_with_id(ids, sqlite3_column_int64(row, 0), array,      \
						    count, sizeof(**(array))))

/* An id's index, or PROFILE_NONE. */
uint32_t rows__find(const struct ids *ids, int64_t id);

/* Calls `take` for each row of `sql`, in which ?1 and ?2 are the profile's begin and end. */
typedef int take_row(struct loader *loader, sqlite3_stmt *row);
int rows__each(struct loader *loader, const char *sql, take_row *take);

/* A column as a clean text: NULL for NULL; and with "?" for NULL. */
int rows__text(struct loader *loader, sqlite3_stmt *row, int column, const char **ret);
int rows__name(struct loader *loader, sqlite3_stmt *row, int column, const char **ret);

int64_t rows__clamp(int64_t value, int64_t least, int64_t most);
/* A column as a number from 0 to INT32_MAX, and as a time within the profile. */
uint32_t rows__number(sqlite3_stmt *row, int column);
int64_t rows__time(const struct loader *loader, sqlite3_stmt *row, int column);

/* Modules, functions, frames and stacks. */
int profile_code__load(struct loader *loader);
/* Events and counters, behind threads and accounts. */
int profile_signals__load(struct loader *loader);
