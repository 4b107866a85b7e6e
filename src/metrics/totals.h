/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Totals for Prometheus. They are added up from the steps of the agent (fold/bucket.h) and never
 * decrease. gapless-metrics(7) describes the families.
 *
 * Which services have series of their own: a new service gets a place as long as there are fewer
 * than `most_services`; if several are new in one step, those with the most thread time come first.
 * A service keeps its place, and so its counters, while it has threads. When all places are taken,
 * the time of other services goes to service="_other". A place becomes free for another service
 * only when its own has had no threads for `keep_ns`; its series end then, and their time is added
 * to gapless_agent_ended_thread_seconds_total. Thus, at all times, the sum of all
 * gapless_thread_seconds_total plus that counter is the time of all steps, to the nanosecond.
 *
 * Rejected: the largest services of each step. Their counters would end and start again, and the
 * one of "_other" would jump.
 *
 * Each service has a series with state, cause and kind "_other". It is used when `most_series` is
 * reached, so that the states of a service always add up to the lifetimes of its threads.
 *
 * One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fold/bucket.h"
#include "fold/workload.h"
#include "metrics/exposition.h"

#define TOTALS_OTHER   "_other"
#define TOTALS_UNKNOWN "_unknown" /* a workload without the name of a service */

enum totals_detail {
	TOTALS_NODE,    /* sums of the whole machine, without namespace and service */
	TOTALS_SERVICE, /* by service */
};

/* 0 in a limit is its default. */
struct totals_options {
	enum totals_detail detail;
	size_t most_services;      /* 200 */
	size_t most_series;        /* 5000, at least TOTALS_LEAST_SERIES */
	size_t most_signal_series; /* 200 */
	uint64_t keep_ns;          /* an hour */
	bool with_calls;           /* show what totals__add_calls() adds */
};

#define TOTALS_LEAST_SERIES 1000
/* Syscalls of a service with series of their own; together at most a quarter of most_series. */
#define TOTALS_CALLS 20

struct totals;

/* -EINVAL: a limit is too low. */
int totals__new(const struct totals_options *options, struct totals **ret);
void totals__free(struct totals *totals);

/* NULL if it is not known. The result need not outlive the call that it was made for. */
typedef const struct workload *(*totals_lookup_fn)(void *context, uint64_t workload);

/*
 * Adds the rows of a step that lasted step_ns. A workload that lookup() does not know is shown as
 * TOTALS_UNKNOWN. -ENOMEM: nothing was added.
 */
int totals__add_step(struct totals *totals, const struct bucket_row *rows, size_t count,
		     uint64_t step_ns, totals_lookup_fn lookup, void *context);

/*
 * The intervals of a state on the whole machine: the sum over all CPUs of the ledger's buckets,
 * modulo 2^32. Adds what they increased since the last call, which is right as long as no bucket
 * gets more than 2^32 in between. Not for SLOT_NONE.
 */
void totals__take_waits(struct totals *totals, enum ledger_slot slot,
			const uint32_t counts[HISTOGRAM_BUCKETS]);
/* What the buckets have now does not count. */
void totals__skip_waits(struct totals *totals, enum ledger_slot slot,
			const uint32_t counts[HISTOGRAM_BUCKETS]);

enum totals_unit { TOTALS_SECONDS, TOTALS_SPENT, TOTALS_BYTES, TOTALS_EVENTS };

/* What a signal counted since the last step. */
struct totals_signal {
	/*
	 * [a-z0-9_], "tcp_connect". The family is gapless_signal_NAME_seconds (a histogram),
	 * gapless_signal_NAME_seconds_total (its sum alone), gapless_signal_NAME_bytes_total or
	 * gapless_signal_NAME_total.
	 */
	const char *name;
	enum totals_unit unit;
	const char *operation, *place; /* a class of places: never a path or an address */
	uint64_t added;                /* bytes or events; of times: the sum in nanoseconds */
	const uint32_t *buckets;       /* only of seconds: HISTOGRAM_BUCKETS */
};

/* -EINVAL: a name that Prometheus would refuse. -ENOMEM. Rows before the failed one are added. */
int totals__add_signals(struct totals *totals, const struct totals_signal *rows, size_t count);

/* What the calls of a syscall by a workload added since the last step. */
struct totals_call {
	uint64_t workload;
	const char *name; /* "read" */
	uint64_t count, errors, ns;
};

/* Sorts the rows. Call it after totals__add_step() of the same step. */
void totals__add_calls(struct totals *totals, struct totals_call *rows, size_t count,
		       totals_lookup_fn lookup, void *context);

/* A counter with a name: what was lost. */
struct totals_lost {
	const char *what;
	uint64_t count;
};

/* Batches or requests to a store or a receiver. */
struct totals_push {
	const char *sink, *result;
	uint64_t count;
};

/* What the agent says about itself. Strings are never NULL. */
struct totals_agent {
	const char *version, *kernel, *level; /* for gapless_build_info */
	uint64_t start_time_ns;               /* Unix time */
	uint64_t cpu_ns;
	uint64_t hook_ns;  /* 0: not known; the family is left out */
	bool hooks_partly; /* only hooks at switches and calls are in it */
	uint64_t anon_bytes, bpf_bytes;
	int governor_level;    /* -1: slow */
	uint64_t sampling_ppm; /* the probability of a stack, in millionths */
	uint64_t spool_bytes, spool_oldest_ns;
	uint64_t scrapes_served, scrapes_refused; /* server__counts() */
	/*
	 * At most TOTALS_AGENT_ROWS and TOTALS_PUSH_ROWS; the rest is added to one row with
	 * "_other".
	 */
	const struct totals_lost *lost;
	size_t lost_count;
	const struct totals_push *pushes;
	size_t push_count;
};

#define TOTALS_AGENT_ROWS 36
#define TOTALS_PUSH_ROWS  48

/* All families. The exposition is independent of later steps. */
int totals__expose(const struct totals *totals, const struct totals_agent *agent,
		   struct exposition **ret);
