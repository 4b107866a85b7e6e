/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model's queries. ?1 and ?2 are the begin and the end of the cut. */
#pragma once

extern const char sql__accounts[];     /* thread, state, ns, count, prorated ns */
extern const char sql__cut_accounts[]; /* the same columns */
/* Without outside threads: thread, state, begin and end of its slices within its life, ns. */
extern const char sql__account_rows[];
extern const char sql__account_rows_in_order[]; /* by thread and time */
extern const char sql__threads[];
extern const char sql__refaults[]; /* cgroup, file */
extern const char sql__faults[];   /* thread, minor, major */
extern const char sql__waits[];
/* Of recordings with a schema version below 4, and of version 0.1.0. */
extern const char sql__has_ends[];
extern const char sql__waits_3[];
extern const char sql__has_holders[];
extern const char sql__threads_1[];
extern const char sql__waits_1[];
extern const char sql__histograms[];   /* of, key, bucket, count, name */
extern const char sql__window_bands[]; /* class, bucket, count, n */
extern const char sql__window_times[]; /* class, bucket, part, state, ns */
extern const char sql__syscalls[];
extern const char sql__syscalls_4[]; /* of recordings without estimates */
extern const char sql__has_estimates[];
extern const char sql__estimates[]; /* thread, variance */
extern const char sql__has_budget_steps[];
extern const char sql__budget_steps[]; /* time, what, value, threads */
extern const char
	sql__series[]; /* signal, place, operation, errno, thread, object, count, sums, max */
extern const char sql__cut_series[];    /* the same columns, with fractions */
extern const char sql__distributions[]; /* signal, place, operation, measure, bucket, count */
extern const char sql__objects[];       /* the objects of series and events */
extern const char sql__slowest[];       /* the slowest events of each signal */
extern const char sql__slowest_4[];
extern const char sql__resent[];       /* time, thread, object of retransmits */
extern const char sql__event_counts[]; /* signal, count */
extern const char sql__heap_slots[]; /* of signal ?3: time_ns, bytes, calls, frees, cpu, cost, … */
extern const char sql__heap_samples[]; /* of signal ?3: stack, time_ns, bytes, weight */
extern const char
	sql__programs[]; /* of signal ?3: file, parent, count, ended, ns, max_ns, failed */
