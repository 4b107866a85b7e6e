/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of the text report: what was recorded, when, and which part of it this is about. */
#include "base/daytime.h"
#include "base/words.h"
#include "model/runtime_rows.h"
#include "report/printer.h"

/* Of the running time: generated code without names that is worth a remedy. */
#define LEAST_GENERATED_PERCENT 20

/* "2026-11-16 14:20:05 to 14:20:35 (UTC+1)": of the recording, or of the cut. */
static void print_when(const struct printer *printer)
{
	const struct model *model = printer->model;
	int64_t from = model->start_unix_ns + (model->from_ns - model->start_ns);
	int64_t to = model->start_unix_ns + (model->to_ns - model->start_ns);

	if (!model->start_unix_ns)
		return;
	fprintf(printer->out, "%s %s to %s (%s)\n", daytime__date(from, model->zone_s).text,
		daytime__words(from, model->zone_s).text, daytime__words(to, model->zone_s).text,
		daytime__zone(model->zone_s).text);
}

/* "CPython 3.16 is not known: 2 processes have no Python frames" */
static void print_runtimes(const struct printer *printer)
{
	char text[PRINTER_LINE];

	for (size_t i = 0; i < printer->model->runtime_count; i++)
		if (runtime_rows__say(&printer->model->runtimes[i], text, sizeof(text)))
			printer__wrap(printer, text, 0);
}

/* "92 % of the running time is in generated code without names [let its runtime …]" */
static void print_generated(const struct printer *printer)
{
	const struct hot *hot = &printer->model->hot;
	int64_t ns = 0, all_ns = hot->sampled[KIND_RUN].ns;
	char text[PRINTER_LINE] = "";

	for (size_t i = 0; i < hot->function_count; i++)
		if (!hot->functions[i].named && hot__is_generated(&hot->functions[i]))
			ns += hot->functions[i].self[HOT_RUN].ns;
	if (!model__reaches(ns, all_ns, LEAST_GENERATED_PERCENT))
		return;
	words__say(text, sizeof(text),
		   "%s of the running time is in generated code without names [" HOT_PERF_MAPS "]",
		   words__about(ns, all_ns).text);
	printer__wrap(printer, text, 0);
}

void printer__head(const struct printer *printer)
{
	const struct model *model = printer->model;
	char line[PRINTER_LINE] = "";

	words__say(line, sizeof(line), "%s, %s, %s in %s, level %s, Linux %s",
		   words__clean(model->target ? model->target : "unknown target", 100).text,
		   words__time(model->wall_ns).text,
		   words__count((int64_t)model->measured_threads, "threads").text,
		   words__count((int64_t)model->measured_processes, "processes").text,
		   words__clean(model->level ? model->level : "unknown", 20).text,
		   words__clean(model->kernel ? model->kernel : "unknown", 60).text);

	if (model->cpus)
		words__say(line, sizeof(line), ", %s", words__count(model->cpus, "CPUs").text);
	printer__wrap(printer, line, 0);
	print_when(printer);
	if (model->narrowed) {
		*line = '\0';
		words__say(line, sizeof(line),
			   "only %s: %s of %s; what is not kept per thread (times of syscalls, "
			   "percentiles) is left out",
			   model->narrowed, words__number((int64_t)model->measured_threads).text,
			   words__count((int64_t)model->all_threads, "threads").text);
		printer__wrap(printer, line, 0);
	}
	print_runtimes(printer);
	print_generated(printer);
	if (!model->cut)
		return;
	*line = '\0';
	words__say(line, sizeof(line),
		   "cut: %s to %s of %s; mixed accounts that reach over an edge are prorated "
		   "(%s of the time below)",
		   words__time(model->from_ns - model->start_ns).text,
		   words__time(model->to_ns - model->start_ns).text,
		   words__time(model->end_ns - model->start_ns).text,
		   words__time(model->prorated_ns).text);
	printer__wrap(printer, line, 0);
}
