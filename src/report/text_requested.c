/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What options of the recording asked for. Unlike other signals, these are in the short report too,
 * with their whole names, and their objects are ordered by number.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "findings/signal_words.h"
#include "model/model.h"
#include "report/printer.h"

#define ROWS_SHOWN    16
#define OBJECTS_SHOWN 5
#define NAME_COLUMNS  200
#define INDENT        50

/* The measure that has values: of most rows there is only one. -1: none has. */
static int measure_of(const struct signals_signal *signal, const struct signals_row *row)
{
	for (int i = 0; i < signal->measure_count; i++)
		if (row->part.sum.sum[i] || (row->histograms && row->histograms[i].count))
			return i;
	return -1;
}

static struct words figure(const struct signals_signal *signal, int measure, int64_t value)
{
	if (measure < 0 || value < 0)
		return (struct words) { "-" };
	return !strcmp(signal->measures[measure].unit, "ns") ? words__brief_time(value)
							     : words__number(value);
}

static void print_figures(const struct printer *printer, const struct signals_signal *signal,
			  const struct signals_row *row)
{
	int measure = measure_of(signal, row);
	const struct signals_sum *sum = &row->part.sum;
	bool has = measure >= 0;

	words__field(printer->out, words__number(sum->count).text, -10);
	words__field(printer->out,
		     figure(signal, measure, has ? row->percentiles[measure][P50] : -1).text, -9);
	words__field(printer->out,
		     figure(signal, measure, has ? row->percentiles[measure][P99] : -1).text, -9);
	words__field(printer->out, figure(signal, measure, has ? sum->max[measure] : -1).text, -10);
	words__field(printer->out, figure(signal, measure, has ? sum->sum[measure] : -1).text, -10);
}

static bool is_of_row(const struct signals_signal *signal, const struct signals_series *series,
		      const void *row)
{
	return series->object && &signal->rows[series->row] == row;
}

/* By object within one row. */
static void print_objects(const struct printer *printer, const struct signals_signal *signal,
			  const struct signals_row *row)
{
	const struct signals_way way = { is_of_row, signals__by_object, row, true };
	struct signals_parts parts = {};
	size_t count;

	if (signals__divide(signal, &way, &parts))
		return;
	count = printer__shown(printer, parts.count, OBJECTS_SHOWN);
	for (size_t i = 0; i < count; i++) {
		const struct signals_part *part = &parts.list[i];
		char text[PRINTER_LINE] = "", who[PRINTER_LINE] = "";

		words__field(printer->out, words__number(part->sum.count).text, -10);
		fprintf(printer->out, "%*s", INDENT - 10, "");
		words__say(text, sizeof(text), "%s",
			   words__clean(part->first->object->name, NAME_COLUMNS).text);
		if (signal_words__who(part->group, part->thread, who, sizeof(who)))
			words__say(text, sizeof(text), ", %s", who);
		printer__wrap(printer, text, INDENT + 2);
	}
	printer__rest(printer, parts.count - count, "keys");
	free(parts.list);
}

static void print_row(const struct printer *printer, const struct signals_signal *signal,
		      const struct signals_row *row)
{
	char text[PRINTER_LINE] = "", who[PRINTER_LINE] = "";

	print_figures(printer, signal, row);
	words__say(text, sizeof(text), "%s", words__clean(row->operation, NAME_COLUMNS).text);
	if (*row->place)
		words__say(text, sizeof(text), ", %s", words__clean(row->place, NAME_COLUMNS).text);
	if (signal_words__who(row->part.group, row->part.thread, who, sizeof(who)))
		words__say(text, sizeof(text), ", %s", who);
	fputs("  ", printer->out);
	printer__wrap(printer, text, INDENT + 2);
	print_objects(printer, signal, row);
}

void printer__request(const struct printer *printer, const struct signals_signal *signal)
{
	size_t count = printer__shown(printer, signal->row_count, ROWS_SHOWN);

	printer__heading(printer, words__clean(signal->name, NAME_COLUMNS).text);
	fputc('\n', printer->out);
	fprintf(printer->out, "%10s%9s%9s%10s%10s  %s\n", "count", "p50", "p99", "max", "total",
		"what, most of it by whom");
	for (size_t i = 0; i < count; i++)
		print_row(printer, signal, &signal->rows[signal->ranks[i]]);
	printer__rest(printer, signal->row_count - count, "of them");
}

void printer__requested(const struct printer *printer)
{
	const struct signals *signals = &printer->model->signals;

	for (size_t i = 0; i < signals->count; i++)
		if (signals->list[i].role == ROLE_REQUESTED &&
		    !signals__is_empty(&signals->list[i]))
			printer__request(printer, &signals->list[i]);
}
