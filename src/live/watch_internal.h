/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the files of watch: the sums and the functions that print them. */
#pragma once

#include <jansson.h>

#include "live/watch.h"
#include "report/histogram.h"

/* Most rows and histograms in text; JSON has all. */
#define WATCH_TEXT_ROWS       20
#define WATCH_TEXT_HISTOGRAMS 6

enum watch_span { WATCH_INTERVAL, WATCH_WHOLE };

struct watch {
	sqlite3 *db;
	struct watch_options options;
	uint64_t start_ns;
	uint64_t since_ns;  /* start of the current interval */
	uint64_t tidied_ns; /* when ended threads were last deleted */
	uint64_t events;
};

/* One group of --by. Texts are never NULL, and are valid until the callback returns. */
struct watch_row {
	bool others; /* the sum of the rows beyond the limit */
	bool known;  /* the thread or process is known */
	int64_t pid, tid;
	const char *comm, *object, *place, *operation;
	int error;
	int64_t count;
	int64_t sum[SERIES_VALUES], max[SERIES_VALUES];
};

struct watch_event {
	uint64_t time_ns;
	int64_t duration_ns;
	bool known; /* the thread is known */
	int64_t pid, tid;
	const char *comm, *object, *place, *operation; /* "" if there is none */
	int error;
	json_t *fields;
};

/* Totals of one span. */
struct watch_page {
	enum watch_span span;
	uint64_t begin_ns, end_ns;
	int64_t count;   /* number of events, from the sums */
	int64_t rows;    /* number of rows of --by */
	bool operations; /* some rows have an operation or an error */
};

typedef int (*watch_row_fn)(void *context, const struct watch_row *row);
typedef int (*watch_histogram_fn)(void *context, const char *place, const char *operation,
				  const struct histogram *histogram);
typedef int (*watch_loss_fn)(void *context, const char *name, int64_t value, const char *bias);

/* Calls `show` for at most `most` rows (-1: all), the largest first. */
int watch__each_row(struct watch *watch, enum watch_span span, int most, watch_row_fn show,
		    void *context);
/* Calls `show` for each histogram, in descending order of the sum of its measure. */
int watch__each_histogram(struct watch *watch, enum watch_span span, watch_histogram_fn show,
			  void *context);
/* Calls `show` for each quality counter of the signal that is above 0. */
int watch__each_loss(struct watch *watch, watch_loss_fn show, void *context);
/* What rows are split by, with the default applied. */
unsigned watch__by(const struct watch *watch);

int watch_line__heading(const struct watch *watch);
int watch_line__event(const struct watch *watch, const struct watch_event *event);
/* "12:34:56.789" */
void watch_text__time(FILE *out, uint64_t time_ns);
/* The operation with its error: "openat ENOENT". */
struct words watch_text__operation(const char *operation, int error);
int watch_text__page(struct watch *watch, const struct watch_page *page);
int watch_json__event(struct watch *watch, const struct watch_event *event);
int watch_json__page(struct watch *watch, const struct watch_page *of);
