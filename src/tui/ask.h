/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries on a recording that is being written: which thread did what in the last slices. Each
 * function returns 0 or -errno (-EIO: SQLite failed; sqlite3_errmsg() says why).
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/table.h"

struct ask;

/* Returns the current state of a thread that sent no record lately; 0 if the thread has ended. */
typedef int ask_open_state(void *context, int64_t thread);

/* The caller owns `db` and `context`. They must outlive the result. */
int ask__new(sqlite3 *db, ask_open_state *open_state, void *context, struct ask **ret);
void ask__free(struct ask *ask);

/* A range of slices, first and last, and the time that they cover. */
struct ask_window {
	int64_t from, to;
	int64_t begin_ns, end_ns;
};
/* The slices after slice `after`; from = 0 if there are none. */
int ask__after(struct ask *ask, int64_t after, struct ask_window *ret);
/* The slices that began in the last `ns`, at least one; from = 0 if there are none. */
int ask__last(struct ask *ask, int64_t ns, struct ask_window *ret);

/* All threads or processes, with all their time within the window. */
int ask__table(struct ask *ask, const struct ask_window *window, bool by_thread,
	       struct table *table);
/* Whether the recording knows which thread made which syscalls. */
bool ask__has_calls(struct ask *ask);

/*
 * From now on, answer only for the thread with this tid; 0: all. Syscalls too, if ask__has_calls().
 */
void ask__only(struct ask *ask, int tid);

struct ask_head {
	int64_t cpus;
	bool full;          /* level full */
	int64_t own_cpu_ns; /* since the start */
	int64_t hooks_cpu_ns, elapsed_ns;
	int64_t lost; /* records, threads, names: everything that is missing */
};
int ask__head(struct ask *ask, struct ask_head *ret);

/* Lines of a section: a name with a time, a count and more words. */
#define ASK_LINES 40
struct ask_line {
	char name[200]; /* from the recording, not cleaned */
	char more[120]; /* from the recording, not cleaned */
	int64_t ns;
	int64_t count;
	int64_t errors;
};
struct ask_lines {
	size_t count;
	int64_t total_ns;
	int64_t total_count;
	struct ask_line lines[ASK_LINES];
};
/* Waits that ended within the window: cause and culprit; more: the object. */
int ask__waits(struct ask *ask, const struct ask_window *window, struct ask_lines *ret);
/* Syscalls and how many failed; more: the most frequent errno as a number, if known. */
int ask__calls(struct ask *ask, const struct ask_window *window, struct ask_lines *ret);
/* The innermost functions of running samples. The count is the number of samples. */
int ask__functions(struct ask *ask, const struct ask_window *window, struct ask_lines *ret);
/* Counters of what was lost, repaired and so on, if above 0. */
int ask__quality(struct ask *ask, struct ask_lines *ret);
