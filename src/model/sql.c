/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQLite computes the sums over slices and reads each table once. The cut is part of the same
 * statement: a row inside the cut counts in full, a row that crosses an edge counts by the part of
 * its time that is inside. The time of a row is the time of its slices during which its thread
 * lived.
 *
 * The accounts have by far the most rows, so they have a separate statement for the usual case of
 * no cut.
 */
#include "model/sql.h"

/* clang-format off */

/*
 * The part of `value` inside the cut. `whole` is the value for a row that lies completely inside.
 */
#define PART(value, whole)                                                                         \
	" sum(CASE WHEN b >= ?1 AND e <= ?2 THEN " whole                                           \
	" WHEN min(e, ?2) <= max(b, ?1) THEN 0"                                                    \
	" ELSE " value " * 1.0 * (min(e, ?2) - max(b, ?1)) / (e - b) END)"
#define INSIDE(value, whole) " CAST(round(" PART(value, whole) ") AS INT)"

#define SLICES(table)                                                                              \
	" FROM " table " r LEFT JOIN slice f ON f.id = r.slice_from"                               \
	" LEFT JOIN slice l ON l.id = r.slice_to"

#define TOUCHES_CUT " WHERE coalesce(l.end_ns, 0) >= ?1 AND coalesce(f.begin_ns, 0) < ?2"

const char sql__accounts[] =
	"SELECT thread, state, sum(ns), sum(count), 0 FROM account"
	" GROUP BY thread, state ORDER BY thread, state";

const char sql__cut_accounts[] =
	"WITH s AS (SELECT r.thread, r.state, r.ns, r.count,"
	" max(f.begin_ns, coalesce(t.first_ns, f.begin_ns)) AS b,"
	" CASE WHEN t.last_ns > f.begin_ns THEN min(l.end_ns, t.last_ns) ELSE l.end_ns END AS e,"
	" coalesce(t.flags, 0) & 16 AS outside"
	SLICES("account") " LEFT JOIN thread t ON t.id = r.thread" TOUCHES_CUT ")"
	" SELECT thread, state," INSIDE("ns", "ns") "," INSIDE("count", "count") ","
	/*
	 * A state that fills its row is exact wherever the cut is, so it does not count as
	 * prorated. Neither do outside threads (flag 16), which are in no total.
	 */
	INSIDE("(CASE WHEN ns < e - b AND NOT outside THEN ns ELSE 0 END)", "0") " FROM s GROUP BY thread, state ORDER BY thread, state";

#define ACCOUNT_ROWS                                                                               \
	"SELECT a.thread, a.state, max(f.begin_ns, coalesce(t.first_ns, 0)),"                      \
	" CASE WHEN t.last_ns > f.begin_ns THEN min(l.end_ns, t.last_ns)"                          \
	" ELSE l.end_ns END, a.ns FROM account a"                                                  \
	" JOIN slice f ON f.id = a.slice_from JOIN slice l ON l.id = a.slice_to"                   \
	" LEFT JOIN thread t ON t.id = a.thread WHERE coalesce(t.flags, 0) & 16 = 0"

const char sql__account_rows[] = ACCOUNT_ROWS;
const char sql__account_rows_in_order[] =
	ACCOUNT_ROWS " ORDER BY a.thread, a.slice_to, a.state";

/* A thread's name is its last one. Threads that appear only in waits are included. */
#define THREADS(holders)                                                                           \
	"SELECT i.id, t.process, t.tid, coalesce((SELECT n.comm FROM thread_name n"                \
	" WHERE n.thread = i.id AND n.time_ns < ?2 ORDER BY n.time_ns DESC LIMIT 1), t.comm),"     \
	" t.first_ns, t.last_ns, t.unexplained_ns, t.flags, p.pid, p.comm, p.cgroup, p.parent_pid" \
	" FROM (SELECT id FROM thread UNION SELECT thread FROM wait"                               \
	" UNION SELECT by FROM wait WHERE by != 0" holders ") i"                                   \
	" LEFT JOIN thread t ON t.id = i.id LEFT JOIN process p ON p.id = t.process"               \
	" ORDER BY i.id"

const char sql__faults[] =
	"WITH s AS (SELECT r.thread, r.minor, r.major, coalesce(f.begin_ns, 0) AS b,"
	" coalesce(l.end_ns, 0) AS e" SLICES("fault_slice") TOUCHES_CUT ")"
	" SELECT thread," INSIDE("minor", "minor") "," INSIDE("major", "major")
	" FROM s GROUP BY thread";

const char sql__refaults[] =
	"WITH s AS (SELECT r.cgroup, r.file, coalesce(f.begin_ns, 0) AS b,"
	" coalesce(l.end_ns, 0) AS e" SLICES("refault_slice") TOUCHES_CUT ")"
	" SELECT cgroup," INSIDE("file", "file") " FROM s GROUP BY cgroup";

#define WAITS(first, ends)                                                                         \
	"SELECT w.thread, w.state, w.object, w.by, w.evidence, w.ns, w.count, o.kind, o.name, "    \
	first ", " ends " FROM wait w LEFT JOIN object o ON o.id = w.object"                       \
	" ORDER BY w.ns DESC, w.thread, w.state, w.object, w.by, w.evidence, 10, 11, 12, 13"

const char sql__threads[] = THREADS(" UNION SELECT first FROM wait WHERE first != 0");
const char sql__waits[] = WAITS("w.first", "w.ended, w.turn, w.in_request");
/* Before schema version 4, it was not recorded how a wait ended. */
const char sql__has_ends[] = "SELECT ended FROM wait";
const char sql__waits_3[] = WAITS("w.first", "'', 0, 0");
/* Version 0.1.0 did not record the first holder of a lock. */
const char sql__has_holders[] = "SELECT first FROM wait";
const char sql__threads_1[] = THREADS("");
const char sql__waits_1[] = WAITS("0", "'', 0, 0");

const char sql__histograms[] =
	"WITH s AS (SELECT r.of, r.key, r.bucket, r.count, coalesce(f.begin_ns, 0) AS b,"
	" coalesce(l.end_ns, 0) AS e" SLICES("histogram") TOUCHES_CUT ")"
	" SELECT s.of, s.key, s.bucket," INSIDE("count", "count") ","
	" CASE s.of WHEN 0 THEN t.state || '.' || t.cause ELSE y.name END"
	" FROM s LEFT JOIN state t ON t.id = s.key LEFT JOIN syscall y ON y.number = s.key"
	" GROUP BY s.of, s.key, s.bucket ORDER BY s.of, s.key, s.bucket";

#define WINDOWS(table, columns)                                                                    \
	"WITH s AS (SELECT r.*, coalesce(f.begin_ns, 0) AS b, coalesce(l.end_ns, 0) AS e"          \
	SLICES(table) TOUCHES_CUT ") SELECT class, bucket," columns

const char sql__window_bands[] =
	WINDOWS("window_band", INSIDE("count", "count") "," INSIDE("n", "n"))
	" FROM s GROUP BY class, bucket ORDER BY class, bucket";
const char sql__window_times[] =
	WINDOWS("window_time", " part, state," INSIDE("ns", "ns"))
	" FROM s GROUP BY class, bucket, part, state ORDER BY class, bucket, part, state";

#define SYSCALLS(estimates, columns, join)                                                         \
	"WITH s AS (SELECT r.number, r.count, r.errors, r.total_ns, r.run_ns,"                     \
	" coalesce(f.begin_ns, 0) AS b, coalesce(l.end_ns, 0) AS e"                                \
	SLICES("syscall_slice") TOUCHES_CUT "),"                                                   \
	" w AS (SELECT number, errno, max(count) AS most FROM syscall_error GROUP BY number)"      \
	estimates " SELECT s.number, y.name," INSIDE("count", "count") ","                         \
	INSIDE("errors", "errors") "," INSIDE("total_ns", "total_ns") ", y.max_ns, w.errno,"       \
	" w.most," INSIDE("run_ns", "run_ns") ", " columns " FROM s"                               \
	" LEFT JOIN syscall y ON y.number = s.number LEFT JOIN w ON w.number = s.number" join      \
	" GROUP BY s.number ORDER BY s.number"

/* Recordings without a budget have no estimates. */
const char sql__has_estimates[] = "SELECT untimed, variance FROM estimate";
const char sql__syscalls_4[] = SYSCALLS("", "0, 0", "");
const char sql__syscalls[] =
	SYSCALLS(", d AS (SELECT r.number, r.untimed, r.variance, coalesce(f.begin_ns, 0) AS b,"
	" coalesce(l.end_ns, 0) AS e" SLICES("estimate") TOUCHES_CUT " AND r.thread = 0),"
	" x AS (SELECT number," INSIDE("untimed", "untimed") " AS untimed,"
	PART("variance", "variance") " AS variance FROM d GROUP BY number)",
	"x.untimed, x.variance", " LEFT JOIN x ON x.number = s.number");

/* Divided at the edges of the cut like the accounts. */
const char sql__estimates[] =
	"WITH s AS (SELECT r.thread, r.variance,"
	" max(coalesce(f.begin_ns, 0), coalesce(t.first_ns, 0)) AS b,"
	" CASE WHEN t.last_ns > f.begin_ns THEN min(l.end_ns, t.last_ns)"
	" ELSE coalesce(l.end_ns, 0) END AS e"
	SLICES("estimate") " LEFT JOIN thread t ON t.id = r.thread" TOUCHES_CUT
	" AND r.thread != 0 AND r.number = -1)"
	" SELECT thread," PART("variance", "variance") " FROM s GROUP BY thread";

/* With what was in force at the beginning of the cut. */
const char sql__has_budget_steps[] = "SELECT rowid, time_ns, what, value, threads FROM budget_step";
const char sql__budget_steps[] =
	"SELECT time_ns, what, value, threads FROM (SELECT rowid AS id, * FROM budget_step"
	" WHERE time_ns >= ?1 AND time_ns <= ?2 UNION ALL SELECT id, time_ns, what, value, threads"
	" FROM (SELECT max(rowid) AS id, * FROM budget_step WHERE time_ns < ?1 GROUP BY what)"
	" WHERE value != 1) ORDER BY time_ns, id";

/* As text, so that the order is that of strcmp(), whatever type a recording has there. */
#define WORD(column) "CAST(coalesce(" column ", '') AS TEXT)"
#define SERIES_WORDS "s.signal, " WORD("s.place") " AS p, " WORD("s.operation") " AS o"
#define SERIES_OF(sums)                                                                            \
	"SELECT " SERIES_WORDS ", s.errno, s.thread, s.object, c.count, c.s0, c.s1, c.s2, c.s3,"   \
	" c.s4, c.s5, s.max0, s.max1, s.max2, s.max3, s.max4, s.max5 FROM (" sums                  \
	" GROUP BY series) c JOIN series s ON s.id = c.series ORDER BY s.signal, p, o"

const char sql__series[] =
	SERIES_OF("SELECT series, sum(count) AS count, sum(sum0) AS s0, sum(sum1) AS s1,"
	" sum(sum2) AS s2, sum(sum3) AS s3, sum(sum4) AS s4, sum(sum5) AS s5 FROM series_slice");

/* Not rounded: half of a thousand series with one event each is five hundred events. */
const char sql__cut_series[] =
	SERIES_OF("SELECT series," PART("count", "count") " AS count," PART("sum0", "sum0")
	" AS s0," PART("sum1", "sum1") " AS s1," PART("sum2", "sum2") " AS s2,"
	PART("sum3", "sum3") " AS s3," PART("sum4", "sum4") " AS s4," PART("sum5", "sum5")
	" AS s5 FROM (SELECT r.*, coalesce(f.begin_ns, 0) AS b, coalesce(l.end_ns, 0) AS e"
	SLICES("series_slice") TOUCHES_CUT ")");

/* Two places can have the same name. */
const char sql__distributions[] =
	"WITH c AS (SELECT r.distribution, r.bucket, r.count, coalesce(f.begin_ns, 0) AS b,"
	" coalesce(l.end_ns, 0) AS e" SLICES("distribution_slice") TOUCHES_CUT ")"
	" SELECT " SERIES_WORDS ", s.measure, c.bucket," INSIDE("count", "count")
	" FROM c JOIN distribution s ON s.id = c.distribution"
	" GROUP BY s.signal, p, o, s.measure, c.bucket ORDER BY s.signal, p, o, s.measure, c.bucket";

const char sql__objects[] =
	"SELECT id, kind, name FROM object ORDER BY id";

#define IN_CUT "time_ns >= ?1 AND time_ns <= ?2"

/* Leaves out lifetimes, which are not delays, and gapless's own events (flag 4). */
#define SLOWEST(stack)                                                                             \
	"WITH r AS (SELECT id, row_number() OVER (PARTITION BY signal ORDER BY duration_ns DESC,"  \
	" id) AS n FROM event e WHERE duration_ns > 0 AND operation IS NOT 'lifetime'"             \
	" AND NOT EXISTS (SELECT 1 FROM thread t WHERE t.id = e.thread AND t.flags & 4)"           \
	" AND " IN_CUT ") SELECT e.signal, e.time_ns, e.duration_ns, e.thread, e.object, e.place," \
	" e.operation, e.errno, e.fields, " stack " FROM r JOIN event e ON e.id = r.id"            \
	" WHERE r.n <= 10 ORDER BY e.signal, r.n"

const char sql__slowest[] = SLOWEST("e.stack");
/* Before events had stacks. */
const char sql__slowest_4[] = SLOWEST("0");

const char sql__resent[] =
	"SELECT time_ns, thread, object FROM event WHERE operation = 'retransmit' AND " IN_CUT
	" ORDER BY time_ns, id";

const char sql__event_counts[] =
	"SELECT signal, count(*) FROM event WHERE " IN_CUT " GROUP BY signal";

#define FIELD(of, name) "json_extract(" of ", '$." name "')"
/* Of signal ?3. */
#define HEAP_EVENTS(columns, which)                                                                \
	"WITH v AS (SELECT v.*, CASE WHEN json_valid(v.fields) THEN v.fields END AS f FROM event v" \
	" WHERE v.signal = ?3 AND v.operation " which " 'window' AND " IN_CUT ") SELECT " columns   \
	" FROM v ORDER BY "

const char sql__heap_slots[] = HEAP_EVENTS(
	"time_ns, " FIELD("f", "bytes") ", " FIELD("f", "calls") ", " FIELD("f", "frees") ", "
	FIELD("f", "cpu") ", " FIELD("f", "cost") ", " FIELD("f", "slot_cpu") ", "
	FIELD("f", "slot_cost") ", " FIELD("f", "window") ", " FIELD("f", "slot"),
	"IS") "time_ns, id";

const char sql__heap_samples[] = HEAP_EVENTS(
	"coalesce(stack, 0), time_ns, " FIELD("f", "bytes") ", " FIELD("f", "weight"), "IS NOT")
	"1, time_ns, id";

#define IF_ENDED(value) "CASE WHEN next IS 'exit' THEN " value " END"

/*
 * A process has an event for each program that it starts and one for its exit. A program lives
 * until the next of these events. A pid can be reused, but only after the exit event.
 */
const char sql__programs[] =
	"WITH v AS (SELECT v.*, CASE WHEN json_valid(v.fields) THEN v.fields END AS f FROM event v"
	" WHERE v.signal = ?3 AND " IN_CUT "),"
	" e AS (SELECT v.*, coalesce(t.process, " FIELD("f", "pid") ") AS process FROM v"
	" LEFT JOIN thread t ON t.id = v.thread),"
	" n AS (SELECT operation, f, lead(operation) OVER w AS next,"
	" lead(duration_ns) OVER w AS ns, lead(f) OVER w AS end FROM e"
	" WINDOW w AS (PARTITION BY process ORDER BY time_ns, id)),"
	" p AS (SELECT " FIELD("f", "file") " AS file, " FIELD("f", "parent_comm")
	" AS parent, count(*) AS n, sum(next IS 'exit') AS ended, total(" IF_ENDED("ns") ") AS ns,"
	" max(" IF_ENDED("ns") ") AS most, sum(next IS 'exit' AND (coalesce("
	FIELD("end", "status") ", 0) != 0 OR " FIELD("end", "killed_by") " IS NOT NULL)) AS failed"
	" FROM n WHERE operation IS 'exec' GROUP BY 1, 2)"
	" SELECT file, parent, n, ended, CAST(ns AS INT), most, failed FROM p"
	" WHERE file IS NOT NULL ORDER BY n DESC, file, parent";
