/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints what signals counted, a few lines for each, because all signals together must not be
 * longer than the rest of the report. First what was done where, then on which objects, then what
 * failed, and the slowest events. A column with only zeroes is left out.
 */
#include <errno.h>
#include <string.h>

#include "base/words.h"
#include "findings/signal_words.h"
#include "report/printer.h"

#define OBJECTS_SHOWN  3
#define FAILURES_SHOWN 3
#define EVENTS_SHOWN   2
#define NAME_COLUMNS   18
#define OBJECT_COLUMNS 60
#define LIST_INDENT    31
/* Least share of a signal's time or events for a group to be named as its main user. */
#define MOSTLY_PERCENT 50
/* Least share of the recording's time for a second hump to be mentioned. */
#define LEAST_PERCENT 1
/*
 * A signal gets only one line if its events took less of the recording's time than this and none
 * was slow.
 */
#define LEAST_PERMILLE 1

/* --- what with ------------------------------------------------------------------------------ */

static void print_item(const struct printer *printer, const char *text)
{
	fputs("  ", printer->out);
	printer__wrap(printer, text, LIST_INDENT);
}

static void print_object(const struct printer *printer, const struct signals_signal *signal,
			 const struct signals_part *part)
{
	const struct signals_row *row = &signal->rows[part->first->row];
	struct words operation = words__clean(row->operation, NAME_COLUMNS);
	int room = printer->width - LIST_INDENT - words__columns(operation.text) - 2;
	char text[PRINTER_LINE] = "", who[PRINTER_LINE] = "";
	int size = signals__measure(signal, "size");
	bool has_time = signal->main >= 0 && part->sum.sum[signal->main] && part->sum.count;

	room = room < 20 ? 20 : room > OBJECT_COLUMNS ? OBJECT_COLUMNS : room;
	if (signal->main < 0)
		words__field(printer->out, size < 0 ? "-" : words__bytes(part->sum.sum[size]).text,
			     PRINTER_TIME);
	else
		words__field(printer->out, has_time ? words__brief_time(part->size).text : "-",
			     PRINTER_TIME);
	words__field(printer->out, words__number(part->sum.count).text, -10);
	words__field(printer->out,
		     has_time ? words__brief_time(part->size / part->sum.count).text : "-", -9);
	words__say(text, sizeof(text), "%s%s%s", operation.text, *row->operation ? " " : "",
		   words__clean(part->first->object->name, room).text);
	if (signal_words__who(part->group, part->thread, who, sizeof(who)))
		words__say(text, sizeof(text), ", %s", who);
	print_item(printer, text);
}

static void print_objects(const struct printer *printer, const struct signals_signal *signal)
{
	const struct signals_parts *objects = &signal->objects;
	size_t count = printer__shown(printer, objects->count, OBJECTS_SHOWN);

	if (!count)
		return;
	fprintf(printer->out, "%10s%10s%9s  %s\n", "total", "count", "average",
		signal->main >= 0 && signal->sum.sum[signal->main]
			? "most time: operation, object, by whom"
			: "most events: operation, object, by whom");
	for (size_t i = 0; i < count; i++)
		print_object(printer, signal, &objects->list[i]);
	printer__rest(printer, objects->count - count, "objects");
}

static void print_service(const struct printer *printer, const struct signals_service *service)
{
	char text[PRINTER_LINE] = "", who[PRINTER_LINE] = "";

	words__field(printer->out, words__bytes(service->bytes).text, PRINTER_TIME);
	words__field(printer->out, words__number(service->connections).text, -10);
	words__field(printer->out,
		     service->ended ? words__brief_time(service->lifetime_ns / service->ended).text
				    : "-",
		     -9);
	words__say(text, sizeof(text), "%s %s", service->accepts ? "at" : "to",
		   words__clean(service->name, OBJECT_COLUMNS).text);
	if (signal_words__who(service->group, service->thread, who, sizeof(who)))
		words__say(text, sizeof(text), ", by %s", who);
	if (service->again)
		words__say(text, sizeof(text), ", %s sent again",
			   words__count(service->again, "segments").text);
	if (service->resets)
		words__say(text, sizeof(text), ", %s",
			   words__count(service->resets, "resets").text);
	print_item(printer, text);
}

static void print_services(const struct printer *printer, const struct signals_signal *signal)
{
	size_t count = printer__shown(printer, signal->service_count, OBJECTS_SHOWN);

	if (!count)
		return;
	fprintf(printer->out, "%10s%10s%9s  %s\n", "bytes", "connected", "lives", "service");
	for (size_t i = 0; i < count; i++)
		print_service(printer, &signal->services[i]);
	printer__rest(printer, signal->service_count - count, "services");
}

static void print_program(const struct printer *printer, const struct signals_program *program)
{
	char text[PRINTER_LINE] = "";
	int64_t ended = program->ended;

	words__field(printer->out, words__number(program->count).text, PRINTER_TIME);
	words__field(printer->out,
		     ended ? words__brief_time(program->lifetime_ns / ended).text : "-", -10);
	words__field(printer->out, ended ? words__brief_time(program->max_ns).text : "-", -9);
	words__say(text, sizeof(text), "%s", words__clean(program->file, OBJECT_COLUMNS).text);
	if (program->parent)
		words__say(text, sizeof(text), ", started by %s",
			   words__clean(program->parent, NAME_COLUMNS).text);
	if (program->failed)
		words__say(text, sizeof(text), ", %s failed", words__number(program->failed).text);
	print_item(printer, text);
}

static void print_programs(const struct printer *printer, const struct signals_signal *signal)
{
	size_t count = printer__shown(printer, signal->program_count, OBJECTS_SHOWN);

	if (!count)
		return;
	fprintf(printer->out, "%10s%10s%9s  %s\n", "count", "lives", "longest", "program");
	for (size_t i = 0; i < count; i++)
		print_program(printer, &signal->programs[i]);
	printer__rest(printer, signal->program_count - count, "programs");
}

/* --- what went wrong ------------------------------------------------------------------------ */

static void say_by(const struct signals_part *part, char *text, size_t size)
{
	char who[PRINTER_LINE] = "";

	if (signal_words__who(part->group, part->thread, who, sizeof(who)))
		words__say(text, size, ", by %s", who);
}

/* "stat ENOENT"; or the path, which says more. */
static void say_failure(const struct signals_signal *signal, const struct signals_part *part,
			bool by_path, char *text, size_t size)
{
	const struct signals_series *first = part->first;

	if (by_path) {
		words__say(text, size, "%s",
			   words__clean(first->object->name, OBJECT_COLUMNS).text);
	} else {
		words__say(text, size, "%s ",
			   words__clean(signal->rows[first->row].operation, NAME_COLUMNS).text);
		signal_words__error(first->error, text, size);
	}
	words__say(text, size, " %s", words__count(part->sum.count, "times").text);
}

static bool same_who(const struct signals_part *a, const struct signals_part *b)
{
	return a->group == b->group && a->thread == b->thread;
}

/*
 * EAGAIN and EINPROGRESS are normal answers. ENOENT is covered better by the files signal, which
 * knows the path.
 */
static bool is_noise(const struct printer *printer, const struct signals_signal *signal,
		     const struct signals_part *part)
{
	const struct signals_signal *files = signals__of(&printer->model->signals, ROLE_FILES);
	int64_t error = part->first->error;

	if (signal->role != ROLE_CALLS)
		return false;
	return error == EAGAIN || error == EINPROGRESS ||
	       (error == ENOENT && files && files->missing.count);
}

static void print_failures(const struct printer *printer, const struct signals_signal *signal)
{
	bool by_path = signal->missing.count;
	const struct signals_parts *parts = by_path ? &signal->missing : &signal->failures;
	size_t most = printer__shown(printer, parts->count, FAILURES_SHOWN), count = 0, left = 0;
	const struct signals_part *last = NULL;
	char text[PRINTER_LINE] = "";

	for (size_t i = 0; i < parts->count; i++) {
		const struct signals_part *part = &parts->list[i];

		if (is_noise(printer, signal, part))
			continue;
		if (count == most) {
			left++;
			continue;
		}
		if (last && same_who(last, part)) {
			words__say(text, sizeof(text), ", ");
		} else if (last) {
			say_by(last, text, sizeof(text));
			words__say(text, sizeof(text), "; ");
		} else {
			words__say(text, sizeof(text), "%s: ", by_path ? "not found" : "failed");
		}
		say_failure(signal, part, by_path, text, sizeof(text));
		last = part;
		count++;
	}
	if (!last)
		return;
	say_by(last, text, sizeof(text));
	if (left)
		words__say(text, sizeof(text), "; … %s more [--top]",
			   words__number((int64_t)left).text);
	fputs("  ", printer->out);
	printer__wrap(printer, text, 4);
}

static void say_trouble(char *text, size_t size, int64_t count, const char *what)
{
	if (count)
		words__say(text, size, "%s %s %s", strchr(text, ':') ? "," : ":",
			   words__number(count).text, what);
}

static void print_trouble(const struct printer *printer, const struct signals_signal *signal)
{
	struct signals_service all = {};
	char text[PRINTER_LINE] = "";

	for (size_t i = 0; i < signal->service_count; i++) {
		all.again += signal->services[i].again;
		all.segments += signal->services[i].segments;
		all.resets += signal->services[i].resets;
		all.overflows += signal->services[i].overflows;
		all.zero_windows += signal->services[i].zero_windows;
	}
	if (!all.again && !all.resets && !all.zero_windows && !all.overflows)
		return;
	words__say(text, sizeof(text), "trouble");
	say_trouble(text, sizeof(text), all.again, "segments sent again");
	if (all.again && all.segments)
		words__say(text, sizeof(text), " (%s of %s)",
			   words__about(all.again, all.segments).text,
			   words__number(all.segments).text);
	say_trouble(text, sizeof(text), all.resets, "resets");
	say_trouble(text, sizeof(text), all.zero_windows, "zero windows");
	say_trouble(text, sizeof(text), all.overflows, "times a full accept queue");
	fputs("  ", printer->out);
	printer__wrap(printer, text, 4);
}

/* --- the slowest ---------------------------------------------------------------------------- */

/* "openat(AT_FDCWD, …) = -ENOENT" if the signal has that; otherwise the operation and its place. */
static void say_operation(const struct signals_event *event, char *text, size_t size)
{
	json_t *fields = event->fields ? json_loads(event->fields, 0, NULL) : NULL;
	const char *args = json_string_value(json_object_get(fields, "args"));
	const char *object = event->object ? event->object->name : "";

	words__say(text, size, "%s",
		   args && *args ? words__clean(args, OBJECT_COLUMNS).text
				 : words__clean(event->operation, NAME_COLUMNS).text);
	if (*event->place)
		words__say(text, size, " %s", words__clean(event->place, NAME_COLUMNS).text);
	if (*object && (!args || !strstr(args, object)))
		words__say(text, size, ", %s", words__clean(object, OBJECT_COLUMNS).text);
	json_decref(fields);
}

static void print_event(const struct printer *printer, const struct signals_event *event,
			bool first)
{
	char text[PRINTER_LINE] = "";

	words__say(text, sizeof(text), "%s at %s: ", words__time(event->duration_ns).text,
		   words__time(event->time_ns - printer->model->start_ns).text);
	say_operation(event, text, sizeof(text));
	if (event->error) {
		words__say(text, sizeof(text), ", ");
		signal_words__error(event->error, text, sizeof(text));
	}
	if (event->thread && event->thread->group) {
		words__say(text, sizeof(text), ", by ");
		signal_words__who(event->thread->group, event->thread, text, sizeof(text));
	}
	if (event->node) {
		words__say(text, sizeof(text), ", in ");
		hot__say_path(&printer->model->hot, event->node, text, sizeof(text));
	}
	fputs(first ? "  slowest: " : "           ", printer->out);
	printer__wrap(printer, text, 13);
}

static bool same(const struct signals_event *a, const struct signals_event *b)
{
	return a->thread == b->thread && a->object == b->object && a->error == b->error &&
	       !strcmp(a->place, b->place) && !strcmp(a->operation, b->operation);
}

static bool overlap(const struct signals_event *a, const struct signals_event *b)
{
	return a->time_ns > b->time_ns - b->duration_ns && b->time_ns > a->time_ns - a->duration_ns;
}

/*
 * Whether another signal has the same event. A slow syscall that reads a file is also a slow read
 * of that file, and the other signal knows more about it.
 */
static bool is_covered_by_other_signal(const struct printer *printer,
				       const struct signals_signal *signal,
				       const struct signals_event *event)
{
	const struct signals *signals = &printer->model->signals;

	for (size_t i = 0; signal->role == ROLE_CALLS && i < signals->count; i++) {
		const struct signals_signal *other = &signals->list[i];

		for (size_t j = 0; other != signal && j < other->slowest_count; j++)
			if (event->thread && other->slowest[j].thread == event->thread &&
			    overlap(event, &other->slowest[j]))
				return true;
	}
	return false;
}

/* Prints the first event of each kind. A second one like it says nothing new. */
static void print_slowest(const struct printer *printer, const struct signals_signal *signal)
{
	size_t most = printer__shown(printer, signal->slowest_count, EVENTS_SHOWN), count = 0;

	for (size_t i = 0; i < signal->slowest_count && count < most; i++) {
		bool known = is_covered_by_other_signal(printer, signal, &signal->slowest[i]);

		for (size_t j = 0; j < i; j++)
			known |= same(&signal->slowest[i], &signal->slowest[j]);
		if (!known)
			print_event(printer, &signal->slowest[i], !count++);
	}
}

/* --- a signal ------------------------------------------------------------------------------- */

/* Whether all times are of one kind, so that their sum means something. */
static bool adds_up(const struct signals_signal *signal)
{
	return signal->main >= 0 && strcmp(signal->measures[signal->main].name, "lifetime") &&
	       signal->role != ROLE_CONNECTIONS && signal->sum.sum[signal->main];
}

static void print_head(const struct printer *printer, const struct signals_signal *signal)
{
	const struct signals_part *most = signal->who.count ? signal->who.list : NULL;
	int64_t count = signal->sum.count ? signal->sum.count : signal->event_count;
	char text[PRINTER_LINE] = "";

	printer__heading(printer, words__clean(signal->name, NAME_COLUMNS).text);
	words__say(text, sizeof(text), "(%s", words__count(count, signal->events).text);
	if (adds_up(signal))
		words__say(text, sizeof(text), ", %s in all",
			   words__time(signal->sum.sum[signal->main]).text);
	if (adds_up(signal) && most && most->group &&
	    model__reaches(most->size, signal->sum.sum[signal->main], MOSTLY_PERCENT)) {
		words__say(text, sizeof(text), ", %s of it by ",
			   words__about(most->size, signal->sum.sum[signal->main]).text);
		signal_words__who(most->group, most->thread, text, sizeof(text));
	}
	words__say(text, sizeof(text), ")");
	fputc(' ', printer->out);
	printer__wrap(printer, text, 4);
}

/* Two humps get a line if the slow one takes enough of the recording's time. */
static bool is_worth(const struct printer *printer, const struct hump *hump)
{
	return (double)hump->high_count * (double)hump->high * 100 >=
	       (double)printer->model->wall_ns * LEAST_PERCENT;
}

/* Describes the largest row that has two humps. */
static void print_hump(const struct printer *printer, const struct signals_signal *signal)
{
	char text[PRINTER_LINE] = "";
	struct hump hump;

	if (!adds_up(signal))
		return;
	for (size_t i = 0; i < signal->row_count; i++) {
		const struct signals_row *row = &signal->rows[signal->ranks[i]];

		if (!signal_words__hump(signal, row, &hump) || !is_worth(printer, &hump))
			continue;
		signal_words__say_hump(signal, row, &hump, text, sizeof(text));
		signal_words__say_tick(signal, &hump, printer->model->kernel_tick_ns, text,
				       sizeof(text));
		fputs("  ", printer->out);
		printer__wrap(printer, text, 4);
		return;
	}
}

static bool is_small(const struct printer *printer, const struct signals_signal *signal)
{
	return adds_up(signal) && !signal->slowest_count && !printer->options->top &&
	       (double)signal->sum.sum[signal->main] * 1000 <
		       (double)printer->model->wall_ns * LEAST_PERMILLE;
}

/* "most of it: 152 opens (ext4 on vda), p50 2.00 µs, p99 50.0 µs, 1.20 ms in all" */
static void print_small_signal(const struct printer *printer, const struct signals_signal *signal)
{
	const struct signals_row *row = &signal->rows[*signal->ranks];
	char text[PRINTER_LINE] = "";

	words__say(text, sizeof(text), "most of it: %s ", words__number(row->part.sum.count).text);
	signal_words__what(signal, row, text, sizeof(text));
	if (row->percentiles[signal->main][P50] >= 0) {
		words__say(text, sizeof(text), ", ");
		signal_words__say_percentiles(row, signal->main, text, sizeof(text));
	}
	words__say(text, sizeof(text), ", %s in all [--top]",
		   words__time(row->part.sum.sum[signal->main]).text);
	fputs("  ", printer->out);
	printer__wrap(printer, text, 4);
}

static void print_signal(const struct printer *printer, const struct signals_signal *signal)
{
	/* The table of syscalls is printed above, and the lifetime of programs is not a delay. */
	bool is_syscalls = signal->role == ROLE_CALLS;
	bool is_exec = signal->program_count > 0;

	if (signal->role == ROLE_REQUESTED) {
		printer__request(printer, signal);
		return;
	}
	print_head(printer, signal);
	if (is_small(printer, signal)) {
		print_small_signal(printer, signal);
		print_failures(printer, signal);
		return;
	}
	if (!is_syscalls && !is_exec && !signal->lock_count && signal->row_count)
		printer__operations(printer, signal);
	if (signal->role == ROLE_COUNTERS)
		printer__counters(printer, signal);
	if (!is_syscalls && !signal->lock_count)
		print_hump(printer, signal);
	if (signal->heap)
		printer__heap(printer, signal->heap);
	if (signal->role == ROLE_CONNECTIONS)
		print_services(printer, signal);
	else if (signal->lock_count)
		printer__locks(printer, signal);
	else if (!is_exec)
		print_objects(printer, signal);
	print_programs(printer, signal);
	print_trouble(printer, signal);
	print_failures(printer, signal);
	if (!is_exec)
		print_slowest(printer, signal);
}

void printer__signals(const struct printer *printer)
{
	const struct signals *signals = &printer->model->signals;

	for (size_t i = 0; i < signals->count; i++)
		if (!signals__is_empty(&signals->list[i]))
			print_signal(printer, &signals->list[i]);
}
