/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shows one signal live: events as lines; intervals and the total as histograms and sums. Reads a
 * running recording and deletes what it has read, so that memory suffices for hours.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/signal.h"

/* What sums are split by. Histograms can be split only by the last two. */
enum watch_by {
	WATCH_BY_THREAD = 1,
	WATCH_BY_PROCESS = 2,
	WATCH_BY_OBJECT = 4,
	WATCH_BY_ERRNO = 8,
	WATCH_BY_PLACE = 16,
	WATCH_BY_OPERATION = 32,
};

struct watch_options {
	const struct signal *signal;
	const char *target;   /* the target in words; NULL: all threads */
	unsigned by;          /* bits of enum watch_by; 0: the default */
	int measure;          /* index of the measure for histograms and the order of rows */
	bool one_measure;     /* rows show only that measure */
	bool json;            /* one object per line */
	bool times;           /* the time of day beside events and intervals */
	bool events;          /* show events */
	bool intervals;       /* watch__interval() will be called */
	uint64_t most_events; /* 0: no limit */
	FILE *out;
};

struct watch;

/* `db` belongs to the caller and must outlive the watch. 0 or -errno. */
int watch__new(sqlite3 *db, const struct watch_options *options, uint64_t start_ns,
	       struct watch **ret);
void watch__free(struct watch *watch);

/*
 * Shows events since the last call. Stops before the first event whose thread is not in the
 * recording yet, unless that event is two seconds old.
 */
int watch__events(struct watch *watch, uint64_t now_ns);
/* Number of events so far; never more than most_events. */
uint64_t watch__event_count(const struct watch *watch);

/*
 * Adds the rows of the recording to our sums and deletes them. The recording must contain
 * everything until `now_ns`. Afterwards, the writer must forget the ids of series.
 */
int watch__take(struct watch *watch, uint64_t now_ns);

/* Shows the sums since the last interval. */
int watch__interval(struct watch *watch, uint64_t now_ns);
/* Shows the sums since the start, and what was lost. */
int watch__summary(struct watch *watch, uint64_t now_ns);
