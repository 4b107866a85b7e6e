/* SPDX-License-Identifier: GPL-2.0-or-later */
/* New memory that threads touched, by stack. */
#pragma once

#include "model/fold.h"
#include "model/load.h"

/* Reads the drawn page faults in anonymous memory and in heaps. Threads must be there. */
int growth__load(struct fold *fold, struct model *model, sqlite3 *db);
