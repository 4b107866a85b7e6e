/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/histogram.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "vocabulary/histogram.h"

#define LABEL_COLUMNS 9 /* width of one edge */
#define COUNT_COLUMNS 10
#define MOST_BAR      40
#define FEWEST_BAR    10

/* Row 0 holds the value 0. Row r > 0 holds values from 2^(r-1) to below 2^r. */
#define ROWS (HISTOGRAM_TOP_BIT + 2)

static int row_of(int bucket)
{
	__u64 start;

	if (bucket < 0)
		return 0;
	if (bucket >= HISTOGRAM_BUCKETS)
		return ROWS - 1;
	start = histogram_bucket_start((__u32)bucket);
	return start ? (int)histogram_log2(start) + 1 : 0;
}

static int64_t row_start(int row)
{
	return row ? INT64_C(1) << (row - 1) : 0;
}

int64_t histogram__total(const struct histogram *histogram)
{
	int64_t total = 0;

	for (size_t i = 0; i < histogram->size; i++)
		total += histogram->buckets[i].count;
	return total;
}

struct words histogram__value(int64_t value, const char *unit)
{
	if (!strcmp(unit, "ns"))
		return words__brief_time(value);
	return strcmp(unit, "bytes") ? words__count(value, unit) : words__bytes(value);
}

/* Edges are powers of two, so bytes are shown in binary units. */
static struct words edge(int64_t value, const char *unit)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	struct words words = {};
	size_t i = 0;

	if (!strcmp(unit, "ns"))
		return words__brief_time(value);
	if (strcmp(unit, "bytes"))
		return words__number(value);
	for (; i < 4 && value >= 1024; i++)
		value /= 1024;
	snprintf(words.text, sizeof(words.text), "%" PRId64 " %s", value, units[i]);
	return words;
}

/* Counts are whole numbers, so a row ends with its last value. */
static void print_edges(FILE *out, int row, const char *unit)
{
	bool counts = strcmp(unit, "ns") && strcmp(unit, "bytes");
	int64_t start = row_start(row), end = row_start(row + 1) - counts;

	words__field(out, edge(start, unit).text, -LABEL_COLUMNS);
	fputs(" -> ", out);
	if (row == ROWS - 1)
		words__field(out, "more", -LABEL_COLUMNS);
	else
		words__field(out, edge(end, unit).text, -LABEL_COLUMNS);
}

static void print_bar(FILE *out, int64_t count, int64_t most, int columns)
{
	int stars = (int)((double)count * columns / (double)most);

	fputs(" |", out);
	for (int i = 0; i < columns; i++)
		fputc(i < stars ? '*' : ' ', out);
	fputs("|\n", out);
}

static void print_rows(FILE *out, const struct histogram *histogram, const int64_t rows[ROWS],
		       int columns)
{
	int first = 0, last = ROWS - 1;
	int64_t most = 1;

	while (first < last && !rows[first])
		first++;
	while (last > first && !rows[last])
		last--;
	for (int i = first; i <= last; i++)
		most = rows[i] > most ? rows[i] : most;
	for (int i = first; i <= last; i++) {
		print_edges(out, i, histogram->unit);
		fputs(" :", out);
		words__field(out, words__number(rows[i]).text, -COUNT_COLUMNS);
		print_bar(out, rows[i], most, columns);
	}
}

/* Prints all percentiles that have enough values, or the median and the highest one up to p99. */
static void print_percentiles(FILE *out, const struct histogram *histogram, int64_t total, bool all)
{
	int64_t values[PERCENTILES];
	enum percentile highest;

	percentiles__find(histogram->buckets, histogram->size, total, histogram->max, values);
	highest = percentiles__highest(values);
	for (int i = 0; i < PERCENTILES; i++)
		if (values[i] >= 0 && (all || i == P50 || i == (int)highest))
			fprintf(out, "%s %s, ", percentiles__words(i)->name,
				histogram__value(values[i], histogram->unit).text);
}

void histogram__print(FILE *out, const struct histogram *histogram, int width)
{
	int edges = 2 * LABEL_COLUMNS + 4, columns = width - edges - 2 - COUNT_COLUMNS - 3;
	int64_t rows[ROWS] = {}, total = histogram__total(histogram);
	bool counts = strcmp(histogram->unit, "ns") && strcmp(histogram->unit, "bytes");
	char label[64] = "";

	if (!total)
		return;
	columns = columns > MOST_BAR ? MOST_BAR : columns < FEWEST_BAR ? FEWEST_BAR : columns;
	for (size_t i = 0; i < histogram->size; i++)
		rows[row_of(histogram->buckets[i].number)] += histogram->buckets[i].count;
	words__say(label, sizeof(label), "%s", words__clean(histogram->label, 20).text);
	if (counts)
		words__say(label, sizeof(label), ", %s", words__clean(histogram->unit, 20).text);
	words__field(out, label, -edges);
	fputs(" :", out);
	words__field(out, "count", -COUNT_COLUMNS);
	fputs("  distribution\n", out);
	print_rows(out, histogram, rows, columns);
	print_percentiles(out, histogram, total, width >= PERCENTILES_COLUMNS);
	if (histogram->max)
		fprintf(out, "max %s, ", histogram__value(histogram->max, histogram->unit).text);
	fprintf(out, "of %s\n", words__number(total).text);
}
