/* Between the files that make the page's data. */
#pragma once

#include "page/html_time.h"

#define HTML_NONE         UINT32_MAX
#define HTML_MOST_SIGNALS 64

struct html {
	const struct model *model;
	sqlite3 *db;
	struct html_out out;
	struct html_bins bins;
	uint32_t *threads;    /* by place in the model: the page's number; HTML_NONE: not there */
	size_t thread_count;  /* of the page; the last one stands for those that were folded */
	size_t other_threads; /* how many those are */
	struct {
		int64_t nodes, samples, histograms, waits, wait_ns, operations, services, series;
		int64_t events, accounts;
		int64_t axes;                        /* threads that are in no cell by their own */
		int64_t wait_samples, loose_samples; /* thinned out; of no wait on the page */
		int64_t wait_threads;                /* sums of a thread without room */
		int64_t distributions, signals;
	} folded;
};

/* Calls `take` for each row; its first error ends it. */
typedef int html_take(struct html *html, void *context, sqlite3_stmt *row);
int html__each(struct html *html, const char *sql, html_take *take, void *context);

/* Each writes members of the document. 0 or -errno as model__load() has it. */
int html__put_threads(struct html *html);
int html__put_time(struct html *html);
int html__put_waits(struct html *html);
int html__put_stacks(struct html *html);
int html__put_calls(struct html *html);
int html__put_latencies(struct html *html);
int html__put_signals(struct html *html);
void html__put_operations(struct html *html);

/* Signals on the page: the first ones of the model. */
size_t html__signal_count(const struct html *html);

void html__put_numbers(struct html_out *out, const char *key, const int64_t *numbers, int count);
/* Writes a table with its width and frees its rows. */
int html__put_table(struct html *html, const char *key, struct html_table *table,
		    const struct html_column *columns, size_t count);
/* A row's value as far as it is inside the cut; not negative. */
int64_t html__part(const struct html_span *span, int64_t value);
