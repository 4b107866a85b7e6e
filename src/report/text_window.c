/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request or call as a line of parts, with what it waited for and what it asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "findings/requests.h"
#include "report/printer.h"

#define REASON_COLUMNS 38
#define MOST_BAR       40
#define TEXT_COLUMNS   64
#define WAIT_INDENT    20
#define INDENT         2

static const char *kind_of(const struct windows_one *one)
{
	bool is_call = one->class && window_words__find_kind(one->class->kind) == WORDS_KIND_CALL;

	return is_call ? "call" : "request";
}

/* "GET /orders/17", else the name of its class: "GET /orders/\*" */
static const char *text_of(const struct windows_one *one)
{
	if (one->text)
		return one->text;
	return one->class ? one->class->name : "";
}

static void print_line(const struct printer *printer, const char *text)
{
	fprintf(printer->out, "%*s", INDENT, "");
	printer__wrap(printer, text, INDENT);
}

/* --- what it is ------------------------------------------------------------------------------- */

static void print_service(const struct printer *printer, const struct windows_one *one)
{
	const struct windows_service *service =
		model_windows__service(&printer->model->windows, one->class);
	int status = one->class ? window_words__find_status(one->class->status) : -1;
	const char *words =
		status < 0 ? "" : window_words__status((enum window_words_status)status)->words;
	char text[PRINTER_LINE] = "";

	words__say(text, sizeof(text), "%s", kind_of(one));
	if (service)
		model_windows__say_service(service, text, sizeof(text));
	if (one->ends)
		words__say(text, sizeof(text), ", %s", words__clean(one->ends, TEXT_COLUMNS).text);
	if (*words)
		words__say(text, sizeof(text), "; %s", words);
	print_line(printer, text);
}

static void print_times(const struct printer *printer, const struct windows_one *one)
{
	const struct model *model = printer->model;
	char text[PRINTER_LINE] = "", name[200];

	words__say(text, sizeof(text), "%s long, %s after the start of the recording",
		   words__time(one->length_ns).text,
		   words__time(one->begin_ns - model->start_ns).text);
	if (one->thread) {
		findings__name(one->thread->group, one->thread, name, sizeof(name));
		words__say(text, sizeof(text), ", by %s", name);
	}
	print_line(printer, text);
}

/* By which other tools know it. */
static void print_ids(const struct printer *printer, const struct windows_one *one)
{
	char text[PRINTER_LINE] = "";

	if (one->trace && *one->trace)
		words__say(text, sizeof(text), "trace %s",
			   words__clean(one->trace, TEXT_COLUMNS).text);
	if (one->request_id && *one->request_id)
		words__say(text, sizeof(text), "%sx-request-id %s", *text ? ", " : "",
			   words__clean(one->request_id, TEXT_COLUMNS).text);
	if (*text)
		print_line(printer, text);
}

/* What is known besides its length, as clauses. */
static void print_facts(const struct printer *printer, const struct windows_one *one)
{
	char text[PRINTER_LINE] = "";

	if (one->n > 1)
		words__say(text, sizeof(text), "%s that arrived together; ",
			   words__count(one->n, "requests").text);
	if (one->segments > 1)
		words__say(text, sizeof(text), "threads worked for it %s times; ",
			   words__number(one->segments).text);
	if (one->left)
		words__say(text, sizeof(text),
			   "%s of its answer had not left the host at its end; ",
			   words__bytes(one->left).text);
	if (one->after_ns)
		words__say(text, sizeof(text), "%s of work after its answer, not in its length; ",
			   words__time(one->after_ns).text);
	if (!one->has_details)
		words__say(text, sizeof(text), "only its length was kept, no parts; ");
	else if (one->weight <= 0)
		words__say(text, sizeof(text), "kept because it was among the slowest; ");
	if (!*text)
		return;
	text[strlen(text) - 2] = '\0';
	print_line(printer, text);
}

/* --- its parts -------------------------------------------------------------------------------- */

static void print_part(const struct printer *printer, int64_t ns, int64_t whole_ns,
		       const char *name)
{
	int room = printer->width + PRINTER_TIME + PRINTER_SHARE - 2 - REASON_COLUMNS - 1;
	int length = 0;

	room = room > MOST_BAR ? MOST_BAR : room;
	/* Times of a hostile recording may be anything. */
	if (whole_ns > 0 && ns > 0)
		length = ns < whole_ns ? (int)((double)ns / (double)whole_ns * room + 0.5) : room;
	words__field(printer->out, words__brief_time(ns).text, PRINTER_TIME);
	words__field(printer->out, words__share(ns, whole_ns).text, PRINTER_SHARE);
	fputs("  ", printer->out);
	if (length > 0) {
		words__field(printer->out, name, REASON_COLUMNS);
		while (length-- > 0)
			fputc('#', printer->out);
	} else {
		fputs(name, printer->out);
	}
	fputc('\n', printer->out);
}

static void print_parts(const struct printer *printer, const struct windows_chosen *chosen)
{
	const struct windows_reason *reasons = printer->model->windows.reasons;
	int64_t whole_ns = chosen->one.length_ns, left_ns = whole_ns;

	if (!chosen->row_count)
		return;
	printer__heading(printer, "parts");
	fputs(" (sums: not in the order of time)\n", printer->out);
	for (size_t i = 0; i < chosen->row_count; i++) {
		const struct windows_row *row = &chosen->rows[i];
		int64_t ns = row->ns * model_windows__sign(&reasons[row->reason]);
		char name[200] = "";

		model_windows__say_reason(&reasons[row->reason], name, sizeof(name));
		print_part(printer, ns, whole_ns, name);
		left_ns -= ns;
	}
	if (left_ns)
		print_part(printer, left_ns, whole_ns, "unexplained");
	words__field(printer->out, words__brief_time(whole_ns).text, PRINTER_TIME);
	words__field(printer->out, words__share(whole_ns, whole_ns).text, PRINTER_SHARE);
	fputs("  all\n", printer->out);
}

static void print_waits(const struct printer *printer, const struct windows_chosen *chosen)
{
	if (!chosen->wait_count)
		return;
	printer__heading(printer, "longest waits");
	fputs(" (at most four are kept)\n", printer->out);
	for (size_t i = 0; i < chosen->wait_count; i++) {
		const struct windows_wait *wait = &chosen->waits[i];
		char text[PRINTER_LINE] = "";

		words__field(printer->out, words__brief_time((int64_t)wait->ns).text, PRINTER_TIME);
		words__field(printer->out,
			     words__share((int64_t)wait->ns, chosen->one.length_ns).text,
			     PRINTER_SHARE);
		requests_words__say_wait(printer->model, wait, text, sizeof(text));
		fputs("  ", printer->out);
		printer__wrap(printer, text, WAIT_INDENT);
	}
}

/* --- its relatives ---------------------------------------------------------------------------- */

static void print_relative(const struct printer *printer, const struct windows_one *of,
			   const struct windows_one *one, const char *evidence)
{
	const struct windows_service *service =
		model_windows__service(&printer->model->windows, one->class);
	const struct words text = words__clean(text_of(one), TEXT_COLUMNS);
	int64_t after_ns = one->begin_ns - of->begin_ns;
	char line[PRINTER_LINE] = "";

	words__field(printer->out, words__brief_time(one->length_ns).text, PRINTER_TIME);
	words__say(line, sizeof(line), "%s%s%s", text.text, *text.text ? ", " : "", kind_of(one));
	if (service)
		model_windows__say_service(service, line, sizeof(line));
	words__say(line, sizeof(line), ", begun %s %s",
		   words__time(after_ns < 0 ? -after_ns : after_ns).text,
		   after_ns < 0 ? "before it" : "into it");
	if (evidence && *evidence)
		words__say(line, sizeof(line), "; known by: %s", words__clean(evidence, 20).text);
	words__say(line, sizeof(line), " [report --window %lld]", (long long)one->id);
	fputs("  ", printer->out);
	printer__wrap(printer, line, INDENT - PRINTER_TIME);
}

static void print_relatives(const struct printer *printer, const struct windows_chosen *chosen)
{
	const struct windows_one *of = &chosen->one;
	bool has_parent = false, has_children = false;

	for (size_t i = 0; i < chosen->relative_count; i++) {
		const struct windows_one *one = &chosen->relatives[i];
		bool is_parent = one->id == of->parent;

		if (is_parent && !has_parent)
			printer__heading(printer, "part of\n");
		if (!is_parent && !has_children)
			printer__heading(printer, "asked for\n");
		has_parent |= is_parent;
		has_children |= !is_parent;
		print_relative(printer, of, one, is_parent ? of->evidence : one->evidence);
	}
	if (of->parent && !has_parent)
		fprintf(printer->out, "\nIt is part of window %lld, which was not kept.\n",
			(long long)of->parent);
}

void printer__window(const struct printer *printer)
{
	const struct windows_chosen *chosen = printer->model->windows.chosen;
	const struct windows_one *one = &chosen->one;
	const char *text = text_of(one);
	char name[PRINTER_LINE] = "";

	words__say(name, sizeof(name), "window %lld%s%s", (long long)one->id, *text ? ": " : "",
		   words__clean(text, TEXT_COLUMNS).text);
	printer__heading(printer, name);
	fputc('\n', printer->out);
	print_service(printer, one);
	print_times(printer, one);
	print_ids(printer, one);
	print_facts(printer, one);
	print_parts(printer, chosen);
	print_waits(printer, chosen);
	print_relatives(printer, chosen);
}
