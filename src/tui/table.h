/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of the list: processes or threads and where their time went, sorted and filtered. Pure:
 * no terminal, no recording.
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
	bool own;   /* belongs to gapless */
	bool ended; /* ended within the window */
	int64_t ns[SLOT_COUNT];
	int64_t switches; /* how often it left a CPU */
	int64_t calls;    /* number of syscalls, if known */
};

struct table_row {
	int64_t id; /* of the process or thread in the recording */
	int pid, tid;
	int threads, ended; /* `threads` does not include those that ended */
	bool own;
	char name[TABLE_NAME_BYTES]; /* from the recording, not cleaned */
	int64_t ns[SLOT_COUNT];
	int64_t busy_ns; /* of threads that were at work, see table__add() */
	int64_t switches, calls;
};

struct table {
	bool by_thread;
	int64_t window_ns;
	struct table_row *rows;
	size_t count, size;
	struct map places; /* id → index in rows + 1 */
	size_t *shown;     /* sorted indexes of the rows that pass the filter */
	size_t shown_count;
	struct table_row all; /* the sum of all rows, without the filter */
};

/* Initialize struct table with zeroes. */
void table__release(struct table *table);
/* Empties the table for a window of this length. */
void table__begin(struct table *table, bool by_thread, int64_t window_ns);
/*
 * Adds a thread. A thread is at work if it was on a CPU within the window, or ready for one. Other
 * threads have no busy time: a shell that waits for its child all day is not what users look for.
 */
int table__add(struct table *table, const struct table_thread *thread);

/* Columns to show and to sort by: kinds first, then every state from SLOT_FIRST on. */
enum sort {
	SORT_BUSY,
	SORT_RUN,
	SORT_READY,
	SORT_HELD,
	SORT_STATES = SORT_HELD, /* add a slot */
	SORT_SWITCHES = SORT_STATES + SLOT_COUNT,
	SORT_CALLS,
	SORT_PID,
	SORT_NAME,
	SORT_COUNT
};
const char *sort__title(enum sort column);
/* Nanoseconds or a count. Names have no value. */
int64_t sort__value(const struct table_row *row, enum sort column);
bool sort__is_time(enum sort column);

/* Sorts and filters. The largest comes first; for names and pids, the smallest. */
int table__arrange(struct table *table, enum sort order, const char *filter);
/* A filter matches a part of the name, ignoring case, or the beginning of a pid or tid. "": all. */
bool table__fits(const struct table_row *row, const char *filter);
/*
 * Returns the position of this id among the shown rows; `otherwise`, within bounds, if it is not
 * shown.
 */
size_t table__find(const struct table *table, int64_t id, size_t otherwise);
