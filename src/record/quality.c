/* What was lost, repaired, cut or not known, as rows of the recording (law 3). */
#include "record/quality.h"

#include <stddef.h>

struct row {
	const char *name;
	uint64_t value;
	const char *bias; /* what a value above 0 means for the numbers */
};

static int write_rows(struct recording *recording, const struct row *rows, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = recording__put_quality(recording, rows[i].name, (int64_t)rows[i].value,
					     rows[i].bias);
	return err;
}

#define WRITE(recording, rows) write_rows(recording, rows, sizeof(rows) / sizeof(*(rows)))

int quality__write_ledger(struct recording *recording, const struct ledger *ledger,
			  const struct collect *collect)
{
	const struct collect_quality quality = collect__quality(collect);
	const struct row rows[] = {
		{ "lost_ring_full", ledger__lost(ledger, LOST_RING_FULL),
		  "threads that ended, or names of objects, are missing" },
		{ "lost_map_full", ledger__lost(ledger, LOST_MAP_FULL),
		  "names and counts are missing; the time of waits is kept, under 'other'" },
		{ "no_storage", ledger__lost(ledger, LOST_NO_STORAGE),
		  "so many threads have no account" },
		{ "repaired_wakeups", ledger__quality(ledger, QUALITY_REPAIRED_WAKEUPS),
		  "made up for from the scheduler's own sums; the waker is not known" },
		{ "repaired_switches", ledger__quality(ledger, QUALITY_REPAIRED_SWITCHES),
		  "made up for from the scheduler's own sums" },
		{ "missed_wakeups", ledger__quality(ledger, QUALITY_MISSED_WAKEUPS),
		  "waits without an end: their ready time counts as waiting" },
		{ "impossible_transitions", ledger__quality(ledger, QUALITY_IMPOSSIBLE),
		  "their time is in 'unexplained'" },
		{ "negative_intervals", ledger__quality(ledger, QUALITY_NEGATIVE),
		  "taken as 0: clocks of CPUs differ" },
		{ "torn_snapshots", ledger__quality(ledger, QUALITY_TORN) + quality.torn,
		  "accounts that arrive a slice later" },
		{ "vanished_threads", quality.vanished,
		  "their last account was lost: their rows end early" },
		{ "never_closed", quality.never_closed,
		  "threads whose account never closed: their time is missing" },
		{ "unnamed_waits", quality.overflowed,
		  "their object or culprit is 'other (too many to name)'" },
		{ "unnamed_wait_ns", quality.unnamed_wait_ns,
		  "time of waits whose object and culprit were lost: their object is 'other'" },
		{ "waits_without_account_ns", quality.waits_without_account_ns,
		  "time of waits of threads whose account was lost: it is left out" },
		{ "dropped_on_purpose", ledger__quality(ledger, QUALITY_DROPPED), "test switch" },
		{ "recursion_misses", ledger__recursion_misses(ledger),
		  "hooks that the kernel did not run" },
		{ "malformed_records", quality.malformed + ledger__malformed(ledger),
		  "records that were not understood" },
	};

	return WRITE(recording, rows);
}

int quality__write_stacks(struct recording *recording, const struct ledger *ledger,
			  const struct samples *samples, struct mapper *mapper)
{
	const struct samples_quality quality = samples__quality(samples);
	const struct mapper_quality tables = mapper__quality(mapper);

	const struct row rows[] = {
		{ "samples_lost_ns", ledger__unsampled_ns(ledger),
		  "time that no sample stands for" },
		{ "stacks_lost", quality.lost, "stacks whose frames did not arrive" },
		{ "malformed_samples", quality.malformed + ledger__malformed_stacks(ledger),
		  "records that were not understood" },
		{ "mapping_events_lost", tables.lost_events, "stacks may be cut, or misnamed" },
		{ "mappings_from_proc_only", tables.without_events,
		  "new files in a process are seen up to a second late: stacks are cut until then" },
		{ "processes_without_table", tables.processes_failed,
		  "no room for their mappings: stacks are cut" },
		{ "modules_without_rows", tables.modules_failed,
		  "their stacks are walked by frame pointers" },
		{ "rows_broken", tables.broken_rows,
		  "descriptions that made no sense: stacks are cut there" },
		{ "modules_evicted", tables.evicted,
		  "stacks were cut until their tables were loaded again [--table-size]" },
		{ "modules_over_budget", tables.over_budget,
		  "walked by frame pointers [--table-size]" },
		{ "symbols_without_debug", quality.names.without_debug,
		  "files with too much debug information for the memory and time there is, or on a "
		  "file system that did not answer: no lines and no inlined functions" },
		{ "symbols_too_large", quality.names.too_large,
		  "files or perf maps with larger tables than any program: names are missing" },
		{ "symbols_refused", quality.names.refused,
		  "files that could not be read within memory and time: their frames have no "
		  "names" },
		{ "symbols_stalled", quality.names.stalled,
		  "of them, on a file system that did not answer" },
		{ "downloads_ended", quality.names.downloads_ended,
		  "debug information that did not arrive in time: no lines and no inlined "
		  "functions" },
		{ "processes_crowded", tables.crowded_processes,
		  "more files mapped than the table of a process holds" },
	};

	return WRITE(recording, rows);
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
