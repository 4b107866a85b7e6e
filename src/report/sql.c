/*
 * Sums over slices are left to SQLite, which reads each table once. A cut is part of the same
 * statement: a row that lies inside counts whole, one that reaches over an edge by the part of its
 * time that is inside. A row's time is that of its slices, as far as its thread lived.
 *
 * The accounts, by far the most rows, have a statement of their own for the usual case of no cut.
 */
#include "report/sql.h"

/* clang-format off */

/* The part of `value` inside the cut; `whole` is what a row that lies inside gives. */
#define INSIDE(value, whole)                                                                       \
	" CAST(round(sum(CASE WHEN b >= ?1 AND e <= ?2 THEN " whole                                \
	" WHEN min(e, ?2) <= max(b, ?1) THEN 0"                                                    \
	" ELSE " value " * 1.0 * (min(e, ?2) - max(b, ?1)) / (e - b) END)) AS INT)"

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
	" CASE WHEN t.last_ns > f.begin_ns THEN min(l.end_ns, t.last_ns) ELSE l.end_ns END AS e"
	SLICES("account") " LEFT JOIN thread t ON t.id = r.thread" TOUCHES_CUT ")"
	" SELECT thread, state," INSIDE("ns", "ns") "," INSIDE("count", "count") ","
	/* A state that fills its row is known to the nanosecond wherever the cut is. */
	INSIDE("(CASE WHEN ns < e - b THEN ns ELSE 0 END)", "0") " FROM s GROUP BY thread, state ORDER BY thread, state";

/* A thread goes by its last name. Those that only waits know are there too. */
const char sql__threads[] =
	"SELECT i.id, t.process, t.tid, coalesce((SELECT n.comm FROM thread_name n"
	" WHERE n.thread = i.id AND n.time_ns < ?2 ORDER BY n.time_ns DESC LIMIT 1), t.comm),"
	" t.first_ns, t.last_ns, t.unexplained_ns, t.flags, p.pid, p.comm, p.cgroup"
	" FROM (SELECT id FROM thread UNION SELECT thread FROM wait"
	" UNION SELECT by FROM wait WHERE by != 0) i"
	" LEFT JOIN thread t ON t.id = i.id LEFT JOIN process p ON p.id = t.process"
	" ORDER BY i.id";

const char sql__waits[] =
	"SELECT w.thread, w.state, w.object, w.by, w.evidence, w.ns, w.count, o.kind, o.name"
	" FROM wait w LEFT JOIN object o ON o.id = w.object"
	" ORDER BY w.ns DESC, w.thread, w.state, w.object, w.by, w.evidence";

const char sql__histograms[] =
	"WITH s AS (SELECT r.of, r.key, r.bucket, r.count, coalesce(f.begin_ns, 0) AS b,"
	" coalesce(l.end_ns, 0) AS e" SLICES("histogram") TOUCHES_CUT ")"
	" SELECT s.of, s.key, s.bucket," INSIDE("count", "count") ","
	" CASE s.of WHEN 0 THEN t.state || '.' || t.cause ELSE y.name END"
	" FROM s LEFT JOIN state t ON t.id = s.key LEFT JOIN syscall y ON y.number = s.key"
	" GROUP BY s.of, s.key, s.bucket ORDER BY s.of, s.key, s.bucket";

const char sql__syscalls[] =
	"WITH s AS (SELECT r.number, r.count, r.errors, r.total_ns, r.run_ns, coalesce(f.begin_ns, 0) AS b,"
	" coalesce(l.end_ns, 0) AS e" SLICES("syscall_slice") TOUCHES_CUT "),"
	" w AS (SELECT number, errno, max(count) AS most FROM syscall_error GROUP BY number)"
	" SELECT s.number, y.name," INSIDE("count", "count") "," INSIDE("errors", "errors") ","
	INSIDE("total_ns", "total_ns") ", y.max_ns, w.errno, w.most," INSIDE("run_ns", "run_ns")
	" FROM s LEFT JOIN syscall y ON y.number = s.number LEFT JOIN w ON w.number = s.number"
	" GROUP BY s.number ORDER BY s.number";
