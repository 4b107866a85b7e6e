/*
 * One signal as it happens: events as lines, intervals and the whole as histograms and sums. Reads
 * a recording that goes on and takes out of it what was read, so that hours fit into memory.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/signal.h"

/* What sums are split by. Histograms know only the last two. */
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
	const char *target;   /* whom, in words; NULL: all threads */
	unsigned by;          /* of enum watch_by; 0: what suits most */
	int measure;          /* that histograms show and rows are ordered by */
	bool one_measure;     /* rows have only that one */
	bool json;            /* one object per line */
	bool times;           /* the time of day beside events and intervals */
	bool events;          /* show them */
	bool intervals;       /* watch__interval() is going to be called */
	uint64_t most_events; /* 0: no limit */
	FILE *out;
};

struct watch;

/* `db` stays the caller's and outlives the watch. 0 or -errno. */
int watch__new(sqlite3 *db, const struct watch_options *options, uint64_t start_ns,
	       struct watch **ret);
void watch__free(struct watch *watch);

/*
 * Shows events that came since the last time, up to the first whose thread the recording does not
 * know yet, unless it is two seconds old.
 */
int watch__events(struct watch *watch, uint64_t now_ns);
/* How many there were; never more than most_events. */
uint64_t watch__event_count(const struct watch *watch);

/*
 * Takes over what the recording has until `now_ns`, which must be all of it, and deletes the rows:
 * the writer has to forget the ids of series.
 */
int watch__take(struct watch *watch, uint64_t now_ns);

/* Shows what was taken since the last interval. */
int watch__interval(struct watch *watch, uint64_t now_ns);
/* Shows all that was ever taken, and what was lost. */
int watch__summary(struct watch *watch, uint64_t now_ns);
