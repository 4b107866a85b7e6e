/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording without an end, of which only the last part is kept.
 *
 * Rows of slices are deleted with their slice. A row that spans the edge is cut there in proportion
 * to time, as a report cuts it. In most cases it is a thread that stayed in one state, and then the
 * cut is exact. Waits have no slices, so they get some here: recording__age_waits() moves them from
 * their table into a temporary one of this connection, and recording__save() sums up the rest of
 * that.
 *
 * A series is deleted with its last row. What others refer to by number (objects, code, threads
 * without an account) is deleted by the module that made it, see recording__drop(). The number of
 * distributions is limited where they are made.
 */
#include <errno.h>
#include <stddef.h>

#include "recording/recording.h"

/* clang-format off */

static const char make_ages[] =
	"CREATE TABLE IF NOT EXISTS temp.wait_slice(slice INT, thread INT, state INT, object INT,"
	" by INT, evidence TEXT, ns INT, count INT, first INT, ended TEXT, turn INT, in_request INT)";

/* The part after the edge of a row that starts in slice `slice_from`. Its slices still exist. */
#define CUT(value)                                                                                 \
	value " = CAST(" value " * max(0.0, (SELECT l.end_ns - e.begin_ns FROM slice l, slice e"   \
	" WHERE l.id = slice_to AND e.id = ?1)) / max(1, (SELECT l.end_ns - f.begin_ns"            \
	" FROM slice l, slice f WHERE l.id = slice_to AND f.id = slice_from)) AS INT)"

#define CUT_ROWS(table, values)                                                                    \
	"UPDATE " table " SET " values ", slice_from = ?1 WHERE slice_from < ?1"                   \
	" AND EXISTS(SELECT 1 FROM slice WHERE id = slice_from)"

/*
 * Threads that have ended. All others are written every few seconds, so this also finds threads
 * whose end was not seen.
 */
#define OLD_THREADS                                                                                \
	"SELECT id FROM thread WHERE id > 0 AND flags & 8 = 0"                                     \
	" AND last_ns < (SELECT begin_ns FROM slice WHERE id = ?1)"

static const char *const steps[] = {
	"DELETE FROM account WHERE slice_to < ?1",
	"DELETE FROM fault_slice WHERE slice_to < ?1",
	"DELETE FROM refault_slice WHERE slice_to < ?1",
	"DELETE FROM histogram WHERE slice_to < ?1",
	"DELETE FROM syscall_slice WHERE slice_to < ?1",
	"DELETE FROM estimate WHERE slice_to < ?1",
	"DELETE FROM series_slice WHERE slice_to < ?1",
	"DELETE FROM occupant WHERE slice_to < ?1",
	"DELETE FROM distribution_slice WHERE slice_to < ?1",
	"DELETE FROM window_band WHERE slice_to < ?1",
	"DELETE FROM window_time WHERE slice_to < ?1",
	CUT_ROWS("account", CUT("ns") "," CUT("count")),
	CUT_ROWS("fault_slice", CUT("minor") "," CUT("major")),
	CUT_ROWS("refault_slice", CUT("file") "," CUT("anonymous")),
	CUT_ROWS("histogram", CUT("count")),
	CUT_ROWS("syscall_slice", CUT("count") "," CUT("errors") "," CUT("total_ns") ","
		 CUT("run_ns")),
	CUT_ROWS("estimate", CUT("untimed") "," CUT("variance")),
	CUT_ROWS("series_slice", CUT("count") "," CUT("sum0") "," CUT("sum1") "," CUT("sum2") ","
		 CUT("sum3") "," CUT("sum4") "," CUT("sum5")),
	CUT_ROWS("distribution_slice", CUT("count")),
	CUT_ROWS("window_band", CUT("count") "," CUT("n")),
	CUT_ROWS("window_time", CUT("ns")),
	"DELETE FROM thread_distribution",
	"DELETE FROM series WHERE id NOT IN (SELECT series FROM series_slice)",
	/* The last step of each kind before that is still in force. */
	"DELETE FROM budget_step WHERE time_ns < (SELECT begin_ns FROM slice WHERE id = ?1)"
	" AND rowid NOT IN (SELECT max(rowid) FROM budget_step"
	" WHERE time_ns < (SELECT begin_ns FROM slice WHERE id = ?1) GROUP BY what)",
	"DELETE FROM event WHERE time_ns < (SELECT begin_ns FROM slice WHERE id = ?1)",
	"DELETE FROM sample WHERE time_ns < (SELECT begin_ns FROM slice WHERE id = ?1)",
	"DELETE FROM signal_sample WHERE time_ns < (SELECT begin_ns FROM slice WHERE id = ?1)",
	"DELETE FROM window WHERE end_ns < (SELECT begin_ns FROM slice WHERE id = ?1)",
	"DELETE FROM window_part WHERE window NOT IN (SELECT id FROM window)",
	"DELETE FROM window_wait WHERE window NOT IN (SELECT id FROM window)",
	"DELETE FROM fatal WHERE time_ns < (SELECT begin_ns FROM slice WHERE id = ?1)",
	"DELETE FROM resident WHERE time_ns < (SELECT begin_ns FROM slice WHERE id = ?1)",
	"DELETE FROM allocated WHERE end_ns < (SELECT begin_ns FROM slice WHERE id = ?1)",
	"DELETE FROM fiber_time WHERE end_ns < (SELECT begin_ns FROM slice WHERE id = ?1)",
	"DELETE FROM fiber_exact WHERE end_ns < (SELECT begin_ns FROM slice WHERE id = ?1)",
	"DELETE FROM fiber WHERE (process, id) NOT IN (SELECT process, fiber FROM fiber_time)"
	" AND (process, id) NOT IN (SELECT process, fiber FROM fiber_exact)",
	"DELETE FROM temp.wait_slice WHERE slice < ?1",
	"DELETE FROM thread_name WHERE thread IN (" OLD_THREADS ")",
	"DELETE FROM syscall_thread WHERE thread IN (" OLD_THREADS ")",
	"DELETE FROM failed_path WHERE thread IN (" OLD_THREADS ")",
	/* Keep processes without any thread: their threads may not be written yet. */
	"DELETE FROM process WHERE id IN (SELECT process FROM thread WHERE id IN (" OLD_THREADS "))"
	" AND id NOT IN (SELECT process FROM thread WHERE id NOT IN (" OLD_THREADS "))",
	"DELETE FROM cgroup_limit WHERE process NOT IN (SELECT id FROM process)",
	"DELETE FROM thread WHERE id IN (" OLD_THREADS ")",
	"DELETE FROM slice WHERE id < ?1",
	/* Without these, a database in memory keeps the size of its fullest minute. */
	"PRAGMA main.incremental_vacuum",
	"PRAGMA temp.incremental_vacuum",
};

static const char *const age_steps[] = {
	"INSERT INTO temp.wait_slice SELECT ?1, * FROM wait",
	"DELETE FROM wait",
};

/* clang-format on */

static int run_step(sqlite3 *db, const char *sql, int64_t slice)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (!rc && sqlite3_bind_parameter_count(statement))
		rc = sqlite3_bind_int64(statement, 1, slice);
	if (!rc) {
		while (sqlite3_step(statement) == SQLITE_ROW)
			; /* the pragma frees one page per row */
		rc = sqlite3_reset(statement);
	}
	sqlite3_finalize(statement);
	return rc == SQLITE_NOMEM ? -ENOMEM : rc ? -EIO : 0;
}

static int run_steps(sqlite3 *db, const char *const *list, size_t count, int64_t slice)
{
	int err = run_step(db, make_ages, 0);

	for (size_t i = 0; i < count && !err; i++)
		err = run_step(db, list[i], slice);
	return err;
}

int recording__age_waits(struct recording *recording, int64_t slice)
{
	return run_steps(recording__db(recording), age_steps,
			 sizeof(age_steps) / sizeof(*age_steps), slice);
}

int recording__forget(struct recording *recording, int64_t before)
{
	return run_steps(recording__db(recording), steps, sizeof(steps) / sizeof(*steps), before);
}
