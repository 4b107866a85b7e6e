/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "live/rolling.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define SECOND_NS      UINT64_C(1000000000)
#define KEPT_NS        (60 * SECOND_NS)
#define SAVE_NAMING_NS (2 * SECOND_NS)

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)
DEFINE_CLEANUP(struct rolling *, rolling__free)

struct rolling {
	struct recording *recording;
	struct run *run;
	sqlite3_stmt *newest; /* selects the newest slice; runs often, so prepared once */
	int64_t slice;        /* the newest slice seen */
	uint64_t started_ns, forgot_ns;
	uint64_t kept_ns;
};

void rolling__free(struct rolling *rolling)
{
	if (!rolling)
		return;
	run__free(rolling->run);
	sqlite3_finalize(rolling->newest);
	recording__free(rolling->recording);
	free(rolling);
}

static int start(struct rolling *rolling, const struct run_options *options,
		 struct features *features)
{
	int err = recording__create_in_memory(&rolling->recording);

	if (!err)
		err = run__start(options, rolling->recording, features, &rolling->run);
	/* This creates the table of aged waits, which readers query from the first slice on. */
	if (!err)
		err = recording__age_waits(rolling->recording, 0);
	if (!err && sqlite3_prepare_v2(recording__db(rolling->recording),
				       "SELECT max(id) FROM slice", -1, &rolling->newest, NULL))
		err = -EIO;
	rolling->started_ns = rolling->forgot_ns = clock__now_ns();
	rolling->kept_ns = KEPT_NS;
	return err;
}

int rolling__start(const struct run_options *options, struct features *features,
		   struct rolling **ret)
{
	cleanup(rolling__free_p) struct rolling *rolling = calloc(1, sizeof(*rolling));
	int err = rolling ? start(rolling, options, features) : -ENOMEM;

	if (!err)
		*ret = TAKE(rolling);
	return err;
}

static int ask_number(struct recording *recording, const char *sql, int64_t value, int64_t *ret)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;

	if (sqlite3_prepare_v2(recording__db(recording), sql, -1, &row, NULL))
		return -EIO;
	if (sqlite3_bind_parameter_count(row))
		sqlite3_bind_int64(row, 1, value);
	if (sqlite3_step(row) != SQLITE_ROW)
		return -EIO;
	*ret = sqlite3_column_int64(row, 0);
	return 0;
}

static int forget(struct rolling *rolling)
{
	int64_t before = 0, before_ns = 0;
	int err;

	if (clock__now_ns() - rolling->forgot_ns < rolling->kept_ns / 2)
		return 0;
	rolling->forgot_ns = clock__now_ns();
	err = ask_number(rolling->recording,
			 "SELECT min(id) FROM slice WHERE begin_ns >="
			 " (SELECT max(end_ns) FROM slice) - ?1",
			 (int64_t)rolling->kept_ns, &before);
	if (err || !before)
		return err;
	err = ask_number(rolling->recording, "SELECT begin_ns FROM slice WHERE id = ?1", before,
			 &before_ns);
	/*
	 * Recording and recorder must both forget. If only one did, series would fill up (then
	 * calls have no thread), or calls would have no series.
	 */
	if (!err)
		err = recording__forget(rolling->recording, before);
	if (!err)
		err = run__forget(rolling->run, (uint64_t)before_ns);
	/* SQLite frees the pages of deleted rows when it commits. */
	if (!err)
		err = recording__commit(rolling->recording);
	/* Freed memory lies between what is kept. Without this call the heap only grows. */
	malloc_trim(0);
	return err;
}

int rolling__work(struct rolling *rolling)
{
	int err = run__step(rolling->run, clock__now_ns());
	int64_t newest;

	if (err)
		return err;
	newest = sqlite3_step(rolling->newest) == SQLITE_ROW
			 ? sqlite3_column_int64(rolling->newest, 0)
			 : 0;
	if (sqlite3_reset(rolling->newest))
		return -EIO;
	if (newest == rolling->slice)
		return 0;
	rolling->slice = newest;
	err = recording__age_waits(rolling->recording, newest);
	return err ? err : forget(rolling);
}

void rolling__keep(struct rolling *rolling, uint64_t kept_ns)
{
	rolling->kept_ns = kept_ns;
}

int rolling__save(struct rolling *rolling, const char *path, int64_t *ret_kept_ns)
{
	int err = run__flush_whole(rolling->run);

	if (!err)
		err = rolling__work(rolling);
	if (!err)
		err = run__name(rolling->run, clock__now_ns() + SAVE_NAMING_NS);
	if (!err)
		err = recording__save(rolling->recording, path);
	if (!err)
		err = ask_number(rolling->recording,
				 "SELECT max(end_ns) - min(begin_ns) FROM slice", 0, ret_kept_ns);
	return err;
}

struct run *rolling__run(const struct rolling *rolling)
{
	return rolling->run;
}

struct recording *rolling__recording(const struct rolling *rolling)
{
	return rolling->recording;
}

uint64_t rolling__started_ns(const struct rolling *rolling)
{
	return rolling->started_ns;
}
