/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between writer.c, which runs the statements, statements.c, which has their text, and those who
 * have a function per kind of row.
 */
#pragma once

#include <stdint.h>

#include "recording/recording.h"

enum statement {
	SQL_META,
	SQL_STATE,
	SQL_PROCESS,
	SQL_RUNTIME,
	SQL_THREAD,
	SQL_NAME,
	SQL_SLICE,
	SQL_ACCOUNT,
	SQL_FAULTS,
	SQL_OBJECT,
	SQL_WAIT,
	SQL_DROP_WAITS,
	SQL_BUCKET,
	SQL_SYSCALL,
	SQL_SYSCALL_SLICE,
	SQL_SYSCALL_ERROR,
	SQL_THREAD_CALLS,
	SQL_ESTIMATE,
	SQL_BUDGET_STEP,
	SQL_FAILED_PATH,
	SQL_DROP_FAILED_PATHS,
	SQL_OCCUPANT,
	SQL_OCCUPANTS,
	SQL_CGROUP_LIMIT,
	SQL_THROTTLED,
	SQL_REFAULTS,
	SQL_RESIDENT,
	SQL_ALLOCATED,
	SQL_PRESSURE,
	SQL_MODULE,
	SQL_FRAME,
	SQL_FUNCTION,
	SQL_LINE,
	SQL_STACK,
	SQL_SAMPLE,
	SQL_FATAL,
	SQL_FIBER,
	SQL_FIBER_STATE,
	SQL_FIBER_TIME,
	SQL_FIBER_EXACT,
	SQL_SIGNAL_SAMPLE,
	SQL_CPU,
	SQL_QUALITY,
	SQL_COST,
	SQL_SIGNAL,
	SQL_MEASURE,
	SQL_SERIES,
	SQL_SERIES_MAX,
	SQL_SUM,
	SQL_DISTRIBUTION,
	SQL_DISTRIBUTED,
	SQL_OWNED,
	SQL_EVENT,
	SQL_WINDOW_CLASS,
	SQL_WINDOW_BAND,
	SQL_WINDOW_TIME,
	SQL_WINDOW,
	SQL_WINDOW_PART,
	SQL_WINDOW_WAIT,
	SQL_DROP, /* one for each enum recording_dropped */
	SQL_DROP_LAST = SQL_DROP + RECORDING_DROP_COUNT - 1,
	SQL_COUNT
};

/* Defined in statements.c. */
extern const char *const writer__sql[SQL_COUNT];

struct value {
	enum { VALUE_NUMBER, VALUE_REAL, VALUE_TEXT } kind;
	union {
		int64_t number;
		double real;
		const char *text; /* NULL: unknown */
	};
};

int writer__add_row(struct recording *recording, enum statement which, const struct value *values,
		    int count);

static inline struct value number(int64_t value)
{
	return (struct value) { .kind = VALUE_NUMBER, .number = value };
}

static inline struct value real(double value)
{
	return (struct value) { .kind = VALUE_REAL, .real = value };
}

static inline struct value text(const char *value)
{
	return (struct value) { .kind = VALUE_TEXT, .text = value };
}

#define ADD_ROW(recording, which, ...)                                                             \
	writer__add_row(recording, which, (const struct value[]) { __VA_ARGS__ },                  \
			sizeof((const struct value[]) { __VA_ARGS__ }) / sizeof(struct value))
