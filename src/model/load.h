/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the model: rows into arrays, arrays into groups. */
#pragma once

#include <sqlite3.h>

#include "base/vec.h"
#include "model/model.h"

/* Reads meta and the states, which are needed to settle the scope and the kinds. */
int load__head(struct model *model, sqlite3 *db);
/* Reads threads, including those that appear only in waits. load__tables() calls it. */
int load__threads(struct model *model, sqlite3 *db);
/* Reads the rest inside the cut. Does not add up threads yet. */
int load__tables(struct model *model, sqlite3 *db);
/* Reads code and samples. Threads must be in groups and waits in blames. */
int load__samples(struct model *model, sqlite3 *db);

/*
 * Reads what makes up the time outside syscalls, except samples. Must run before load__samples().
 */
int load__user_time(struct model *model, sqlite3 *db);

/* Reads the patterns of paths. Threads must be there. */
int load__paths(struct model *model, sqlite3 *db);

/* Reads who had the CPU, and the limits of cgroups. Threads must be there. */
int load__queue(struct model *model, sqlite3 *db);

/* Reads what the budget changed. Threads and syscalls must be there. */
int load__estimates(struct model *model, sqlite3 *db);

/* Reads the notes that were recorded with --note. */
int load__notes(struct model *model, sqlite3 *db);
/* Reads quality and cost. load__tables() calls it. */
int load__figures(struct model *model, sqlite3 *db);

struct fold;

/* Reads what signals counted. Threads must be in groups. */
int load__signals(struct model *model, sqlite3 *db);
int load__heap(struct model *model, sqlite3 *db, struct signals_signal *signal);
/* Finds the stacks of slow events and of samples of the heap. Call it while the fold exists. */
void load__event_stacks(struct fold *fold, struct signals *signals);

/*
 * Limit on numbers from a hostile file, so that two numbers or two sums can be added without
 * overflow.
 */
#define LOAD_MOST (INT64_MAX / 2)
/*
 * Clamps `value` so that it is not negative and *sum stays within `most`. Adds it to *sum and
 * returns it.
 */
int64_t load__amount(int64_t value, int64_t most, int64_t *sum);

typedef int load_row(struct model *model, sqlite3_stmt *row);
/* Calls `take` for each row. Stops at its first error and returns it. */
int load__each(struct model *model, sqlite3 *db, const char *sql, load_row *take);
/* Prepares a statement. Binds the cut to ?1 and ?2 if the statement has them. */
int load__prepare(const struct model *model, sqlite3 *db, const char *sql, sqlite3_stmt **ret);
/* Whether the recording has the tables and columns of a statement; older ones lack some. */
bool load__is_answered(sqlite3 *db, const char *sql);
/* Converts an SQLite result code to an error of model__load(); 0 at the end of the rows. */
int load__error(int rc);
/* Return NULL if there is no row with this id. */
const struct model_state *load__state(const struct model *model, int64_t id);
const struct model_thread *load__thread(const struct model *model, int64_t id);

/*
 * Copies a string. The copy lives as long as the model. Returns NULL for NULL and when out of
 * memory; running out of memory makes the load fail in the end.
 */
const char *load__keep(struct model *model, const char *text);
/*
 * A column, copied in the same way. load__name() returns "?" for NULL. Use it where NULL is not
 * allowed, because a recording made by another tool may have NULLs anywhere.
 */
const char *load__text(struct model *model, sqlite3_stmt *row, int column);
const char *load__name(struct model *model, sqlite3_stmt *row, int column);
/* A column as a number from 0 to INT32_MAX. */
uint32_t load__index(sqlite3_stmt *row, int column);
/* A column as a variance: a finite number, not negative. */
double load__variance(sqlite3_stmt *row, int column);

/* Merges waits for sockets that share an end, and names them after that end. */
int load__sockets(struct model *model);

/* Put threads into groups, count processes, put waits into blames, and make the rows for --by. */
int group__threads(struct model *model);
int group__processes(struct model *model);
int group__waits(struct model *model);
int group__rows(struct model *model, enum model_by by);
