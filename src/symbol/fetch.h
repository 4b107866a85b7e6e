/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files from a debuginfod server, by libdebuginfod. Nothing here reads what was downloaded. Not for
 * use from two threads at once.
 */
#pragma once

#include <stdbool.h>

/* Whether debuginfod is wanted, and DEBUGINFOD_URLS is set. */
bool fetch__has_server(bool no_debuginfod);

/* From now on, `on_progress` is called about once a second during a download. False: abort it. */
void fetch__observe(bool (*on_progress)(void *context, const char *url, long done, long total),
		    void *context);

/*
 * The debug file with this build-id, which must be hex. A descriptor for reading or -errno.
 * -ENOENT: no server has it; -ECANCELED: aborted, or larger than 2 GiB; others: the server cannot
 * be asked.
 */
int fetch__debug_file(const char *build_id);

/* Frees what is kept between downloads. */
void fetch__release(void);
