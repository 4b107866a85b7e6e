/*
 * Questions to a recording that is being written: who did what in the last slices. Each function
 * returns 0 or -errno (-EIO: SQLite refused; sqlite3_errmsg() has its words).
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/table.h"

struct ask;

/* `open_state` gives the state that a thread is in which sent nothing lately, 0 if it is gone. */
typedef int ask_open_state(void *context, int64_t thread);

/* `db` and `context` stay the caller's, and outlive it. */
int ask__new(sqlite3 *db, ask_open_state *open_state, void *context, struct ask **ret);
void ask__free(struct ask *ask);

/* Slices from … to, and the time that they cover. */
struct ask_window {
	int64_t from, to;
	int64_t begin_ns, end_ns;
};
/* What came behind slice `after`; from = 0 if nothing did. */
int ask__after(struct ask *ask, int64_t after, struct ask_window *ret);
/* The slices that began in the last `ns`, one at least; from = 0 if there is none. */
int ask__last(struct ask *ask, int64_t ns, struct ask_window *ret);

/* Everybody, with all their time within the window. */
int ask__table(struct ask *ask, const struct ask_window *window, bool by_thread,
	       struct table *table);
/* Whether the recording knows which thread made which syscalls. */
bool ask__has_calls(struct ask *ask);

/* From now on only the thread with this tid, 0: all. Syscalls too, if ask__has_calls(). */
void ask__only(struct ask *ask, int tid);

struct ask_head {
	int64_t cpus;
	bool full;          /* the level */
	int64_t own_cpu_ns; /* since the start */
	int64_t hooks_cpu_ns, elapsed_ns;
	int64_t lost; /* records, threads, names: whatever is missing */
};
int ask__head(struct ask *ask, struct ask_head *ret);

/* Lines of a section: something with a time, a number, and words. */
#define ASK_LINES 40
struct ask_line {
	char name[200]; /* foreign */
	char more[120]; /* foreign */
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
/* Waits that ended within the window: why and by whom; more: for what. */
int ask__waits(struct ask *ask, const struct ask_window *window, struct ask_lines *ret);
/* Syscalls, with the errors among them; more: the most frequent errno, a number, where known. */
int ask__calls(struct ask *ask, const struct ask_window *window, struct ask_lines *ret);
/* Where running time was sampled: innermost functions. The count is of samples. */
int ask__functions(struct ask *ask, const struct ask_window *window, struct ask_lines *ret);
/* What was lost, repaired, …: counters above 0. */
int ask__quality(struct ask *ask, struct ask_lines *ret);
