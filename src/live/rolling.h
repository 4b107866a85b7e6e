/*
 * A rolling recording: a recorder that writes into memory and forgets what is old. For commands
 * that stay on. One thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/run.h"
#include "recording/recording.h"

struct rolling;

/* Starts recording. Errors of run__start(). */
int rolling__start(const struct run_options *options, struct features *features,
		   struct rolling **ret);
void rolling__free(struct rolling *rolling);

/* How long a time is kept at least, from now on; it is a minute if nobody says otherwise. */
void rolling__keep(struct rolling *rolling, uint64_t kept_ns);

/* Does what is due: reads, writes a slice, forgets. -errno: recording cannot go on. */
int rolling__work(struct rolling *rolling);

/* Makes a file of what is kept; *ret_kept_ns says how long a time that is. */
int rolling__save(struct rolling *rolling, const char *path, int64_t *ret_kept_ns);

/* The recorder and its recording, both still the rolling recording's. */
struct run *rolling__run(const struct rolling *rolling);
struct recording *rolling__recording(const struct rolling *rolling);
uint64_t rolling__started_ns(const struct rolling *rolling);
