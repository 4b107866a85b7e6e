/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <malloc.h>
#include <sqlite3.h>

#include "cli/cli.h"

/*
 * Larger blocks go back to the system when they are freed. By default glibc raises this limit with
 * the blocks that are freed, up to 32 MB, and keeps as much for each thread.
 */
#define LARGE_BLOCK_BYTES (256 * 1024)

int main(int argc, char **argv)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BLOCK_BYTES);
	/* Nobody asks SQLite how much memory it uses; counting takes a lock at each allocation. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	return cli__main(argc, argv);
}
