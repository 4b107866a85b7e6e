/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens a recording. The file is not trusted: it may be half-written, from a newer gapless, or made
 * to harm whoever reads it, possibly as root, in a folder whose owner changes it meanwhile.
 *
 * - The database. SQLite is told not to trust the schema (no views with side effects), to check
 *   what it reads, and to write nothing. A recording has neither triggers nor virtual tables. A
 *   file that has them is refused, because a virtual table is code that runs on untrusted bytes. A
 *   view in place of a table is refused too, because its query may never end.
 * - Its journal. To read a journal, SQLite opens it, and as root changes its owner to that of the
 *   database, even if it is a hard link to another file. To roll back, SQLite writes into whatever
 *   file now has the database's name, and then removes the "super-journal" that the journal names,
 *   which can be any file. So the journal is checked first. That alone would be a race, hence the
 *   VFS below.
 * - A write-ahead log. A recording never has one, and SQLite would create, change and chown files.
 *
 * Rejected: rolling back in a private copy. It would need none of this, but space for a second
 * recording, and each reader would do it again.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "recording/files.h"
#include "recording/recording.h"
#include "recording/schema.h"

#define BUSY_MS 5000
/* No text or blob in a recording is nearly this long. A hostile view could ask for gigabytes. */
#define LENGTH_BYTES (64 << 20)
/* The bytes of SQLite's shared lock, as in its file format. */
#define SHARED_LOCK_START 0x40000002
#define SHARED_LOCK_BYTES 510

DEFINE_CLEANUP(sqlite3 *, sqlite3_close)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

static const sqlite3_vfs *base_vfs;

/* A journal is always created anew. An existing file is not ours to write to. */
static int guarded_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret)
{
	const int made = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_CREATE;

	file->pMethods = NULL;
	if (flags & (SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL))
		return SQLITE_CORRUPT;
	if ((flags & made) == made)
		flags |= SQLITE_OPEN_EXCLUSIVE;
	return base_vfs->xOpen(vfs, name, file, flags, ret);
}

static int keep_owner(int fd, uid_t uid, gid_t gid)
{
	return 0;
}

/* Not thread-safe: recording.h forbids two threads to open their first recording at once. */
const char *schema__vfs(void)
{
	static sqlite3_vfs guarded;
	sqlite3_vfs *base;

	if (base_vfs)
		return guarded.zName;
	base = sqlite3_vfs_find(NULL);
	if (!base)
		return NULL;
	guarded = *base;
	guarded.zName = "gapless";
	guarded.xOpen = guarded_open;
	if (sqlite3_vfs_register(&guarded, 0))
		return NULL;
	if (base->iVersion >= 3 && base->xSetSystemCall)
		base->xSetSystemCall(base, "fchown", (sqlite3_syscall_ptr)keep_owner);
	base_vfs = base;
	return guarded.zName;
}

static sqlite3_file *file_of(sqlite3 *db)
{
	sqlite3_file *file = NULL;

	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, (void *)&file))
		return NULL;
	return file && file->pMethods ? file : NULL;
}

/*
 * SQLite does not expose its descriptor, and a path can be changed and changed back. But if both
 * descriptors refer to the same file, ours sees the lock that SQLite takes: locks of an open file
 * description (Linux 3.15) conflict with those of a process, even of the same process.
 */
bool schema__is_file(sqlite3 *db, int fd)
{
	struct flock lock = { .l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = SHARED_LOCK_START,
			      .l_len = SHARED_LOCK_BYTES };
	sqlite3_file *file = file_of(db);
	bool same;

	if (!file || file->pMethods->xLock(file, SQLITE_LOCK_SHARED))
		return false;
	same = !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type == F_RDLCK && lock.l_pid == getpid();
	file->pMethods->xUnlock(file, SQLITE_LOCK_NONE);
	return same;
}

static int error_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
		return -EBUSY;
	case SQLITE_READONLY: /* there is a journal to roll back, but no write permission */
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

/* Runs a query for a single number; SQLITE_MISMATCH if it returns none. */
static int ask(sqlite3 *db, const char *sql, int64_t *ret)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *statement = NULL;
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

static bool is_table(const char *name)
{
	cleanup(free_p) char *words = NULL;

	if (asprintf(&words, "CREATE TABLE %s(", name) < 0) {
		words = NULL;
		return true;
	}
	return strcasestr(schema__sql, words);
}

/*
 * SQLITE_CORRUPT if a view has the name of a table. SQLite refuses a schema in which type and name
 * differ from the SQL. Names are compared as SQLite does it: up to a NUL, ignoring case. PRAGMA
 * table_list would tell too, but it compiles every view, which can take hours for a few hostile
 * ones.
 */
static int refuse_false_tables(sqlite3 *db)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT type, name FROM sqlite_schema", -1, &row, NULL);

	while (!rc && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const char *type = (const char *)sqlite3_column_text(row, 0);
		const char *name = (const char *)sqlite3_column_text(row, 1);

		rc = 0;
		if (!type || !name || (!sqlite3_stricmp(type, "view") && is_table(name)))
			return SQLITE_CORRUPT;
	}
	return rc == SQLITE_DONE ? 0 : rc;
}

static int check(sqlite3 *db)
{
	int64_t application = 0, version = 0, foreign = 0;
	int rc = ask(db, "PRAGMA application_id", &application);

	if (!rc && application != SCHEMA_APPLICATION_ID)
		return -EBADMSG;
	/* Search the SQL text, because the other columns of a hostile schema may be false. */
	if (!rc)
		rc = ask(db,
			 "SELECT count(*) FROM sqlite_schema WHERE CAST(sql AS TEXT) LIKE"
			 " '%virtual%' OR CAST(sql AS TEXT) LIKE '%trigger%'",
			 &foreign);
	if (!rc && foreign)
		return -EBADMSG;
	if (!rc)
		rc = refuse_false_tables(db);
	if (!rc)
		rc = ask(db, "SELECT value FROM meta WHERE key = 'schema_version'", &version);
	if (rc)
		return sqlite3_extended_errcode(db) == SQLITE_READONLY_ROLLBACK ? -EROFS
										: error_of(rc);
	return version > RECORDING_SCHEMA_VERSION ? -EPROTONOSUPPORT : 0;
}

/* Opens the file without reading it: nothing is locked or rolled back yet. */
static int connect_to(const char *path, int flags, sqlite3 **ret)
{
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;
	const char *vfs = schema__vfs();
	int rc;

	if (!vfs)
		return -ENOMEM;
	rc = sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, vfs);
	if (rc || !db)
		return db ? error_of(rc) : -ENOMEM;
	sqlite3_busy_timeout(db, BUSY_MS);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LENGTH_BYTES);
	rc = sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA query_only = ON", NULL, NULL,
			  NULL);
	if (rc)
		return error_of(rc);
	*ret = TAKE(db);
	return 0;
}

static int open_to_read(const char *path, sqlite3 **ret)
{
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;
	int err = connect_to(path, SQLITE_OPEN_READONLY, &db);

	if (!err)
		err = check(db);
	if (err)
		return err;
	*ret = TAKE(db);
	return 0;
}

/*
 * The recorder was killed during a commit. Whoever has write permission rolls it back. The file
 * that is written must be the one that was checked, and must have no other name: a hard link to
 * another user's file is not a recording. Closing our descriptor drops all locks of this process on
 * the file, but there are none: a journal is hot only if nobody holds the writer's lock, and is
 * rolled back only if nobody holds any lock.
 */
static int roll_back(const char *path)
{
	cleanup(close_p) int fd =
		recording_files->open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;
	struct stat info;
	int err;

	if (fd < 0)
		return errno == EROFS ? -EACCES : -errno;
	if (fstat(fd, &info))
		return -errno;
	if (!S_ISREG(info.st_mode) || info.st_nlink != 1)
		return -EBADMSG;
	err = connect_to(path, SQLITE_OPEN_READWRITE, &db);
	if (err)
		return err;
	if (!schema__is_file(db, fd))
		return -EBADMSG;
	err = check(db);
	return err == -EROFS ? -EACCES : err;
}

static bool is_own_journal(const struct stat *journal, uid_t owner)
{
	return S_ISREG(journal->st_mode) && journal->st_nlink <= 1 && journal->st_uid == owner;
}

/*
 * Whether the file at `path` can be the journal of a recording that `owner` owns; 0 also if there
 * is none. A journal that names a super-journal ends with the magic number. The recorder never
 * writes one, because its transactions never span two databases. Devices are not opened, because
 * opening one can have side effects.
 */
static int check_journal(const char *path, uid_t owner)
{
	static const unsigned char magic[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	unsigned char end[sizeof(magic)];
	cleanup(close_p) int fd = -1;
	struct stat info;

	if (recording_files->lstat(path, &info))
		return errno == ENOENT ? 0 : -errno;
	if (!is_own_journal(&info, owner))
		return -EBADMSG;
	fd = recording_files->open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return errno == ENOENT ? 0 : errno == ELOOP ? -EBADMSG : -errno;
	if (fstat(fd, &info))
		return -errno;
	if (!is_own_journal(&info, owner))
		return -EBADMSG;
	/* Shorter than any valid journal: it can only be a truncated header. */
	if (info.st_size < 2 * (off_t)sizeof(magic))
		return 0;
	if (pread(fd, end, sizeof(end), info.st_size - (off_t)sizeof(end)) != sizeof(end))
		return 0;
	return memcmp(end, magic, sizeof(magic)) ? 0 : -EBADMSG;
}

/*
 * If the recorder is killed after creating the journal and before its first byte, the empty journal
 * remains. It is harmless, but SQLite does not remove it. If it is still empty while we hold the
 * writer's lock, nobody uses it. The lock is taken below SQLite's pager, which would roll back a
 * journal that is no longer empty.
 */
static void tidy(const char *path, const char *journal)
{
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;
	sqlite3_file *file;
	struct stat info;

	if (recording_files->lstat(journal, &info) || info.st_size ||
	    connect_to(path, SQLITE_OPEN_READWRITE, &db))
		return;
	file = file_of(db);
	if (!file)
		return;
	if (!file->pMethods->xLock(file, SQLITE_LOCK_SHARED) &&
	    !file->pMethods->xLock(file, SQLITE_LOCK_RESERVED) &&
	    !recording_files->lstat(journal, &info) && S_ISREG(info.st_mode) && !info.st_size)
		recording_files->unlink(journal);
	file->pMethods->xUnlock(file, SQLITE_LOCK_NONE);
}

bool recording__is_one(const char *path)
{
	/* From SQLite's file format. */
	static const char magic[16] = "SQLite format 3";
	const uint32_t application = htobe32(SCHEMA_APPLICATION_ID);
	const size_t place = 68;
	cleanup(close_p) int fd = -1;
	struct stat info;
	char head[72];

	/* Devices and pipes are not opened, because opening one can have side effects. */
	if (stat(path, &info) || !S_ISREG(info.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	       !memcmp(head, magic, sizeof(magic)) &&
	       !memcmp(head + place, &application, sizeof(application));
}

int recording__open(const char *path, sqlite3 **ret)
{
	cleanup(free_p) char *plain = recording_files->resolve(path);
	cleanup(free_p) char *journal = NULL;
	struct stat info;
	int err;

	/*
	 * SQLite has one error for everything that can be wrong with a path; the kernel's errors
	 * are more precise.
	 */
	if (!plain || recording_files->stat(plain, &info))
		return -errno;
	if (!S_ISREG(info.st_mode))
		return S_ISDIR(info.st_mode) ? -EISDIR : -EBADMSG;
	if (asprintf(&journal, "%s-journal", plain) < 0) {
		journal = NULL;
		return -ENOMEM;
	}
	err = check_journal(journal, info.st_uid);
	if (err)
		return err;
	err = open_to_read(plain, ret);
	if (err == -EROFS) {
		err = roll_back(plain);
		return err ? err : open_to_read(plain, ret);
	}
	if (!err)
		tidy(plain, journal);
	return err;
}
