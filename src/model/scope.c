/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/scope.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/daytime.h"
#include "base/parse.h"
#include "model/load.h"
#include "recording/recording.h"

#define VALUES_SHOWN 8

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

const char *scope__why(const struct scope *scope, int err)
{
	return scope->why && *scope->why ? scope->why : model__why(err);
}

/*
 * A time of day as an offset from the start. A recording may cross midnight, and a time of day may
 * lie before its start: of the two days that are possible, the one nearer to the recording counts.
 */
static int64_t settle(const struct scope_time *time, const struct model *model)
{
	int64_t length = model->end_ns - model->start_ns, after;

	if (!time->is_daytime)
		return (int64_t)time->ns;
	after = (int64_t)time->ns - daytime__of_day_ns(model->start_unix_ns, model->zone_s);
	if (after < 0)
		after += DAYTIME_DAY_NS;
	return after > length && after - length > DAYTIME_DAY_NS - after ? after - DAYTIME_DAY_NS
									 : after;
}

static void say_span(const struct scope *scope, const struct model *model)
{
	int64_t end_unix_ns = model->start_unix_ns + (model->end_ns - model->start_ns);

	if (!scope->why)
		return;
	*scope->why = '\0';
	words__say(scope->why, SCOPE_WHY_SIZE, "nothing of it is in that stretch: it lasts %s",
		   words__time(model->end_ns - model->start_ns).text);
	if (model->start_unix_ns)
		words__say(scope->why, SCOPE_WHY_SIZE, ", from %s to %s",
			   daytime__words(model->start_unix_ns, model->zone_s).text,
			   daytime__words(end_unix_ns, model->zone_s).text);
	else if (scope->from.is_daytime || scope->to.is_daytime)
		words__say(scope->why, SCOPE_WHY_SIZE,
			   ", and does not say at which time of day [use times like 10s]");
}

int scope__cut(const struct scope *scope, struct model *model)
{
	int64_t length = model->end_ns - model->start_ns, from = 0, to = length;
	bool is_daytime = scope->from.is_daytime || scope->to.is_daytime;

	if (scope->from.ns || scope->from.is_daytime)
		from = settle(&scope->from, model);
	if (scope->to.ns || scope->to.is_daytime)
		to = settle(&scope->to, model);
	from = from < 0 ? 0 : from;
	to = to > length ? length : to;
	model->cut = scope->from.ns || scope->to.ns || is_daytime;
	if (model->cut && (from >= to || (is_daytime && !model->start_unix_ns))) {
		say_span(scope, model);
		return -ERANGE;
	}
	model->from_ns = model->start_ns + from;
	model->to_ns = model->start_ns + to;
	model->wall_ns = model->to_ns - model->from_ns;
	return 0;
}

/* How a thread t of process p has the value v.text, and what to list if none has. */
static const struct {
	const char *name, *condition, *listed;
} keys[SCOPE_KEYS] = {
	[SCOPE_PID] = { "pid", "p.pid = CAST(v.text AS INT)", "p.pid || ' (' || p.comm || ')'" },
	[SCOPE_THREAD] = { "thread", "t.tid = CAST(v.text AS INT)",
			   "t.tid || ' (' || t.comm || ')'" },
	[SCOPE_COMM] = { "comm",
			 "(t.comm GLOB v.text OR p.comm GLOB v.text OR EXISTS (SELECT 1 FROM"
			 " main.thread_name n WHERE n.thread = t.id AND n.comm GLOB v.text))",
			 "coalesce(p.comm, t.comm)" },
	[SCOPE_CGROUP] = { "cgroup",
			   "(p.cgroup = rtrim(v.text, '/') OR substr(p.cgroup, 1,"
			   " length(rtrim(v.text, '/')) + 1) = rtrim(v.text, '/') || '/'"
			   " OR v.text = '/')",
			   "p.cgroup" },
};

#define OF_THREADS " FROM main.thread t LEFT JOIN main.process p ON p.id = t.process"
#define MEASURED   " t.id > 0 AND coalesce(t.flags, 0) & (8 | 16) = 0"

const char *scope__key(enum scope_key key)
{
	return keys[key].name;
}

static int run(sqlite3 *db, const char *sql)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	return rc ? load__error(rc) : 0;
}

static int add_value(sqlite3 *db, const char *text, size_t length)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(db, "INSERT INTO temp.scope_value VALUES(?1)", -1, &row, NULL);

	if (rc)
		return load__error(rc);
	sqlite3_bind_text(row, 1, text, (int)length, SQLITE_TRANSIENT);
	return load__error(sqlite3_step(row));
}

static int add_values(sqlite3 *db, enum scope_key key, const char *text)
{
	bool is_list = key == SCOPE_PID || key == SCOPE_THREAD;
	const char *word;
	size_t length;
	int err = 0;

	if (!is_list)
		return add_value(db, text, strlen(text));
	while (!err && (word = parse__next_word(&text, &length)))
		err = add_value(db, word, length);
	return err;
}

/* Leaves the threads that have one of the values. */
static int keep(const struct scope *scope, enum scope_key key, sqlite3 *db)
{
	char sql[1024];
	int err = run(db, "DELETE FROM temp.scope_value");

	for (size_t i = 0; !err && scope->only[key][i]; i++)
		err = add_values(db, key, scope->only[key][i]);
	snprintf(sql, sizeof(sql),
		 "DELETE FROM temp.scope_thread WHERE id NOT IN (SELECT t.id" OF_THREADS
		 ", temp.scope_value v WHERE %s)",
		 keys[key].condition);
	return err ? err : run(db, sql);
}

static int count(sqlite3 *db, const char *sql, size_t *ret)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &row, NULL);

	if (!rc)
		rc = sqlite3_step(row);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? -EBADMSG : load__error(rc);
	*ret = (size_t)sqlite3_column_int64(row, 0);
	return 0;
}

/* Lists what the recording has instead, most threads first. */
static void say_what_exists(const struct scope *scope, enum scope_key key, sqlite3 *db)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	char sql[512];
	size_t said = 0, left = 0;

	snprintf(sql, sizeof(sql),
		 "SELECT %s" OF_THREADS " WHERE" MEASURED " GROUP BY 1 ORDER BY count(*) DESC, 1",
		 keys[key].listed);
	if (!scope->why || sqlite3_prepare_v2(db, sql, -1, &row, NULL))
		return;
	*scope->why = '\0';
	words__say(scope->why, SCOPE_WHY_SIZE, "none of its threads has this %s", keys[key].name);
	while (sqlite3_step(row) == SQLITE_ROW) {
		const char *value = (const char *)sqlite3_column_text(row, 0);

		if (!value || said == VALUES_SHOWN) {
			left += value != NULL;
			continue;
		}
		words__say(scope->why, SCOPE_WHY_SIZE, "%s%s", said ? ", " : "; it has ",
			   words__clean(value, 60).text);
		said++;
	}
	if (left)
		words__say(scope->why, SCOPE_WHY_SIZE, " and %zu more", left);
}

/* "pid 12,13; comm worker-*" */
static int say_values(const struct scope *scope, struct model *model)
{
	char text[512] = "";

	for (int key = 0; key < SCOPE_KEYS; key++)
		for (size_t i = 0; scope->only[key] && scope->only[key][i]; i++)
			words__say(text, sizeof(text), "%s%s %s",
				   !*text ? ""
				   : i    ? " or "
					  : ", ",
				   i ? "" : keys[key].name,
				   words__clean(scope->only[key][i], 100).text);
	model->narrowed = load__keep(model, text);
	return model->narrowed ? 0 : -ENOMEM;
}

/* Which threads match is decided with the tables of the recording itself, before they are hidden.
 */
static int choose(const struct scope *scope, struct model *model, sqlite3 *db)
{
	int err = run(
		db, "CREATE TEMP TABLE scope_value(text TEXT);"
		    "CREATE TEMP TABLE scope_thread(id INTEGER PRIMARY KEY);"
		    "INSERT INTO temp.scope_thread SELECT t.id FROM main.thread t WHERE" MEASURED);

	if (!err)
		err = count(db, "SELECT count(*) FROM temp.scope_thread", &model->all_threads);
	for (int key = 0; !err && key < SCOPE_KEYS; key++) {
		size_t left;

		if (!scope->only[key] || !scope->only[key][0])
			continue;
		err = keep(scope, key, db);
		if (!err)
			err = count(db, "SELECT count(*) FROM temp.scope_thread", &left);
		if (!err && !left) {
			say_what_exists(scope, key, db);
			return -ESRCH;
		}
	}
	return err;
}

static int hide(sqlite3 *db, const char *table, const char *condition)
{
	char sql[512];

	/* Older recordings do not have all tables. */
	if (sqlite3_table_column_metadata(db, "main", table, NULL, NULL, NULL, NULL, NULL, NULL))
		return 0;
	snprintf(sql, sizeof(sql), "CREATE TEMP VIEW %s AS SELECT * FROM main.%s WHERE %s", table,
		 table, condition);
	return run(db, sql);
}

#define WHOLLY_IN                                                                                          \
	"process != 0 AND process NOT IN (SELECT coalesce(t.process, 0) FROM main.thread t WHERE" MEASURED \
	" AND t.id NOT IN (SELECT id FROM temp.scope_thread))"

static int hide_others(sqlite3 *db)
{
	static const char *const by_thread[] = { "account",        "allocated",   "fault_slice",
						 "wait",           "occupant",    "sample",
						 "syscall_thread", "failed_path", "fatal",
						 "series",         "event",       "estimate",
						 "signal_sample" };
	/* Windows are kept by process: those of processes whose threads were all chosen stay. */
	static const char *const windows[] = { "window_class", "window_band", "window_time",
					       "window" };
	static const char *const of_all[] = { "histogram", "syscall_slice", "distribution_slice" };
	/* Outside threads stay: they are in no total, and say why the chosen ones waited. */
	int err = run(db, "INSERT INTO temp.scope_thread SELECT id FROM main.thread"
			  " WHERE flags & 16");

	for (size_t i = 0; !err && i < sizeof(by_thread) / sizeof(*by_thread); i++)
		err = hide(db, by_thread[i], "thread IN (SELECT id FROM temp.scope_thread)");
	for (size_t i = 0; !err && i < sizeof(of_all) / sizeof(*of_all); i++)
		err = hide(db, of_all[i], "0");
	for (size_t i = 0; !err && i < sizeof(windows) / sizeof(*windows); i++)
		err = hide(db, windows[i],
			   i ? "class IN (SELECT id FROM window_class)" : WHOLLY_IN);
	if (err)
		return err;
	return run(db, "CREATE TEMP VIEW thread AS SELECT id, process, tid, comm, first_ns,"
		       " last_ns, unexplained_ns, CASE WHEN id IN (SELECT id FROM"
		       " temp.scope_thread) THEN flags ELSE coalesce(flags, 0) | 8 END AS flags"
		       " FROM main.thread");
}

_Static_assert(RECORDING_THREAD_NO_ACCOUNT == 8 && RECORDING_THREAD_OUTSIDE == 16,
	       "the numbers in the SQL above");

int scope__narrow(const struct scope *scope, struct model *model, sqlite3 *db)
{
	bool any = false;
	int err;

	for (int key = 0; key < SCOPE_KEYS; key++)
		any = any || (scope->only[key] && scope->only[key][0]);
	if (!any)
		return 0;
	/* The connection is read-only; this allows temporary tables, which are not in the file. */
	err = run(db, "PRAGMA query_only = OFF");
	if (!err)
		err = choose(scope, model, db);
	if (!err)
		err = hide_others(db);
	if (!err)
		err = say_values(scope, model);
	return err ? err : run(db, "PRAGMA query_only = ON");
}
