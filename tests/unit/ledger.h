/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording to write to and ask, for tests of the ledger's user half. */
#pragma once

#include "../harness.h"

#include <unistd.h>

#include "record/collect.h"
#include "record/names.h"
#include "recording/recording.h"

struct fixture {
	char path[64];
	struct recording *recording;
	struct collect *collect;
	struct names *names;
};

/* An empty recording. */
static inline struct fixture fixture_begin(void)
{
	struct fixture fixture = { .path = "/tmp/test-ledger-XXXXXX" };
	int fd = mkstemp(fixture.path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(recording__create(fixture.path, true, &fixture.recording), 0);
	return fixture;
}

/* The first column of the first row. */
static inline int64_t ask(struct fixture *fixture, const char *sql)
{
	sqlite3_stmt *statement;
	int64_t answer;
	sqlite3 *db;

	assert_int_equal(recording__commit(fixture->recording), 0);
	assert_int_equal(recording__open(fixture->path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	answer = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return answer;
}

static inline void finish(struct fixture *fixture)
{
	collect__free(fixture->collect);
	names__free(fixture->names);
	recording__free(fixture->recording);
	unlink(fixture->path);
}
