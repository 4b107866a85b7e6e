/* Between the files of watch: what was taken, and those who print it. */
#pragma once

#include <jansson.h>

#include "live/watch.h"
#include "report/histogram.h"

/* Rows and histograms that text shows; JSON has them all. */
#define WATCH_TEXT_ROWS       20
#define WATCH_TEXT_HISTOGRAMS 6

enum watch_span { WATCH_INTERVAL, WATCH_WHOLE };

struct watch {
	sqlite3 *db;
	struct watch_options options;
	uint64_t start_ns;
	uint64_t since_ns;  /* the begin of the interval */
	uint64_t tidied_ns; /* when threads that are gone were last deleted */
	uint64_t events;
};

/* What belongs together by --by. Texts are never NULL, and live until the callback returns. */
struct watch_row {
	bool others; /* what there was no room for */
	bool known;  /* it has a thread */
	int64_t pid, tid;
	const char *comm, *object, *place, *operation;
	int error;
	int64_t count;
	int64_t sum[SERIES_VALUES], max[SERIES_VALUES];
};

struct watch_event {
	uint64_t time_ns;
	int64_t duration_ns;
	bool known; /* it has a thread */
	int64_t pid, tid;
	const char *comm, *object, *place, *operation; /* "" if it has none */
	int error;
	json_t *fields;
};

/* What one span has. */
struct watch_page {
	enum watch_span span;
	uint64_t begin_ns, end_ns;
	int64_t count;   /* of events, by the sums */
	int64_t rows;    /* of --by */
	bool operations; /* some of them have one, or an error */
};

typedef int (*watch_row_fn)(void *context, const struct watch_row *row);
typedef int (*watch_histogram_fn)(void *context, const char *place, const char *operation,
				  const struct histogram *histogram);
typedef int (*watch_loss_fn)(void *context, const char *name, int64_t value, const char *bias);

/* The largest first; at most `most` of them (-1: all). */
int watch__each_row(struct watch *watch, enum watch_span span, int most, watch_row_fn show,
		    void *context);
/* Likewise, by the sum of what it shows. */
int watch__each_histogram(struct watch *watch, enum watch_span span, watch_histogram_fn show,
			  void *context);
/* What the signal lost, if anything. */
int watch__each_loss(struct watch *watch, watch_loss_fn show, void *context);
/* What rows are split by. */
unsigned watch__by(const struct watch *watch);

int watch_line__heading(const struct watch *watch);
int watch_line__event(const struct watch *watch, const struct watch_event *event);
/* "12:34:56.789" */
void watch_text__time(FILE *out, uint64_t time_ns);
/* "openat ENOENT": what went wrong belongs to what was tried. */
struct words watch_text__operation(const char *operation, int error);
int watch_text__page(struct watch *watch, const struct watch_page *page);
int watch_json__event(struct watch *watch, const struct watch_event *event);
int watch_json__page(struct watch *watch, const struct watch_page *of);
