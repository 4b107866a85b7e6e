/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The length of slices.
 *
 * At first a slice is one snapshot long. If slices produce more rows than ROWS_PER_SECOND, the next
 * ones are twice as long: at first by taking half as many snapshots, up to LONGEST_NS apart, then
 * by merging snapshots before they are written. Rows of ended threads do not count for this: they
 * are written once, however long the slice is.
 */
#include "record/collect_internal.h"

#define ROWS_PER_SECOND 4000
#define MOST_MERGED     64
#define MOST_SLICE_NS   UINT64_C(8000000000)

/* A snapshot may take 1/100 of the time between two snapshots. */
#define SNAPSHOT_SHARE 100
/* The longest interval because of the cost of snapshots, and because of their rows. */
#define MOST_INTERVAL_NS UINT64_C(2000000000)
#define LONGEST_NS       UINT64_C(1000000000)

/* Snapshots per slice: more if there were too many rows for the time, fewer if there were few. */
static int next_merge(const struct collect *collect, uint64_t slice_ns)
{
	if (collect->rows * 1000000000 > ROWS_PER_SECOND * slice_ns &&
	    collect->merged >= collect->merge && collect->merge < MOST_MERGED)
		return collect->merge * 2;
	return collect->is_sparse && collect->merge > 1 ? collect->merge / 2 : collect->merge;
}

int slices__close(struct collect *collect, uint64_t now_ns)
{
	uint64_t slice_ns = now_ns - collect->slice_ns;
	int err = recording__add_slice(collect->recording, collect->slice,
				       (int64_t)collect->slice_ns, (int64_t)now_ns);

	for (size_t i = 0; i < collect->changed_count && !err; i++) {
		collect->changed[i]->changed_at = 0;
		err = accounts__write(collect, collect->changed[i]);
	}
	collect->changed_count = 0;
	collect->is_sparse = collect->rows * 4 * 1000000000 < ROWS_PER_SECOND * slice_ns;
	collect->merge = next_merge(collect, slice_ns);
	collect->rows = 0;
	collect->merged = 0;
	collect->slice++;
	collect->slice_ns = now_ns;
	return err ? err : recording__commit(collect->recording);
}

int collect__snapshot_done(struct collect *collect, uint64_t now_ns)
{
	if (++collect->merged < collect->merge && now_ns - collect->slice_ns < MOST_SLICE_NS)
		return 0;
	return slices__close(collect, now_ns);
}

uint64_t collect__next_interval(struct collect *collect, uint64_t interval_ns, uint64_t least_ns,
				uint64_t cost_ns)
{
	uint64_t twice_ns = interval_ns * 2;

	if (cost_ns * SNAPSHOT_SHARE > interval_ns && twice_ns <= MOST_INTERVAL_NS)
		return twice_ns;
	/* One snapshot instead of two that would be merged. */
	if (collect->merge > 1 && twice_ns <= LONGEST_NS) {
		collect->merge /= 2;
		return twice_ns;
	}
	if (cost_ns * SNAPSHOT_SHARE * 4 < interval_ns && collect->is_sparse &&
	    interval_ns / 2 >= least_ns)
		return interval_ns / 2;
	return interval_ns;
}
