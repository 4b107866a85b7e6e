/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the options --event and --pair ask for, looked up in tracefs. There is one table for the
 * program, filled before the first recording and not changed afterwards: names of operations and
 * objects come from it. Not thread-safe until then.
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
/* What the kernel half needs. */
const struct events_knobs *event_requests__knobs(void);
/* The tracepoint with this number; NULL: no more. */
const struct event_words_point *event_requests__point(size_t number);

/* "sched:sched_switch", or a pair as it was asked for. NULL: no such operation. */
const char *event_requests__operation(unsigned operation);
/* An object in words: "prev_prio=120". */
void event_requests__name_object(const __u64 numbers[2], char *ret, size_t size);
/* The field that is the key of an operation, "" if there is none. */
const char *event_requests__key(unsigned operation);
