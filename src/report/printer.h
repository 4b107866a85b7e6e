/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that print the text report. */
#pragma once

#include "base/words.h"
#include "findings/findings.h"
#include "report/report.h"

#define PRINTER_LINE         2048
#define PRINTER_TIME         -10
#define PRINTER_SHARE        -8
#define PRINTER_BLAME_INDENT (-PRINTER_TIME - PRINTER_SHARE + 11 + 2)
#define PRINTER_FIELD        13

struct printer {
	FILE *out;
	int width;
	const struct model *model;
	const struct report_options *options;
	struct findings findings;
};

void printer__head(const struct printer *printer);
/* How many of `count` rows to print: `usual`, unless --top says otherwise. */
size_t printer__shown(const struct printer *printer, size_t count, size_t usual);
void printer__heading(const struct printer *printer, const char *words);
/* "… 12 more waits [--top]" */
void printer__rest(const struct printer *printer, size_t left, const char *what);
void printer__wrap(const struct printer *printer, const char *text, int indent);
/* The value of a counter: a time if its name ends in _ns. */
struct words printer__figure(const struct model_figure *figure);
/* Prints the name of a line in the last section. */
void printer__field(const struct printer *printer, const char *name);

/* "threads worker-*: lock, futex 0x7f…, held by thread logger (tid 4242)" */
void printer__describe(const struct model_blame *blame, char *ret, size_t size);

/* Below the table of `--by cpu`: who had the CPUs, and whether others were idle. */
void printer__cpus(const struct printer *printer);

/* The short report, in the order of its sections. */
void printer__findings(const struct printer *printer);
void printer__states(const struct printer *printer);
void printer__waits(const struct printer *printer);
void printer__trust(const struct printer *printer);

/* What samples show: hot functions, the call paths of a wait, how accurate they are. */
void printer__hot(const struct printer *printer);
void printer__paths(const struct printer *printer, const struct model_blame *blame);
void printer__samples(const struct printer *printer);
/* The resident memory of processes. */
void printer__resident(const struct printer *printer);
/* How much memory threads allocated. */
void printer__allocated(const struct printer *printer);
/* What goroutines did. */
void printer__fibers(const struct printer *printer);
/* What signals counted. */
void printer__signals(const struct printer *printer);
/* Of a signal of ROLE_LOCKS: the locks, and who waits for whom. */
void printer__locks(const struct printer *printer, const struct signals_signal *signal);
/* Requests and calls: a section for each service, or a few lines about the largest ones. */
void printer__windows(const struct printer *printer);
/* The single one that --window asks for. */
void printer__window(const struct printer *printer);
/* Below the table of a service: by name, and what the slowest waited for, did, and are. */
void printer__slowest(const struct printer *printer, const struct windows_service *service);
/* What options of the recording asked for: all of it, or one such signal. */
void printer__requested(const struct printer *printer);
void printer__request(const struct printer *printer, const struct signals_signal *signal);
/* The ratios of a signal with ROLE_COUNTERS. */
void printer__counters(const struct printer *printer, const struct signals_signal *signal);
/* The signal's table of operations. */
void printer__operations(const struct printer *printer, const struct signals_signal *signal);
/* What the heap signal estimated. */
void printer__heap(const struct printer *printer, const struct heap *heap);

/* How much of the running time was that of collectors and compilers, for a few processes. */
void printer__collecting(const struct printer *printer);
/*
 * What the budget changed, and when. Returns the number of lines; `said` is the number of lines
 * above them in the same field.
 */
size_t printer__budget(const struct printer *printer, size_t said);
/* The same numbers according to /proc, if the recording has them. */
void printer__kernel_counts(const struct printer *printer);
void printer__notes(const struct printer *printer);
/* Whether it adds up, what was lost, what it cost. */
void printer__balance(const struct printer *printer);
