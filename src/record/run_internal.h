/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What run.c and run_open.c share. */
#pragma once

#include "core/sessions.h"
#include "record/allocations.h"
#include "record/budget.h"
#include "record/collect.h"
#include "record/cost.h"
#include "record/counts.h"
#include "record/fiber_ledger.h"
#include "record/intake.h"
#include "record/kernel_counts.h"
#include "record/languages.h"
#include "record/run.h"
#include "record/samples.h"
#include "record/windows.h"

struct run {
	struct recording *recording;
	struct ledger *ledger;
	struct collect *collect;
	struct counts *counts;
	struct languages *languages;     /* NULL: no stacks */
	struct mapper *mapper;           /* of `languages` */
	struct samples *samples;         /* NULL: no stacks */
	struct fiber_ledger *fibers;     /* likewise */
	struct allocations *allocations; /* likewise */
	struct part parts[SIGNAL_COUNT + 1];
	struct sessions *sessions;
	struct windows *windows; /* NULL: no windows */
	int64_t windows_written; /* the last slice that their rows cover */
	struct cost cost;
	struct budget budget;
	struct kernel_counts kernel_counts; /* at the start */
	bool has_kernel_counts;  /* all threads are recorded, and nothing was forgotten */
	int64_t signals_written; /* the last slice that the signals' rows cover */
	bool (*is_interrupted)(void);
	bool all; /* the target is all threads */
	struct intake intake;
	uint64_t interval_ns, least_interval_ns;
	uint64_t start_ns;
	uint64_t next_ns;    /* when the next snapshot is due */
	uint64_t looked_ns;  /* just before the last snapshot */
	uint64_t counted_ns; /* the last time that counters and waits were written */
	uint64_t whole_ns;   /* the last snapshot of all threads */
};
