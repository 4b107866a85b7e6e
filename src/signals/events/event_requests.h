/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the options --event and --pair ask for; tracepoints are looked up in tracefs. There is one
 * table for the program, filled before the first recording and not changed afterwards: names of
 * operations and objects come from it. Not thread-safe until then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "signals/events/event_words.h"
#include "signals/events/events.h"

#define EVENT_REQUESTS_WHY 768

/*
 * Adds one. `tracefs`: where it is mounted; NULL: it is not. -EINVAL: malformed, or there already;
 * -ENOENT: no such event or field; -ENOTSUP: a field of an unsupported type; -E2BIG: too many; else
 * -errno of tracefs. `why` then says it in words.
 */
int event_requests__add(const char *text, const char *tracefs, char why[EVENT_REQUESTS_WHY]);
int event_requests__add_pair(const char *text, const char *tracefs, char why[EVENT_REQUESTS_WHY]);
/* Forgets all; for tests. */
void event_requests__clear(void);

bool event_requests__has_pairs(void);
/* What the kernel half needs for tracepoints; *ret_specs: how many specs it has. */
const struct events_knobs *event_requests__knobs(size_t *ret_specs);
/* The tracepoint with this number; NULL: no more. */
const struct event_words_point *event_requests__point(size_t number);

/* An end of a pair that is not a tracepoint. */
struct event_requests_probe {
	struct event_words_point point;
	unsigned argument; /* that both ends have in common, from 1 on; 0: the thread */
	__u32 role;        /* enum events_role */
	__u32 operation;
};

/* The probe with this number; NULL: no more. */
const struct event_requests_probe *event_requests__probe(size_t number);
/* Gives a point of the knobs one more thing to do. -E2BIG: there is no more room. */
int event_requests__add_spec(struct events_knobs *knobs, size_t *specs, size_t point,
			     const struct events_spec *spec);

/* "sched:sched_switch", or a pair as it was asked for. NULL: no such operation. */
const char *event_requests__operation(unsigned operation);
/* An object in words: "prev_prio=120". */
void event_requests__name_object(const __u64 numbers[2], char *ret, size_t size);
/* The field that is the key of an operation, "" if there is none. */
const char *event_requests__key(unsigned operation);
