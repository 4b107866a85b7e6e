/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recording/recording.h"
#include "sample.h"

#define PAGE_BYTES 4096

static char *path;

/*
 * The owner of a recording's folder, who changes things there at the worst moment: before and after
 * SQLite, which is below what is tested, opens the database.
 */
static void (*meddle_before)(int flags), (*meddle_after)(void);
static sqlite3_vfs *plain_vfs;

static int meddling_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
			 int *ret)
{
	bool here = flags & SQLITE_OPEN_MAIN_DB;
	int rc;

	if (here && meddle_before)
		meddle_before(flags);
	rc = plain_vfs->xOpen(vfs, name, file, flags, ret);
	if (here && meddle_after)
		meddle_after();
	return rc;
}

static int meddling_name(sqlite3_vfs *vfs, const char *name, int size, char *ret)
{
	if (meddle_before)
		meddle_before(0);
	return plain_vfs->xFullPathname(vfs, name, size, ret);
}

static void let_meddle(void)
{
	static sqlite3_vfs vfs;

	plain_vfs = sqlite3_vfs_find(NULL);
	vfs = *plain_vfs;
	vfs.zName = "meddling";
	vfs.xOpen = meddling_open;
	vfs.xFullPathname = meddling_name;
	sqlite3_vfs_register(&vfs, 1);
}

static int set_up(void **state)
{
	path = sample__path();
	return 0;
}

static int tear_down(void **state)
{
	meddle_before = NULL;
	meddle_after = NULL;
	sample__remove(path);
	return 0;
}

/* The one number that a recording answers `sql` with. */
static int64_t ask(const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	int64_t number;

	assert_int_equal(recording__open(path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	number = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return number;
}

static bool exists_beside(const char *tail)
{
	char name[256];

	snprintf(name, sizeof(name), "%s%s", path, tail);
	return !access(name, F_OK);
}

/* The path of what lies beside the recording, valid until four calls later. */
static const char *beside(const char *tail)
{
	static char names[4][256];
	static unsigned int at;
	char *name = names[at++ % 4];

	snprintf(name, sizeof(names[0]), "%s%s", path, tail);
	return name;
}

static void write_file(const char *name, const void *bytes, size_t size)
{
	FILE *file = fopen(name, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void a_new_file_is_private_and_alone(void **state)
{
	struct recording *recording = NULL;
	struct stat info;

	umask(0);
	assert_int_equal(recording__create(path, false, &recording), 0);
	umask(022);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_false(exists_beside("-journal"));
	assert_false(exists_beside("-wal"));
	recording__free(recording);
}

static void an_existing_file_needs_force(void **state)
{
	struct recording *recording = (void *)path;

	write_file(path, "precious", 8);
	assert_int_equal(recording__create(path, false, &recording), -EEXIST);
	assert_ptr_equal(recording, path);
	assert_int_equal(recording__create(path, true, &recording), 0);
	recording__free(recording);
	assert_int_equal(ask("SELECT count(*) FROM thread"), 0);
}

static void force_removes_no_device_and_follows_no_link(void **state)
{
	struct recording *recording = NULL;
	char target[256];

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(recording__create(path, true, &recording), -EINVAL);
	assert_int_equal(unlink(path), 0);
	snprintf(target, sizeof(target), "%s.target", path);
	write_file(target, "precious", 8);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(recording__create(path, true, &recording), -EINVAL);
	assert_int_equal(unlink(target), 0);
	assert_null(recording);
}

static void a_folder_that_is_not_there_is_said_so(void **state)
{
	struct recording *recording = NULL;

	assert_int_equal(recording__create("/nonexistent/run.gapless", false, &recording), -ENOENT);
	assert_int_equal(recording__create("", false, &recording), -ENOENT);
}

static void an_old_journal_does_not_get_into_a_new_file(void **state)
{
	struct recording *recording = NULL;
	char journal[256];

	snprintf(journal, sizeof(journal), "%s-journal", path);
	write_file(journal, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 old", 12);
	assert_int_equal(recording__create(path, false, &recording), 0);
	recording__free(recording);
	assert_false(exists_beside("-journal"));
}

static void a_name_that_means_something_to_sqlite_is_a_name(void **state)
{
	char *here = getcwd(NULL, 0);
	struct recording *recording = NULL;

	*strrchr(path, '/') = '\0';
	assert_int_equal(chdir(path), 0);
	path[strlen(path)] = '/';
	assert_int_equal(recording__create(":memory:", false, &recording), 0);
	recording__free(recording);
	assert_int_equal(unlink(":memory:"), 0);
	assert_int_equal(chdir(here), 0);
	free(here);
}

static void the_same_account_again_adds_up(void **state)
{
	struct recording *recording = sample__begin(path);

	sample__account(recording, 1, SAMPLE_RUN_USER, 2, 3, 100, 1);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 20, 2);
	sample__account(recording, 1, SAMPLE_RUN_USER, 3, 3, 3, 4);
	sample__account(recording, 1, SAMPLE_RUN_KERNEL, 3, 3, 1000, 1);
	sample__finish(recording);
	assert_int_equal(ask("SELECT count(*) FROM account"), 2);
	assert_int_equal(ask("SELECT ns FROM account WHERE state = 1"), 123);
	assert_int_equal(ask("SELECT count FROM account WHERE state = 1"), 7);
	assert_int_equal(ask("SELECT slice_from FROM account WHERE state = 1"), 1);
}

static void waits_that_ended_differently_have_rows_of_their_own(void **state)
{
	struct recording *recording = sample__begin(path);
	struct recording_wait wait = { .thread = 1,
				       .state = SAMPLE_LOCK,
				       .by = 2,
				       .evidence = "handed",
				       .ns = 10,
				       .first = 3 };
	int err = recording__add_wait(recording, &wait);

	wait.ended = "event";
	err |= recording__add_wait(recording, &wait);
	wait.turn = 2;
	err |= recording__add_wait(recording, &wait);
	wait.in_request = true;
	err |= recording__add_wait(recording, &wait);
	err |= recording__add_wait(recording, &wait);
	assert_int_equal(err, 0);
	sample__finish(recording);
	assert_int_equal(ask("SELECT count(*) FROM wait"), 4);
	assert_int_equal(ask("SELECT ns FROM wait WHERE turn = 2 AND in_request = 1"), 20);
	assert_int_equal(ask("SELECT count(*) FROM waits WHERE owner = 3 AND waker = 2"), 4);
}

static void sums_per_thread_add_up(void **state)
{
	struct recording *recording = sample__begin(path);
	int err = 0;

	for (int i = 0; i < 2; i++) {
		err |= recording__add_thread_calls(
			recording, &(struct recording_thread_calls) { 1, 39, 5, 1, 100, 60 });
		err |= recording__add_failed_path(
			recording,
			&(struct recording_failed_path) { 1, 257, ENOENT, "/etc/*.conf", 4, 2 });
		err |= recording__add_occupant(recording, 3, 1, 2, 50);
		err |= recording__put_cgroup_limit(
			recording,
			&(struct recording_cgroup_limit) { 1, "/a", "cpu", i ? "2" : "1" });
	}
	err |= recording__add_fatal(recording, &(struct recording_fatal) { 7, 1, 11, 1, 4096, 3 });
	assert_int_equal(err, 0);
	sample__finish(recording);
	assert_int_equal(ask("SELECT count * 1000000 + errors * 100000 + total_ns * 100 + run_ns"
			     " FROM syscall_thread WHERE thread = 1 AND number = 39"),
			 10220120);
	assert_int_equal(ask("SELECT count FROM failed_path WHERE pattern = '/etc/*.conf'"), 8);
	assert_int_equal(ask("SELECT ns FROM occupant WHERE by = 2"), 100);
	assert_int_equal(ask("SELECT value FROM cgroup_limit WHERE kind = 'cpu'"), 2);
	assert_int_equal(ask("SELECT time_ns + address + stack FROM fatal WHERE signal = 11"),
			 4106);
}

static void waits_buckets_and_syscalls_add_up(void **state)
{
	struct recording *recording = sample__begin(path);
	int err = 0;

	for (int i = 1; i <= 3; i++) {
		err |= recording__add_wait(
			recording,
			&(struct recording_wait) { 1, SAMPLE_LOCK, 0, 2, "owner", i, 1 });
		err |= recording__add_bucket(
			recording, &(struct recording_bucket) { RECORDING_HISTOGRAM_STATE,
								SAMPLE_LOCK, 1, 1, 50, i });
		err |= recording__add_syscall(
			recording,
			&(struct recording_syscall) { 0, "read", 1, 1, 1, i == 2, 10, 100 - i });
		err |= recording__add_syscall_error(recording, 0, ENOENT, 2);
	}
	err |= recording__add_wait(
		recording, &(struct recording_wait) { 1, SAMPLE_LOCK, 0, 2, "waker", 50, 1 });
	assert_int_equal(err, 0);
	sample__finish(recording);
	assert_int_equal(ask("SELECT ns FROM wait WHERE evidence = 'owner'"), 6);
	assert_int_equal(ask("SELECT count(*) FROM wait"), 2);
	assert_int_equal(ask("SELECT count(*) FROM waits WHERE ended = '' AND turn = 0"), 2);
	assert_int_equal(ask("SELECT owner FROM waits WHERE evidence = 'owner' AND waker IS NULL"),
			 2);
	assert_int_equal(ask("SELECT waker FROM waits WHERE evidence = 'waker' AND owner IS NULL"),
			 2);
	assert_int_equal(ask("SELECT count FROM histogram"), 6);
	assert_int_equal(ask("SELECT total_ns * 100 + count * 10 + errors FROM syscall_slice"),
			 3031);
	assert_int_equal(ask("SELECT max_ns FROM syscall"), 99);
	assert_int_equal(ask("SELECT count FROM syscall_error"), 6);
}

static void putting_again_updates(void **state)
{
	struct recording *recording = sample__begin(path);
	struct recording_process process = { .id = 1, .pid = 7, .comm = "old", .cgroup = "/a" };

	assert_int_equal(recording__set_runtime(recording, 1, "python", "3.12.1", "unreadable"), 0);
	assert_int_equal(recording__put_process(recording, &process), 0);
	assert_int_equal(recording__set_runtime(recording, 1, "python", "3.12.1", "known"), 0);
	assert_int_equal(recording__set_runtime(recording, 2, "java", NULL, "unreadable"), 0);
	process.comm = "new";
	process.cgroup = NULL;
	assert_int_equal(recording__put_process(recording, &process), 0);
	sample__thread(recording, 1, 1, "first", 0);
	sample__thread(recording, 1, 1, "second", RECORDING_THREAD_EXITED);
	assert_int_equal(
		recording__put_object(recording, &(struct recording_object) { 1, "file", "fd 3" }),
		0);
	assert_int_equal(
		recording__put_object(recording, &(struct recording_object) { 1, "file", "/x" }),
		0);
	sample__finish(recording);
	assert_int_equal(ask("SELECT comm = 'new' AND cgroup = '/a' AND runtime = 'python' AND"
			     " runtime_version = '3.12.1' AND runtime_state = 'known'"
			     " FROM process WHERE id = 1"),
			 1);
	assert_int_equal(ask("SELECT runtime = 'java' AND runtime_version IS NULL AND pid IS NULL"
			     " FROM process WHERE id = 2"),
			 1);
	assert_int_equal(ask("SELECT comm = 'second' AND exited FROM threads"), 1);
	assert_int_equal(ask("SELECT name = '/x' FROM object"), 1);
}

static void a_threads_last_name_counts(void **state)
{
	struct recording *recording = sample__begin(path);

	sample__thread(recording, 1, 1, "born", 0);
	assert_int_equal(recording__add_name(recording, 1, SAMPLE_START_NS + 2, "last"), 0);
	assert_int_equal(recording__add_name(recording, 1, SAMPLE_START_NS + 1, "middle"), 0);
	sample__finish(recording);
	assert_int_equal(ask("SELECT comm = 'last' FROM threads"), 1);
}

static void it_is_complete_only_when_finished(void **state)
{
	struct recording *recording = sample__begin(path);

	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 1, 1, 1);
	assert_int_equal(recording__commit(recording), 0);
	assert_int_equal(recording__commit(recording), 0);
	sample__account(recording, 2, SAMPLE_RUN_USER, 1, 1, 1, 1);
	recording__free(recording);
	assert_int_equal(ask("SELECT value FROM meta WHERE key = 'complete'"), 0);
	assert_int_equal(ask("SELECT count(*) FROM account"), 1);
}

static void a_reader_at_work_fails_no_commit(void **state)
{
	struct recording *recording = sample__begin(path);
	sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(recording__commit(recording), 0);
	assert_int_equal(recording__open(path, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM state", -1, &row, NULL), 0);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 1, 1, 1);
	assert_int_equal(recording__commit(recording), 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	sample__account(recording, 2, SAMPLE_RUN_USER, 1, 1, 1, 1);
	assert_int_equal(recording__commit(recording), 0);
	assert_int_equal(ask("SELECT count(*) FROM account"), 2);
	sample__finish(recording);
}

/* Commits of 100 accounts each, until somebody ends it; a byte after the first. */
static void write_on_and_on(int tell_fd)
{
	struct recording *recording = sample__begin(path);

	for (int64_t slice = 1;; slice++) {
		for (int64_t thread = 1; thread <= 100; thread++)
			sample__account(recording, thread, SAMPLE_RUN_USER, slice, slice, 1, 1);
		assert_int_equal(recording__commit(recording), 0);
		if (slice == 1)
			assert_int_equal(write(tell_fd, "", 1), 1);
	}
}

static void a_kill_at_any_moment_leaves_what_was_committed(void **state)
{
	for (int i = 0; i < 30; i++) {
		struct timespec some = { .tv_nsec = i * 234567 };
		int ends[2];
		pid_t child;
		char byte;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (!child) {
			write_on_and_on(ends[1]);
			_exit(0);
		}
		assert_int_equal(read(ends[0], &byte, 1), 1);
		nanosleep(&some, NULL);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		assert_int_equal(ask("SELECT count(*) % 100 FROM account"), 0);
		assert_true(ask("SELECT count(*) FROM account") > 0);
		assert_int_equal(ask("SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
				 1);
		assert_int_equal(ask("SELECT value FROM meta WHERE key = 'complete'"), 0);
		assert_false(exists_beside("-journal"));
		assert_int_equal(unlink(path), 0);
		close(ends[0]);
		close(ends[1]);
	}
}

static void a_kill_inside_a_commit_is_rolled_back_by_the_reader(void **state)
{
	pid_t child = fork();

	if (!child) {
		struct recording *recording = sample__begin(path);

		sample__account(recording, 1, SAMPLE_RUN_USER, 1, 1, 1, 1);
		assert_int_equal(recording__commit(recording), 0);
		/* More than the page cache holds: pages go into the file before any commit. */
		for (int64_t i = 1; i < 600000; i++)
			sample__account(recording, i, SAMPLE_RUN_USER, 2, 2, i * 1000000, 1);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(exists_beside("-journal"));
	assert_int_equal(ask("SELECT count(*) FROM account"), 1);
	assert_false(exists_beside("-journal"));
}

static void a_full_disk_ends_it_and_keeps_what_was_committed(void **state)
{
	struct rlimit before, little = {};
	struct recording *recording = sample__begin(path);
	int64_t slice = 1, committed = 0;
	int err = 0;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = (struct rlimit) { .rlim_cur = 400 * 1024, .rlim_max = before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	for (; !err && slice < 1000; slice++) {
		for (int64_t thread = 1; thread <= 100 && !err; thread++)
			err = recording__add_account(
				recording, &(struct recording_account) { thread, slice, slice, 1,
									 1000000 * thread, 1 });
		if (!err)
			err = recording__commit(recording);
		if (!err)
			committed += 100;
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(err, -ENOSPC);
	assert_true(committed > 0);
	assert_true(recording__error(recording)[0]);
	/* No hole in the account: the first failure is final, even with room again. */
	assert_int_equal(recording__put_cpu(recording, 0, 1), -ENOSPC);
	assert_int_equal(recording__finish(recording), -ENOSPC);
	recording__free(recording);
	assert_int_equal(ask("SELECT count(*) FROM account"), committed);
	assert_int_equal(ask("SELECT value FROM meta WHERE key = 'complete'"), 0);
	assert_false(exists_beside("-journal"));
}

static void what_is_no_recording_is_refused(void **state)
{
	sqlite3 *db = (void *)path, *other = NULL;

	assert_int_equal(recording__open("/nonexistent/x", &db), -ENOENT);
	assert_int_equal(recording__open("/tmp", &db), -EISDIR);
	write_file(path, "", 0);
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	write_file(path,
		   "just some words that are longer than a header of a database, which has "
		   "a hundred bytes",
		   86);
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sqlite3_open(path, &other), 0);
	assert_int_equal(sqlite3_exec(other, "CREATE TABLE t(x)", NULL, NULL, NULL), 0);
	sqlite3_close(other);
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	assert_ptr_equal(db, path);
}

static void a_newer_schema_is_said_so(void **state)
{
	struct recording *recording = sample__begin(path);
	sqlite3 *db = NULL;

	assert_int_equal(
		recording__set_number(recording, "schema_version", RECORDING_SCHEMA_VERSION + 1),
		0);
	sample__finish(recording);
	assert_int_equal(recording__open(path, &db), -EPROTONOSUPPORT);
	assert_null(db);
}

static void a_truncated_file_is_an_error_or_readable_but_never_a_crash(void **state)
{
	sqlite3 *db = NULL;
	struct stat info;

	sample__write(path);
	assert_int_equal(stat(path, &info), 0);
	for (off_t size = info.st_size - 1; size > 0; size -= 1111) {
		int err;

		assert_int_equal(truncate(path, size), 0);
		err = recording__open(path, &db);
		/* Of the last page, which need not be in use, a part may be missing. */
		if (err || size <= info.st_size - PAGE_BYTES)
			assert_int_equal(err, -EBADMSG);
		sqlite3_close(db);
		db = NULL;
	}
}

static void reading_changes_nothing(void **state)
{
	sqlite3 *db = NULL;

	sample__write(path);
	assert_int_equal(recording__open(path, &db), 0);
	assert_int_equal(sqlite3_exec(db, "DELETE FROM thread", NULL, NULL, NULL), SQLITE_READONLY);
	sqlite3_close(db);
}

static void names_keep_their_bytes(void **state)
{
	struct recording *recording = sample__begin(path);

	sample__thread(recording, 1, 1, "\x1b[31m\xff'\"%s\n", 0);
	sample__finish(recording);
	assert_int_equal(ask("SELECT hex(comm) = '1B5B33316DFF2722"
			     "25730A' FROM thread"),
			 1);
}

static size_t put_number(unsigned char *bytes, size_t at, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		bytes[at + i] = number >> (24 - 8 * i);
	return at + 4;
}

/* A hot journal that changes nothing but, with `victim`, names a super-journal to be removed. */
static void write_journal(const char *victim)
{
	static const unsigned char magic[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	unsigned char bytes[1024] = {};
	struct stat info;
	uint32_t sum = 0;
	size_t at = 512;

	assert_int_equal(stat(path, &info), 0);
	memcpy(bytes, magic, 8);
	put_number(bytes, 16, info.st_size / 4096);
	put_number(bytes, 20, 512);
	put_number(bytes, 24, 4096);
	if (victim) {
		at = put_number(bytes, at, 0x40000000 / 4096 + 1);
		for (const char *c = victim; *c; c++) {
			sum += *c;
			bytes[at++] = *c;
		}
		at = put_number(bytes, at, strlen(victim));
		at = put_number(bytes, at, sum);
		memcpy(bytes + at, magic, 8);
		at += 8;
	}
	write_file(beside("-journal"), bytes, at);
}

static void a_journal_that_names_a_file_to_remove_is_refused(void **state)
{
	sqlite3 *db = NULL;

	sample__write(path);
	write_file(beside(".victim"), "precious", 8);
	write_journal(beside(".victim"));
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	assert_null(db);
	assert_true(exists_beside("-journal"));
	assert_int_equal(unlink(beside("-journal")), 0);
	assert_int_equal(unlink(beside(".victim")), 0);
	assert_true(ask("SELECT count(*) FROM thread") > 0);
}

static void name_a_victim(int flags)
{
	if (flags & SQLITE_OPEN_READWRITE)
		write_journal(beside(".victim"));
}

static void a_journal_that_is_changed_after_the_look_at_it_removes_nothing_either(void **state)
{
	sqlite3 *db = NULL;

	sample__write(path);
	write_journal(NULL);
	assert_true(ask("SELECT count(*) FROM thread") > 0);
	assert_false(exists_beside("-journal"));
	write_journal(NULL);
	write_file(beside(".victim"), "precious", 8);
	meddle_before = name_a_victim;
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	assert_null(db);
	unlink(beside("-journal"));
	assert_int_equal(unlink(beside(".victim")), 0);
}

static void the_recorder_removes_nothing_that_a_planted_journal_names(void **state)
{
	struct recording *recording = sample__begin(path);

	assert_int_equal(recording__commit(recording), 0);
	write_file(beside(".victim"), "precious", 8);
	write_journal(beside(".victim"));
	assert_int_not_equal(recording__put_cpu(recording, 0, 1), 0);
	recording__free(recording);
	unlink(beside("-journal"));
	assert_int_equal(unlink(beside(".victim")), 0);
}

static void what_is_no_journal_of_the_recordings_owner_is_refused(void **state)
{
	sqlite3 *db = NULL;

	sample__write(path);
	write_journal(NULL);
	assert_int_equal(rename(beside("-journal"), beside(".other")), 0);
	assert_int_equal(symlink(beside(".other"), beside("-journal")), 0);
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	assert_int_equal(unlink(beside("-journal")), 0);
	assert_int_equal(link(beside(".other"), beside("-journal")), 0);
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	assert_int_equal(unlink(beside("-journal")), 0);
	assert_int_equal(mkfifo(beside("-journal"), 0600), 0);
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	assert_int_equal(rename(beside(".other"), beside("-journal")), 0);
	/* A recording with a second name may be somebody's file. */
	assert_int_equal(link(path, beside(".other")), 0);
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	assert_int_equal(unlink(beside(".other")), 0);
	assert_true(ask("SELECT count(*) FROM thread") > 0);
}

static void a_journal_of_somebody_else_is_refused_and_stays_theirs(void **state)
{
	struct stat info;
	sqlite3 *db = NULL;

	if (geteuid()) {
		print_message("only root can give a file away\n");
		skip();
	}
	sample__write(path);
	write_journal(NULL);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(recording__open(path, &db), -EBADMSG);
	assert_int_equal(stat(beside("-journal"), &info), 0);
	assert_int_equal(info.st_uid, 0);
	assert_int_equal(unlink(beside("-journal")), 0);
}

static void what_a_recording_never_has_is_refused(void **state)
{
	static const char *const extras[] = {
		"CREATE TRIGGER t AFTER INSERT ON meta BEGIN SELECT 1; END",
		"CREATE VIRTUAL TABLE v USING fts4(x)",
		"PRAGMA journal_mode = WAL",
	};
	sqlite3 *db = NULL, *other = NULL;

	for (size_t i = 0; i < sizeof(extras) / sizeof(*extras); i++) {
		sample__write(path);
		assert_int_equal(sqlite3_open(path, &other), 0);
		assert_int_equal(sqlite3_exec(other, extras[i], NULL, NULL, NULL), 0);
		sqlite3_close(other);
		assert_int_equal(recording__open(path, &db), -EBADMSG);
		assert_null(db);
		assert_false(exists_beside("-wal"));
		assert_false(exists_beside("-shm"));
		assert_int_equal(unlink(path), 0);
	}
}

static void put_a_link(int flags)
{
	unlink(path);
	assert_int_equal(symlink(beside(".target"), path), 0);
}

static void put_a_link_late(int flags)
{
	if (flags)
		put_a_link(flags);
}

static void put_another_file(int flags)
{
	if (!flags)
		return;
	assert_int_equal(rename(path, beside(".ours")), 0);
	assert_int_equal(rename(beside(".target"), path), 0);
}

static void put_ours_back(void)
{
	assert_int_equal(rename(path, beside(".target")), 0);
	assert_int_equal(rename(beside(".ours"), path), 0);
}

static void assert_empty(const char *name)
{
	struct stat info;

	assert_int_equal(stat(name, &info), 0);
	assert_int_equal(info.st_size, 0);
}

static void what_takes_the_place_of_a_new_file_is_not_written(void **state)
{
	static void (*const ways[])(int flags) = { put_a_link, put_a_link_late, put_another_file };
	struct recording *recording = NULL;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		write_file(beside(".target"), "", 0);
		meddle_before = ways[i];
		meddle_after = ways[i] == put_another_file ? put_ours_back : NULL;
		assert_int_equal(recording__create(path, false, &recording), -EINVAL);
		assert_null(recording);
		assert_empty(beside(".target"));
		assert_int_equal(unlink(beside(".target")), 0);
		unlink(path);
	}
}

static void a_folder_may_be_a_link(void **state)
{
	struct recording *recording = NULL;
	char folder[256], name[300];

	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(symlink(folder, beside(".folder")), 0);
	snprintf(name, sizeof(name), "%s/run.gapless", beside(".folder"));
	assert_int_equal(recording__create(name, false, &recording), 0);
	sample__finish(recording);
	assert_int_equal(unlink(beside(".folder")), 0);
	assert_int_equal(ask("SELECT value FROM meta WHERE key = 'complete'"), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file_is_private_and_alone),
		TEST(an_existing_file_needs_force),
		TEST(force_removes_no_device_and_follows_no_link),
		TEST(a_folder_that_is_not_there_is_said_so),
		TEST(an_old_journal_does_not_get_into_a_new_file),
		TEST(a_name_that_means_something_to_sqlite_is_a_name),
		TEST(the_same_account_again_adds_up),
		TEST(waits_that_ended_differently_have_rows_of_their_own),
		TEST(sums_per_thread_add_up),
		TEST(waits_buckets_and_syscalls_add_up),
		TEST(putting_again_updates),
		TEST(a_threads_last_name_counts),
		TEST(it_is_complete_only_when_finished),
		TEST(a_reader_at_work_fails_no_commit),
		TEST(a_kill_at_any_moment_leaves_what_was_committed),
		TEST(a_kill_inside_a_commit_is_rolled_back_by_the_reader),
		TEST(a_full_disk_ends_it_and_keeps_what_was_committed),
		TEST(what_is_no_recording_is_refused),
		TEST(a_newer_schema_is_said_so),
		TEST(a_truncated_file_is_an_error_or_readable_but_never_a_crash),
		TEST(reading_changes_nothing),
		TEST(names_keep_their_bytes),
		TEST(a_journal_that_names_a_file_to_remove_is_refused),
		TEST(a_journal_that_is_changed_after_the_look_at_it_removes_nothing_either),
		TEST(the_recorder_removes_nothing_that_a_planted_journal_names),
		TEST(what_is_no_journal_of_the_recordings_owner_is_refused),
		TEST(a_journal_of_somebody_else_is_refused_and_stays_theirs),
		TEST(what_a_recording_never_has_is_refused),
		TEST(what_takes_the_place_of_a_new_file_is_not_written),
		TEST(a_folder_may_be_a_link),
	};

	let_meddle();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
