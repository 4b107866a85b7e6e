/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rolling recording: a recorder that writes into memory and deletes old data. For commands that
 * run indefinitely. One thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/run.h"
#include "recording/recording.h"

struct rolling;

/* Starts recording. Returns the errors of run__start(). */
int rolling__start(const struct run_options *options, struct features *features,
		   struct rolling **ret);
void rolling__free(struct rolling *rolling);

/* From now on, keeps at least kept_ns of the recording. The default is a minute. */
void rolling__keep(struct rolling *rolling, uint64_t kept_ns);

/* Does the work that is due: reads, writes a slice, deletes old ones. -errno: cannot continue. */
int rolling__work(struct rolling *rolling);

/* Saves what is kept to a file. *ret_kept_ns is the length of that time. */
int rolling__save(struct rolling *rolling, const char *path, int64_t *ret_kept_ns);

/* The recorder and its recording; both still belong to the rolling recording. */
struct run *rolling__run(const struct rolling *rolling);
struct recording *rolling__recording(const struct rolling *rolling);
uint64_t rolling__started_ns(const struct rolling *rolling);
