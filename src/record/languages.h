/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Brings together who looks for language runtimes (runtimes/runtimes.h) and who maintains the
 * tables of the walk (stacks/mapper.h), and keeps what is known of processes for the recording.
 */
#pragma once

#include "runtimes/runtimes.h"
#include "stacks/mapper.h"

struct languages;
struct names;
struct recording;

/* Who else is told of processes with a runtime, in a thread of `runtimes`. */
struct languages_watcher {
	void (*found)(void *context, const struct runtime_found *found);
	void *context;
};

/* Makes a mapper whose walk knows runtimes. `options.languages` is filled in here. */
int languages__new(struct mapper_options options, const struct languages_watcher *watcher,
		   struct languages **ret);
/* Ends the threads. What is known can still be queried. */
void languages__stop(struct languages *languages);
void languages__free(struct languages *languages);

struct mapper *languages__mapper(const struct languages *languages);
struct runtimes *languages__runtimes(const struct languages *languages);

/* Writes what is known of processes that have rows in the recording by now. */
int languages__write(struct languages *languages, const struct names *names,
		     struct recording *recording);

/* Waits until the known processes have been looked at, at most `most_ns`. */
void languages__wait(struct languages *languages, uint64_t most_ns);
