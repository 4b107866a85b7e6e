/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downloads in a process of their own, "gapless-fetch". It has the network, the folder for
 * downloads and the files that connecting needs (GUARD_FETCHER), and parses no file that it
 * downloads. The process that does ("gapless-names") has no network; it asks for a build-id.
 *
 * The process that waits measures the time itself: nothing that another process says extends it.
 * Nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/helper.h"

struct download;

struct download_options {
	bool no_debuginfod; /* every request is answered with -ENOENT */
	/* The user wants to stop: downloads get 2 s more. May be NULL. */
	bool (*is_interrupted)(void);
	/* Called about once a second during a download; `url` is printable. May be NULL. */
	void (*say)(const char *url, long done, long total);
};

int download__new(const struct download_options *options, struct download **ret);
void download__free(struct download *download);

/*
 * Serves a request for which broker__is_download() is true, and which is not trusted. A descriptor
 * for reading or -errno, never -ETIMEDOUT. It takes at most 2 minutes, and all requests together
 * at most 5. After a server did not respond, it is not asked again.
 */
int download__provide(struct download *download, const struct helper_parcel *request);

/*
 * Whether it is a regular file, open for reading only. The process that downloads is not trusted:
 * a pipe or a socket would block, and a file that can be written is none of a reader's.
 */
bool download__is_file(int fd);

/* Downloads that were aborted: too slow, too large, no file, or the user wanted to stop. */
uint64_t download__ended(const struct download *download);
/*
 * Requests to which no server said yes or no: it could not be asked, the download was aborted, or
 * nothing is asked any more after such a failure. Not those without a server.
 */
uint64_t download__unanswered(const struct download *download);
