/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread whose state does not change sends no record, so it has no rows for the time since its
 * last one. It is still in the state of its last record. So the part of the window that a thread's
 * rows do not cover goes to its open state. The ledger will book it in the same way once the thread
 * sends a record.
 */
#include "tui/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "vocabulary/counters.h"

#define MOST_STATES 64
#define MARKS       64

enum question {
	ASK_AFTER,
	ASK_LAST,
	ASK_THREADS,
	ASK_ACCOUNTS,
	ASK_CALLS_BY_THREAD,
	ASK_HEAD,
	ASK_WAITS,
	ASK_CALLS,
	ASK_CALLS_OF_ALL,
	ASK_FUNCTIONS,
	ASK_SAMPLE,
	ASK_QUALITY,
	ASK_QUESTIONS
};

/* clang-format off */

#define WANTED(thread) "(?5 = 0 OR " thread " IN (SELECT id FROM thread WHERE tid = ?5))"

/* The brief words for the keys of kinds.def. */
#define WHEN_KIND(kind, key, words, brief, ...) " WHEN '" key "' THEN ' (" brief ")'"
#define BRIEF_IF_NOT_HELD_UP " WHEN 'delaying' THEN ''" KINDS(WHEN_KIND)

static const char *const questions[ASK_QUESTIONS] = {
	[ASK_AFTER] = "SELECT min(id), max(id), min(begin_ns), max(end_ns) FROM slice WHERE id > ?1",
	[ASK_LAST] = "SELECT min(id), max(id), min(begin_ns), max(end_ns) FROM slice WHERE id >="
		" coalesce((SELECT min(id) FROM slice WHERE begin_ns >= (SELECT max(end_ns)"
		" FROM slice) - ?1), (SELECT max(id) FROM slice))",
	[ASK_THREADS] = "SELECT t.id, t.process, p.pid, t.tid, t.comm, p.comm, t.first_ns, t.last_ns,"
		" t.flags FROM thread t LEFT JOIN process p ON p.id = t.process"
		" WHERE t.id > 0 AND t.flags & 8 = 0 AND (t.flags & 1 = 0 OR t.last_ns >= ?3)",
	[ASK_ACCOUNTS] = "SELECT a.thread, a.state, a.ns, a.count, a.slice_from, f.begin_ns, l.end_ns"
		" FROM account a LEFT JOIN slice f ON f.id = a.slice_from"
		" LEFT JOIN slice l ON l.id = a.slice_to WHERE a.slice_to BETWEEN ?1 AND ?2",
	[ASK_CALLS_BY_THREAD] = "SELECT s.thread, sum(c.count) FROM series_slice c JOIN series s"
		" ON s.id = c.series JOIN signal g ON g.id = s.signal"
		" WHERE c.slice_to BETWEEN ?1 AND ?2 AND g.role = 'calls' GROUP BY s.thread",
	[ASK_HEAD] = "SELECT (SELECT value FROM meta WHERE key = 'cpus'),"
		" (SELECT value FROM meta WHERE key = 'level') = 'full',"
		" (SELECT value FROM cost WHERE name = 'own_cpu_ns'),"
		" (SELECT value FROM cost WHERE name = 'hooks_cpu_ns'),"
		" (SELECT value FROM meta WHERE key = 'end_ns')"
		" - (SELECT value FROM meta WHERE key = 'start_ns'),"
		" (SELECT sum(value) FROM quality WHERE " COUNTERS_IS_LOSS ")",
	/* Delaying waits come first, because idle waits always take more time. */
	[ASK_WAITS] = "SELECT s.cause || CASE s.kind" BRIEF_IF_NOT_HELD_UP
		" END || CASE WHEN w.first THEN ', first held by '"
		" || coalesce(f.comm, '?') || CASE WHEN f.tid THEN '/' || f.tid ELSE '' END ELSE ''"
		" END || CASE WHEN w.evidence = 'timeout' THEN ', timed out' WHEN w.by THEN"
		" CASE w.evidence WHEN 'owner' THEN ', held by '"
		" WHEN 'handed' THEN ', last by ' ELSE ', ended by ' END || coalesce(b.comm, '?')"
		" || CASE WHEN b.tid THEN '/' || b.tid ELSE '' END ELSE '' END,"
		" coalesce(o.kind || ' ' || o.name, ''),"
		" sum(w.ns), sum(w.count), 0 FROM temp.wait_slice w JOIN state s ON s.id = w.state"
		" LEFT JOIN object o ON o.id = w.object LEFT JOIN thread b ON b.id = w.by"
		" LEFT JOIN thread f ON f.id = w.first"
		" WHERE w.slice BETWEEN ?1 AND ?2 AND " WANTED("w.thread") " GROUP BY w.state, w.object, w.by, w.evidence,"
		" w.first"
		" ORDER BY s.kind = 'delaying' DESC, s.kind = 'undecided' DESC, sum(w.ns) DESC",
	/*
	 * From the signal, which has the calls of each thread. The errno is the most frequent one.
	 */
	[ASK_CALLS] = "WITH c AS (SELECT s.operation AS name, s.errno AS errno, sum(x.sum0) AS ns,"
		" sum(x.count) AS count FROM series_slice x JOIN series s ON s.id = x.series"
		" JOIN signal g ON g.id = s.signal WHERE x.slice_to BETWEEN ?1 AND ?2"
		" AND g.role = 'calls' AND " WANTED("s.thread") " GROUP BY 1, 2)"
		" SELECT name, (SELECT e.errno FROM c e WHERE e.name = c.name AND e.errno"
		" ORDER BY e.count DESC LIMIT 1), sum(ns), sum(count),"
		" sum(CASE WHEN errno THEN count ELSE 0 END) FROM c GROUP BY name ORDER BY 3 DESC",
	[ASK_CALLS_OF_ALL] = "SELECT y.name, '', sum(c.total_ns), sum(c.count), sum(c.errors)"
		" FROM syscall_slice c JOIN syscall y USING(number)"
		" WHERE c.slice_to BETWEEN ?1 AND ?2 GROUP BY c.number ORDER BY sum(c.total_ns) DESC",
	/* Here ?1 and ?2 are the id and the time of a sample (struct mark). */
	[ASK_FUNCTIONS] = "WITH s AS (SELECT x.stack, x.none, sum(x.weight_ns) AS ns, count(*) AS n"
		" FROM sample x JOIN state t ON t.id = x.state WHERE t.state = 'run' AND x.id >"
		" coalesce((SELECT id FROM sample WHERE id = ?1 AND time_ns = ?2), 0)"
		" AND x.time_ns BETWEEN ?3 AND ?4 AND " WANTED("x.thread") " GROUP BY x.stack, x.none)"
		" SELECT coalesce(u.name, CASE WHEN f.id IS NULL THEN '[no stack: '"
		" || coalesce(s.none, 'unknown') || ']' END, replace(m.path, rtrim(m.path,"
		" replace(m.path, '/', '')), '') || printf('+0x%x', f.address)),"
		" coalesce(replace(m.path, rtrim(m.path, replace(m.path, '/', '')), ''), ''),"
		" sum(s.ns), sum(s.n), 0 FROM s LEFT JOIN stack k ON k.id = s.stack"
		" LEFT JOIN frame f ON f.id = k.frame LEFT JOIN module m ON m.id = f.module"
		" LEFT JOIN frame_line l ON l.frame = f.id AND l.depth = 0"
		" LEFT JOIN function u ON u.id = l.function GROUP BY 1, 2 ORDER BY sum(s.ns) DESC",
	[ASK_SAMPLE] = "SELECT id, time_ns FROM sample ORDER BY id DESC LIMIT 1",
	[ASK_QUALITY] = "SELECT name, bias || CASE remedy WHEN '' THEN '' ELSE ' [' || remedy || ']' END,"
		" 0, value, 0 FROM quality WHERE value > 0 ORDER BY " COUNTERS_IS_LOSS " DESC, name",
};

/* clang-format on */

struct state {
	enum ledger_slot slot; /* decides how it is shown */
	bool leaves;           /* begins when the thread leaves a CPU */
};

struct ask {
	sqlite3 *db;
	ask_open_state *open_state;
	void *context;
	sqlite3_stmt *statements[ASK_QUESTIONS];
	struct state states[MOST_STATES];
	bool has_calls;
	int only_tid;
	/*
	 * The newest sample at each earlier query, so that not all samples are read each time. A
	 * mark is valid only as long as that sample exists: when all samples are deleted, ids begin
	 * at 1 again.
	 */
	struct mark {
		int64_t asked_ns, id, time_ns;
	} marks[MARKS];
	size_t mark_count;
};

DEFINE_CLEANUP(struct ask *, ask__free)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

static const char *text_at(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? text : "";
}

static int read_states(struct ask *ask)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;

	if (sqlite3_prepare_v2(ask->db, "SELECT id, state, cause, kind FROM state", -1, &row, NULL))
		return -EIO;
	while (sqlite3_step(row) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(row, 0);
		const char *state = text_at(row, 1), *cause = text_at(row, 2);
		enum kind kind = kinds__of(state, (const char *)sqlite3_column_text(row, 3));
		enum ledger_slot slot = states__look(state, cause, kind);

		if (id < 0 || id >= MOST_STATES)
			continue;
		ask->states[id] = (struct state) {
			.slot = slot,
			.leaves = slot > SLOT_READY_WOKEN && slot < SLOT_WAIT_END,
		};
	}
	return 0;
}

int ask__new(sqlite3 *db, ask_open_state *open_state, void *context, struct ask **ret)
{
	cleanup(ask__free_p) struct ask *ask = calloc(1, sizeof(*ask));
	cleanup(sqlite3_finalize_p) sqlite3_stmt *signal = NULL;
	int err;

	if (!ask)
		return -ENOMEM;
	*ask = (struct ask) { .db = db, .open_state = open_state, .context = context };
	for (int i = 0; i < MOST_STATES; i++)
		ask->states[i].slot = SLOT_UNSEEN;
	err = read_states(ask);
	if (err)
		return err;
	if (sqlite3_prepare_v2(db, "SELECT 1 FROM signal WHERE role = 'calls'", -1, &signal, NULL))
		return -EIO;
	ask->has_calls = sqlite3_step(signal) == SQLITE_ROW;
	*ret = TAKE(ask);
	return 0;
}

void ask__free(struct ask *ask)
{
	if (!ask)
		return;
	for (int i = 0; i < ASK_QUESTIONS; i++)
		sqlite3_finalize(ask->statements[i]);
	free(ask);
}

bool ask__has_calls(struct ask *ask)
{
	return ask->has_calls;
}

void ask__only(struct ask *ask, int tid)
{
	ask->only_tid = tid;
}

/* Returns the statement with its parameters bound; NULL if SQLite fails. */
static sqlite3_stmt *put(struct ask *ask, enum question question, const struct ask_window *window)
{
	sqlite3_stmt **row = &ask->statements[question];
	const int64_t values[] = { window->from, window->to, window->begin_ns, window->end_ns,
				   ask->only_tid };

	if (!*row && sqlite3_prepare_v3(ask->db, questions[question], -1, SQLITE_PREPARE_PERSISTENT,
					row, NULL))
		return NULL;
	sqlite3_reset(*row);
	for (int i = 0; i < 5 && i < sqlite3_bind_parameter_count(*row); i++)
		sqlite3_bind_int64(*row, i + 1, values[i]);
	return *row;
}

static int end(sqlite3_stmt *row)
{
	return sqlite3_reset(row) ? -EIO : 0;
}

static int find_window(struct ask *ask, enum question question, int64_t value,
		       struct ask_window *ret)
{
	sqlite3_stmt *row = put(ask, question, &(struct ask_window) { .from = value });

	if (!row || sqlite3_step(row) != SQLITE_ROW)
		return -EIO;
	*ret = (struct ask_window) {
		.from = sqlite3_column_int64(row, 0),
		.to = sqlite3_column_int64(row, 1),
		.begin_ns = sqlite3_column_int64(row, 2),
		.end_ns = sqlite3_column_int64(row, 3),
	};
	return end(row);
}

int ask__after(struct ask *ask, int64_t after, struct ask_window *ret)
{
	return find_window(ask, ASK_AFTER, after, ret);
}

int ask__last(struct ask *ask, int64_t ns, struct ask_window *ret)
{
	return find_window(ask, ASK_LAST, ns, ret);
}

/* --- the table ------------------------------------------------------------------------------- */

struct gathered {
	struct map threads; /* id → index in `sums` + 1 */
	struct sums {
		int64_t ns[SLOT_COUNT];
		int64_t sum_ns, switches, calls;
	} *sums;
	size_t count, size;
};

static void gathered__release(struct gathered *gathered)
{
	map__release(&gathered->threads);
	free(gathered->sums);
}

static struct sums *sums_of(struct gathered *gathered, int64_t thread)
{
	uintptr_t place = (uintptr_t)map__get(&gathered->threads, (uint64_t)thread);

	if (place)
		return &gathered->sums[place - 1];
	if (gathered->count == gathered->size) {
		size_t size = gathered->size ? gathered->size * 2 : 256;
		void *grown = reallocarray(gathered->sums, size, sizeof(*gathered->sums));

		if (!grown)
			return NULL;
		gathered->sums = grown;
		gathered->size = size;
	}
	place = gathered->count + 1;
	if (map__put(&gathered->threads, (uint64_t)thread, (void *)place))
		return NULL;
	gathered->sums[gathered->count++] = (struct sums) {};
	return &gathered->sums[place - 1];
}

/* A row that began before the window counts by its part inside. */
static double share_inside(sqlite3_stmt *row, const struct ask_window *window)
{
	int64_t begin_ns = sqlite3_column_int64(row, 5), end_ns = sqlite3_column_int64(row, 6);

	if (sqlite3_column_int64(row, 4) >= window->from || end_ns <= begin_ns)
		return 1;
	return (double)(end_ns - window->begin_ns) / (double)(end_ns - begin_ns);
}

static int gather_accounts(struct ask *ask, const struct ask_window *window,
			   struct gathered *gathered)
{
	sqlite3_stmt *row = put(ask, ASK_ACCOUNTS, window);

	while (row && sqlite3_step(row) == SQLITE_ROW) {
		struct sums *sums = sums_of(gathered, sqlite3_column_int64(row, 0));
		int64_t state = sqlite3_column_int64(row, 1);
		double share = share_inside(row, window);
		int64_t ns = (int64_t)((double)sqlite3_column_int64(row, 2) * share);

		if (!sums) {
			end(row);
			return -ENOMEM;
		}
		if (state < 0 || state >= MOST_STATES)
			continue;
		sums->ns[ask->states[state].slot] += ns;
		sums->sum_ns += ns;
		if (ask->states[state].leaves)
			sums->switches +=
				(int64_t)((double)sqlite3_column_int64(row, 3) * share + 0.5);
	}
	return row ? end(row) : -EIO;
}

static int gather_calls(struct ask *ask, const struct ask_window *window, struct gathered *gathered)
{
	sqlite3_stmt *row = ask->has_calls ? put(ask, ASK_CALLS_BY_THREAD, window) : NULL;

	while (row && sqlite3_step(row) == SQLITE_ROW) {
		struct sums *sums = sums_of(gathered, sqlite3_column_int64(row, 0));

		if (!sums) {
			end(row);
			return -ENOMEM;
		}
		sums->calls = sqlite3_column_int64(row, 1);
	}
	return row ? end(row) : ask->has_calls ? -EIO : 0;
}

/* Up to the end of the window, the thread stayed in its open state. */
static void add_silence(struct ask *ask, const struct ask_window *window, int64_t first_ns,
			int64_t sum_ns, struct table_thread *thread)
{
	int64_t begin_ns = first_ns > window->begin_ns ? first_ns : window->begin_ns;
	int64_t silent_ns = window->end_ns - begin_ns - sum_ns;
	int state = ask->open_state(ask->context, thread->id);

	if (silent_ns > 0 && state > 0 && state < MOST_STATES)
		thread->ns[ask->states[state].slot] += silent_ns;
}

static int take_thread(struct ask *ask, const struct ask_window *window, sqlite3_stmt *row,
		       struct gathered *gathered, struct table *table)
{
	int64_t id = sqlite3_column_int64(row, 0), flags = sqlite3_column_int64(row, 8);
	uintptr_t place = (uintptr_t)map__get(&gathered->threads, (uint64_t)id);
	const struct sums *sums = place ? &gathered->sums[place - 1] : &(struct sums) {};
	struct table_thread thread = {
		.id = id,
		.process = sqlite3_column_int64(row, 1),
		.pid = sqlite3_column_int(row, 2),
		.tid = sqlite3_column_int(row, 3),
		.comm = (const char *)sqlite3_column_text(row, 4),
		.process_comm = (const char *)sqlite3_column_text(row, 5),
		.own = flags & 4,
		.ended = flags & 1,
		.switches = sums->switches,
		.calls = sums->calls,
	};

	if (ask->only_tid && thread.tid != ask->only_tid)
		return 0;
	memcpy(thread.ns, sums->ns, sizeof(thread.ns));
	if (!(flags & 1))
		add_silence(ask, window, sqlite3_column_int64(row, 6), sums->sum_ns, &thread);
	/* The thread ended before the window began, or its end was never seen. */
	if (!place && !bands__busy(thread.ns) && !bands__sum(thread.ns, KIND_IDLE) &&
	    !bands__sum(thread.ns, KIND_UNDECIDED))
		return 0;
	return table__add(table, &thread);
}

int ask__table(struct ask *ask, const struct ask_window *window, bool by_thread,
	       struct table *table)
{
	cleanup(gathered__release) struct gathered gathered = {};
	sqlite3_stmt *row;
	int err;

	table__begin(table, by_thread, window->end_ns - window->begin_ns);
	err = gather_accounts(ask, window, &gathered);
	if (!err)
		err = gather_calls(ask, window, &gathered);
	if (err)
		return err;
	row = put(ask, ASK_THREADS, window);
	while (row && !err && sqlite3_step(row) == SQLITE_ROW)
		err = take_thread(ask, window, row, &gathered, table);
	if (!row)
		return -EIO;
	return end(row) ? -EIO : err;
}

/* --- the rest -------------------------------------------------------------------------------- */

int ask__head(struct ask *ask, struct ask_head *ret)
{
	sqlite3_stmt *row = put(ask, ASK_HEAD, &(struct ask_window) {});

	if (!row || sqlite3_step(row) != SQLITE_ROW)
		return -EIO;
	*ret = (struct ask_head) {
		.cpus = sqlite3_column_int64(row, 0),
		.full = sqlite3_column_int64(row, 1),
		.own_cpu_ns = sqlite3_column_int64(row, 2),
		.hooks_cpu_ns = sqlite3_column_int64(row, 3),
		.elapsed_ns = sqlite3_column_int64(row, 4),
		.lost = sqlite3_column_int64(row, 5),
	};
	return end(row);
}

static int read_lines(struct ask *ask, enum question question, const struct ask_window *window,
		      struct ask_lines *ret)
{
	sqlite3_stmt *row = put(ask, question, window);

	ret->count = 0;
	ret->total_ns = ret->total_count = 0;
	while (row && sqlite3_step(row) == SQLITE_ROW) {
		struct ask_line *line = &ret->lines[ret->count];

		ret->total_ns += sqlite3_column_int64(row, 2);
		ret->total_count += sqlite3_column_int64(row, 3);
		if (ret->count == ASK_LINES)
			continue;
		snprintf(line->name, sizeof(line->name), "%s", text_at(row, 0));
		snprintf(line->more, sizeof(line->more), "%s", text_at(row, 1));
		line->ns = sqlite3_column_int64(row, 2);
		line->count = sqlite3_column_int64(row, 3);
		line->errors = sqlite3_column_int64(row, 4);
		ret->count++;
	}
	return row ? end(row) : -EIO;
}

int ask__waits(struct ask *ask, const struct ask_window *window, struct ask_lines *ret)
{
	return read_lines(ask, ASK_WAITS, window, ret);
}

int ask__calls(struct ask *ask, const struct ask_window *window, struct ask_lines *ret)
{
	return read_lines(ask, ask->has_calls ? ASK_CALLS : ASK_CALLS_OF_ALL, window, ret);
}

/*
 * Samples may arrive in any order, but a sample that exists at a query is older than the query. So
 * all samples of a window come after the mark of any query made before the window began. Returns
 * the last such mark.
 */
static struct mark mark_before(const struct ask *ask, int64_t time_ns)
{
	struct mark last = {};

	for (size_t i = 0; i < MARKS && i < ask->mark_count; i++)
		if (ask->marks[i].asked_ns <= time_ns && ask->marks[i].asked_ns > last.asked_ns)
			last = ask->marks[i];
	return last;
}

int ask__functions(struct ask *ask, const struct ask_window *window, struct ask_lines *ret)
{
	struct mark before = mark_before(ask, window->begin_ns), now = {};
	struct ask_window since = { before.id, before.time_ns, window->begin_ns, window->end_ns };
	sqlite3_stmt *row = put(ask, ASK_SAMPLE, window);

	if (row && sqlite3_step(row) == SQLITE_ROW)
		now = (struct mark) { (int64_t)clock__now_ns(), sqlite3_column_int64(row, 0),
				      sqlite3_column_int64(row, 1) };
	if (!row || end(row))
		return -EIO;
	if (now.id)
		ask->marks[ask->mark_count++ % MARKS] = now;
	return read_lines(ask, ASK_FUNCTIONS, &since, ret);
}

int ask__quality(struct ask *ask, struct ask_lines *ret)
{
	return read_lines(ask, ASK_QUALITY, &(struct ask_window) {}, ret);
}
