/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The patterns of paths that syscalls were called with. */
#include <errno.h>

#include "base/cleanup.h"
#include "model/load.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

#define MOST_PATHS 20000

/* Recordings before schema version 4 have no such table. */
#define SELECT_PATHS                                                                               \
	"SELECT f.thread, f.number, y.name, f.errno, f.pattern, f.count, f.paths FROM failed_path" \
	" f LEFT JOIN syscall y ON y.number = f.number ORDER BY f.count DESC, f.pattern, f.thread"

static int take_path(struct model *model, sqlite3_stmt *row)
{
	const struct model_thread *thread = load__thread(model, sqlite3_column_int64(row, 0));
	struct model_path *path;

	/* Thread 0 stands for many, and it is not known which of them are in the scope. */
	if ((!thread && model->narrowed) || model->path_count == MOST_PATHS)
		return 0;
	path = APPEND(&model->paths, &model->path_count);
	if (!path)
		return -ENOMEM;
	*path = (struct model_path) {
		.thread = thread,
		.number = load__index(row, 1),
		.call = load__name(model, row, 2),
		.error = load__index(row, 3),
		.pattern = load__name(model, row, 4),
		.count = load__amount(sqlite3_column_int64(row, 5), LOAD_MOST,
				      &model->loaded.path_count),
		.paths = load__index(row, 6),
	};
	return 0;
}

int load__paths(struct model *model, sqlite3 *db)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;

	if (sqlite3_prepare_v2(db, SELECT_PATHS, -1, &row, NULL))
		return 0;
	return load__each(model, db, SELECT_PATHS, take_path);
}
