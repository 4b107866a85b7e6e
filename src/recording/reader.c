/*
 * Opening a recording, which may come from anywhere: half-written, from a newer gapless, or made to
 * do harm. SQLite is told not to trust the schema (no views with side effects) and to check what it
 * reads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "recording/recording.h"
#include "recording/schema.h"

#define BUSY_MS 5000

DEFINE_CLEANUP(sqlite3 *, sqlite3_close)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

static int error_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
		return -EBUSY;
	case SQLITE_READONLY: /* it has a journal to roll back and we may not write */
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN:
		return -EACCES;
	case SQLITE_IOERR:
		return -EIO;
	default:
		return -EBADMSG;
	}
}

/* The one number that `sql` asks for; SQLITE_MISMATCH if there is none. */
static int ask(sqlite3 *db, const char *sql, int64_t *ret)
{
	cleanup(sqlite3_finalize_p)
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (rc)
		return rc;
	rc = sqlite3_step(statement);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? SQLITE_MISMATCH : rc;
	if (sqlite3_column_type(statement, 0) != SQLITE_INTEGER)
		return SQLITE_MISMATCH;
	*ret = sqlite3_column_int64(statement, 0);
	return 0;
}

static int check(sqlite3 *db)
{
	int64_t application = 0, version = 0;
	int rc = ask(db, "PRAGMA application_id", &application);

	if (!rc && application != SCHEMA_APPLICATION_ID)
		return -EBADMSG;
	if (!rc)
		rc = ask(db, "SELECT value FROM meta WHERE key = 'schema_version'", &version);
	if (rc)
		return sqlite3_extended_errcode(db) == SQLITE_READONLY_ROLLBACK ? -EROFS
										: error_of(rc);
	return version > RECORDING_SCHEMA_VERSION ? -EPROTONOSUPPORT : 0;
}

static int open_with(const char *path, int flags, sqlite3 **ret)
{
	cleanup(sqlite3_close_p)
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	int err;

	if (rc || !db)
		return db ? error_of(rc) : -ENOMEM;
	sqlite3_busy_timeout(db, BUSY_MS);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
	err = check(db);
	if (err)
		return err;
	*ret = TAKE(db);
	return 0;
}

/* The recorder was killed within a commit: whoever may write undoes what it had begun. */
static int roll_back(const char *path)
{
	sqlite3 *db = NULL;
	int err = open_with(path, SQLITE_OPEN_READWRITE, &db);

	sqlite3_close(db);
	return err == -EROFS ? -EACCES : err;
}

/*
 * A kill between making the journal and its first byte leaves an empty one, which is harmless but
 * which SQLite leaves lying there. Who holds the writer's lock and finds it empty knows that it is
 * nobody's.
 */
static void tidy(const char *path)
{
	cleanup(sqlite3_close_p)
	sqlite3 *db = NULL;
	cleanup(free_p)
	char *journal = NULL;
	struct stat info;

	if (asprintf(&journal, "%s-journal", path) < 0) {
		journal = NULL;
		return;
	}
	if (stat(journal, &info) || info.st_size ||
	    sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
	    sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
		return;
	if (!lstat(journal, &info) && S_ISREG(info.st_mode) && !info.st_size)
		unlink(journal);
}

static int open_plain(const char *path, sqlite3 **ret)
{
	int err = open_with(path, SQLITE_OPEN_READONLY, ret);

	if (err == -EROFS) {
		err = roll_back(path);
		return err ? err : open_with(path, SQLITE_OPEN_READONLY, ret);
	}
	if (!err)
		tidy(path);
	return err;
}

int recording__open(const char *path, sqlite3 **ret)
{
	cleanup(free_p)
	char *plain = NULL;
	struct stat info;

	/*
	 * SQLite has one word for all that can be wrong with a path; the kernel has better ones.
	 * Not by open(): closing would drop the locks of a writer in this process.
	 */
	if (euidaccess(path, R_OK) || stat(path, &info))
		return -errno;
	if (!S_ISREG(info.st_mode))
		return -EBADMSG;
	if (asprintf(&plain, "%s%s", *path == '/' ? "" : "./", path) < 0) {
		plain = NULL;
		return -ENOMEM;
	}
	return open_plain(plain, ret);
}
