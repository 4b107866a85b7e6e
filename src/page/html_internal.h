/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that make the page's data. */
#pragma once

#include "page/html_time.h"

#define HTML_NONE         UINT32_MAX
#define HTML_MOST_SIGNALS 64

struct html {
	const struct model *model;
	struct model *windows; /* the same one: rows of single windows may add to it */
	sqlite3 *db;
	struct html_out out;
	struct html_bins bins;
	uint32_t *threads;    /* indexed like model.threads: number on the page, or HTML_NONE */
	size_t thread_count;  /* on the page; the last one stands for all folded threads */
	size_t other_threads; /* number of folded threads */
	struct {
		int64_t nodes, samples, histograms, waits, wait_ns, operations, services, series;
		int64_t events, accounts;
		int64_t axes;                        /* threads without cells of their own */
		int64_t wait_samples, loose_samples; /* thinned out; of waits not on the page */
		int64_t wait_threads; /* sums of threads for which there was no room */
		int64_t distributions, signals;
		int64_t windows, window_services, window_classes, window_waits;
	} folded;
};

/* Calls `take` for each row. Stops at its first error and returns it. */
typedef int html_take(struct html *html, void *context, sqlite3_stmt *row);
int html__each(struct html *html, const char *sql, html_take *take, void *context);

/* Each writes members of the document. Returns 0 or an error of model__load(). */
int html__put_threads(struct html *html);
int html__put_time(struct html *html);
int html__put_waits_and_stacks(struct html *html);
int html__put_calls(struct html *html);
int html__put_latencies(struct html *html);
int html__put_signals(struct html *html);
int html__put_windows(struct html *html);
void html__put_operations(struct html *html);

/* How many signals are on the page. They are the first ones of the model. */
size_t html__signal_count(const struct html *html);

void html__put_numbers(struct html_out *out, const char *key, const int64_t *numbers, int count);
/* Writes null for -1. */
void html__put_percentile(struct html_out *out, const char *key, int64_t value);
/* Writes a table and its bin width, and frees its rows. */
int html__put_table(struct html *html, const char *key, struct html_table *table,
		    const struct html_column *columns, size_t count);
/* The part of a row's value that is inside the cut; not negative. */
int64_t html__part(const struct html_span *span, int64_t value);
