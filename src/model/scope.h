/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which part of a recording to load. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SCOPE_WHY_SIZE 1024

/* What threads can be chosen by. */
enum scope_key { SCOPE_PID, SCOPE_THREAD, SCOPE_COMM, SCOPE_CGROUP, SCOPE_KEYS };

struct model;
struct sqlite3;

/* A point in a recording: nanoseconds since its start, or since midnight of its time zone. */
struct scope_time {
	uint64_t ns;
	bool is_daytime;
};

/* All zero: the whole recording. */
struct scope {
	struct scope_time from;
	struct scope_time to; /* all zero: the end */
	/*
	 * Only threads that have one of the values of each key that has values. Each list ends with
	 * NULL, or is NULL. Numbers may be lists, "1,2,3". A comm is the name of a thread or
	 * process, or a pattern of SQLite's GLOB. A cgroup stands for itself and those below it.
	 */
	const char *const *only[SCOPE_KEYS];
	/* If not NULL, gets the reason if the recording has nothing of this: SCOPE_WHY_SIZE bytes
	 */
	char *why;
};

/*
 * Settles the cut of a model, whose head must have been loaded. -ERANGE: the cut is empty, or the
 * recording does not say at which time of day it was made.
 */
int scope__cut(const struct scope *scope, struct model *model);

/*
 * Hides the other threads from all further queries of this connection: temporary views take the
 * place of the tables that have a row per thread. The threads themselves stay, without an account,
 * since they may be named as culprits. What is not kept per thread becomes empty. -ESRCH: no thread
 * matches.
 */
int scope__narrow(const struct scope *scope, struct model *model, struct sqlite3 *db);

/* "pid", "thread", "comm", "cgroup": the option's name and the key in JSON. */
const char *scope__key(enum scope_key key);

/* The meaning of an error of model__load() with this scope. Lives as long as `scope->why`. */
const char *scope__why(const struct scope *scope, int err);
