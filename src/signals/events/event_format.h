/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file "format" of a tracepoint in tracefs: the fields of its events. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "signals/events/events.h"

#define EVENT_FORMAT_FIELDS 64
#define EVENT_FORMAT_BYTES  64

struct event_field {
	char name[EVENT_FORMAT_BYTES];
	char type[2 * EVENT_FORMAT_BYTES]; /* as declared, without the name */
	struct events_field where;         /* kind EVENTS_NO_FIELD: neither a number nor a text */
	bool is_pointer;
};

struct event_format {
	struct event_field fields[EVENT_FORMAT_FIELDS]; /* without those that all events have */
	size_t count;
};

/*
 * `text` ends with NUL. -EBADMSG: it is not such a file. -E2BIG: it has too many fields. Large:
 * *ret should not be on the stack of a thread.
 */
int event_format__parse(const char *text, struct event_format *ret);

/* NULL: the event has no such field. */
const struct event_field *event_format__find(const struct event_format *format, const char *name);
