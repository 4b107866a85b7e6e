/* Between the files of the model: rows into arrays, arrays into groups. */
#pragma once

#include <sqlite3.h>

#include "report/model.h"

/* Reads meta and the states, which the cut and the kinds are settled with. */
int load__head(struct model *model, sqlite3 *db);
/* Reads the rest, inside the cut; no sums over threads yet. */
int load__tables(struct model *model, sqlite3 *db);
/* Reads code and samples; threads are in groups already, and waits in blames. */
int load__samples(struct model *model, sqlite3 *db);

/* Ready to step through, with the cut bound to ?1 and ?2, if it has them. */
int load__prepare(const struct model *model, sqlite3 *db, const char *sql, sqlite3_stmt **ret);
/* What SQLite's result means for the caller of model__load(); 0 at the end of the rows. */
int load__error(int rc);
/* NULL if there is none. */
const struct model_state *load__state(const struct model *model, int64_t id);
const struct model_thread *load__thread(const struct model *model, int64_t id);

/* A copy that lives as long as the model; NULL for NULL or when out of memory. */
const char *load__keep(struct model *model, const char *text);
void load__forget(struct model *model);

/* Threads into groups, waits into blames, lines for --by; and how many processes. */
int group__threads(struct model *model);
int group__processes(struct model *model);
int group__waits(struct model *model);
int group__rows(struct model *model, enum report_by by);

/* One more zeroed element at the end of *array, which has *count; NULL when out of memory. */
void *load__append(void *array, size_t *count, size_t size);
#define APPEND(array, count) ((__typeof__(*(array)))load__append(array, count, sizeof(**(array))))
