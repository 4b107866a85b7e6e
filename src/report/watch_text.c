#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/term.h"
#include "report/watch_internal.h"

#define TIME_COLUMNS      12
#define TOOK_COLUMNS      8
#define OPERATION_COLUMNS 10
#define COMM_COLUMNS      15
#define NUMBER_COLUMNS    9
#define VALUE_COLUMNS     10
#define MEASURE_COLUMNS   10
#define PLACE_COLUMNS     16
#define OBJECT_COLUMNS    32
#define LEAST_LAST        20 /* columns for the last field, even if the line then wraps */

/* "12:34:56.789" */
static void put_time(FILE *out, uint64_t time_ns)
{
	uint64_t wall_ns = time_ns + clock__wall_offset_ns();
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm local;

	localtime_r(&seconds, &local);
	fprintf(out, "%02d:%02d:%02d.%03d", local.tm_hour, local.tm_min, local.tm_sec,
		(int)(wall_ns / 1000000 % 1000));
}

/* A foreign text in a field, cut to it. */
static void put_text(FILE *out, const char *text, int columns)
{
	words__field(out, words__clean(text, columns).text, columns);
	fputc(' ', out);
}

/* To the right of its field. */
static void put_value(FILE *out, const char *text, int columns)
{
	words__field(out, text, -columns);
	fputc(' ', out);
}

/* "openat ENOENT": what went wrong belongs to what was tried. */
static struct words operation_words(const char *operation, int error)
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

/* Some signals say themselves which process it was. */
static bool names_process(const struct signal *signal)
{
	for (size_t i = 0; signal->columns[i].name; i++)
		if (!strcmp(signal->columns[i].name, "pid"))
			return true;
	return false;
}

static void put_column_heading(FILE *out, const struct column *column, bool last)
{
	char heading[32] = "";

	for (size_t i = 0; column->name[i] && i < sizeof(heading) - 1; i++)
		heading[i] = (char)toupper((unsigned char)column->name[i]);
	if (last)
		fputs(heading, out);
	else if (column->kind == COLUMN_TEXT)
		put_text(out, heading, column->width);
	else
		put_value(out, heading, column->width);
}

/* Columns with a negative width are for JSON alone. */
static bool is_last(const struct column *column)
{
	for (column++; column->name; column++)
		if (column->width >= 0)
			return false;
	return true;
}

int watch_text__heading(const struct watch *watch)
{
	const struct signal *signal = watch->options.signal;
	FILE *out = watch->options.out;

	if (watch->options.times)
		put_text(out, "TIME", TIME_COLUMNS);
	put_value(out, "TOOK", TOOK_COLUMNS);
	put_text(out, "OPERATION", OPERATION_COLUMNS);
	if (!names_process(signal)) {
		put_value(out, "TID", NUMBER_COLUMNS);
		put_text(out, "COMM", COMM_COLUMNS);
	}
	if (signal->place)
		put_text(out, "PLACE", PLACE_COLUMNS);
	if (signal->object_kind)
		put_text(out, "OBJECT", OBJECT_COLUMNS);
	for (const struct column *column = signal->columns; column->name; column++)
		if (column->width >= 0)
			put_column_heading(out, column, is_last(column));
	return fputc('\n', out) == EOF || fflush(out) ? -EIO : 0;
}

static struct words field_words(const struct column *column, const json_t *value)
{
	int64_t number = json_integer_value(value);
	struct words words = {};

	if (!value || json_is_null(value))
		return words;
	switch (column->kind) {
	case COLUMN_TEXT:
		return words__clean(json_string_value(value), WORDS_MOST_COLUMNS);
	case COLUMN_NS:
		return words__time(number);
	case COLUMN_BYTES:
		return words__bytes(number);
	default:
		snprintf(words.text, sizeof(words.text), "%" PRId64, number);
		return words;
	}
}

/* The last one has the rest of the line; without a terminal it has all it needs. */
static void put_last(const struct watch *watch, const char *text, int used)
{
	int rest = term__width(watch->options.out) - used;

	if (!isatty(fileno(watch->options.out)))
		rest = WORDS_MOST_COLUMNS;
	fputs(words__clean(text, rest > LEAST_LAST ? rest : LEAST_LAST).text, watch->options.out);
}

static void put_fields(const struct watch *watch, const json_t *fields, int used)
{
	const struct column *column = watch->options.signal->columns;

	for (; column->name; column++) {
		struct words words = field_words(column, json_object_get(fields, column->name));

		if (column->width < 0)
			continue;
		if (is_last(column))
			put_last(watch, words.text, used);
		else if (column->kind == COLUMN_TEXT)
			put_text(watch->options.out, words.text, column->width);
		else
			put_value(watch->options.out, words.text, column->width);
		used += column->width + 1;
	}
}

int watch_text__event(struct watch *watch, const struct watch_event *event)
{
	const struct signal *signal = watch->options.signal;
	struct words operation = operation_words(event->operation, event->error);
	FILE *out = watch->options.out;
	char tid[32] = "";
	int used = TOOK_COLUMNS + OPERATION_COLUMNS + 2;

	if (watch->options.times) {
		put_time(out, event->time_ns);
		fputc(' ', out);
		used += TIME_COLUMNS + 1;
	}
	put_value(out, event->duration_ns ? words__time(event->duration_ns).text : "",
		  TOOK_COLUMNS);
	put_text(out, operation.text, OPERATION_COLUMNS);
	if (!names_process(signal)) {
		if (event->known)
			snprintf(tid, sizeof(tid), "%" PRId64, event->tid);
		put_value(out, tid, NUMBER_COLUMNS);
		put_text(out, event->comm, COMM_COLUMNS);
		used += NUMBER_COLUMNS + COMM_COLUMNS + 2;
	}
	if (signal->place)
		put_text(out, event->place, PLACE_COLUMNS);
	if (signal->object_kind)
		put_text(out, event->object, OBJECT_COLUMNS);
	used += signal->place ? PLACE_COLUMNS + 1 : 0;
	used += signal->object_kind ? OBJECT_COLUMNS + 1 : 0;
	put_fields(watch, event->fields, used);
	return fputc('\n', out) == EOF ? -EIO : 0;
}

static int show_histogram(void *context, const char *place, const char *operation,
			  const struct histogram *histogram)
{
	const struct watch *watch = context;
	FILE *out = watch->options.out;

	fputc('\n', out);
	if (*place || *operation)
		fprintf(out, "%s%s%s\n", words__clean(place, 60).text,
			*place && *operation ? " " : "", words__clean(operation, 60).text);
	histogram__print(out, histogram, term__width(out));
	return 0;
}

static void put_row_heading(const struct watch *watch, unsigned by)
{
	FILE *out = watch->options.out;

	fputc('\n', out);
	if (by & (WATCH_BY_THREAD | WATCH_BY_PROCESS)) {
		put_value(out, by & WATCH_BY_THREAD ? "TID" : "PID", NUMBER_COLUMNS);
		put_text(out, by & WATCH_BY_THREAD ? "THREAD" : "PROCESS", COMM_COLUMNS);
	}
	if (by & WATCH_BY_PLACE)
		put_text(out, "PLACE", PLACE_COLUMNS);
	if (by & (WATCH_BY_OPERATION | WATCH_BY_ERRNO))
		put_text(out, "OPERATION", PLACE_COLUMNS);
	put_value(out, "COUNT", NUMBER_COLUMNS);
	put_text(out, "MEASURE", MEASURE_COLUMNS);
	put_value(out, "SUM", VALUE_COLUMNS);
	put_value(out, "AVERAGE", VALUE_COLUMNS);
	words__field(out, "MAX", -VALUE_COLUMNS);
	fputs(by & WATCH_BY_OBJECT ? " OBJECT\n" : "\n", out);
}

/* How many columns stand before the measures. */
static int key_columns(unsigned by)
{
	int columns = NUMBER_COLUMNS + 1;

	if (by & (WATCH_BY_THREAD | WATCH_BY_PROCESS))
		columns += NUMBER_COLUMNS + COMM_COLUMNS + 2;
	if (by & WATCH_BY_PLACE)
		columns += PLACE_COLUMNS + 1;
	if (by & (WATCH_BY_OPERATION | WATCH_BY_ERRNO))
		columns += PLACE_COLUMNS + 1;
	return columns;
}

static void put_key(const struct watch *watch, unsigned by, const struct watch_row *row)
{
	const char *comm = row->others ? "(others)" : row->known ? row->comm : "(not known)";
	FILE *out = watch->options.out;
	char number[32] = "";

	if (row->known)
		snprintf(number, sizeof(number), "%" PRId64,
			 by & WATCH_BY_THREAD ? row->tid : row->pid);
	if (by & (WATCH_BY_THREAD | WATCH_BY_PROCESS)) {
		put_value(out, number, NUMBER_COLUMNS);
		put_text(out, comm, COMM_COLUMNS);
	}
	if (by & WATCH_BY_PLACE)
		put_text(out, row->place, PLACE_COLUMNS);
	if (by & (WATCH_BY_OPERATION | WATCH_BY_ERRNO))
		put_text(out, operation_words(row->operation, row->error).text, PLACE_COLUMNS);
	put_value(out, words__number(row->count).text, NUMBER_COLUMNS);
}

/* The number alone where the measure's name says what is counted. */
static struct words measured(int64_t value, const char *unit)
{
	bool counts = strcmp(unit, "ns") && strcmp(unit, "bytes");

	return counts ? words__number(value) : histogram__value(value, unit);
}

static void put_measure(FILE *out, const struct measure *measure, const struct watch_row *row,
			int i)
{
	put_text(out, measure->name, MEASURE_COLUMNS);
	put_value(out, measured(row->sum[i], measure->unit).text, VALUE_COLUMNS);
	put_value(out, measured(row->count ? row->sum[i] / row->count : 0, measure->unit).text,
		  VALUE_COLUMNS);
	words__field(out, measured(row->max[i], measure->unit).text, -VALUE_COLUMNS);
}

/* What the rows of a page are split by, without what none of them has. */
struct table {
	struct watch *watch;
	unsigned by;
};

/* A line for each measure that has something to say, the chosen one first. */
static int show_row(void *context, const struct watch_row *row)
{
	const struct table *table = context;
	const struct watch *watch = table->watch;
	const struct signal *signal = watch->options.signal;
	unsigned by = table->by;
	FILE *out = watch->options.out;
	int used = key_columns(by) + MEASURE_COLUMNS + 1 + 3 * (VALUE_COLUMNS + 1);

	put_key(watch, by, row);
	put_measure(out, &signal->measures[watch->options.measure], row, watch->options.measure);
	if (by & WATCH_BY_OBJECT) {
		fputc(' ', out);
		put_last(watch, *row->object ? row->object : "(none)", used);
	}
	fputc('\n', out);
	for (int i = 0; i < (int)signal__values(signal) && !watch->options.one_measure; i++) {
		if (i == watch->options.measure || !row->sum[i])
			continue;
		fprintf(out, "%*s", key_columns(by), "");
		put_measure(out, &signal->measures[i], row, i);
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

/* Law 4: nothing comes with its reason. */
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
		put_time(out, page->end_ns);
		fputs("  ", out);
	}
	fprintf(out, "%s, %s %s: ", watch->options.signal->name,
		page->span == WATCH_WHOLE ? "all" : "the last",
		words__time((int64_t)(page->end_ns - page->begin_ns)).text);
	if (page->count) {
		fprintf(out, "%s %s\n", watch->options.signal->events,
			words__number(page->count).text);
		err = watch__each_histogram(watch, page->span, show_histogram, watch);
		if (!err)
			err = show_table(watch, page);
	} else {
		put_nothing(watch);
	}
	if (!err && page->span == WATCH_WHOLE)
		err = watch__each_loss(watch, show_loss, watch);
	return err;
}
