/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What two processes know about a download: the one that downloads, and the one that waits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct download_shared;

struct download {
	struct download_shared *shared;
	uint64_t interrupted_ns; /* when the interrupt was first seen; 0: not yet */
	uint64_t said_ns;
	unsigned long beats; /* last seen value of shared->beats */
	uint64_t beat_ns;    /* when shared->beats last changed */
};

/* Shares memory with processes that are forked later. -ENOMEM. */
int download__new(struct download *ret);
void download__release(struct download *download);

/* The process that downloads: notes the progress; `done` < 0: none. False: stop. */
bool download__note(struct download *download, const char *what, long done, long total);
/* Nothing is being downloaded. */
void download__clear(struct download *download);

/* The process that waits. */
bool download__is_running(const struct download *download);
/* No further downloads. */
void download__stop(struct download *download);
bool download__is_stopped(const struct download *download);
/*
 * Call it often while waiting. If `is_interrupted`, downloads get 2 s more. Calls `say` (or NULL)
 * about once a second. 1: a download makes progress; 0.
 */
int download__look(struct download *download, bool (*is_interrupted)(void),
		   void (*say)(const char *what, long done, long total));
