/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer: one prepared statement per kind of row, kept for the whole run. The first row after a
 * commit opens a transaction (schema.c says why it should stay short).
 *
 * The first failure is final. Continuing after a lost transaction would leave an invisible hole in
 * the accounts. So every later call returns the same error, and the file keeps what was committed,
 * with complete = 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "recording/file.h"
#include "recording/recording.h"
#include "recording/schema.h"
#include "recording/writer.h"

/* How long a reader may delay the commit of a slice, and the last two commits. */
#define BUSY_MS        20
#define BUSY_FINISH_MS 5000

struct recording {
	sqlite3 *db;
	sqlite3_stmt *statements[SQL_COUNT];
	int64_t last_object;
	int failed; /* the first error, which every later call returns */
	char words[256];
};

DEFINE_CLEANUP(struct recording *, recording__free)

/* Report a quota and a file size limit as a full disk, because the remedy is the same. */
static int error_of(sqlite3 *db, int rc)
{
	int err = 0;

	if (rc == SQLITE_IOERR)
		sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &err);
	if (rc == SQLITE_FULL || err == ENOSPC || err == EDQUOT || err == EFBIG)
		return -ENOSPC;
	return rc == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

/* Keeps the first error, and returns it from then on. Rolls back the open transaction. */
static int fail(struct recording *recording, int rc)
{
	if (recording->failed)
		return recording->failed;
	recording->failed = error_of(recording->db, rc & 0xff);
	snprintf(recording->words, sizeof(recording->words), "%s", sqlite3_errmsg(recording->db));
	if (!sqlite3_get_autocommit(recording->db))
		sqlite3_exec(recording->db, "ROLLBACK", NULL, NULL, NULL);
	return recording->failed;
}

static int execute(struct recording *recording, const char *words)
{
	int rc = sqlite3_exec(recording->db, words, NULL, NULL, NULL);

	return rc ? fail(recording, rc) : 0;
}

static int bind(sqlite3_stmt *statement, int at, const struct value *value)
{
	switch (value->kind) {
	case VALUE_NUMBER:
		return sqlite3_bind_int64(statement, at, value->number);
	case VALUE_REAL:
		return sqlite3_bind_double(statement, at, value->real);
	default:
		return sqlite3_bind_text(statement, at, value->text, -1, SQLITE_STATIC);
	}
}

int writer__add_row(struct recording *recording, enum statement which, const struct value *values,
		    int count)
{
	sqlite3_stmt **statement = &recording->statements[which];
	int rc = 0;

	if (recording->failed)
		return recording->failed;
	if (sqlite3_get_autocommit(recording->db) && execute(recording, "BEGIN"))
		return recording->failed;
	if (!*statement)
		rc = sqlite3_prepare_v3(recording->db, writer__sql[which], -1,
					SQLITE_PREPARE_PERSISTENT, statement, NULL);
	for (int i = 0; i < count && !rc; i++)
		rc = bind(*statement, i + 1, &values[i]);
	if (rc)
		return fail(recording, rc);
	sqlite3_step(*statement);
	rc = sqlite3_reset(*statement);
	return rc ? fail(recording, rc) : 0;
}

/*
 * SQLite opens by name, and the owner of the folder may have replaced the file since. Then return
 * -EINVAL before anything is written.
 */
static int connect_to(struct recording *recording, const char *path, int fd)
{
	const char *vfs = schema__vfs();
	int rc;

	if (!vfs)
		return -ENOMEM;
	rc = sqlite3_open_v2(path, &recording->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
			     vfs);
	if (!recording->db)
		return -ENOMEM;
	if (!file__is_at(path, fd))
		return -EINVAL;
	if (rc)
		return fail(recording, rc);
	return schema__is_file(recording->db, fd) ? 0 : -EINVAL;
}

static int fill(struct recording *recording)
{
	sqlite3_busy_timeout(recording->db, BUSY_MS);
	if (execute(recording, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;"
			       "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000; BEGIN;") ||
	    execute(recording, schema__sql) ||
	    recording__set_number(recording, "schema_version", RECORDING_SCHEMA_VERSION) ||
	    recording__set_number(recording, "complete", 0) || execute(recording, "COMMIT"))
		return recording->failed;
	return 0;
}

int recording__create(const char *path, bool force, struct recording **ret)
{
	cleanup(free_p) char *plain = NULL;
	cleanup(close_p) int fd = -1; /* closing drops SQLite's locks, so close while it has none */
	cleanup(recording__free_p) struct recording *recording = calloc(1, sizeof(*recording));
	int err;

	if (!recording)
		return -ENOMEM;
	err = file__resolve(path, &plain);
	if (!err)
		err = file__make(plain, force, &fd);
	if (err)
		return err;
	err = connect_to(recording, plain, fd);
	if (!err)
		err = fill(recording);
	if (err) {
		if (file__is_at(plain, fd))
			unlink(plain);
		return err;
	}
	*ret = TAKE(recording);
	return 0;
}

int recording__create_in_memory(struct recording **ret)
{
	cleanup(recording__free_p) struct recording *recording = calloc(1, sizeof(*recording));
	int err;

	if (!recording)
		return -ENOMEM;
	if (sqlite3_open_v2(":memory:", &recording->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL))
		return -ENOMEM;
	/* So that recording__forget() can return memory. Only allowed while there is no table. */
	err = execute(recording, "PRAGMA temp_store = MEMORY; PRAGMA auto_vacuum = INCREMENTAL;"
				 "PRAGMA temp.auto_vacuum = INCREMENTAL");
	if (!err)
		err = fill(recording);
	if (!err)
		*ret = TAKE(recording);
	return err;
}

void recording__free(struct recording *recording)
{
	if (!recording)
		return;
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(recording->statements[i]);
	sqlite3_close(recording->db);
	free(recording);
}

static int commit(struct recording *recording, bool last)
{
	int rc;

	if (recording->failed || sqlite3_get_autocommit(recording->db))
		return recording->failed;
	rc = sqlite3_exec(recording->db, "COMMIT", NULL, NULL, NULL);
	if (!rc || (rc == SQLITE_BUSY && !last))
		return 0;
	return fail(recording, rc);
}

int recording__commit(struct recording *recording)
{
	return commit(recording, false);
}

int recording__finish(struct recording *recording)
{
	sqlite3_busy_timeout(recording->db, BUSY_FINISH_MS);
	/* SQLite refuses this pragma within a transaction. */
	if (commit(recording, true) || execute(recording, "PRAGMA synchronous = NORMAL"))
		return recording->failed;
	if (recording__set_number(recording, "complete", 1))
		return recording->failed;
	return commit(recording, true);
}

const char *recording__error(const struct recording *recording)
{
	return recording->words;
}

int64_t recording__next_object(struct recording *recording)
{
	return ++recording->last_object;
}

sqlite3 *recording__db(struct recording *recording)
{
	return recording->db;
}
