/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of one recording in a form that can be compared with another. A metric has the same
 * name wherever the same thing was measured. Pids, addresses and client ports differ from run to
 * run, so names do not contain them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

enum metric_class {
	METRIC_WHOLE,    /* wall time, amount of work */
	METRIC_WINDOW,   /* requests or calls: how many, how long */
	METRIC_REASON,   /* what they spent time on */
	METRIC_STATE,    /* running, ready, delaying, … */
	METRIC_CAUSE,    /* run.user, wait.lock, … */
	METRIC_SYSCALL,  /* by name of the syscall */
	METRIC_FUNCTION, /* where threads run and where they wait */
	METRIC_WAIT,     /* waiter, object and culprit */
	METRIC_SIGNAL,   /* what signals counted, by place and operation */
	METRIC_CLASSES
};

struct metric {
	enum metric_class class;
	const char *measure; /* "time", "count", "mean", "p50", "p999", "self", "waits", … */
	char *name;          /* "syscall:fsync"; --fail-if uses the same name */
	const char *unit;    /* "ns", "bytes", or the name of what is counted */
	bool is_sum;         /* grows with the length of a recording */
	bool is_aside;       /* another metric says it better: idle calls, kernel code */
	double worth;        /* below 1: too small to compare unless asked for */
	double value;
	double variance; /* from sampling; 0: exact */
	int64_t count;   /* how many values a mean or percentile is based on; else 0 */
	char *about;     /* more in words; NULL: nothing */
	char *shown;     /* the name below the heading of its class; NULL: `name` */
	/* The text by which windows were chosen; not owned. NULL: it is not about windows. */
	const char *window;
	char *own_unit; /* owns the copy that `unit` points to */
};

struct metrics {
	struct metric *list; /* by class, name and measure */
	size_t count;
};

/* -ENOMEM */
int metrics__make(const struct model *model, struct metrics *ret);
void metrics__release(struct metrics *metrics);

/*
 * Shared by the files that make metrics. Adds a copy with this name and a copy of its unit. NULL
 * when out of memory.
 */
struct metric *metrics__add(struct metrics *metrics, struct metric metric, const char *name);
/* Those of model->windows.matched. -ENOMEM */
int metrics__add_windows(struct metrics *metrics, const struct model *model);

int metric__compare(const struct metric *a, const struct metric *b);
/* The order of METRIC_WINDOW in tables, where units differ: how many, how many failed, how long. */
int metric__compare_windows(const struct metric *a, const struct metric *b);
/* "parse (libfoo.so)", without what differs from run to run. Appends to `text`. */
void metric__say_function(const struct hot_function *function, char *text, size_t size);
/* "syscalls" */
const char *metric__class_name(enum metric_class class);
/* Returns NULL if there is none. */
const struct metric *metrics__find(const struct metrics *metrics, const char *measure,
				   const char *name);
