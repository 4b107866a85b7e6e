/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints an event as a line: the fields of all events, the fields of this signal, and last the
 * field that may be long (the object, or else the signal's last column). On a terminal, columns are
 * dropped if the last field would not fit: first the place, if there is an object, then the
 * signal's columns from the right.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/term.h"
#include "live/watch_internal.h"

#define TIME_COLUMNS      12
#define TOOK_COLUMNS      8
#define OPERATION_COLUMNS 14 /* "openat ENOENT" */
#define PLAIN_COLUMNS     9  /* the operation without an error */
#define TID_COLUMNS       8
#define COMM_COLUMNS      15
#define PLACE_COLUMNS     12
#define TEXT_COLUMNS      10 /* a signal's text column without a width that is not the last */
#define LEAST_LAST        23
#define MOST_FIELDS       (SIGNAL_COLUMNS + 8)

enum what { TIME, TOOK, OPERATION, TID, COMM, PLACE, OBJECT, OWN };

struct field {
	enum what what;
	int width;    /* negative: aligned right */
	bool dropped; /* no room for it */
	const char *heading;
	const struct column *column; /* only for OWN */
};

struct line {
	struct field fields[MOST_FIELDS];
	size_t count;
	int columns; /* width of the terminal */
	int room;    /* width of the last field if it is a text; 0: it has its own width */
};

/* Some signals have a column with the pid. */
static bool names_process(const struct signal *signal)
{
	for (size_t i = 0; signal->columns[i].name; i++)
		if (!strcmp(signal->columns[i].name, "pid"))
			return true;
	return false;
}

static void add(struct line *line, enum what what, int width, const char *heading)
{
	line->fields[line->count++] = (struct field) { what, width, false, heading, NULL };
}

/* Columns with a negative width are for JSON only. */
static void add_own(struct line *line, const struct signal *signal)
{
	for (size_t i = 0; i < SIGNAL_COLUMNS && signal->columns[i].name; i++) {
		const struct column *column = &signal->columns[i];
		int width = column->width ? column->width : TEXT_COLUMNS;

		if (column->width < 0)
			continue;
		add(line, OWN, column->kind == COLUMN_TEXT ? width : -width, column->name);
		line->fields[line->count - 1].column = column;
	}
}

/* Width of the line, with the minimum width for a last field that is a text. */
static int columns_of(const struct line *line)
{
	int columns = line->room ? LEAST_LAST : 0;

	for (size_t i = 0; i < line->count - (line->room ? 1 : 0); i++)
		if (!line->fields[i].dropped)
			columns += abs(line->fields[i].width) + 1;
	return columns;
}

/* Drops fields of kind `what` from the right until the line fits. */
static void drop(struct line *line, enum what what)
{
	for (size_t i = line->count - (line->room ? 1 : 0); i-- > 0;) {
		if (columns_of(line) <= line->columns)
			return;
		line->fields[i].dropped |= line->fields[i].what == what;
	}
}

static struct line line_of(const struct watch *watch)
{
	const struct signal *signal = watch->options.signal;
	FILE *out = watch->options.out;
	struct line line = { .columns =
				     isatty(fileno(out)) ? term__width(out) : WORDS_MOST_COLUMNS };
	bool plain = names_process(signal);

	if (watch->options.times)
		add(&line, TIME, TIME_COLUMNS, "time");
	add(&line, TOOK, -TOOK_COLUMNS, "took");
	add(&line, OPERATION, plain ? PLAIN_COLUMNS : OPERATION_COLUMNS, "operation");
	if (!plain) {
		add(&line, TID, -TID_COLUMNS, "tid");
		add(&line, COMM, COMM_COLUMNS, "comm");
	}
	if (signal->place)
		add(&line, PLACE, PLACE_COLUMNS, "place");
	add_own(&line, signal);
	if (signal->object_kind)
		add(&line, OBJECT, LEAST_LAST, "object");
	line.room = line.fields[line.count - 1].width > 0 ? LEAST_LAST : 0;
	if (signal->object_kind)
		drop(&line, PLACE);
	drop(&line, OWN);
	if (line.room && line.columns > columns_of(&line))
		line.room += line.columns - columns_of(&line);
	return line;
}

static void put(FILE *out, const struct line *line, size_t i, const char *text)
{
	const struct field *field = &line->fields[i];

	if (i + 1 == line->count && line->room) {
		fputs(words__clean(text, line->room).text, out);
		return;
	}
	words__field(out, words__clean(text, abs(field->width)).text, field->width);
	if (i + 1 < line->count)
		fputc(' ', out);
}

/* Omits "_ns", because times are printed with their unit: "queue_ns" is QUEUE. */
int watch_line__heading(const struct watch *watch)
{
	struct line line = line_of(watch);
	FILE *out = watch->options.out;

	for (size_t i = 0; i < line.count; i++) {
		const struct field *field = &line.fields[i];
		char heading[32] = "";
		size_t length = strnlen(field->heading, sizeof(heading) - 1);

		if (field->dropped)
			continue;
		if (field->column && field->column->kind == COLUMN_NS && length > 3 &&
		    !strcmp(field->heading + length - 3, "_ns"))
			length -= 3;
		for (size_t j = 0; j < length; j++)
			heading[j] = (char)toupper((unsigned char)field->heading[j]);
		put(out, &line, i, heading);
	}
	return fputc('\n', out) == EOF || fflush(out) ? -EIO : 0;
}

static struct words number_words(int64_t number)
{
	struct words words = {};

	snprintf(words.text, sizeof(words.text), "%" PRId64, number);
	return words;
}

static struct words own_words(const struct column *column, const json_t *value)
{
	int64_t number = json_integer_value(value);

	if (!value || json_is_null(value))
		return (struct words) {};
	switch (column->kind) {
	case COLUMN_TEXT:
		return words__clean(json_string_value(value), WORDS_MOST_COLUMNS);
	case COLUMN_NS:
		return words__brief_time(number);
	case COLUMN_BYTES:
		return words__bytes(number);
	default:
		return number_words(number);
	}
}

static struct words words_of(const struct field *field, const struct watch_event *event)
{
	switch (field->what) {
	case TOOK:
		return event->duration_ns ? words__brief_time(event->duration_ns)
					  : (struct words) {};
	case OPERATION:
		return watch_text__operation(event->operation, event->error);
	case TID:
		return event->known ? number_words(event->tid) : (struct words) {};
	case COMM:
		return words__clean(event->comm, WORDS_MOST_COLUMNS);
	case PLACE:
		return words__clean(event->place, WORDS_MOST_COLUMNS);
	case OBJECT:
		return words__clean(event->object, WORDS_MOST_COLUMNS);
	default:
		return own_words(field->column,
				 json_object_get(event->fields, field->column->name));
	}
}

int watch_line__event(const struct watch *watch, const struct watch_event *event)
{
	struct line line = line_of(watch);
	FILE *out = watch->options.out;

	for (size_t i = 0; i < line.count; i++) {
		if (line.fields[i].dropped)
			continue;
		if (line.fields[i].what == TIME) {
			watch_text__time(out, event->time_ns);
			fputc(' ', out);
		} else {
			put(out, &line, i, words_of(&line.fields[i], event).text);
		}
	}
	return fputc('\n', out) == EOF ? -EIO : 0;
}
