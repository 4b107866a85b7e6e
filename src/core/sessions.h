/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All signals of one recording. A signal that fails does not affect the others (law 5). */
#pragma once

#include "core/session.h"
#include "core/timing.h"

struct sessions;

/*
 * `wanted` ends with NULL. Sets options->number itself. Logs; returns -errno only if out of memory.
 */
int sessions__open(const struct signal *const *wanted, struct session_options options,
		   struct features *features, struct sessions **ret);
void sessions__free(struct sessions *sessions);

/*
 * The number of signals that could be opened; after sessions__attach(), of those that are active.
 */
size_t sessions__count(const struct sessions *sessions);
/* Attaches the hooks. They count nothing until sessions__start(). */
void sessions__attach(struct sessions *sessions);
void sessions__start(struct sessions *sessions);
void sessions__stop(struct sessions *sessions);

int sessions__poll(struct sessions *sessions);
/* Writes what was added since the last call, and the losses so far. Takes some milliseconds. */
int sessions__write(struct sessions *sessions, int64_t from, int64_t to);
/* See core/publish.h. */
int sessions__forget(struct sessions *sessions, uint64_t before_ns);

void sessions__add_hooks(const struct sessions *sessions, json_t *list);
/* Adds {signal: {map: entries}} for the signals that have a kernel half of their own. */
void sessions__add_maps(const struct sessions *sessions, json_t *object);
void sessions__time(const struct sessions *sessions, struct timing *timing);
