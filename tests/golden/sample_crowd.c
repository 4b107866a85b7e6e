/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample.h"

#include "../harness.h"

#include <sqlite3.h>

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

/* Signal 2 is "block", thread 1 the main thread, error 5 EIO. */
static const char crowd[] =
	"CREATE TEMP TABLE crowd AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
	" WHERE i < " TEXT(
		SAMPLE_CROWD) ") SELECT i, printf('op-%04d', i) AS name,"
			      " 1000 * (" TEXT(
				      SAMPLE_CROWD) " + 1 - i) AS ns FROM n;"
						    "INSERT INTO series SELECT 100000 + i, 2, 1, 0, 'vda', name, iif(i % 3, 0, 5), ns,"
						    " 0, 0, 0, 0, 0 FROM crowd;"
						    "INSERT INTO series_slice SELECT s.id, 100000 + i, s.id, 1, ns, 0, 0, 0, 0, 0"
						    " FROM crowd, slice s;"
						    "INSERT INTO distribution SELECT 100000 + i, 2, 0, 'vda', name FROM crowd;"
						    "INSERT INTO distribution SELECT 200000 + i, 2, 1, 'vda', name FROM crowd;"
						    "INSERT INTO distribution_slice SELECT s.id, d.id, 80, s.id, 1 FROM distribution d, slice s"
						    " WHERE d.id > 100000;";

void sample__write_crowded(const char *path)
{
	sqlite3 *db = NULL;

	sample__write_with_all(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, crowd, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}
