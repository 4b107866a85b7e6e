/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of a signal: one line for each operation at each place, one column for each measure. */
#include <string.h>

#include "base/words.h"
#include "report/printer.h"

#define ROWS_SHOWN   3
#define NET_SHOWN    5 /* connect, accept, send, receive, lifetime */
#define NAME_COLUMNS 18
#define MOST_COLUMNS 16

enum column_kind {
	COLUMN_COUNT,
	COLUMN_PERCENTILE,
	COLUMN_MAX,
	COLUMN_TOTAL,
	COLUMN_SHARE_OF_TIME,
	COLUMN_SHARE_OF_COUNT,
	COLUMN_MEAN,
	COLUMN_SUM,
	COLUMN_FAILED
};

struct column {
	enum column_kind kind;
	int measure;
	int width;
	const char *title;
	enum percentile percentile;
};

struct table {
	struct column columns[MOST_COLUMNS];
	size_t count;
	int width;
};

static bool is_unit(const struct signals_signal *signal, int measure, const char *unit)
{
	return !strcmp(signal->measures[measure].unit, unit);
}

/* Operations that the section on trouble covers better than this table. */
static bool is_trouble(const char *operation)
{
	static const char *const known[] = { "retransmit", "reset", "zero_window", "overflow" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i], operation))
			return true;
	return false;
}

static struct words value_words(const struct signals_signal *signal, int measure, int64_t value)
{
	if (is_unit(signal, measure, "ns"))
		return words__brief_time(value);
	if (is_unit(signal, measure, "bytes"))
		return words__bytes(value);
	return words__number(value);
}

static struct words mean_words(const struct signals_signal *signal, int measure,
			       const struct signals_sum *sum)
{
	double mean = sum->count ? (double)sum->sum[measure] / (double)sum->count : 0;
	struct words words = {};

	if (is_unit(signal, measure, "ns") || is_unit(signal, measure, "bytes"))
		return value_words(signal, measure, (int64_t)(mean + 0.5));
	snprintf(words.text, sizeof(words.text), "%.1f", mean);
	return words;
}

static struct words cell_words(const struct signals_signal *signal, const struct signals_row *row,
			       const struct column *column)
{
	const struct signals_sum *sum = &row->part.sum;
	int64_t value = column->measure < 0 ? 0 : sum->sum[column->measure];
	int64_t percentile;

	switch (column->kind) {
	case COLUMN_COUNT:
		return words__number(sum->count);
	case COLUMN_PERCENTILE:
		percentile = row->percentiles[column->measure][column->percentile];
		return value && percentile >= 0 ? words__brief_time(percentile)
						: (struct words) { "-" };
	case COLUMN_MAX:
		return value ? words__brief_time(sum->max[column->measure])
			     : (struct words) { "-" };
	case COLUMN_SHARE_OF_TIME:
		return words__about(value, sum->sum[signal->main]);
	case COLUMN_SHARE_OF_COUNT:
		return words__about(value, sum->count);
	case COLUMN_MEAN:
		return value ? mean_words(signal, column->measure, sum) : (struct words) { "-" };
	case COLUMN_FAILED:
		return words__about(row->errors, sum->count);
	default:
		return value ? value_words(signal, column->measure, value) : (struct words) { "-" };
	}
}

static void add_column(struct table *table, const struct printer *printer, struct column column)
{
	if (table->count == MOST_COLUMNS || table->width + column.width > printer->width)
		return;
	table->columns[table->count++] = column;
	table->width += column.width;
}

/*
 * Chooses the columns for measures with a known name. Of other measures, times show their mean and
 * the rest their sum.
 */
static void add_measure(struct table *table, const struct printer *printer,
			const struct signals_signal *signal, int measure)
{
	static const struct {
		const char *name, *title;
		enum column_kind kind;
		int width;
	} known[] = {
		{ "queue", "queued", COLUMN_SHARE_OF_TIME, 7 },
		{ "service", NULL, 0, 0 }, /* the time that is not queued */
		{ "running", "running", COLUMN_SHARE_OF_TIME, 9 },
		{ "size", "bytes", COLUMN_SUM, 9 },
		{ "depth", "depth", COLUMN_MEAN, 6 },
		{ "sequential", "in a row", COLUMN_SHARE_OF_COUNT, 10 },
		{ "asked", NULL, 0, 0 }, /* not shown: the result matters, not the request */
		{ "rtt", "rtt", COLUMN_MEAN, 9 },
		{ "in_flight", "in flight", COLUMN_MEAN, 10 },
		{ "async", "async", COLUMN_SHARE_OF_COUNT, 7 },
		{ "cpu", "cpu", COLUMN_SUM, 9 },
	};
	const char *name = signal->measures[measure].name;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(known[i].name, name))
			continue;
		if (known[i].title && (known[i].kind != COLUMN_SHARE_OF_TIME || signal->main >= 0))
			add_column(table, printer,
				   (struct column) { known[i].kind, measure, known[i].width,
						     known[i].title, 0 });
		return;
	}
	add_column(table, printer,
		   (struct column) { is_unit(signal, measure, "ns") ? COLUMN_MEAN : COLUMN_SUM,
				     measure, 10, name, 0 });
}

static void add_percentiles(struct table *table, const struct printer *printer,
			    const struct signals_signal *signal)
{
	bool all = printer->width >= PERCENTILES_COLUMNS;

	for (int i = 0; i < PERCENTILES; i++)
		if (all || i == P50 || i == P99)
			add_column(table, printer,
				   (struct column) { COLUMN_PERCENTILE, signal->main, all ? 8 : 9,
						     percentiles__words(i)->name, i });
}

static struct table table_of(const struct printer *printer, const struct signals_signal *signal)
{
	static const struct column count = { COLUMN_COUNT, -1, 9, "count", 0 };
	static const struct column failed = { COLUMN_FAILED, -1, 8, "failed", 0 };
	const struct column max = { COLUMN_MAX, signal->main, 9, "max", 0 };
	const struct column total = { COLUMN_TOTAL, signal->main, 9, "total", 0 };
	struct table table = { .width = NAME_COLUMNS + 2 };
	bool is_timed = signal->main >= 0 && signal->sum.sum[signal->main];
	int size = signals__measure(signal, "size");
	int last = (signal->errors ? failed.width : 0) + (is_timed ? total.width : 0);

	add_column(&table, printer, count);
	if (is_timed) {
		add_percentiles(&table, printer, signal);
		add_column(&table, printer, max);
	}
	/* Reserve room for the last columns, which matter more than the measures. */
	if (printer->width >= PERCENTILES_COLUMNS)
		table.width += last;
	if (size >= 0 && signal->sum.sum[size])
		add_measure(&table, printer, signal, size);
	for (int i = 0; i < signal->measure_count; i++)
		if (i != signal->main && i != size && signal->measures[i].name &&
		    signal->sum.sum[i])
			add_measure(&table, printer, signal, i);
	if (printer->width >= PERCENTILES_COLUMNS)
		table.width -= last;
	if (signal->errors)
		add_column(&table, printer, failed);
	if (is_timed)
		add_column(&table, printer, total);
	return table;
}

static void print_row(const struct printer *printer, const struct signals_signal *signal,
		      const struct signals_row *row, const struct table *table)
{
	char name[PRINTER_LINE] = "";

	words__say(name, sizeof(name), "%s%s%s", row->operation,
		   *row->operation && *row->place ? " " : "", row->place);
	fputs("  ", printer->out);
	words__field(printer->out, words__clean(name, NAME_COLUMNS).text, NAME_COLUMNS);
	for (size_t i = 0; i < table->count; i++)
		words__field(printer->out, cell_words(signal, row, &table->columns[i]).text,
			     -table->columns[i].width);
	fputc('\n', printer->out);
}

void printer__operations(const struct printer *printer, const struct signals_signal *signal)
{
	struct table table = table_of(printer, signal);
	size_t count = 0, left = 0;
	size_t most = printer__shown(printer, signal->row_count,
				     signal->role == ROLE_CONNECTIONS ? NET_SHOWN : ROWS_SHOWN);

	fprintf(printer->out, "%*s", NAME_COLUMNS + 2, "");
	for (size_t i = 0; i < table.count; i++)
		words__field(printer->out,
			     words__clean(table.columns[i].title, table.columns[i].width - 1).text,
			     -table.columns[i].width);
	fputc('\n', printer->out);
	for (size_t i = 0; i < signal->row_count; i++) {
		const struct signals_row *row = &signal->rows[signal->ranks[i]];

		if (signal->role == ROLE_CONNECTIONS && is_trouble(row->operation))
			continue;
		if (count < most) {
			print_row(printer, signal, row, &table);
			count++;
		} else {
			left++;
		}
	}
	printer__rest(printer, left, "operations");
}
