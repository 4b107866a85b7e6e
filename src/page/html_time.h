/*
 * Time on the page: a bin is one slice of the recording, or as many as keep the bins below
 * HTML_MOST_BINS. So what a slice has belongs to one bin, to the nanosecond. A row over several
 * slices stays one row, with its first bin and the number of bins.
 */
#pragma once

#include "model/ids.h"
#include "model/load.h"
#include "page/html_rows.h"

#define HTML_MOST_BINS 600

struct html_bins {
	int64_t *edges; /* count + 1 of them, within the cut */
	size_t count;
	struct ids slices;
	int64_t *begins, *ends; /* by the slice's place */
	int64_t torn;           /* rows of slices that are not there */
};

int html_bins__load(struct html_bins *bins, const struct model *model, sqlite3 *db);
void html_bins__release(struct html_bins *bins);

/* Where a row lies. */
struct html_span {
	int64_t begin_ns, end_ns; /* of its slices */
	int32_t from, count;      /* bins */
	double part;              /* of it that is inside the cut: 1 but at the cut's edges */
};
/* False if there are no such slices (counted) or they are outside the cut. */
bool html_bins__find(struct html_bins *bins, int64_t slice_from, int64_t slice_to,
		     struct html_span *ret);
/* Narrows it to a life; false if nothing is left. */
bool html_bins__narrow(const struct html_bins *bins, int64_t first_ns, int64_t last_ns,
		       struct html_span *span);
/* Finds the bins of begin_ns … end_ns; false if that is outside the cut. */
bool html_bins__place(const struct html_bins *bins, struct html_span *span);
/* The bin of a moment. */
int32_t html_bins__at(const struct html_bins *bins, int64_t time_ns);

/* Rows of which key `at` is a bin and, if `spans`, key at + 1 is how many. */
struct html_table {
	struct html_rows rows;
	int at;
	bool spans;
	size_t most; /* rows: above it, bins become wider … */
	bool thins;  /* … or some rows stand for others: these are samples */
	int64_t left_out;
	int32_t width; /* bins of the page in one of this table; 0 is 1 */
	int32_t bins;  /* of the page */
};
int html_table__add(struct html_table *table, const struct html_row *row);
/* Down to `most` rows, if that can be done. */
int html_table__fit(struct html_table *table);
