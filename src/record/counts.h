/* Syscalls and histograms: counters that the kernel half keeps per CPU, as rows per second. */
#pragma once

#include "ledger/reader/attach.h"
#include "recording/recording.h"

struct counts;

/* Both stay the caller's and must outlive it. */
int counts__new(struct ledger *ledger, struct recording *recording, bool full, struct counts **ret);
void counts__free(struct counts *counts);

/* Tells the signal syscalls how long calls took so far; before its rows are written. */
void counts__share(struct counts *counts);
/* Writes what was added since the last call, as of the slices up to `slice`. */
int counts__write(struct counts *counts, int64_t slice);
/* Errors by errno, once, at the end. */
int counts__write_errors(struct counts *counts);
/* The CPUs' own accounts, likewise. */
int counts__write_cpus(struct counts *counts, uint64_t end_ns);
