/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of what signals counted, for sentences and tables. All functions append to `text`, with
 * cleaned names.
 */
#pragma once

#include "model/hump.h"
#include "model/model.h"

/* "reads on vda", "connects"; the signal's word for events if it has no operations. */
void signal_words__what(const struct signals_signal *signal, const struct signals_row *row,
			char *text, size_t size);
/* The same with their number: "12 reads on vda", "1 connect". */
void signal_words__events(const struct signals_signal *signal, const struct signals_row *row,
			  int64_t count, char *text, size_t size);
/*
 * "131 of 12,700 reads on vda took 12.6 ms or longer": how many are in the bucket of the highest
 * percentile up to p99 that has enough values, or above it. `events` NULL: use their own name.
 */
void signal_words__say_slowest(const struct signals_signal *signal, const struct signals_row *row,
			       const char *events, const char *took, char *text, size_t size);
/*
 * "p50 2.00 ms, p99 12.0 ms": the median and the highest percentile up to p99 that has enough
 * values. Appends nothing if there is no median.
 */
void signal_words__say_percentiles(const struct signals_row *row, int measure, char *text,
				   size_t size);
/* "thread logger (tid 1004)", "threads worker-*". Appends nothing and returns false if unknown. */
bool signal_words__who(const struct model_group *group, const struct model_thread *thread,
		       char *text, size_t size);
/* Finds the two humps of a row's time. Returns false if it has only one. */
bool signal_words__hump(const struct signals_signal *signal, const struct signals_row *row,
			struct hump *ret);
/* "95 % of … took about 218 µs, but 5.0 % about 31 ms: the average of 1.7 ms describes neither" */
void signal_words__say_hump(const struct signals_signal *signal, const struct signals_row *row,
			    const struct hump *hump, char *text, size_t size);
/*
 * "; the kernel's tick is 4.00 ms", if one of the humps of ready time is there. `tick_ns`: 0 if the
 * recording does not say.
 */
void signal_words__say_tick(const struct signals_signal *signal, const struct hump *hump,
			    int64_t tick_ns, char *text, size_t size);
/* "ENOENT"; "errno 4711" for a number without a name. */
void signal_words__error(int64_t error, char *text, size_t size);
