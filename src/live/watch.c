/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the tables of a recording and adds them up in two tables of our own, one for sums and one
 * for buckets. Each has the current interval (span 0) and the total (span 1). Rows that were added
 * are deleted from the recording. So are the ledger's own rows, which are not used here.
 *
 * Rows are split by the identity of a thread or process, not by its pid. Names are looked up when a
 * row is read, because the process may be gone later. Objects are split by name, so that a file is
 * one object whether it was known by its path or by its number.
 */
#include "live/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "live/watch_internal.h"

/* Most rows of a span. The rest is merged into one row. */
#define MOST_ROWS "5000"
/* Keep ended threads this long: their last events may still arrive. */
#define GONE_NS UINT64_C(10000000000)
/* Hold back an event, and all later ones, this long until the name of its thread is known. */
#define HOLD_NS INT64_C(2000000000)

DEFINE_CLEANUP(struct watch *, watch__free)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* clang-format off */

#define VALUES(f) f("0") ", " f("1") ", " f("2") ", " f("3") ", " f("4") ", " f("5")
#define SUM_OF(i) "sum(c.sum" i ")"
#define MAX_OF(i) "max(s.max" i ")"
#define SUM_ROWS(i) "sum(sum" i ")"
#define MAX_ROWS(i) "max(max" i ")"
#define ADD_SUM(i) "sum" i " = sum" i " + excluded.sum" i
#define ADD_MAX(i) "max" i " = max(max" i ", excluded.max" i ")"
#define COLUMN_SUM(i) "sum" i
#define COLUMN_MAX(i) "max" i
#define KEY "span, split, thread, process, object, errno, place, operation"
#define NAMES "pid, tid, comm, name, own"
#define ADD_UP                                                                                     \
	" ON CONFLICT DO UPDATE SET count = count + excluded.count, " VALUES(ADD_SUM) ", "         \
	VALUES(ADD_MAX)

static const char sql_tables[] =
	"CREATE TEMP TABLE watch_sum(span INT, split INT, thread INT, process INT, object,"
	" errno INT, place TEXT, operation TEXT, pid INT, tid INT, comm TEXT, name TEXT, own INT,"
	" count INT, "
	VALUES(COLUMN_SUM) ", " VALUES(COLUMN_MAX) ", UNIQUE(" KEY "));"
	"CREATE TEMP TABLE watch_bucket(span INT, place TEXT, operation TEXT, bucket INT,"
	" count INT, PRIMARY KEY(span, place, operation, bucket)) WITHOUT ROWID;";

/*
 * ?1 is the split: 0 for --by, 1 for histograms. ?2 are the bits of enum watch_by. "WHERE true"
 * keeps the parser from taking ON CONFLICT for a join condition.
 */
static const char sql_take_sums[] =
	"INSERT INTO watch_sum SELECT 0, ?1, iif(?2 & 1, s.thread, 0),"
	" iif(?2 & 3, coalesce(p.id, 0), 0), iif(?2 & 4, coalesce(o.name, s.object), 0), iif(?2 & 8, s.errno, 0),"
	" iif(?2 & 16, s.place, ''), iif(?2 & 32, s.operation, ''),"
	" coalesce(p.pid, 0), coalesce(t.tid, 0),"
	" coalesce(iif(?2 & 1, t.comm, coalesce(p.comm, t.comm)), ''), coalesce(o.name, ''),"
	" max(coalesce(t.flags & 4, 0)),"
	" sum(c.count), " VALUES(SUM_OF) ", " VALUES(MAX_OF)
	" FROM series_slice c JOIN series s ON s.id = c.series"
	" LEFT JOIN thread_named t ON t.id = s.thread AND ?2 & 3"
	" LEFT JOIN process p ON p.id = t.process LEFT JOIN object o ON o.id = s.object AND ?2 & 4"
	" WHERE true GROUP BY 3, 4, 5, 6, 7, 8" ADD_UP;

static const char sql_take_buckets[] =
	"INSERT INTO watch_bucket SELECT 0, iif(?2 & 16, d.place, ''),"
	" iif(?2 & 32, d.operation, ''), c.bucket, sum(c.count)"
	" FROM distribution_slice c JOIN distribution d ON d.id = c.distribution"
	" WHERE d.measure = ?1 GROUP BY 2, 3, 4"
	" ON CONFLICT DO UPDATE SET count = count + excluded.count";

static const char sql_forget[] =
	"DELETE FROM series_slice; DELETE FROM series; DELETE FROM distribution_slice;"
	"DELETE FROM thread_distribution;"
	"DELETE FROM account; DELETE FROM wait; DELETE FROM histogram; DELETE FROM syscall_slice;"
	"DELETE FROM syscall_error; DELETE FROM syscall_thread; DELETE FROM failed_path;"
	"DELETE FROM occupant; DELETE FROM fatal; DELETE FROM refault_slice;"
	"DELETE FROM resident; DELETE FROM allocated; DELETE FROM fiber; DELETE FROM fiber_time;"
	"DELETE FROM signal_sample; DELETE FROM slice;";

static const char sql_forget_threads[] =
	"DELETE FROM thread WHERE flags & 1 AND last_ns < ?1";

static const char sql_forget_names[] =
	"DELETE FROM thread_name WHERE thread NOT IN (SELECT id FROM thread);"
	"DELETE FROM process WHERE id NOT IN (SELECT process FROM thread WHERE process NOTNULL);";

/* Adds the interval to the total. */
static const char sql_fold[] =
	"INSERT INTO watch_sum SELECT 1, split, thread, process, object, errno, place, operation, "
	NAMES ", count, " VALUES(COLUMN_SUM) ", " VALUES(COLUMN_MAX)
	" FROM watch_sum WHERE span = 0" ADD_UP ";"
	"INSERT INTO watch_bucket SELECT 1, place, operation, bucket, count FROM watch_bucket"
	" WHERE span = 0 ON CONFLICT DO UPDATE SET count = count + excluded.count;"
	"DELETE FROM watch_sum WHERE span = 0; DELETE FROM watch_bucket WHERE span = 0;";

#define SMALLEST                                                                                   \
	"(SELECT rowid FROM watch_sum WHERE span = ?1 AND split = 0 AND thread >= 0"               \
	" ORDER BY sum0 DESC, count DESC, rowid LIMIT -1 OFFSET " MOST_ROWS ")"

static const char sql_join_smallest[] =
	"INSERT INTO watch_sum SELECT ?1, 0, -1, 0, 0, 0, '', '', 0, 0, '', '', 0, sum(count), "
	VALUES(SUM_ROWS) ", " VALUES(MAX_ROWS) " FROM watch_sum WHERE rowid IN " SMALLEST
	" GROUP BY span" ADD_UP;

static const char sql_drop_smallest[] = "DELETE FROM watch_sum WHERE rowid IN " SMALLEST;

/* ?3 is the measure. Rows of gapless itself come last. */
static const char sql_rows[] =
	"SELECT thread, pid, tid, comm, name, place, operation, errno, count, " VALUES(COLUMN_SUM) ", "
	VALUES(COLUMN_MAX) ", process FROM watch_sum WHERE span = ?1 AND split = 0"
	" ORDER BY thread < 0, own, CASE ?3 WHEN 0 THEN sum0 WHEN 1 THEN sum1 WHEN 2 THEN sum2"
	" WHEN 3 THEN sum3 WHEN 4 THEN sum4 ELSE sum5 END DESC, count DESC, comm, name, place,"
	" operation, errno, thread, process, object LIMIT ?2";

static const char sql_places[] =
	"SELECT place, operation, CASE ?2 WHEN 0 THEN max0 WHEN 1 THEN max1 WHEN 2 THEN max2"
	" WHEN 3 THEN max3 WHEN 4 THEN max4 ELSE max5 END FROM watch_sum"
	" WHERE span = ?1 AND split = 1 ORDER BY CASE ?2 WHEN 0 THEN sum0 WHEN 1 THEN sum1"
	" WHEN 2 THEN sum2 WHEN 3 THEN sum3 WHEN 4 THEN sum4 ELSE sum5 END DESC, 1, 2";

static const char sql_buckets[] =
	"SELECT bucket, count FROM watch_bucket WHERE span = ?1 AND place = ?2 AND operation = ?3"
	" ORDER BY bucket";

static const char sql_page[] =
	"SELECT sum(count), count(*), max(operation != '' OR errno) FROM watch_sum"
	" WHERE span = ?1 AND split = 0";

static const char sql_events[] =
	"SELECT e.time_ns, e.duration_ns, t.id, p.pid, t.tid, t.comm, o.name, e.place, e.operation,"
	" e.errno, e.fields, e.thread, e.id, coalesce(t.flags & 4, 0) FROM event e LEFT JOIN thread_named t ON t.id = e.thread"
	" LEFT JOIN process p ON p.id = t.process LEFT JOIN object o ON o.id = e.object"
	" ORDER BY e.time_ns, e.id";

static const char sql_forget_events[] = "DELETE FROM event WHERE (time_ns, id) <= (?1, ?2)";

static const char sql_losses[] =
	"SELECT name, value, bias FROM quality WHERE value > 0 AND substr(name, 1, ?2) = ?1"
	" ORDER BY name";

/* clang-format on */

static int execute(struct watch *watch, const char *sql)
{
	return sqlite3_exec(watch->db, sql, NULL, NULL, NULL) ? -EIO : 0;
}

/* Prepares `sql` and binds ?1 and ?2. */
static int prepare(struct watch *watch, const char *sql, int64_t first, int64_t second,
		   sqlite3_stmt **ret)
{
	if (sqlite3_prepare_v2(watch->db, sql, -1, ret, NULL))
		return -EIO;
	sqlite3_bind_int64(*ret, 1, first);
	sqlite3_bind_int64(*ret, 2, second);
	return 0;
}

static int execute_with(struct watch *watch, const char *sql, int64_t first, int64_t second)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *statement = NULL;
	int err = prepare(watch, sql, first, second, &statement);

	return err ? err : sqlite3_step(statement) == SQLITE_DONE ? 0 : -EIO;
}

static const char *text_at(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);

	return text ? text : "";
}

unsigned watch__by(const struct watch *watch)
{
	return watch->options.by ? watch->options.by : WATCH_BY_PROCESS | WATCH_BY_OPERATION;
}

static unsigned histograms_by(const struct watch *watch)
{
	unsigned both = WATCH_BY_PLACE | WATCH_BY_OPERATION;

	return watch->options.by ? watch->options.by & both : both;
}

int watch__new(sqlite3 *db, const struct watch_options *options, uint64_t start_ns,
	       struct watch **ret)
{
	cleanup(watch__free_p) struct watch *watch = calloc(1, sizeof(*watch));
	int err;

	if (!watch)
		return -ENOMEM;
	watch->db = db;
	watch->options = *options;
	watch->start_ns = watch->since_ns = watch->tidied_ns = start_ns;
	err = execute(watch, sql_tables);
	if (!err && options->events && !options->json)
		err = watch_line__heading(watch);
	if (!err)
		*ret = TAKE(watch);
	return err;
}

void watch__free(struct watch *watch)
{
	free(watch);
}

uint64_t watch__event_count(const struct watch *watch)
{
	return watch->events;
}

static int show_event(struct watch *watch, sqlite3_stmt *statement)
{
	struct watch_event event = {
		.time_ns = (uint64_t)sqlite3_column_int64(statement, 0),
		.duration_ns = sqlite3_column_int64(statement, 1),
		.known = sqlite3_column_type(statement, 2) != SQLITE_NULL,
		.pid = sqlite3_column_int64(statement, 3),
		.tid = sqlite3_column_int64(statement, 4),
		.comm = text_at(statement, 5),
		.object = text_at(statement, 6),
		.place = text_at(statement, 7),
		.operation = text_at(statement, 8),
		.error = sqlite3_column_int(statement, 9),
		.fields = json_loads(text_at(statement, 10), 0, NULL),
	};
	int err = event.fields ? 0 : -EIO;

	if (!err)
		err = watch->options.json ? watch_json__event(watch, &event)
					  : watch_line__event(watch, &event);
	json_decref(event.fields);
	return err;
}

/* The thread has no name yet: its row arrives with the ledger's next snapshot. */
static bool is_early(sqlite3_stmt *statement, uint64_t now_ns)
{
	return sqlite3_column_int64(statement, 11) &&
	       sqlite3_column_type(statement, 2) == SQLITE_NULL &&
	       sqlite3_column_int64(statement, 0) > (int64_t)now_ns - HOLD_NS;
}

int watch__events(struct watch *watch, uint64_t now_ns)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *statement = NULL;
	uint64_t most = watch->options.most_events;
	int64_t time_ns = 0, id = 0;
	int err = prepare(watch, sql_events, 0, 0, &statement);

	while (!err && sqlite3_step(statement) == SQLITE_ROW) {
		if ((most && watch->events == most) || is_early(statement, now_ns))
			break;
		time_ns = sqlite3_column_int64(statement, 0);
		id = sqlite3_column_int64(statement, 12);
		/* Do not show events of gapless itself; its sums are shown. */
		if (sqlite3_column_int(statement, 13))
			continue;
		watch->events++;
		if (watch->options.events)
			err = show_event(watch, statement);
	}
	if (!err && id)
		err = execute_with(watch, sql_forget_events, time_ns, id);
	return fflush(watch->options.out) && !err ? -EIO : err;
}

/* Deletes threads that ended more than GONE_NS ago. */
static int tidy(struct watch *watch, uint64_t now_ns)
{
	int err;

	if (now_ns < watch->tidied_ns + GONE_NS)
		return 0;
	watch->tidied_ns = now_ns;
	err = execute_with(watch, sql_forget_threads, (int64_t)(now_ns - GONE_NS), 0);
	return err ? err : execute(watch, sql_forget_names);
}

static int bound(struct watch *watch, enum watch_span span)
{
	int err = execute_with(watch, sql_join_smallest, span, 0);

	return err ? err : execute_with(watch, sql_drop_smallest, span, 0);
}

static int fold(struct watch *watch)
{
	int err = execute(watch, sql_fold);

	return err ? err : bound(watch, WATCH_WHOLE);
}

int watch__take(struct watch *watch, uint64_t now_ns)
{
	int err = execute_with(watch, sql_take_sums, 0, watch__by(watch));

	if (!err)
		err = execute_with(watch, sql_take_sums, 1, histograms_by(watch));
	if (!err)
		err = execute_with(watch, sql_take_buckets, watch->options.measure,
				   histograms_by(watch));
	if (!err)
		err = execute(watch, sql_forget);
	if (!err)
		err = watch->options.intervals ? bound(watch, WATCH_INTERVAL) : fold(watch);
	return err ? err : tidy(watch, now_ns);
}

static int show_page(struct watch *watch, enum watch_span span, uint64_t begin_ns, uint64_t end_ns)
{
	struct watch_page page = { .span = span, .begin_ns = begin_ns, .end_ns = end_ns };
	cleanup(sqlite3_finalize_p) sqlite3_stmt *statement = NULL;
	int err = prepare(watch, sql_page, span, 0, &statement);

	if (err || sqlite3_step(statement) != SQLITE_ROW)
		return -EIO;
	page.count = sqlite3_column_int64(statement, 0);
	page.rows = sqlite3_column_int64(statement, 1);
	page.operations = sqlite3_column_int(statement, 2);
	err = watch->options.json ? watch_json__page(watch, &page) : watch_text__page(watch, &page);
	return fflush(watch->options.out) && !err ? -EIO : err;
}

int watch__interval(struct watch *watch, uint64_t now_ns)
{
	int err = show_page(watch, WATCH_INTERVAL, watch->since_ns, now_ns);

	watch->since_ns = now_ns;
	return err ? err : fold(watch);
}

int watch__summary(struct watch *watch, uint64_t now_ns)
{
	int err = fold(watch);

	return err ? err : show_page(watch, WATCH_WHOLE, watch->start_ns, now_ns);
}

static struct watch_row row_at(const struct watch *watch, sqlite3_stmt *statement)
{
	struct watch_row row = {
		.others = sqlite3_column_int64(statement, 0) < 0,
		.pid = sqlite3_column_int64(statement, 1),
		.tid = sqlite3_column_int64(statement, 2),
		.comm = text_at(statement, 3),
		.object = text_at(statement, 4),
		.place = text_at(statement, 5),
		.operation = text_at(statement, 6),
		.error = sqlite3_column_int(statement, 7),
		.count = sqlite3_column_int64(statement, 8),
	};

	row.known = watch__by(watch) & WATCH_BY_THREAD
			    ? sqlite3_column_int64(statement, 0) > 0
			    : sqlite3_column_int64(statement, 9 + 2 * SERIES_VALUES) > 0;
	for (int i = 0; i < SERIES_VALUES; i++) {
		row.sum[i] = sqlite3_column_int64(statement, 9 + i);
		row.max[i] = sqlite3_column_int64(statement, 9 + SERIES_VALUES + i);
	}
	return row;
}

int watch__each_row(struct watch *watch, enum watch_span span, int most, watch_row_fn show,
		    void *context)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *statement = NULL;
	int err = prepare(watch, sql_rows, span, most, &statement);

	sqlite3_bind_int(statement, 3, watch->options.measure);
	while (!err && sqlite3_step(statement) == SQLITE_ROW) {
		struct watch_row row = row_at(watch, statement);

		err = show(context, &row);
	}
	return err;
}

/* Fills buckets[], which must have room for HISTOGRAM_BUCKETS. */
static int read_buckets(struct watch *watch, enum watch_span span, const char *place,
			const char *operation, struct bucket *buckets, size_t *ret_size)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *statement = NULL;
	int err = prepare(watch, sql_buckets, span, 0, &statement);
	size_t size = 0;

	if (err)
		return err;
	sqlite3_bind_text(statement, 2, place, -1, SQLITE_STATIC);
	sqlite3_bind_text(statement, 3, operation, -1, SQLITE_STATIC);
	while (sqlite3_step(statement) == SQLITE_ROW && size < HISTOGRAM_BUCKETS) {
		buckets[size].number = sqlite3_column_int(statement, 0);
		buckets[size++].count = sqlite3_column_int64(statement, 1);
	}
	*ret_size = size;
	return 0;
}

int watch__each_histogram(struct watch *watch, enum watch_span span, watch_histogram_fn show,
			  void *context)
{
	const struct measure *measure = &watch->options.signal->measures[watch->options.measure];
	struct bucket buckets[HISTOGRAM_BUCKETS];
	cleanup(sqlite3_finalize_p) sqlite3_stmt *statement = NULL;
	int err = prepare(watch, sql_places, span, watch->options.measure, &statement);

	while (!err && sqlite3_step(statement) == SQLITE_ROW) {
		struct histogram histogram = { .label = measure->name,
					       .unit = measure->unit,
					       .buckets = buckets,
					       .max = sqlite3_column_int64(statement, 2) };
		const char *place = text_at(statement, 0), *operation = text_at(statement, 1);

		err = read_buckets(watch, span, place, operation, buckets, &histogram.size);
		/* A sum without a histogram is counted as a loss elsewhere (not_in_histograms). */
		if (!err && histogram.size)
			err = show(context, place, operation, &histogram);
	}
	return err;
}

int watch__each_loss(struct watch *watch, watch_loss_fn show, void *context)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *statement = NULL;
	char prefix[64];
	int err = prepare(watch, sql_losses, 0, 0, &statement);

	if (err)
		return err;
	snprintf(prefix, sizeof(prefix), "%s_", watch->options.signal->name);
	sqlite3_bind_text(statement, 1, prefix, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 2, (int64_t)strlen(prefix));
	while (!err && sqlite3_step(statement) == SQLITE_ROW)
		err = show(context, text_at(statement, 0), sqlite3_column_int64(statement, 1),
			   text_at(statement, 2));
	return err;
}
