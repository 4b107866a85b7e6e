/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/growth.h"

#include <errno.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

int growth__load(struct fold *fold, struct model *model, sqlite3 *db)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int64_t all = 0;
	int err, rc = SQLITE_DONE;

	/* Older recordings have no such table. */
	if (sqlite3_table_column_metadata(db, "main", "signal_sample", NULL, NULL, NULL, NULL, NULL,
					  NULL))
		return 0;
	err = load__prepare(model, db,
			    "SELECT thread, stack, sum(bytes) FROM signal_sample WHERE operation"
			    " IN ('heap write', 'anonymous write') AND time_ns > ?1 AND"
			    " time_ns <= ?2 GROUP BY thread, stack ORDER BY 3 DESC, 1, 2",
			    &row);
	while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const struct fold_stack *stack = fold__stack(fold, sqlite3_column_int64(row, 1));
		struct model_growth *growth = APPEND(&model->growths, &model->growth_count);

		if (!growth)
			return -ENOMEM;
		*growth = (struct model_growth) {
			.thread = load__thread(model, sqlite3_column_int64(row, 0)),
			.node = stack ? stack->node : 0,
			.bytes = load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &all),
		};
	}
	return err ? err : load__error(rc);
}
