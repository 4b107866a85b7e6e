/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the profile loader. */
#pragma once

#include <sqlite3.h>

#include "base/map.h"
#include "model/ids.h"
#include "model/load.h"
#include "model/profile.h"

struct loader {
	struct profile *profile;
	const struct profile_options *options;
	struct model *model; /* head and threads; its texts move to the profile */
	sqlite3 *db;
	struct ids processes, threads, states, objects;
	struct map strangers; /* threads without a row: id → index + 1 */
	const char **object_names;
	size_t object_count;
	int64_t total_ns, total_wait_ns, total_account_ns;
};

/* Calls `take` for each row of `sql`. The cut is bound to ?1 and ?2. */
typedef int profile_take(struct loader *loader, sqlite3_stmt *row);
int profile_rows__each(struct loader *loader, const char *sql, profile_take *take);

int64_t profile_rows__clamp(int64_t value, int64_t least, int64_t most);

/* Loads windows. Threads must be loaded. */
int profile_windows__load(struct loader *loader);
/*
 * Finds the client's half of requests that this recording has from both sides: its connection has
 * the same two ends, and it was waiting when the request came. -ENOMEM.
 */
int profile_windows__join(struct profile *profile);
/* The index of a window; PROFILE_NONE: there is none, or nobody knows when it began. */
uint32_t profile_windows__find(const struct profile *profile, int64_t id);

/* Loads events and counters. Threads and accounts must be loaded. */
int profile_signals__load(struct loader *loader);
