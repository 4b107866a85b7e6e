/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtimes of the target's processes, as far as the recorder found some: which version runs in
 * how many processes, and whether their functions have names.
 */
#pragma once

#include "model/model.h"

/* Fills model->runtimes and the runtimes of threads. Threads must be added up. -ENOMEM. */
int runtime_rows__load(struct model *model, sqlite3 *db);

/* "CPython 3.11"; "(no runtime)" if `runtime` is NULL. */
void runtime_rows__name(const struct model_runtime *runtime, char *text, size_t size);
/*
 * "CPython 3.16 is not known: 2 processes have no Python frames". Returns false, and an empty text,
 * if its frames have names.
 */
bool runtime_rows__say(const struct model_runtime *runtime, char *text, size_t size);
