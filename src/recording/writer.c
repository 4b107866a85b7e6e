/*
 * The writer: one prepared statement per kind of row, kept for the whole run; a transaction opens
 * by itself with the first row after a commit (schema.c says why it should stay short).
 *
 * The first failure is final. Going on after a lost transaction would leave a hole in the accounts
 * that nobody sees; so every later call returns the same error, and the file keeps what was
 * committed, with complete = 0.
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

/* A reader may hold up a slice's commit for this long, and the last two for longer. */
#define BUSY_MS        20
#define BUSY_FINISH_MS 5000

enum statement {
	SQL_META,
	SQL_STATE,
	SQL_PROCESS,
	SQL_THREAD,
	SQL_NAME,
	SQL_SLICE,
	SQL_ACCOUNT,
	SQL_OBJECT,
	SQL_WAIT,
	SQL_BUCKET,
	SQL_SYSCALL,
	SQL_SYSCALL_SLICE,
	SQL_SYSCALL_ERROR,
	SQL_MODULE,
	SQL_FRAME,
	SQL_FUNCTION,
	SQL_LINE,
	SQL_STACK,
	SQL_SAMPLE,
	SQL_CPU,
	SQL_QUALITY,
	SQL_COST,
	SQL_COUNT
};

static const char *const sql[SQL_COUNT] = {
	[SQL_META] = "INSERT OR REPLACE INTO meta VALUES(?1, ?2)",
	[SQL_STATE] = "INSERT OR REPLACE INTO state VALUES(?1, ?2, ?3, ?4)",
	[SQL_PROCESS] = "INSERT OR REPLACE INTO process SELECT ?1, ?2, ?3, ?4, ?5,"
			" coalesce(?6, (SELECT cgroup FROM process WHERE id = ?1)),"
			" coalesce(?7, (SELECT container FROM process WHERE id = ?1))",
	[SQL_THREAD] = "INSERT OR REPLACE INTO thread VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[SQL_NAME] = "INSERT OR REPLACE INTO thread_name VALUES(?1, ?2, ?3)",
	[SQL_SLICE] = "INSERT OR REPLACE INTO slice VALUES(?1, ?2, ?3)",
	[SQL_ACCOUNT] = "INSERT INTO account VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE"
			" SET slice_from = min(slice_from, excluded.slice_from),"
			" ns = ns + excluded.ns, count = count + excluded.count",
	[SQL_OBJECT] = "INSERT OR REPLACE INTO object VALUES(?1, ?2, ?3)",
	[SQL_WAIT] = "INSERT INTO wait VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE"
		     " SET ns = ns + excluded.ns, count = count + excluded.count",
	[SQL_BUCKET] = "INSERT INTO histogram VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE"
		       " SET slice_from = min(slice_from, excluded.slice_from),"
		       " count = count + excluded.count",
	[SQL_SYSCALL] = "INSERT INTO syscall VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE"
			" SET max_ns = max(max_ns, excluded.max_ns)",
	[SQL_SYSCALL_SLICE] = "INSERT INTO syscall_slice VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
			      " ON CONFLICT DO UPDATE"
			      " SET slice_from = min(slice_from, excluded.slice_from),"
			      " count = count + excluded.count, errors = errors + excluded.errors,"
			      " total_ns = total_ns + excluded.total_ns,"
			      " run_ns = run_ns + excluded.run_ns",
	[SQL_SYSCALL_ERROR] = "INSERT INTO syscall_error VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE"
			      " SET count = count + excluded.count",
	[SQL_MODULE] = "INSERT OR REPLACE INTO module VALUES(?1, ?2, ?3, ?4)",
	[SQL_FRAME] = "INSERT INTO frame VALUES(?1, ?2, ?3)",
	[SQL_FUNCTION] = "INSERT INTO function VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[SQL_LINE] = "INSERT INTO frame_line VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_STACK] = "INSERT INTO stack VALUES(?1, ?2, ?3)",
	[SQL_SAMPLE] = "INSERT INTO sample VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
		       " ?11, ?12, ?13, ?14, ?15)",
	[SQL_CPU] = "INSERT OR REPLACE INTO cpu VALUES(?1, ?2)",
	[SQL_QUALITY] = "INSERT OR REPLACE INTO quality VALUES(?1, ?2, ?3)",
	[SQL_COST] = "INSERT OR REPLACE INTO cost VALUES(?1, ?2, ?3)",
};

struct recording {
	sqlite3 *db;
	sqlite3_stmt *statements[SQL_COUNT];
	int failed; /* the first error, which is every later one's */
	char words[256];
};

DEFINE_CLEANUP(struct recording *, recording__free)

struct value {
	enum { VALUE_NUMBER, VALUE_REAL, VALUE_TEXT } kind;
	union {
		int64_t number;
		double real;
		const char *text; /* NULL: unknown */
	};
};

static struct value number(int64_t value)
{
	return (struct value) { .kind = VALUE_NUMBER, .number = value };
}

static struct value real(double value)
{
	return (struct value) { .kind = VALUE_REAL, .real = value };
}

static struct value text(const char *value)
{
	return (struct value) { .kind = VALUE_TEXT, .text = value };
}

/* A quota and a file size limit are a full disk to whoever has to react to it. */
static int error_of(sqlite3 *db, int rc)
{
	int err = 0;

	if (rc == SQLITE_IOERR)
		sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &err);
	if (rc == SQLITE_FULL || err == ENOSPC || err == EDQUOT || err == EFBIG)
		return -ENOSPC;
	return rc == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

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

static int add_row(struct recording *recording, enum statement which, const struct value *values,
		   int count)
{
	sqlite3_stmt **statement = &recording->statements[which];
	int rc = 0;

	if (recording->failed)
		return recording->failed;
	if (sqlite3_get_autocommit(recording->db) && execute(recording, "BEGIN"))
		return recording->failed;
	if (!*statement)
		rc = sqlite3_prepare_v3(recording->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
					statement, NULL);
	for (int i = 0; i < count && !rc; i++)
		rc = bind(*statement, i + 1, &values[i]);
	if (rc)
		return fail(recording, rc);
	sqlite3_step(*statement);
	rc = sqlite3_reset(*statement);
	return rc ? fail(recording, rc) : 0;
}

#define ADD_ROW(recording, which, ...)                                                             \
	add_row(recording, which, (const struct value[]) { __VA_ARGS__ },                          \
		sizeof((const struct value[]) { __VA_ARGS__ }) / sizeof(struct value))

/*
 * SQLite opens by name, and the folder's owner may have put something else there since: -EINVAL,
 * before a byte is written.
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
	cleanup(close_p) int fd = -1; /* closed while SQLite has no lock, which that would drop */
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
	/* The pragma not within a transaction, where SQLite would not let it change. */
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

int recording__set_text(struct recording *recording, const char *key, const char *value)
{
	return ADD_ROW(recording, SQL_META, text(key), text(value));
}

int recording__set_number(struct recording *recording, const char *key, int64_t value)
{
	return ADD_ROW(recording, SQL_META, text(key), number(value));
}

int recording__add_state(struct recording *recording, const struct recording_state *state)
{
	return ADD_ROW(recording, SQL_STATE, number(state->id), text(state->state),
		       text(state->cause), text(state->kind));
}

int recording__put_process(struct recording *recording, const struct recording_process *process)
{
	return ADD_ROW(recording, SQL_PROCESS, number(process->id), number(process->pid),
		       number(process->parent_pid), number(process->start_ns), text(process->comm),
		       text(process->cgroup), text(process->container));
}

int recording__put_thread(struct recording *recording, const struct recording_thread *thread)
{
	return ADD_ROW(recording, SQL_THREAD, number(thread->id), number(thread->process),
		       number(thread->tid), text(thread->comm), number(thread->first_ns),
		       number(thread->last_ns), number(thread->unexplained_ns),
		       number(thread->flags));
}

int recording__add_name(struct recording *recording, int64_t thread, int64_t time_ns,
			const char *comm)
{
	return ADD_ROW(recording, SQL_NAME, number(thread), number(time_ns), text(comm));
}

int recording__add_slice(struct recording *recording, int64_t id, int64_t begin_ns, int64_t end_ns)
{
	return ADD_ROW(recording, SQL_SLICE, number(id), number(begin_ns), number(end_ns));
}

int recording__add_account(struct recording *recording, const struct recording_account *account)
{
	return ADD_ROW(recording, SQL_ACCOUNT, number(account->to), number(account->thread),
		       number(account->state), number(account->from), number(account->ns),
		       number(account->count));
}

int recording__put_object(struct recording *recording, const struct recording_object *object)
{
	return ADD_ROW(recording, SQL_OBJECT, number(object->id), text(object->kind),
		       text(object->name));
}

int recording__add_wait(struct recording *recording, const struct recording_wait *wait)
{
	return ADD_ROW(recording, SQL_WAIT, number(wait->thread), number(wait->state),
		       number(wait->object), number(wait->by), text(wait->evidence),
		       number(wait->ns), number(wait->count));
}

int recording__add_bucket(struct recording *recording, const struct recording_bucket *bucket)
{
	return ADD_ROW(recording, SQL_BUCKET, number(bucket->to), number(bucket->of),
		       number(bucket->key), number(bucket->bucket), number(bucket->from),
		       number(bucket->count));
}

int recording__add_syscall(struct recording *recording, const struct recording_syscall *syscall)
{
	int err = ADD_ROW(recording, SQL_SYSCALL, number(syscall->number), text(syscall->name),
			  number(syscall->max_ns));

	if (err)
		return err;
	return ADD_ROW(recording, SQL_SYSCALL_SLICE, number(syscall->to), number(syscall->number),
		       number(syscall->from), number(syscall->count), number(syscall->errors),
		       number(syscall->total_ns), number(syscall->run_ns));
}

int recording__add_syscall_error(struct recording *recording, int number_of_call, int err,
				 int64_t count)
{
	return ADD_ROW(recording, SQL_SYSCALL_ERROR, number(number_of_call), number(err),
		       number(count));
}

int recording__add_module(struct recording *recording, const struct recording_module *module)
{
	return ADD_ROW(recording, SQL_MODULE, number(module->id), text(module->kind),
		       text(module->path), text(module->build_id));
}

int recording__add_frame(struct recording *recording, int64_t id, int64_t module, int64_t address)
{
	return ADD_ROW(recording, SQL_FRAME, number(id), number(module), number(address));
}

int recording__add_function(struct recording *recording, const struct recording_function *function)
{
	return ADD_ROW(recording, SQL_FUNCTION, number(function->id), number(function->module),
		       text(function->name), text(function->system_name), text(function->file),
		       number(function->start_line));
}

int recording__add_line(struct recording *recording, const struct recording_line *line)
{
	return ADD_ROW(recording, SQL_LINE, number(line->frame), number(line->depth),
		       number(line->function), number(line->line), number(line->column));
}

int recording__add_stack(struct recording *recording, int64_t id, int64_t parent, int64_t frame)
{
	return ADD_ROW(recording, SQL_STACK, number(id), number(parent), number(frame));
}

int recording__add_sample(struct recording *recording, const struct recording_sample *sample)
{
	return ADD_ROW(recording, SQL_SAMPLE, number(sample->time_ns), number(sample->thread),
		       number(sample->state), number(sample->stack), number(sample->waker_stack),
		       number(sample->by), number(sample->object), number(sample->weight_ns),
		       number(sample->wait_ns), number(sample->period_ns), number(sample->count),
		       number(sample->flags), text(sample->none), text(sample->end),
		       text(sample->how));
}

int recording__put_cpu(struct recording *recording, int cpu, int64_t idle_ns)
{
	return ADD_ROW(recording, SQL_CPU, number(cpu), number(idle_ns));
}

int recording__put_quality(struct recording *recording, const char *name, int64_t value,
			   const char *bias)
{
	return ADD_ROW(recording, SQL_QUALITY, text(name), number(value), text(bias));
}

int recording__put_cost(struct recording *recording, const char *name, double value,
			const char *unit)
{
	return ADD_ROW(recording, SQL_COST, text(name), real(value), text(unit));
}
