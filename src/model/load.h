/* Between the files of the model: rows into arrays, arrays into groups. */
#pragma once

#include <sqlite3.h>

#include "base/vec.h"
#include "model/model.h"

/* Reads meta and the states, which the cut and the kinds are settled with. */
int load__head(struct model *model, sqlite3 *db);
/* Settles the cut, once the head is read. -ERANGE: nothing is left. */
int load__cut(struct model *model, const struct model_options *options);
/* Reads threads, those too that only waits know; load__tables() does it itself. */
int load__threads(struct model *model, sqlite3 *db);
/* Reads the rest, inside the cut; no sums over threads yet. */
int load__tables(struct model *model, sqlite3 *db);
/* Reads code and samples; threads are in groups already, and waits in blames. */
int load__samples(struct model *model, sqlite3 *db);

/* Reads what the time outside syscalls is made of, but for samples; before load__samples(). */
int load__outside(struct model *model, sqlite3 *db);

/* Reads what --note kept. */
int load__notes(struct model *model, sqlite3 *db);

/* Reads what signals counted; threads are in groups already. */
int load__signals(struct model *model, sqlite3 *db);

/* Of hostile numbers: two of them, or two sums of amounts, can be added up. */
#define LOAD_MOST (INT64_MAX / 2)
/* Percentiles multiply by 100. */
#define LOAD_MOST_BUCKETS (INT64_MAX / 128)
/* What is left of an amount when it is not negative, and all that *sum has fits into `most`. */
int64_t load__amount(int64_t value, int64_t most, int64_t *sum);

typedef int load_row(struct model *model, sqlite3_stmt *row);
/* Calls `take` for each row; its first error ends it. */
int load__each(struct model *model, sqlite3 *db, const char *sql, load_row *take);
/* Ready to step through, with the cut bound to ?1 and ?2, if it has them. */
int load__prepare(const struct model *model, sqlite3 *db, const char *sql, sqlite3_stmt **ret);
/* What SQLite's result means for the caller of model__load(); 0 at the end of the rows. */
int load__error(int rc);
/* NULL if there is none. */
const struct model_state *load__state(const struct model *model, int64_t id);
const struct model_thread *load__thread(const struct model *model, int64_t id);

/* A copy that lives as long as the model; NULL for NULL or when out of memory, which fails
 * the load in the end. */
const char *load__keep(struct model *model, const char *text);
/* A column, kept likewise. load__name() is for what must not be NULL: a recording made by somebody
 * else may have holes. */
const char *load__text(struct model *model, sqlite3_stmt *row, int column);
const char *load__name(struct model *model, sqlite3_stmt *row, int column);
/* A column as a number from 0 to INT32_MAX. */
uint32_t load__index(sqlite3_stmt *row, int column);

/* Waits for sockets that share an end go by that one's name. */
int load__sockets(struct model *model);

/* Threads into groups, waits into blames, lines for --by; and how many processes. */
int group__threads(struct model *model);
int group__processes(struct model *model);
int group__waits(struct model *model);
int group__rows(struct model *model, enum model_by by);
