/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/term.h"
#include "live/watch_internal.h"

#define COUNT_COLUMNS   9
#define MEASURE_COLUMNS 10
#define LEAST_LAST      20 /* columns for the last field, even if the line then wraps */

/* Column widths. With `narrow`, a table by process and operation fits into 80 columns. */
struct widths {
	int id, comm, place, value;
};

static const struct widths narrow = { 7, 10, 11, 8 }, wide = { 9, 15, 16, 10 };

static const struct widths *widths_of(const struct watch *watch)
{
	FILE *out = watch->options.out;

	return isatty(fileno(out)) && term__width(out) < 100 ? &narrow : &wide;
}

void watch_text__time(FILE *out, uint64_t time_ns)
{
	uint64_t wall_ns = time_ns + clock__wall_offset_ns();
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm local;

	localtime_r(&seconds, &local);
	fprintf(out, "%02d:%02d:%02d.%03d", local.tm_hour, local.tm_min, local.tm_sec,
		(int)(wall_ns / 1000000 % 1000));
}

/* Prints text from outside, cleaned and cut to the field. */
static void put_text(FILE *out, const char *text, int columns)
{
	words__field(out, words__clean(text, columns).text, columns);
	fputc(' ', out);
}

/* Aligned right. */
static void put_value(FILE *out, const char *text, int columns)
{
	words__field(out, text, -columns);
	fputc(' ', out);
}

struct words watch_text__operation(const char *operation, int error)
{
	const char *name = error ? strerrorname_np(error) : NULL;
	struct words words = {};

	words__say(words.text, sizeof(words.text), "%.200s", operation);
	if (name)
		words__say(words.text, sizeof(words.text), " %s", name);
	else if (error)
		words__say(words.text, sizeof(words.text), " %d", error);
	return words;
}

/* The last field gets the rest of the line; without a terminal it is not cut. */
static void put_last(const struct watch *watch, const char *text, int used)
{
	int rest = term__width(watch->options.out) - used;

	if (!isatty(fileno(watch->options.out)))
		rest = WORDS_MOST_COLUMNS;
	fputs(words__clean(text, rest > LEAST_LAST ? rest : LEAST_LAST).text, watch->options.out);
}

struct histograms {
	const struct watch *watch;
	int64_t count;
};

static int show_histogram(void *context, const char *place, const char *operation,
			  const struct histogram *histogram)
{
	struct histograms *histograms = context;
	FILE *out = histograms->watch->options.out;

	if (histograms->count++ >= WATCH_TEXT_HISTOGRAMS)
		return 0;
	fputc('\n', out);
	if (*place || *operation)
		fprintf(out, "%s%s%s\n", words__clean(place, 60).text,
			*place && *operation ? " " : "", words__clean(operation, 60).text);
	histogram__print(out, histogram, term__width(out));
	return 0;
}

static int show_histograms(struct watch *watch, const struct watch_page *page)
{
	struct histograms histograms = { watch, 0 };
	int err = watch__each_histogram(watch, page->span, show_histogram, &histograms);

	if (histograms.count > WATCH_TEXT_HISTOGRAMS)
		fprintf(watch->options.out, "\nand %s [--json has all]\n",
			words__count(histograms.count - WATCH_TEXT_HISTOGRAMS, "more histograms")
				.text);
	return err;
}

static void put_row_heading(const struct watch *watch, unsigned by)
{
	const struct widths *widths = widths_of(watch);
	FILE *out = watch->options.out;

	fputc('\n', out);
	if (by & (WATCH_BY_THREAD | WATCH_BY_PROCESS)) {
		put_value(out, by & WATCH_BY_THREAD ? "TID" : "PID", widths->id);
		put_text(out, by & WATCH_BY_THREAD ? "THREAD" : "PROCESS", widths->comm);
	}
	if (by & WATCH_BY_PLACE)
		put_text(out, "PLACE", widths->place);
	if (by & (WATCH_BY_OPERATION | WATCH_BY_ERRNO))
		put_text(out, "OPERATION", widths->place);
	put_value(out, "COUNT", COUNT_COLUMNS);
	put_text(out, "MEASURE", MEASURE_COLUMNS);
	put_value(out, "SUM", widths->value);
	put_value(out, "AVERAGE", widths->value);
	words__field(out, "MAX", -widths->value);
	fputs(by & WATCH_BY_OBJECT ? " OBJECT\n" : "\n", out);
}

/* Number of columns before the measures. */
static int key_columns(const struct widths *widths, unsigned by)
{
	int columns = COUNT_COLUMNS + 1;

	if (by & (WATCH_BY_THREAD | WATCH_BY_PROCESS))
		columns += widths->id + widths->comm + 2;
	if (by & WATCH_BY_PLACE)
		columns += widths->place + 1;
	if (by & (WATCH_BY_OPERATION | WATCH_BY_ERRNO))
		columns += widths->place + 1;
	return columns;
}

static void put_key(const struct watch *watch, unsigned by, const struct watch_row *row)
{
	const struct widths *widths = widths_of(watch);
	const char *comm = row->others ? "(others)" : row->known ? row->comm : "(not known)";
	FILE *out = watch->options.out;
	char number[32] = "";

	if (row->known)
		snprintf(number, sizeof(number), "%" PRId64,
			 by & WATCH_BY_THREAD ? row->tid : row->pid);
	if (by & (WATCH_BY_THREAD | WATCH_BY_PROCESS)) {
		put_value(out, number, widths->id);
		put_text(out, comm, widths->comm);
	}
	if (by & WATCH_BY_PLACE)
		put_text(out, row->place, widths->place);
	if (by & (WATCH_BY_OPERATION | WATCH_BY_ERRNO))
		put_text(out, watch_text__operation(row->operation, row->error).text,
			 widths->place);
	put_value(out, words__number(row->count).text, COUNT_COLUMNS);
}

/* Omits the unit of plain counts, because the measure's name says what is counted. */
static struct words measured(int64_t value, const char *unit)
{
	bool counts = strcmp(unit, "ns") && strcmp(unit, "bytes");

	return counts ? words__number(value) : histogram__value(value, unit);
}

/* The average of a count has one decimal: an integer would show 0 for an average of 0.5. */
static struct words average(const struct watch_row *row, int i, const char *unit)
{
	struct words words = {};

	if (!strcmp(unit, "ns") || !strcmp(unit, "bytes"))
		return measured(row->count ? row->sum[i] / row->count : 0, unit);
	snprintf(words.text, sizeof(words.text), "%.1f",
		 row->count ? (double)row->sum[i] / (double)row->count : 0);
	return words;
}

static void put_measure(const struct watch *watch, const struct watch_row *row, int i)
{
	const struct measure *measure = &watch->options.signal->measures[i];
	const struct widths *widths = widths_of(watch);
	FILE *out = watch->options.out;

	put_text(out, measure->name, MEASURE_COLUMNS);
	put_value(out, measured(row->sum[i], measure->unit).text, widths->value);
	put_value(out, average(row, i, measure->unit).text, widths->value);
	words__field(out, measured(row->max[i], measure->unit).text, -widths->value);
}

/* `by`: what the rows are split by, without the keys that no row has. */
struct table {
	struct watch *watch;
	unsigned by;
};

/* One line for each measure with a sum above 0. The chosen measure comes first. */
static int show_row(void *context, const struct watch_row *row)
{
	const struct table *table = context;
	const struct watch *watch = table->watch;
	const struct signal *signal = watch->options.signal;
	unsigned by = table->by;
	FILE *out = watch->options.out;
	const struct widths *widths = widths_of(watch);
	int used = key_columns(widths, by) + MEASURE_COLUMNS + 1 + 3 * (widths->value + 1);

	put_key(watch, by, row);
	put_measure(watch, row, watch->options.measure);
	if (by & WATCH_BY_OBJECT) {
		fputc(' ', out);
		put_last(watch, *row->object ? row->object : "(none)", used);
	}
	fputc('\n', out);
	for (int i = 0; i < (int)signal__values(signal) && !watch->options.one_measure; i++) {
		if (i == watch->options.measure || !row->sum[i])
			continue;
		fprintf(out, "%*s", key_columns(widths, by), "");
		put_measure(watch, row, i);
		fputc('\n', out);
	}
	return 0;
}

static int show_table(struct watch *watch, const struct watch_page *page)
{
	struct table table = { watch, watch__by(watch) };
	int err;

	if (!page->operations)
		table.by &= ~(unsigned)(WATCH_BY_OPERATION | WATCH_BY_ERRNO);
	put_row_heading(watch, table.by);
	err = watch__each_row(watch, page->span, WATCH_TEXT_ROWS, show_row, &table);
	if (page->rows > WATCH_TEXT_ROWS)
		fprintf(watch->options.out, "and %s more [--json has all]\n",
			words__number(page->rows - WATCH_TEXT_ROWS).text);
	return err;
}

static int show_loss(void *context, const char *name, int64_t value, const char *bias)
{
	const struct watch *watch = context;

	fprintf(watch->options.out, "%s: %s (%s)\n", words__clean(name, 60).text,
		words__number(value).text, words__clean(bias, 200).text);
	return 0;
}

/* Law 4: an empty result states its reason. */
static void put_nothing(const struct watch *watch)
{
	FILE *out = watch->options.out;

	fprintf(out, "no %s", watch->options.signal->events);
	if (watch->options.target)
		fprintf(out, " of %s", words__clean(watch->options.target, 60).text);
	fprintf(out, ": '%s' is attached, but nothing happened\n", watch->options.signal->name);
}

int watch_text__page(struct watch *watch, const struct watch_page *page)
{
	FILE *out = watch->options.out;
	int err = 0;

	fputc('\n', out);
	if (watch->options.times) {
		watch_text__time(out, page->end_ns);
		fputs("  ", out);
	}
	fprintf(out, "%s, %s %s: ", watch->options.signal->name,
		page->span == WATCH_WHOLE ? "all" : "the last",
		words__time((int64_t)(page->end_ns - page->begin_ns)).text);
	if (page->count) {
		fprintf(out, "%s %s\n", words__number(page->count).text,
			watch->options.signal->events);
		err = show_histograms(watch, page);
		if (!err)
			err = show_table(watch, page);
	} else {
		put_nothing(watch);
	}
	if (!err && page->span == WATCH_WHOLE)
		err = watch__each_loss(watch, show_loss, watch);
	return err;
}
