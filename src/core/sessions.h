/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All signals of one recording. A signal that fails does not affect the others (law 5). */
#pragma once

#include "core/session.h"

struct sessions;

/*
 * The parts outlive *ret. Sets options->number itself. A part that is not on is missing, which is
 * written. Logs; returns -errno only if out of memory.
 */
int sessions__open(struct part *parts, struct session_options options, struct sessions **ret);
void sessions__free(struct sessions *sessions);

/*
 * The number of signals that could be opened; after sessions__attach(), of those that are active.
 */
size_t sessions__count(const struct sessions *sessions);
/* Attaches the hooks. They count nothing until sessions__start(). */
void sessions__attach(struct sessions *sessions);
void sessions__start(struct sessions *sessions);
void sessions__stop(struct sessions *sessions);

/*
 * Stops counting the signal whose events in the last sessions__write() have cost most, if that is
 * least_ns or more. Returns its name; NULL: there is none.
 */
const char *sessions__hold_back(struct sessions *sessions, uint64_t least_ns);
/* Starts one of those again. NULL: none was stopped. */
const char *sessions__let_go(struct sessions *sessions);

int sessions__poll(struct sessions *sessions);
/* Writes what was added since the last call, and the losses so far. Takes some milliseconds. */
int sessions__write(struct sessions *sessions, int64_t from, int64_t to);
/* See core/publish.h. */
int sessions__forget(struct sessions *sessions, uint64_t before_ns);

void sessions__add_hooks(const struct sessions *sessions, json_t *list);
