/* Between the files of the model: rows into arrays, arrays into groups. */
#pragma once

#include <sqlite3.h>

#include "report/model.h"

/* Reads meta and the states, which the cut and the kinds are settled with. */
int load__head(struct model *model, sqlite3 *db);
/* Reads the rest, inside the cut; no sums over threads yet. */
int load__tables(struct model *model, sqlite3 *db);

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
