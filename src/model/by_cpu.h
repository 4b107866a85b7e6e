/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of `report --by cpu`, from the signal that has slices of CPU time. */
#pragma once

#include "model/model.h"

/* One CPU. */
struct by_cpu_line {
	const char *name;
	/* Of the target's threads. */
	int64_t run_ns, ready_ns;
	int64_t spare_ns;    /* the part of ready_ns in which only another CPU was idle */
	int64_t pinned_ns;   /* … of threads that may use this CPU only */
	int64_t confined_ns; /* … of threads that may use some CPUs, but not all */
	/* Of the CPU, in steps of a tick. */
	int64_t idle_ns, steal_ns;
};

/* How long threads of one group were queued while a thread of another one had their CPU. */
struct by_cpu_pair {
	const struct model_group *group;
	const struct model_group *by; /* NULL: the CPU was idle, or it is unknown */
	int64_t ns;
};

struct by_cpu {
	struct by_cpu_line *lines;
	size_t line_count;
	struct by_cpu_pair *pairs; /* longest first */
	size_t pair_count;
};

/*
 * Fills model->rows: one for each CPU, with the time that the target's threads ran and were ready
 * there. If the recording has no such signal, one row says so. -ENOMEM.
 */
int by_cpu__rows(struct model *model);

/* Fills model->cpu_sums. */
int by_cpu__load(struct model *model, sqlite3 *db);

/*
 * The CPUs, and who had them. `only`: counts only threads of this group, and all if it is NULL.
 * There are no lines without the signal. -ENOMEM.
 */
int by_cpu__find(const struct model *model, const struct model_group *only, struct by_cpu *ret);
void by_cpu__release(struct by_cpu *by_cpu);
