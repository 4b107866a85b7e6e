/*
 * The rows of the list: processes or threads with where their time went, in an order, those that a
 * filter leaves. Pure: no terminal, no recording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "tui/bands.h"

#define TABLE_NAME_BYTES 32

/* A thread and what it did within a window. */
struct table_thread {
	int64_t id, process;
	int pid, tid;
	const char *comm, *process_comm;
	bool own;   /* it is gapless */
	bool ended; /* within the window */
	int64_t ns[SLOT_COUNT];
	int64_t switches; /* how often it left a CPU */
	int64_t calls;    /* syscalls, where they are known */
};

struct table_row {
	int64_t id; /* of the process or thread in the recording */
	int pid, tid;
	int threads, ended; /* those that are over are not among the first */
	bool own;
	char name[TABLE_NAME_BYTES]; /* as it came: foreign */
	int64_t ns[SLOT_COUNT];
	int64_t busy_ns; /* of threads that were at work: see table__add() */
	int64_t switches, calls;
};

struct table {
	bool by_thread;
	int64_t window_ns;
	struct table_row *rows;
	size_t count, size;
	struct map places; /* by id: 1 + the place in rows */
	size_t *shown;     /* places in rows, in order, those that the filter leaves */
	size_t shown_count;
	struct table_row all; /* their sum, whatever the filter says */
};

/* All zeroes is an empty table. */
void table__release(struct table *table);
/* Empties it, for a window of this length. */
void table__begin(struct table *table, bool by_thread, int64_t window_ns);
/*
 * A thread is at work if it was on a CPU within the window, or wanted one. Of others, nothing is
 * busy: a shell that waits for its child all day is not what somebody is looking for.
 */
int table__add(struct table *table, const struct table_thread *thread);

/* What can be shown and sorted by: kinds first, then every state, from SLOT_FIRST on. */
enum sort {
	SORT_BUSY,
	SORT_RUN,
	SORT_READY,
	SORT_HELD,
	SORT_STATES = SORT_HELD, /* plus a slot */
	SORT_SWITCHES = SORT_STATES + SLOT_COUNT,
	SORT_CALLS,
	SORT_PID,
	SORT_NAME,
	SORT_COUNT
};
const char *sort__title(enum sort column);
/* Nanoseconds, or a number. Names have none. */
int64_t sort__value(const struct table_row *row, enum sort column);
bool sort__is_time(enum sort column);

/* Sorts, largest first (names and numbers of processes: smallest first), and filters. */
int table__arrange(struct table *table, enum sort order, const char *filter);
/* A filter is a part of the name, whatever its case, or the begin of a pid or tid. "": all. */
bool table__fits(const struct table_row *row, const char *filter);
/* Where this id is among the rows that are shown; `otherwise` if it is not, but within bounds. */
size_t table__find(const struct table *table, int64_t id, size_t otherwise);
