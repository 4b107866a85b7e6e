/*
 * What one recording says, as numbers that can be held against another's: a metric has the same
 * name wherever the same thing was measured. Pids, addresses and the ports of clients differ from
 * run to run, so they are no part of a name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

enum metric_class {
	METRIC_WHOLE,    /* how long, how much work */
	METRIC_STATE,    /* running, ready, delaying, … */
	METRIC_CAUSE,    /* run.user, wait.lock, … */
	METRIC_SYSCALL,  /* by name */
	METRIC_FUNCTION, /* where it runs, where it waits */
	METRIC_WAIT,     /* who waits for what because of whom */
	METRIC_SIGNAL,   /* what signals counted, by place and operation */
	METRIC_CLASSES
};

struct metric {
	enum metric_class class;
	const char *measure; /* "time", "count", "mean", "p50", "p99", "self", "waits", … */
	char *name;          /* "syscall:fsync": what --fail-if calls it, too */
	const char *unit;    /* "ns", "bytes", or what is counted */
	bool is_sum;         /* grows with the length of a recording */
	bool is_aside;       /* something else tells it better: idle calls, code of the kernel */
	double worth;        /* below 1: not worth a comparison; it may still be asked for */
	double value;
	double variance; /* from sampling; 0: it is exact */
	int64_t count;   /* how many values a mean or a percentile stands on; else 0 */
	char *about;     /* more in words, NULL: nothing */
	char *own_unit;  /* what `unit` is: a recording's words end with it */
};

struct metrics {
	struct metric *list; /* by class, name and measure */
	size_t count;
};

/* -ENOMEM */
int metrics__make(const struct model *model, struct metrics *ret);
void metrics__release(struct metrics *metrics);

int metric__compare(const struct metric *a, const struct metric *b);
/* "parse (libfoo.so)", without what differs from run to run. Appends. */
void metric__say_function(const struct hot_function *function, char *text, size_t size);
/* "syscalls" */
const char *metric__class_name(enum metric_class class);
/* NULL if there is none. */
const struct metric *metrics__find(const struct metrics *metrics, const char *measure,
				   const char *name);
