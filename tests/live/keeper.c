/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keeper SECONDS SIGNALS KEPT: a rolling recording of the whole machine at level full, with these
 * signals, stacks and their names, as long as that, of which KEPT seconds are kept. Says
 * "recording" when it has begun, what memory is in use every 10 seconds, and how many modules there
 * are when it ends. For tests of what grows.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/features.h"
#include "core/loader.h"
#include "live/rolling.h"
#include "signals/registry.h"

#define SECOND_NS    UINT64_C(1000000000)
#define RATE         99
#define TABLE_BYTES  (UINT64_C(64) << 20)
#define NAMING_NS    (SECOND_NS / 20)
#define SAY_EVERY_NS (10 * SECOND_NS)

/* What is in use now, apart from what the allocator keeps. */
static void say_memory(void)
{
	printf("memory: %zu KiB, of SQLite: %lld KiB\n", mallinfo2().uordblks / 1024,
	       (long long)sqlite3_memory_used() / 1024);
	fflush(stdout);
}

static int work_until(struct rolling *rolling, uint64_t until_ns)
{
	uint64_t named_ns = 0, said_ns = clock__now_ns();
	int err = 0;

	while (!err && clock__now_ns() < until_ns) {
		err = run__step(rolling__run(rolling), clock__now_ns() + SECOND_NS / 10);
		if (!err)
			err = rolling__work(rolling);
		if (clock__now_ns() - said_ns >= SAY_EVERY_NS) {
			said_ns = clock__now_ns();
			say_memory();
		}
		if (err || clock__now_ns() - named_ns < SECOND_NS)
			continue;
		named_ns = clock__now_ns();
		err = run__name(rolling__run(rolling), named_ns + NAMING_NS);
	}
	return err;
}

static int say_modules(struct rolling *rolling)
{
	sqlite3_stmt *row = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(recording__db(rolling__recording(rolling)),
			       "SELECT count(*) FROM module", -1, &row, NULL) ||
	    sqlite3_step(row) != SQLITE_ROW)
		err = -EIO;
	else
		printf("%d modules\n", sqlite3_column_int(row, 0));
	sqlite3_finalize(row);
	return err;
}

int main(int argc, char **argv)
{
	const struct signal *chosen[SIGNALS_MOST];
	const char *bad;
	struct run_options options = {
		.target.all = true,
		.full = true,
		.interval_ns = RUN_INTERVAL_NS,
		.tick_ns = SECOND_NS / RATE,
		.table_bytes = TABLE_BYTES,
		.signals = chosen,
		.slow_ns = RUN_SLOW_NS,
	};
	struct features *features = NULL;
	struct rolling *rolling = NULL;
	int err;

	if (argc != 4 || registry__choose(argv[2], chosen, &bad)) {
		fprintf(stderr, "usage: keeper SECONDS SIGNALS KEPT\n");
		return 2;
	}
	loader__capture_log();
	features = features__new();
	err = features ? rolling__start(&options, features, &rolling) : -1;
	if (!err) {
		printf("recording\n");
		fflush(stdout);
		rolling__keep(rolling, strtoul(argv[3], NULL, 10) * SECOND_NS);
		err = work_until(rolling, clock__now_ns() + strtoul(argv[1], NULL, 10) * SECOND_NS);
	}
	if (!err)
		err = say_modules(rolling);
	if (err)
		fprintf(stderr, "keeper: %s\n", strerror(-err));
	rolling__free(rolling);
	features__free(features);
	return err ? 1 : 0;
}
