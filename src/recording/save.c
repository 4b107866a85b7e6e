/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saves the last part of a recording in memory as a file. SQLite copies the pages. All further
 * changes are made in the copy, so that the original can be written to meanwhile:
 *
 * - A thread's account begins with its first row, not with the thread. Its last row ends at
 *   last_ns, so the begin is last_ns minus the sum: invariant 1 holds to the nanosecond.
 * - Waits get their sums back (see forget.c).
 * - A series that was added again (see recording.h) is merged with its predecessor.
 * - Totals since the start (cost, unexplained time, errors and threads of syscalls) are reduced to
 * the part that is kept. The longest duration of a syscall remains that since the start.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "recording/recording.h"

DEFINE_CLEANUP(struct recording *, recording__free)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* clang-format off */

#define SAME_SERIES                                                                                \
	"CREATE TEMP TABLE twin AS SELECT * FROM (SELECT id, min(id) OVER (PARTITION BY signal,"   \
	" thread, object, place, operation, errno) AS first FROM series) WHERE id != first;"       \
	"INSERT INTO series_slice SELECT c.slice_to, t.first, c.slice_from, c.count, c.sum0,"      \
	" c.sum1, c.sum2, c.sum3, c.sum4, c.sum5 FROM temp.twin t JOIN series_slice c"             \
	" ON c.series = t.id WHERE true ON CONFLICT DO UPDATE SET"                                 \
	" slice_from = min(slice_from, excluded.slice_from), count = count + excluded.count,"      \
	" sum0 = sum0 + excluded.sum0, sum1 = sum1 + excluded.sum1,"                               \
	" sum2 = sum2 + excluded.sum2, sum3 = sum3 + excluded.sum3,"                               \
	" sum4 = sum4 + excluded.sum4, sum5 = sum5 + excluded.sum5;"                               \
	"DELETE FROM series_slice WHERE series IN (SELECT id FROM temp.twin);"                     \
	"UPDATE series SET max0 = max(series.max0, m.m0), max1 = max(series.max1, m.m1),"          \
	" max2 = max(series.max2, m.m2), max3 = max(series.max3, m.m3),"                           \
	" max4 = max(series.max4, m.m4), max5 = max(series.max5, m.m5)"                            \
	" FROM (SELECT t.first, max(max0) AS m0, max(max1) AS m1, max(max2) AS m2,"                \
	" max(max3) AS m3, max(max4) AS m4, max(max5) AS m5 FROM temp.twin t"                      \
	" JOIN series s ON s.id = t.id GROUP BY t.first) m WHERE m.first = series.id;"             \
	"DELETE FROM series WHERE id IN (SELECT id FROM temp.twin);"                               \
	"DROP TABLE temp.twin;"

/* The part of a sum that falls into the slices that are kept, as with all calls of this number. */
#define KEPT(of, value)                                                                                \
	"CAST(round(1.0 * " value " * min(1.0, (SELECT coalesce(sum(s.count), 0)"                  \
	" FROM syscall_slice s WHERE s.number = " of ".number) * 1.0 / max(1, coalesce("          \
	"(SELECT c.count FROM temp.calls c WHERE c.number = " of ".number), 1)))) AS INT)"

static const char fit[] =
	"BEGIN;"
	SAME_SERIES
	/* A negative row corrects a row that was deleted. */
	"DELETE FROM account WHERE ns < 0;"
	"DELETE FROM account WHERE slice_to < (SELECT min(id) FROM slice);"
	"UPDATE account SET slice_from = max(slice_from, (SELECT min(id) FROM slice));"
	"CREATE TEMP TABLE sums AS SELECT thread, sum(ns) AS ns FROM account GROUP BY thread;"
	"CREATE INDEX temp.sums_thread ON sums(thread);"
	"UPDATE thread SET first_ns = last_ns - coalesce((SELECT ns FROM temp.sums"
	" WHERE thread = thread.id), 0) WHERE id > 0 AND flags & 8 = 0;"
	"UPDATE thread SET unexplained_ns = min(unexplained_ns, last_ns - first_ns)"
	" WHERE id > 0 AND flags & 8 = 0;"
	"DELETE FROM thread WHERE id > 0 AND flags & 8 = 0"
	" AND id NOT IN (SELECT thread FROM temp.sums) AND id NOT IN (SELECT by FROM wait)"
	" AND id NOT IN (SELECT first FROM wait);"
	"DROP TABLE temp.sums;"
	"CREATE TEMP TABLE errors AS SELECT number, sum(count) AS count FROM syscall_error"
	" GROUP BY number;"
	"UPDATE syscall_error SET count = CAST(round(1.0 * count * (SELECT coalesce(sum(errors), 0)"
	" FROM syscall_slice s WHERE s.number = syscall_error.number) / max(1, (SELECT e.count"
	" FROM temp.errors e WHERE e.number = syscall_error.number))) AS INT);"
	"DELETE FROM syscall_error WHERE count = 0;"
	"DROP TABLE temp.errors;"
	"CREATE TEMP TABLE calls AS SELECT number, sum(count) AS count FROM syscall_thread"
	" GROUP BY number;"
	"UPDATE syscall_thread SET count = " KEPT("syscall_thread", "count") ","
	" errors = " KEPT("syscall_thread", "errors") ", total_ns = "
	KEPT("syscall_thread", "total_ns") ", run_ns = " KEPT("syscall_thread", "run_ns") ";"
	"DELETE FROM syscall_thread WHERE count = 0;"
	"UPDATE failed_path SET count = " KEPT("failed_path", "count") ";"
	"DELETE FROM failed_path WHERE count = 0;"
	"DROP TABLE temp.calls;"
	"UPDATE cost SET value = value * ((SELECT max(end_ns) - min(begin_ns) FROM slice) * 1.0 /"
	" max(1, (SELECT max(end_ns) FROM slice)"
	" - (SELECT value FROM meta WHERE key = 'start_ns')))"
	" WHERE name IN ('own_cpu_ns', 'hooks_cpu_ns', 'hooks_target_ns');"
	"UPDATE meta SET value = value + (SELECT min(begin_ns) FROM slice)"
	" - (SELECT value FROM meta WHERE key = 'start_ns') WHERE key = 'start_unix_ns';"
	"UPDATE meta SET value = (SELECT min(begin_ns) FROM slice) WHERE key = 'start_ns';"
	"UPDATE meta SET value = (SELECT max(end_ns) FROM slice) WHERE key = 'end_ns';";

/* clang-format on */

static int copy_pages(sqlite3 *to, sqlite3 *from)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
	int rc;

	if (!backup)
		return -EIO;
	sqlite3_backup_step(backup, -1);
	rc = sqlite3_backup_finish(backup);
	return rc == SQLITE_FULL ? -ENOSPC : rc == SQLITE_NOMEM ? -ENOMEM : rc ? -EIO : 0;
}

static int add_waits(struct recording *copy, sqlite3 *from)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = 0;

	/* Without the table, no waits were aged, and the copy has all of them. */
	if (sqlite3_prepare_v2(from,
			       "SELECT thread, state, object, by, evidence, sum(ns), sum(count),"
			       " first, ended, turn, in_request FROM temp.wait_slice"
			       " GROUP BY 1, 2, 3, 4, 5, 8, 9, 10, 11",
			       -1, &row, NULL))
		return 0;
	while (!err && sqlite3_step(row) == SQLITE_ROW)
		err = recording__add_wait(
			copy, &(struct recording_wait) {
				      .thread = sqlite3_column_int64(row, 0),
				      .state = sqlite3_column_int(row, 1),
				      .object = sqlite3_column_int64(row, 2),
				      .by = sqlite3_column_int64(row, 3),
				      .evidence = (const char *)sqlite3_column_text(row, 4),
				      .ns = sqlite3_column_int64(row, 5),
				      .count = sqlite3_column_int64(row, 6),
				      .first = sqlite3_column_int64(row, 7),
				      .ended = (const char *)sqlite3_column_text(row, 8),
				      .turn = sqlite3_column_int(row, 9),
				      .in_request = sqlite3_column_int(row, 10),
			      });
	return err;
}

static int fill(struct recording *copy, struct recording *recording)
{
	sqlite3 *db = recording__db(copy);
	int err = recording__commit(recording);

	if (!err)
		err = copy_pages(db, recording__db(recording));
	if (!err)
		err = add_waits(copy, recording__db(recording));
	if (!err)
		err = recording__commit(copy);
	if (!err && sqlite3_exec(db, fit, NULL, NULL, NULL))
		err = (sqlite3_errcode(db) & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO;
	return err ? err : recording__finish(copy);
}

int recording__save(struct recording *recording, const char *path)
{
	cleanup(recording__free_p) struct recording *copy = NULL;
	int err = recording__create(path, false, &copy);

	if (err)
		return err;
	err = fill(copy, recording);
	if (err)
		unlink(path);
	return err;
}
