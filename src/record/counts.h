/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the kernel half's per-CPU counters of syscalls and histograms as rows per second. */
#pragma once

#include "ledger/reader/attach.h"
#include "recording/recording.h"

struct counts;

/* `ledger` and `recording` belong to the caller and must outlive *ret. */
int counts__new(struct ledger *ledger, struct recording *recording, bool full, struct counts **ret);
void counts__free(struct counts *counts);

/* Gives the signal "syscalls" the histograms so far. Call this before its rows are written. */
void counts__share(struct counts *counts);
/* Writes what was added since the last call, for the slices up to `slice`. */
int counts__write(struct counts *counts, int64_t slice);
/*
 * Writes the calls of each thread, up to the last drain but one; with `all`, which is allowed only
 * after ledger__freeze(), all of them. Call it before ledger__drain_waits().
 */
int counts__write_threads(struct counts *counts, bool all);
/* Errors by errno, once, at the end. */
int counts__write_errors(struct counts *counts);
/* The idle time of each CPU, and the sum of hidden time; once, at the end. */
int counts__write_idle(struct counts *counts, uint64_t end_ns);
