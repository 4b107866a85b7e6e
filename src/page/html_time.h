/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time on the page. A bin is one slice of the recording, or as many slices as needed to stay within
 * HTML_MOST_BINS. So each slice belongs to exactly one bin. A row over several slices stays one
 * row, with its first bin and the number of bins.
 */
#pragma once

#include "model/ids.h"
#include "model/load.h"
#include "page/html_rows.h"

#define HTML_MOST_BINS 600

struct html_bins {
	int64_t *edges; /* count + 1 edges, within the cut */
	size_t count;
	struct ids slices;
	int64_t *begins, *ends; /* indexed like `slices` */
	int64_t torn;           /* references to slices that do not exist */
};

int html_bins__load(struct html_bins *bins, const struct model *model, sqlite3 *db);
void html_bins__release(struct html_bins *bins);

/* The position of a row in time. */
struct html_span {
	int64_t begin_ns, end_ns; /* of its slices */
	int32_t from, count;      /* bins */
	double part;              /* the share inside the cut; 1 except at its edges */
};
/* Returns false if there are no such slices (counted in `torn`) or they are outside the cut. */
bool html_bins__find(struct html_bins *bins, int64_t slice_from, int64_t slice_to,
		     struct html_span *ret);
/* Narrows a span to a thread's life. Returns false if nothing is left. */
bool html_bins__narrow(const struct html_bins *bins, int64_t first_ns, int64_t last_ns,
		       struct html_span *span);
/* Finds the bins of begin_ns … end_ns. Returns false if that is outside the cut. */
bool html_bins__place(const struct html_bins *bins, struct html_span *span);
/* The bin of a moment. */
int32_t html_bins__at(const struct html_bins *bins, int64_t time_ns);

/* Rows in which key `at` is a bin and, with `spans`, key at + 1 is the number of bins. */
struct html_table {
	struct html_rows rows;
	int at;
	bool spans;
	size_t most; /* limit on rows; above it, bins become wider */
	bool thins;  /* rows are samples and may also be thinned out */
	int64_t left_out;
	int32_t width; /* bins of the page in one bin of this table; 0 means 1 */
	int32_t bins;  /* bins of the page */
};
int html_table__add(struct html_table *table, const struct html_row *row);
/* Reduces the table to `most` rows if possible. */
int html_table__fit(struct html_table *table);
