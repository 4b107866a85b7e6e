/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes what was lost, repaired, cut or unknown as rows of the recording (law 3). */
#include "record/quality.h"

#include <stddef.h>

#include "ledger/windows/reader.h"

struct row {
	enum counter counter;
	uint64_t value;
};

int quality__write(struct recording *recording, enum counter counter, int64_t value)
{
	const struct counter_words *words = counters__words(counter);

	return recording__put_quality(recording, words->name, value, words->bias, words->remedy);
}

static int write_rows(struct recording *recording, const struct row *rows, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = quality__write(recording, rows[i].counter, (int64_t)rows[i].value);
	return err;
}

#define WRITE(recording, rows) write_rows(recording, rows, sizeof(rows) / sizeof(*(rows)))

int quality__write_ledger(struct recording *recording, const struct ledger *ledger,
			  const struct collect *collect)
{
	const struct collect_quality quality = collect__quality(collect);
	struct ledger_count counts[LEDGER_COUNTS];
	const struct row rows[] = {
		{ COUNTER_VANISHED, quality.vanished },
		{ COUNTER_NEVER_CLOSED, quality.never_closed },
		{ COUNTER_UNNAMED_WAITS, quality.overflowed },
		{ COUNTER_UNNAMED_WAIT_NS, quality.unnamed_wait_ns },
		{ COUNTER_WAITS_WITHOUT_ACCOUNT_NS, quality.waits_without_account_ns },
		{ COUNTER_OUTSIDE_TOO_MANY, ledger__outside(ledger, OUTSIDE_TOO_MANY) },
		{ COUNTER_OUTSIDE_ENDED, ledger__outside(ledger, OUTSIDE_PENDING) },
		{ COUNTER_DROPPED, ledger__quality(ledger, QUALITY_DROPPED) },
	};
	int err = 0;

	ledger__counts(ledger, counts);
	for (size_t i = 0; i < LEDGER_COUNTS && !err; i++) {
		uint64_t more = counts[i].counter == COUNTER_TORN        ? quality.torn
				: counts[i].counter == COUNTER_MALFORMED ? quality.malformed
									 : 0;

		err = quality__write(recording, counts[i].counter,
				     (int64_t)(counts[i].value + more));
	}
	return err ? err : WRITE(recording, rows);
}

_Static_assert((int)COUNTER_LINKS_BY_INFERENCE - (int)COUNTER_WINDOWS_LOST ==
		       (int)WINDOWS_BY_INFERENCE - (int)WINDOWS_LOST,
	       "counters are in the order of enum window_count");

int quality__write_windows(struct recording *recording, const struct ledger *ledger)
{
	int err = 0;

	for (int i = 0; i < WINDOW_COUNTS && !err; i++)
		err = quality__write(recording, (enum counter)(COUNTER_WINDOWS_LOST + i),
				     (int64_t)ledger_windows__count(ledger, (enum window_count)i));
	return err;
}

int quality__write_stacks(struct recording *recording, const struct ledger *ledger,
			  const struct samples *samples, const struct languages *languages,
			  const struct fiber_ledger *fibers, const struct allocations *allocations)
{
	const struct samples_quality quality = samples__quality(samples);
	const struct fiber_ledger_quality own = fiber_ledger__quality(fibers);
	const struct mapper_quality tables = mapper__quality(languages__mapper(languages));
	const struct runtimes_quality runtimes = runtimes__quality(languages__runtimes(languages));
	const struct row rows[] = {
		{ COUNTER_SAMPLES_LOST_NS, ledger__unsampled_ns(ledger) },
		{ COUNTER_STACKS_LOST, quality.lost },
		{ COUNTER_EVENT_STACKS_MISSED, ledger__event_stacks_missed(ledger) },
		{ COUNTER_MALFORMED_SAMPLES, quality.malformed + ledger__malformed_stacks(ledger) },
		{ COUNTER_MAPPING_EVENTS_LOST, tables.lost_events },
		{ COUNTER_MAPPINGS_FROM_PROC, tables.without_events },
		{ COUNTER_PROCESSES_WITHOUT_TABLE, tables.processes_failed },
		{ COUNTER_MODULES_WITHOUT_ROWS, tables.modules_failed },
		{ COUNTER_ROWS_BROKEN, tables.broken_rows },
		{ COUNTER_MODULES_EVICTED, tables.evicted },
		{ COUNTER_MODULES_OVER_BUDGET, tables.over_budget },
		{ COUNTER_SYMBOLS_WITHOUT_DEBUG, quality.names.without_debug },
		{ COUNTER_SYMBOLS_WITHOUT_LINES, quality.names.without_lines },
		{ COUNTER_SYMBOLS_TOO_LARGE, quality.names.too_large },
		{ COUNTER_SYMBOLS_REFUSED, quality.names.refused },
		{ COUNTER_SYMBOLS_STALLED, quality.names.stalled },
		{ COUNTER_DOWNLOADS_ENDED, quality.names.downloads_ended },
		{ COUNTER_FIBERS_LEFT_OUT, own.left_out },
		{ COUNTER_FIBERS_WITHOUT_STACK, own.stacks.moved + own.stacks.late },
		{ COUNTER_ALLOCATIONS_CUT, allocations__cut(allocations) },
		{ COUNTER_RUNTIMES_UNKNOWN, runtimes.unknown },
		{ COUNTER_RUNTIME_NAMES_LATE, runtimes.names_late },
		{ COUNTER_RUNTIME_NAMES_FAILED, runtimes.failed },
		{ COUNTER_PROCESSES_CROWDED, tables.crowded_processes },
	};

	int err = WRITE(recording, rows);

	if (!err && own.readings)
		err = recording__put_cost(recording, "fibers_ns", (double)own.read_ns, "ns");
	if (!err && own.readings)
		err = recording__put_cost(recording, "fiber_readings", (double)own.readings,
					  "readings");
	return err;
}

int quality__write_stack_cost(struct recording *recording, const struct samples *samples,
			      struct mapper *mapper)
{
	const struct mapper_quality tables = mapper__quality(mapper);
	const struct samples_quality quality = samples__quality(samples);
	int err = recording__put_cost(recording, "tables_cpu_ns", (double)tables.compile_ns, "ns");

	if (!err)
		err = recording__put_cost(recording, "tables_bytes",
					  (double)tables.table_bytes_peak, "bytes");
	if (!err)
		err = recording__put_cost(recording, "naming_cpu_ns", (double)quality.naming_ns,
					  "ns");
	return err;
}
