/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much memory threads allocated, by the count of their runtime. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct model;
struct model_thread;
struct sqlite3;

struct allocated_thread {
	const struct model_thread *thread;
	int64_t bytes; /* inside the cut */
	int64_t of_ns; /* the part of its lifetime in which that was counted */
};

/* The threads of the target that allocated anything, those with most bytes first. */
struct allocated {
	struct allocated_thread *list;
	size_t count;
};

/* Threads must be there. */
int allocated__load(struct model *model, struct sqlite3 *db);
/* Bytes a second; 0: nothing is known of the thread. */
int64_t allocated__rate(const struct allocated *allocated, const struct model_thread *thread);
int64_t allocated__rate_of(const struct allocated_thread *thread);
