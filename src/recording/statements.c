/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SQL of each kind of row. */
#include <stddef.h>

#include "recording/writer.h"

/* As many as OCCUPANTS_AT_ONCE. */
#define OCCUPANTS                                                                                  \
	"(?1, ?2, ?3, ?4), (?1, ?5, ?6, ?7), (?1, ?8, ?9, ?10), (?1, ?11, ?12, ?13),"              \
	" (?1, ?14, ?15, ?16), (?1, ?17, ?18, ?19), (?1, ?20, ?21, ?22), (?1, ?23, ?24, ?25)"

const char *const writer__sql[SQL_COUNT] = {
	[SQL_META] = "INSERT OR REPLACE INTO meta VALUES(?1, ?2)",
	[SQL_STATE] = "INSERT OR REPLACE INTO state VALUES(?1, ?2, ?3, ?4)",
	[SQL_PROCESS] = "INSERT OR REPLACE INTO process SELECT ?1, ?2, ?3, ?4, ?5,"
			" coalesce(?6, (SELECT cgroup FROM process WHERE id = ?1)),"
			" coalesce(?7, (SELECT container FROM process WHERE id = ?1)),"
			" (SELECT runtime FROM process WHERE id = ?1),"
			" (SELECT runtime_version FROM process WHERE id = ?1),"
			" (SELECT runtime_state FROM process WHERE id = ?1)",
	[SQL_RUNTIME] = "INSERT INTO process(id, runtime, runtime_version, runtime_state)"
			" VALUES(?1, ?2, ?3, ?4) ON CONFLICT(id) DO UPDATE SET"
			" runtime = excluded.runtime, runtime_version = excluded.runtime_version,"
			" runtime_state = excluded.runtime_state",
	[SQL_THREAD] = "INSERT OR REPLACE INTO thread VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[SQL_NAME] = "INSERT OR REPLACE INTO thread_name VALUES(?1, ?2, ?3)",
	[SQL_SLICE] = "INSERT OR REPLACE INTO slice VALUES(?1, ?2, ?3)",
	[SQL_ACCOUNT] = "INSERT INTO account VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE"
			" SET slice_from = min(slice_from, excluded.slice_from),"
			" ns = ns + excluded.ns, count = count + excluded.count",
	[SQL_FAULTS] = "INSERT INTO fault_slice VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE"
		       " SET slice_from = min(slice_from, excluded.slice_from),"
		       " minor = minor + excluded.minor, major = major + excluded.major",
	[SQL_OBJECT] = "INSERT OR REPLACE INTO object VALUES(?1, ?2, ?3)",
	[SQL_WAIT] =
		"INSERT INTO wait VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
		" ON CONFLICT DO UPDATE SET ns = ns + excluded.ns, count = count + excluded.count",
	[SQL_DROP_WAITS] = "DELETE FROM wait WHERE thread = ?1",
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
	[SQL_THREAD_CALLS] = "INSERT INTO syscall_thread VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT"
			     " DO UPDATE SET count = count + excluded.count,"
			     " errors = errors + excluded.errors,"
			     " total_ns = total_ns + excluded.total_ns,"
			     " run_ns = run_ns + excluded.run_ns",
	[SQL_ESTIMATE] = "INSERT INTO estimate VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE"
			 " SET slice_from = min(slice_from, excluded.slice_from),"
			 " untimed = untimed + excluded.untimed,"
			 " variance = variance + excluded.variance",
	[SQL_BUDGET_STEP] = "INSERT INTO budget_step VALUES(?1, ?2, ?3, ?4)",
	[SQL_FAILED_PATH] = "INSERT INTO failed_path VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT"
			    " DO UPDATE SET count = count + excluded.count",
	[SQL_DROP_FAILED_PATHS] = "DELETE FROM failed_path WHERE thread >= ?1",
	[SQL_OCCUPANT] = "INSERT INTO occupant VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE"
			 " SET ns = ns + excluded.ns",
	[SQL_OCCUPANTS] = "INSERT INTO occupant VALUES" OCCUPANTS " ON CONFLICT DO UPDATE"
			  " SET ns = ns + excluded.ns",
	[SQL_CGROUP_LIMIT] = "INSERT OR REPLACE INTO cgroup_limit VALUES(?1, ?2, ?3, ?4, NULL)",
	[SQL_REFAULTS] = "INSERT INTO refault_slice VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT DO"
			 " UPDATE SET slice_from = min(slice_from, excluded.slice_from),"
			 " file = file + excluded.file, anonymous = anonymous + excluded.anonymous",
	[SQL_RESIDENT] = "INSERT OR REPLACE INTO resident VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[SQL_ALLOCATED] = "INSERT OR REPLACE INTO allocated VALUES(?1, ?2, ?3, ?4)",
	[SQL_PRESSURE] = "INSERT OR REPLACE INTO pressure VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_THROTTLED] = "UPDATE cgroup_limit SET throttled_ns = ?3 WHERE kind = ?1"
			  " AND cgroup = ?2",
	[SQL_MODULE] = "INSERT OR REPLACE INTO module VALUES(?1, ?2, ?3, ?4)",
	[SQL_FRAME] = "INSERT INTO frame VALUES(?1, ?2, ?3)",
	[SQL_FUNCTION] = "INSERT INTO function VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_LINE] = "INSERT INTO frame_line VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_STACK] = "INSERT INTO stack VALUES(?1, ?2, ?3)",
	[SQL_SAMPLE] = "INSERT INTO sample VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
		       " ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)",
	[SQL_SIGNAL_SAMPLE] = "INSERT INTO signal_sample VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_FATAL] = "INSERT INTO fatal VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[SQL_FIBER] = "INSERT OR REPLACE INTO fiber VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_FIBER_STATE] = "INSERT INTO fiber_state VALUES(?1, ?2, ?3)",
	[SQL_FIBER_TIME] = "INSERT INTO fiber_time VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
			   " ON CONFLICT DO UPDATE SET begin_ns = min(begin_ns, excluded.begin_ns),"
			   " ns = ns + excluded.ns, readings = readings + excluded.readings,"
			   " variance = variance + excluded.variance",
	[SQL_FIBER_EXACT] =
		"INSERT INTO fiber_exact VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
		" ON CONFLICT DO UPDATE SET begin_ns = min(begin_ns, excluded.begin_ns),"
		" ns = ns + excluded.ns, changes = changes + excluded.changes",
	[SQL_CPU] = "INSERT OR REPLACE INTO cpu VALUES(?1, ?2)",
	[SQL_QUALITY] = "INSERT OR REPLACE INTO quality VALUES(?1, ?2, ?3, ?4)",
	[SQL_COST] = "INSERT OR REPLACE INTO cost VALUES(?1, ?2, ?3)",
	[SQL_SIGNAL] = "INSERT INTO signal VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_MEASURE] = "INSERT INTO measure VALUES(?1, ?2, ?3, ?4)",
	[SQL_SERIES] = "INSERT INTO series VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, 0, 0, 0)",
	[SQL_SERIES_MAX] = "UPDATE series SET max0 = max(max0, ?2), max1 = max(max1, ?3),"
			   " max2 = max(max2, ?4), max3 = max(max3, ?5), max4 = max(max4, ?6),"
			   " max5 = max(max5, ?7) WHERE id = ?1",
	[SQL_SUM] =
		"INSERT INTO series_slice VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO"
		" UPDATE SET slice_from = min(slice_from, excluded.slice_from),"
		" count = count + excluded.count, sum0 = sum0 + excluded.sum0,"
		" sum1 = sum1 + excluded.sum1, sum2 = sum2 + excluded.sum2,"
		" sum3 = sum3 + excluded.sum3, sum4 = sum4 + excluded.sum4,"
		" sum5 = sum5 + excluded.sum5",
	[SQL_DISTRIBUTION] = "INSERT INTO distribution VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_DISTRIBUTED] = "INSERT INTO distribution_slice VALUES(?1, ?2, ?3, ?4, ?5)"
			    " ON CONFLICT DO UPDATE"
			    " SET slice_from = min(slice_from, excluded.slice_from),"
			    " count = count + excluded.count",
	[SQL_OWNED] = "INSERT INTO thread_distribution VALUES(?1, ?2, ?3, ?4)"
		      " ON CONFLICT DO UPDATE SET count = count + excluded.count",
	[SQL_EVENT] = "INSERT INTO event VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[SQL_WINDOW_CLASS] =
		"INSERT OR REPLACE INTO window_class VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_WINDOW_BAND] = "INSERT INTO window_band VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO"
			    " UPDATE SET slice_from = min(slice_from, excluded.slice_from),"
			    " count = count + excluded.count, n = n + excluded.n",
	[SQL_WINDOW_TIME] =
		"INSERT INTO window_time VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO"
		" UPDATE SET slice_from = min(slice_from, excluded.slice_from),"
		" ns = ns + excluded.ns",
	[SQL_WINDOW] = "INSERT OR REPLACE INTO window VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
		       " ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
	[SQL_WINDOW_PART] = "INSERT OR REPLACE INTO window_part VALUES(?1, ?2, ?3, ?4)",
	[SQL_WINDOW_WAIT] = "INSERT INTO window_wait VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_DROP + RECORDING_DROP_STACK] = "DELETE FROM stack WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_FRAME] = "DELETE FROM frame WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_LINES] = "DELETE FROM frame_line WHERE frame = ?1",
	[SQL_DROP + RECORDING_DROP_FUNCTION] = "DELETE FROM function WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_MODULE] = "DELETE FROM module WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_OBJECT] = "DELETE FROM object WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_THREAD] = "DELETE FROM thread WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_PROCESS] = "DELETE FROM process WHERE id = ?1",
};
