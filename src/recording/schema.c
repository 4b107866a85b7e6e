/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format of a recording.
 *
 * It has to survive SIGKILL at any instant, be one file that a plain sqlite3 opens, and cost the
 * measured machine next to nothing. So:
 *
 * - A rollback journal (journal_mode = DELETE), not a write-ahead log. Rows arrive in a burst once
 *   per slice. The journal exists from the first row of the burst to its commit, some
 *   milliseconds; between bursts, one file has everything. A kill within a burst leaves a journal;
 *   the next opener rolls back to the last commit and removes it. Rejected: a write-ahead log. It
 *   would always lie beside the file and hold the newest slices, and whoever copies "the
 *   recording" would lose them. Its advantage, readers that never block the writer, is not needed:
 *   if a reader blocks a commit, the rows stay in the open transaction for the next commit.
 * - synchronous = OFF while running: a process that dies loses nothing that was written, and the
 *   target's disk sees no fsync from us. Only a power cut can damage a running recording; the last
 *   commit syncs.
 * - Tables that grow with every slice (account, histogram, syscall_slice) have no rowid and a key
 *   that begins with the slice: rows are appended, pages fill up and are written once. A key that
 *   begins with the thread would be faster to read but touch one page per thread and slice.
 * - Where a word would repeat in every row there is a number; a view has the word. 0 and 1 take no
 *   space in SQLite: histogram.of is 0 for a state and 1 for a syscall.
 *
 * Views use the report's words and give the report's numbers; a unit test checks that. The values
 * of a bucket are represented by its middle, limited to the longest value seen.
 */
#include "recording/schema.h"

#include "vocabulary/percentiles.h"

_Static_assert(SCHEMA_APPLICATION_ID == 1734439020, "as in the pragma below");

/* clang-format off */

/* Same as histogram_bucket_start(). */
#define BUCKET_WIDTH(b) "(CASE WHEN " b " < 16 THEN 1 ELSE 1 << (" b " / 8 - 1) END)"
#define BUCKET_START(b)                                                                            \
	"(CASE WHEN " b " < 16 THEN " b " ELSE (8 + " b " % 8) << (" b " / 8 - 1) END)"
#define BUCKET_MIDDLE(b) "(" BUCKET_START(b) " + " BUCKET_WIDTH(b) " / 2)"
/*
 * The same as percentiles__find(): BUCKETS gives the bucket of each percentile, NULL if `timed`, the
 * number of values, is too small; `total` is what they stand for. The percentile is the middle of
 * it, at most the longest value seen, if known.
 */
#define BUCKET_OF(id, name, key, per_mille, least)                                                 \
	", min(CASE WHEN timed >= " #least " AND upto * 1000 >= total * " #per_mille               \
	" THEN bucket END) AS b" key
#define BUCKETS PERCENTILES_ALL(BUCKET_OF)
#define BOUNDED(b) ", min(" BUCKET_MIDDLE(b) ", coalesce(nullif(y.max_ns, 0), 1 << 62)) AS "
#define PERCENTILE_NS(id, name, key, ...) BOUNDED("b" key) key "_ns"
#define PERCENTILE(id, name, key, ...) BOUNDED("b" key) key

/* The maximum of the measure `m.id`. */
#define MAX_OF(column)                                                                             \
	"CASE m.id WHEN 0 THEN " column "0 WHEN 1 THEN " column "1 WHEN 2 THEN " column "2 WHEN 3" \
	" THEN " column "3 WHEN 4 THEN " column "4 ELSE " column "5 END"

/* Owner and waker of a wait, as ids of threads; NULL if not known. */
#define OWNER_AND_WAKER(of)                                                                        \
	" nullif(CASE " of ".evidence WHEN 'owner' THEN " of ".by WHEN 'handed' THEN " of ".first" \
	" END, 0) AS owner, nullif(CASE WHEN " of ".evidence IN ('waker', 'handed') THEN "         \
	of ".by END, 0) AS waker"

#define OUTSIDE "(SELECT id FROM thread WHERE flags & 16)"
#define THREADS_WITH(condition)                                                                    \
	"SELECT t.id, p.pid, t.tid, t.comm, p.comm AS process, p.cgroup,"                          \
	" p.container, t.first_ns, t.last_ns, t.last_ns - t.first_ns AS lifetime_ns,"              \
	" coalesce(a.ns, 0) AS accounted_ns,"                                                      \
	" t.last_ns - t.first_ns - coalesce(a.ns, 0) AS remainder_ns, t.unexplained_ns,"           \
	" t.flags & 1 != 0 AS exited, t.flags & 2 != 0 AS kernel, t.flags & 4 != 0 AS own"         \
	" FROM thread_named t LEFT JOIN process p ON p.id = t.process"                             \
	" LEFT JOIN (SELECT thread, sum(ns) AS ns FROM account GROUP BY thread) a"                 \
	" ON a.thread = t.id WHERE t.id > 0 AND " condition ";"
#define TIME_WITH(condition)                                                                       \
	"SELECT a.thread, p.pid, t.tid, t.comm, s.state, s.cause,"                                 \
	" s.kind, a.ns, a.count FROM (SELECT thread, state, sum(ns) AS ns, sum(count) AS count"    \
	" FROM account GROUP BY thread, state) a JOIN state s ON s.id = a.state"                   \
	" LEFT JOIN thread_named t ON t.id = a.thread LEFT JOIN process p ON p.id = t.process"     \
	" WHERE " condition ";"

const char schema__sql[] =
	"PRAGMA application_id = 1734439020;"

	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE state(id INTEGER PRIMARY KEY, state TEXT NOT NULL, cause TEXT NOT NULL,"
	" kind TEXT);"
	"CREATE TABLE process(id INTEGER PRIMARY KEY, pid INT, parent_pid INT, start_ns INT,"
	" comm TEXT, cgroup TEXT, container TEXT, runtime TEXT, runtime_version TEXT,"
	" runtime_state TEXT);"
	"CREATE TABLE thread(id INTEGER PRIMARY KEY, process INT, tid INT, comm TEXT,"
	" first_ns INT, last_ns INT, unexplained_ns INT, flags INT);"
	"CREATE TABLE thread_name(thread INT, time_ns INT, comm TEXT,"
	" PRIMARY KEY(thread, time_ns)) WITHOUT ROWID;"
	"CREATE TABLE slice(id INTEGER PRIMARY KEY, begin_ns INT, end_ns INT);"
	"CREATE TABLE account(slice_to INT, thread INT, state INT, slice_from INT, ns INT,"
	" count INT, PRIMARY KEY(slice_to, thread, state)) WITHOUT ROWID;"
	"CREATE TABLE fault_slice(slice_to INT, thread INT, slice_from INT, minor INT, major INT,"
	" PRIMARY KEY(slice_to, thread)) WITHOUT ROWID;"
	"CREATE TABLE object(id INTEGER PRIMARY KEY, kind TEXT, name TEXT);"
	"CREATE TABLE wait(thread INT, state INT, object INT, by INT, evidence TEXT, ns INT,"
	" count INT, first INT, ended TEXT, turn INT, in_request INT,"
	" PRIMARY KEY(thread, state, object, by, evidence, first, ended, turn, in_request))"
	" WITHOUT ROWID;"
	"CREATE TABLE occupant(slice_to INT, thread INT, by INT, ns INT,"
	" PRIMARY KEY(slice_to, thread, by)) WITHOUT ROWID;"
	"CREATE TABLE cgroup_limit(process INT, cgroup TEXT, kind TEXT, value TEXT,"
	" throttled_ns INT, PRIMARY KEY(process, kind, cgroup)) WITHOUT ROWID;"
	"CREATE TABLE pressure(cgroup TEXT, kind TEXT, some_ns INT, full_ns INT, of_ns INT,"
	" PRIMARY KEY(cgroup, kind)) WITHOUT ROWID;"
	"CREATE TABLE refault_slice(slice_to INT, cgroup TEXT, slice_from INT, file INT,"
	" anonymous INT, PRIMARY KEY(slice_to, cgroup)) WITHOUT ROWID;"
	"CREATE TABLE resident(time_ns INT, process INT, anonymous INT, file INT, shared INT,"
	" swap INT, PRIMARY KEY(time_ns, process)) WITHOUT ROWID;"
	"CREATE TABLE allocated(end_ns INT, thread INT, begin_ns INT, bytes INT,"
	" PRIMARY KEY(end_ns, thread)) WITHOUT ROWID;"
	"CREATE TABLE histogram(slice_to INT, of INT, key INT, bucket INT, slice_from INT,"
	" count INT, PRIMARY KEY(slice_to, of, key, bucket)) WITHOUT ROWID;"
	"CREATE TABLE syscall(number INTEGER PRIMARY KEY, name TEXT, max_ns INT);"
	"CREATE TABLE syscall_slice(slice_to INT, number INT, slice_from INT, count INT,"
	" errors INT, total_ns INT, run_ns INT, PRIMARY KEY(slice_to, number)) WITHOUT ROWID;"
	"CREATE TABLE syscall_error(number INT, errno INT, count INT,"
	" PRIMARY KEY(number, errno)) WITHOUT ROWID;"
	"CREATE TABLE syscall_thread(thread INT, number INT, count INT, errors INT, total_ns INT,"
	" run_ns INT, PRIMARY KEY(thread, number)) WITHOUT ROWID;"
	"CREATE TABLE failed_path(thread INT, number INT, errno INT, pattern TEXT, count INT,"
	" paths INT, PRIMARY KEY(thread, number, errno, pattern)) WITHOUT ROWID;"
	/*
	 * If not every call was timed: how many were not, and the variance (ns²) of the estimated
	 * time. Thread 0: of a syscall of all threads. Number -1: of run.kernel and run.user.
	 */
	"CREATE TABLE estimate(slice_to INT, thread INT, number INT, slice_from INT, untimed INT,"
	" variance REAL, PRIMARY KEY(slice_to, thread, number)) WITHOUT ROWID;"
	/* What the budget changed: 'calls': one of `value` is timed, in so many threads. */
	"CREATE TABLE budget_step(time_ns INT, what TEXT, value INT, threads INT);"
	"CREATE TABLE cpu(cpu INTEGER PRIMARY KEY, idle_ns INT);"
	/*
	 * Code. A stack is a node of a tree: its frame, and the caller's stack as parent; 0: no
	 * parent. A frame's lines are the functions at its address, the innermost inlined one at
	 * depth 0.
	 */
	"CREATE TABLE module(id INTEGER PRIMARY KEY, kind TEXT, path TEXT, build_id TEXT);"
	"CREATE TABLE frame(id INTEGER PRIMARY KEY, module INT, address INT);"
	"CREATE TABLE function(id INTEGER PRIMARY KEY, module INT, name TEXT, system_name TEXT,"
	" file TEXT, start_line INT, source TEXT);"
	"CREATE TABLE frame_line(frame INT, depth INT, function INT, line INT, column INT,"
	" PRIMARY KEY(frame, depth)) WITHOUT ROWID;"
	"CREATE TABLE stack(id INTEGER PRIMARY KEY, parent INT, frame INT);"
	"CREATE TABLE sample(id INTEGER PRIMARY KEY, time_ns INT, thread INT, state INT, stack INT,"
	" waker_stack INT, by INT, object INT, weight_ns INT, wait_ns INT, period_ns INT, count INT,"
	" flags INT, none TEXT, end TEXT, how TEXT, evidence TEXT, first INT,"
	" cpu INT, ended TEXT, turn INT, in_request INT, fiber INT, window INT);"
	"CREATE TABLE fatal(time_ns INT, thread INT, signal INT, code INT, address INT, stack INT);"

	/*
	 * Threads of a runtime's own, such as goroutines. `start` and `created` are stacks. Their
	 * times are sampled: all of them are read at a random moment of each interval.
	 */
	"CREATE TABLE fiber(process INT, id INT, start INT, created INT, first_ns INT,"
	" PRIMARY KEY(process, id)) WITHOUT ROWID;"
	"CREATE TABLE fiber_state(id INTEGER PRIMARY KEY, state TEXT NOT NULL, reason TEXT);"
	"CREATE TABLE fiber_time(end_ns INT, process INT, fiber INT, state INT, object INT,"
	" stack INT, begin_ns INT, ns INT, readings INT, variance REAL,"
	" PRIMARY KEY(end_ns, process, fiber, state, object, stack)) WITHOUT ROWID;"
	/* With the signal goroutines: by every change of state, counted where the state ends. */
	"CREATE TABLE fiber_exact(end_ns INT, process INT, fiber INT, state INT, begin_ns INT,"
	" ns INT, changes INT, PRIMARY KEY(end_ns, process, fiber, state)) WITHOUT ROWID;"

	/*
	 * Signals. A series has the events that are summed up together; its maxima are of the whole
	 * recording. The sums are those of the signal's measures 0 to 5.
	 */
	"CREATE TABLE signal(id INTEGER PRIMARY KEY, name TEXT, about TEXT, events TEXT,"
	" role TEXT);"
	"CREATE TABLE measure(signal INT, id INT, name TEXT, unit TEXT,"
	" PRIMARY KEY(signal, id)) WITHOUT ROWID;"
	"CREATE TABLE series(id INTEGER PRIMARY KEY, signal INT, thread INT, object INT,"
	" place TEXT, operation TEXT, errno INT, max0 INT, max1 INT, max2 INT, max3 INT,"
	" max4 INT, max5 INT);"
	"CREATE TABLE series_slice(slice_to INT, series INT, slice_from INT, count INT, sum0 INT,"
	" sum1 INT, sum2 INT, sum3 INT, sum4 INT, sum5 INT, PRIMARY KEY(slice_to, series)) WITHOUT ROWID;"
	"CREATE TABLE distribution(id INTEGER PRIMARY KEY, signal INT, measure INT, place TEXT,"
	" operation TEXT);"
	"CREATE TABLE distribution_slice(slice_to INT, distribution INT, bucket INT,"
	" slice_from INT, count INT, PRIMARY KEY(slice_to, distribution, bucket)) WITHOUT ROWID;"
	/* Of the first measure alone, and of the whole recording. */
	"CREATE TABLE thread_distribution(distribution INT, thread INT, bucket INT, count INT,"
	" PRIMARY KEY(distribution, thread, bucket)) WITHOUT ROWID;"
	"CREATE TABLE signal_sample(time_ns INT, signal TEXT, thread INT, operation TEXT,"
	" stack INT, count INT, bytes INT);"
	"CREATE TABLE event(id INTEGER PRIMARY KEY, signal INT, time_ns INT, duration_ns INT,"
	" thread INT, object INT, place TEXT, operation TEXT, errno INT, fields TEXT, stack INT);"

	/*
	 * Windows: requests and calls. Bands have all windows: how many have a length in the bucket,
	 * and exact sums of their parts; the part 'own' goes by state. Some windows are kept one by
	 * one: those with a weight stand for the others of their band.
	 */
	"CREATE TABLE window_class(id INTEGER PRIMARY KEY, kind TEXT, protocol TEXT, service TEXT,"
	" name TEXT, status TEXT, process INT);"
	"CREATE TABLE window_band(slice_to INT, class INT, bucket INT, slice_from INT, count INT,"
	" n INT, PRIMARY KEY(slice_to, class, bucket)) WITHOUT ROWID;"
	"CREATE TABLE window_time(slice_to INT, class INT, bucket INT, part TEXT, state INT,"
	" slice_from INT, ns INT, PRIMARY KEY(slice_to, class, bucket, part, state)) WITHOUT ROWID;"
	"CREATE TABLE window(id INTEGER PRIMARY KEY, class INT, thread INT, ready_ns INT,"
	" read_ns INT, answer_ns INT, end_ns INT, n INT, left INT, weight REAL, has_details INT,"
	" parent INT, evidence TEXT, worker TEXT, text TEXT, ends TEXT, after_ns INT,"
	" segments INT, trace TEXT, trace_span TEXT, request_id TEXT);"
	"CREATE TABLE window_part(window INT, part TEXT, state INT, ns INT,"
	" PRIMARY KEY(window, part, state)) WITHOUT ROWID;"
	"CREATE TABLE window_wait(window INT, state INT, object INT, by INT, evidence TEXT,"
	" ns INT, count INT);"

	"CREATE TABLE quality(name TEXT PRIMARY KEY, value INT, bias TEXT, remedy TEXT) WITHOUT ROWID;"
	"CREATE TABLE cost(name TEXT PRIMARY KEY, value REAL, unit TEXT) WITHOUT ROWID;"

	/* A thread is shown with its last name. */
	"CREATE VIEW thread_named AS SELECT t.id, t.process, t.tid, coalesce((SELECT n.comm"
	" FROM thread_name n WHERE n.thread = t.id ORDER BY n.time_ns DESC LIMIT 1), t.comm)"
	" AS comm, t.first_ns, t.last_ns, t.unexplained_ns, t.flags FROM thread t;"

	/* Views are of the target's threads, except those that have "outside" in their name. */
	"CREATE VIEW threads AS " THREADS_WITH("t.flags & (8 | 16) = 0")
	"CREATE VIEW outside_threads AS " THREADS_WITH("t.flags & 16")
	"CREATE VIEW time_by_thread AS " TIME_WITH("coalesce(t.flags, 0) & 16 = 0")
	"CREATE VIEW time_by_outside_thread AS " TIME_WITH("t.flags & 16")

	"CREATE VIEW faults AS SELECT f.thread, p.pid, t.tid, t.comm, f.minor, f.major"
	" FROM (SELECT thread, sum(minor) AS minor, sum(major) AS major FROM fault_slice"
	" WHERE thread NOT IN " OUTSIDE " GROUP BY thread) f"
	" LEFT JOIN thread_named t ON t.id = f.thread LEFT JOIN process p ON p.id = t.process;"

	"CREATE VIEW time_by_process AS SELECT t.process, p.pid, p.comm, s.state, s.cause, s.kind,"
	" sum(a.ns) AS ns, sum(a.count) AS count FROM account a JOIN state s ON s.id = a.state"
	" LEFT JOIN thread t ON t.id = a.thread LEFT JOIN process p ON p.id = t.process"
	" WHERE coalesce(t.flags, 0) & 16 = 0 GROUP BY t.process, a.state;"

	"CREATE VIEW time_by_state AS SELECT s.state, s.cause, s.kind, a.ns, a.count,"
	" 1.0 * a.ns / (SELECT sum(last_ns - first_ns) FROM thread"
	" WHERE id > 0 AND flags & (8 | 16) = 0) AS share FROM (SELECT state, sum(ns) AS ns,"
	" sum(count) AS count FROM account WHERE thread NOT IN " OUTSIDE " GROUP BY state) a"
	" JOIN state s ON s.id = a.state;"

	"CREATE VIEW waits AS SELECT w.thread AS waiter, p.pid AS waiter_pid, t.tid AS waiter_tid,"
	" t.comm AS waiter_comm, s.cause, s.kind, o.kind AS object_kind, o.name AS object, w.by,"
	" q.pid AS by_pid, b.tid AS by_tid, b.comm AS by_comm, w.evidence, w.ns, w.count,"
	" w.first, r.pid AS first_pid, f.tid AS first_tid, f.comm AS first_comm,"
	" w.ended, w.turn, w.in_request," OWNER_AND_WAKER("w")
	" FROM wait w JOIN state s ON s.id = w.state LEFT JOIN object o ON o.id = w.object"
	" LEFT JOIN thread_named t ON t.id = w.thread LEFT JOIN process p ON p.id = t.process"
	" LEFT JOIN thread_named b ON b.id = w.by LEFT JOIN process q ON q.id = b.process"
	" LEFT JOIN thread_named f ON f.id = w.first LEFT JOIN process r ON r.id = f.process"
	" WHERE coalesce(t.flags, 0) & 16 = 0 ORDER BY w.ns DESC;"

	"CREATE VIEW histograms AS SELECT CASE h.of WHEN 0 THEN 'state' ELSE 'syscall' END AS of,"
	" CASE h.of WHEN 0 THEN s.state || '.' || s.cause ELSE y.name END AS name, s.kind, "
	BUCKET_START("h.bucket") " AS begin_ns, "
	BUCKET_START("h.bucket") " + " BUCKET_WIDTH("h.bucket") " AS end_ns,"
	" sum(h.count) AS count FROM histogram h LEFT JOIN state s ON s.id = h.key AND h.of = 0"
	" LEFT JOIN syscall y ON y.number = h.key AND h.of = 1 GROUP BY h.of, h.key, h.bucket;"

	"CREATE VIEW syscalls AS WITH"
	" b AS (SELECT key, bucket, sum(count) AS count FROM histogram WHERE of = 1"
	" GROUP BY key, bucket),"
	" c AS (SELECT key, bucket, sum(count) OVER (PARTITION BY key ORDER BY bucket) AS upto,"
	" sum(count) OVER (PARTITION BY key) AS total FROM b),"
	" e AS (SELECT number, sum(untimed) AS untimed FROM estimate WHERE thread = 0"
	" GROUP BY number),"
	" n AS (SELECT number, sum(count) AS count, sum(errors) AS errors,"
	" sum(total_ns) AS total_ns, sum(run_ns) AS run_ns FROM syscall_slice GROUP BY number),"
	" m AS (SELECT n.*, coalesce(e.untimed, 0) AS untimed FROM n LEFT JOIN e USING(number)),"
	" t AS (SELECT c.*, CASE WHEN m.untimed > 0 THEN m.count - m.untimed ELSE total END"
	" AS timed FROM c LEFT JOIN m ON m.number = c.key),"
	" q AS (SELECT key" BUCKETS " FROM t GROUP BY key)"
	" SELECT y.name, m.count, m.errors, m.total_ns, m.run_ns"
	PERCENTILES_ALL(PERCENTILE_NS) ", y.max_ns, m.untimed FROM m JOIN syscall y USING(number)"
	" LEFT JOIN q ON q.key = m.number ORDER BY m.total_ns DESC;"

	/* An own view, because not every SQLite has sqrt(). */
	"CREATE VIEW estimates AS SELECT y.name AS syscall, nullif(x.thread, 0) AS thread, p.pid,"
	" t.tid, t.comm, x.untimed, 2 * sqrt(nullif(x.variance, 0)) AS error_ns FROM (SELECT thread, number,"
	" sum(untimed) AS untimed, sum(variance) AS variance FROM estimate GROUP BY thread, number)"
	" x LEFT JOIN syscall y ON y.number = x.number LEFT JOIN thread_named t ON t.id = x.thread"
	" LEFT JOIN process p ON p.id = t.process;"

	"CREATE VIEW frames AS SELECT f.id, m.kind AS module_kind, m.path AS module, m.build_id,"
	" f.address, l.depth, coalesce(u.name, replace(m.path, rtrim(m.path, replace(m.path, '/',"
	" '')), '') || printf('+0x%x', f.address)) AS function, u.file, l.line, u.source"
	" FROM frame f"
	" JOIN module m ON m.id = f.module LEFT JOIN frame_line l ON l.frame = f.id"
	" LEFT JOIN function u ON u.id = l.function;"

	"CREATE VIEW samples AS SELECT x.id, x.time_ns, x.thread, p.pid, t.tid, t.comm, s.state,"
	" s.cause, s.kind, x.weight_ns, x.wait_ns, x.count, x.stack, x.waker_stack, x.by,"
	" o.name AS object, x.flags & 2 != 0 AS tick, x.none, x.end, x.how, x.evidence, x.first,"
	" x.cpu, x.ended, x.turn, x.in_request," OWNER_AND_WAKER("x")
	" FROM sample x JOIN state s ON s.id = x.state LEFT JOIN thread_named t ON t.id = x.thread"
	" LEFT JOIN process p ON p.id = t.process LEFT JOIN object o ON o.id = x.object"
	" WHERE coalesce(t.flags, 0) & 16 = 0;"

	/*
	 * Sum up the slices first: a series has many slices, and each of its measures becomes a
	 * row.
	 */
	"CREATE VIEW signal_sums AS WITH c AS (SELECT series, sum(count) AS count,"
	" sum(sum0) AS s0, sum(sum1) AS s1, sum(sum2) AS s2, sum(sum3) AS s3, sum(sum4) AS s4,"
	" sum(sum5) AS s5 FROM series_slice GROUP BY series)"
	" SELECT g.name AS signal, p.pid, t.tid, t.comm, o.kind AS object_kind,"
	" o.name AS object, s.place, s.operation, s.errno, m.name AS measure, m.unit, c.count,"
	" CASE m.id WHEN 0 THEN c.s0 WHEN 1 THEN c.s1 WHEN 2 THEN c.s2 WHEN 3 THEN c.s3"
	" WHEN 4 THEN c.s4 ELSE c.s5 END AS sum, " MAX_OF("s.max") " AS max"
	" FROM c JOIN series s ON s.id = c.series JOIN signal g ON g.id = s.signal"
	" JOIN measure m ON m.signal = s.signal LEFT JOIN thread_named t ON t.id = s.thread"
	" LEFT JOIN process p ON p.id = t.process LEFT JOIN object o ON o.id = s.object;"

	"CREATE VIEW signal_histograms AS SELECT g.name AS signal, d.place, d.operation,"
	" m.name AS measure, m.unit, " BUCKET_START("c.bucket") " AS begin, "
	BUCKET_START("c.bucket") " + " BUCKET_WIDTH("c.bucket") " AS end, sum(c.count) AS count"
	" FROM distribution_slice c JOIN distribution d ON d.id = c.distribution"
	" JOIN signal g ON g.id = d.signal JOIN measure m"
	" ON m.signal = d.signal AND m.id = d.measure"
	" GROUP BY d.signal, d.place, d.operation, d.measure, c.bucket;"

	/*
	 * The first measure, by process: the 64 processes with most events. All other events, also
	 * those without a thread, have no pid.
	 */
	"CREATE VIEW process_histograms AS WITH"
	" c AS (SELECT d.signal, h.distribution, t.process, h.bucket, sum(h.count) AS count"
	" FROM thread_distribution h JOIN distribution d ON d.id = h.distribution"
	" JOIN thread t ON t.id = h.thread GROUP BY 2, 3, 4),"
	" r AS (SELECT signal, process, row_number() OVER (PARTITION BY signal"
	" ORDER BY sum(count) DESC, process) AS n FROM c GROUP BY 1, 2),"
	" o AS (SELECT c.*, r.n FROM c JOIN r USING(signal, process) WHERE r.n <= 64),"
	" s AS (SELECT distribution, bucket, sum(count) AS count FROM o GROUP BY 1, 2),"
	" a AS (SELECT d.signal, x.distribution, NULL AS process, x.bucket,"
	" sum(x.count) AS count, 65 AS n FROM distribution_slice x JOIN distribution d"
	" ON d.id = x.distribution WHERE d.measure = 0 AND d.signal IN (SELECT signal FROM c)"
	" GROUP BY 2, 4),"
	" u AS (SELECT * FROM o UNION ALL SELECT a.signal, a.distribution, NULL, a.bucket,"
	" a.count - coalesce(s.count, 0), a.n FROM a LEFT JOIN s USING(distribution, bucket))"
	" SELECT g.name AS signal, d.place, d.operation, m.name AS measure, m.unit, u.n AS rank,"
	" p.pid, coalesce(p.comm, 'other') AS comm, u.bucket, " BUCKET_START("u.bucket")
	" AS begin, " BUCKET_START("u.bucket") " + " BUCKET_WIDTH("u.bucket") " AS end, u.count"
	" FROM u JOIN distribution d ON d.id = u.distribution JOIN signal g ON g.id = u.signal"
	" JOIN measure m ON m.signal = u.signal AND m.id = 0"
	" LEFT JOIN process p ON p.id = u.process WHERE u.count > 0;"

	"CREATE VIEW signal_percentiles AS WITH"
	" b AS (SELECT d.signal, d.place, d.operation, d.measure, c.bucket, sum(c.count) AS count"
	" FROM distribution_slice c JOIN distribution d ON d.id = c.distribution"
	" GROUP BY 1, 2, 3, 4, 5),"
	" u AS (SELECT *, sum(count) OVER (PARTITION BY signal, place, operation, measure"
	" ORDER BY bucket) AS upto, sum(count) OVER (PARTITION BY signal, place, operation,"
	" measure) AS total FROM b),"
	/* In the signal syscalls, a call that was timed can stand for many others. */
	" v AS (SELECT u.*, coalesce((SELECT min(u.total, s.count - s.untimed) FROM syscalls s"
	" JOIN signal g ON g.id = u.signal AND g.role = 'calls' WHERE s.name = u.operation),"
	" u.total) AS timed FROM u),"
	" q AS (SELECT signal, place, operation, measure, total" BUCKETS " FROM v"
	" GROUP BY 1, 2, 3, 4),"
	" h AS (SELECT signal, place, operation, max(max0) AS h0, max(max1) AS h1,"
	" max(max2) AS h2, max(max3) AS h3, max(max4) AS h4, max(max5) AS h5 FROM series"
	" GROUP BY 1, 2, 3),"
	" y AS (SELECT q.*, g.name, m.id, m.name AS measure_name, m.unit, " MAX_OF("h.h")
	" AS max_ns FROM q JOIN signal g ON g.id = q.signal JOIN measure m"
	" ON m.signal = q.signal AND m.id = q.measure LEFT JOIN h USING(signal, place, operation))"
	" SELECT y.name AS signal, y.place, y.operation, y.measure_name AS measure, y.unit,"
	" y.total AS count" PERCENTILES_ALL(PERCENTILE) ", y.max_ns AS max FROM y;"

	"CREATE VIEW events AS SELECT e.id, g.name AS signal, e.time_ns, e.duration_ns, p.pid,"
	" t.tid, t.comm, o.kind AS object_kind, o.name AS object, e.place, e.operation, e.errno,"
	" e.fields, e.stack FROM event e"
	" JOIN signal g ON g.id = e.signal LEFT JOIN thread_named t ON t.id = e.thread"
	" LEFT JOIN process p ON p.id = t.process LEFT JOIN object o ON o.id = e.object;"

	"CREATE VIEW syscall_errors AS SELECT y.name, e.errno, e.count FROM syscall_error e"
	" JOIN syscall y USING(number) ORDER BY e.count DESC;";
