/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report as text. The conclusions come first. What follows is about one screen with the
 * evidence for them (text_short.c), or, with --full, everything that is known, from the whole to
 * the details. Every share says what it is a share of. Every line of a table fits the terminal,
 * down to 80 columns.
 */
#include <errno.h>
#include <string.h>

#include "base/term.h"
#include "base/words.h"
#include "findings/findings.h"
#include "report/print.h"
#include "report/printer.h"

#define COUNT_COLUMNS -14
#define KIND_COLUMNS  11
#define NAME_COLUMNS  18
#define MOST_BAR      40
#define WAITS_SHOWN   5
#define CALLS_SHOWN   6
#define ROWS_SHOWN    10

size_t printer__shown(const struct printer *printer, size_t count, size_t usual)
{
	size_t most = printer->options->top ? printer->options->top : usual;

	return count < most ? count : most;
}

void printer__heading(const struct printer *printer, const char *words)
{
	fprintf(printer->out, "\n%s%s%s", term__on(printer->out, TERM_BOLD), words,
		term__off(printer->out, TERM_BOLD));
}

void printer__rest(const struct printer *printer, size_t left, const char *what)
{
	char more[PRINTER_LINE] = "more ";

	words__say(more, sizeof(more), "%s", what);
	if (left)
		fprintf(printer->out, "  … %s [--top]\n", words__count((int64_t)left, more).text);
}

void printer__wrap(const struct printer *printer, const char *text, int indent)
{
	term__wrap(printer->out, text, indent, printer->width);
}

static void print_bar(const struct printer *printer, enum kind kind, int64_t part, int64_t whole)
{
	int room = printer->width - KIND_COLUMNS - NAME_COLUMNS + PRINTER_TIME + PRINTER_SHARE +
		   COUNT_COLUMNS - 2;
	int length;

	room = room > MOST_BAR ? MOST_BAR : room;
	length = whole > 0 ? (int)((double)part / (double)whole * room + 0.5) : 0;
	if (length > room)
		length = room;
	fputs(length > 0 ? "  " : "", printer->out);
	fputs(term__colour(printer->out, kinds__words(kind)->terminal), printer->out);
	while (length-- > 0)
		fputc('#', printer->out);
	fprintf(printer->out, "%s\n", term__plain(printer->out));
}

static void print_state(const struct printer *printer, const struct model_state *state)
{
	char name[PRINTER_LINE] = "";

	words__say(name, sizeof(name), "%s", words__clean(state->state, 8).text);
	if (*state->cause && strcmp(state->cause, state->state))
		words__say(name, sizeof(name), ".%s", words__clean(state->cause, 9).text);
	words__field(printer->out, name, NAME_COLUMNS);
	words__field(printer->out, words__brief_time(state->ns).text, PRINTER_TIME);
	words__field(printer->out, words__share(state->ns, printer->model->threads_ns).text,
		     PRINTER_SHARE);
	words__field(printer->out, words__number(state->count).text, COUNT_COLUMNS);
	print_bar(printer, state->kind, state->ns, printer->model->threads_ns);
}

/* Returns the longest state of a kind that comes after `last`. */
static const struct model_state *next_state(const struct model *model, enum kind kind,
					    const struct model_state *last)
{
	const struct model_state *next = NULL;

	for (size_t i = 0; i < model->state_count; i++) {
		const struct model_state *state = &model->states[i];
		bool behind =
			!last || state->ns < last->ns || (state->ns == last->ns && state > last);

		if (state->kind == kind && state->ns && behind && (!next || state->ns > next->ns))
			next = state;
	}
	return next;
}

/* Waits are divided by what the findings know of them, not by their cause alone. */
static void print_sums(const struct printer *printer)
{
	const struct model *model = printer->model;
	const struct findings *findings = &printer->findings;
	const struct {
		const char *words;
		int64_t ns;
	} sums[] = {
		{ "running", model->kind_ns[KIND_RUN] },
		{ "ready", model->kind_ns[KIND_READY] },
		{ "held up", findings->held_ns },
		{ "waiting for work", findings->idle_ns },
		{ "waiting, not known whether for work", findings->unclear_ns },
		{ "sleeping, not known whether with work", findings->slept_ns },
		{ "unseen", model->kind_ns[KIND_UNSEEN] },
	};
	int64_t rest_ns = model->kind_ns[KIND_DELAYING] + model->kind_ns[KIND_UNDECIDED] +
			  model->kind_ns[KIND_IDLE] - findings->held_ns - findings->idle_ns -
			  findings->unclear_ns - findings->slept_ns;
	const char *before = ": ";
	char text[PRINTER_LINE] = "";

	words__say(text, sizeof(text), "of %s of thread time", words__time(model->threads_ns).text);
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		if (sums[i].ns <= 0)
			continue;
		words__say(text, sizeof(text), "%s%s %s", before, sums[i].words,
			   words__share(sums[i].ns, model->threads_ns).text);
		before = ", ";
	}
	if (rest_ns > model->threads_ns / 1000)
		words__say(text, sizeof(text), ", waits of kernel threads and of gapless %s",
			   words__share(rest_ns, model->threads_ns).text);
	printer__wrap(printer, text, 0);
}

static void print_states(const struct printer *printer)
{
	const char *last = "";
	char text[PRINTER_LINE];

	printer__heading(printer, "where the time went");
	words__field(printer->out, "time",
		     -KIND_COLUMNS - NAME_COLUMNS + PRINTER_TIME +
			     words__columns("where the time went"));
	words__field(printer->out, "share", PRINTER_SHARE);
	words__field(printer->out, "count", COUNT_COLUMNS);
	fputc('\n', printer->out);
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		const struct model_state *state = next_state(printer->model, kind, NULL);

		for (; state; state = next_state(printer->model, kind, state)) {
			const char *name =
				model__kind_name(kind) ? "waiting" : kinds__words(kind)->brief;

			words__field(printer->out, strcmp(name, last) ? name : "", KIND_COLUMNS);
			print_state(printer, state);
			last = name;
		}
	}
	print_sums(printer);
	estimated__say_states(printer->model, text, sizeof(text));
	if (*text)
		printer__wrap(printer, text, 0);
	user_time__say(printer->model, text, sizeof(text));
	if (*text)
		printer__wrap(printer, text, 0);
	printer__collecting(printer);
}

static void print_rows(const struct printer *printer)
{
	static const char *const titles[] = { "",        "by thread", "by process", "by cgroup",
					      "by name", "by CPU",    "by runtime" };
	const struct model *model = printer->model;
	size_t count = printer__shown(printer, model->row_count, ROWS_SHOWN);
	int name_width = printer->width - 2 - 8 - 10 - 5 * 10;

	if (!printer->options->model.by)
		return;
	name_width = name_width < 10 ? 10 : name_width > 50 ? 50 : name_width;
	printer__heading(printer, titles[printer->options->model.by]);
	fprintf(printer->out, " (shares of each line's own time; busiest first)\n");
	words__field(printer->out, "", name_width + 2);
	fprintf(printer->out, "%8s%10s", "threads", "time");
	for (int i = KIND_RUN; i <= KIND_IDLE; i++)
		fprintf(printer->out, "%10s", kinds__words(i)->brief);
	fputc('\n', printer->out);
	for (size_t i = 0; i < count; i++) {
		const struct model_row *row = &model->rows[i];
		char number[32] = "";

		if (row->number)
			snprintf(number, sizeof(number), " %lld", (long long)row->number);
		fputs("  ", printer->out);
		words__field(printer->out,
			     words__clean(row->name, name_width - (int)strlen(number)).text,
			     name_width - (int)strlen(number));
		fputs(number, printer->out);
		words__field(printer->out, words__number((int64_t)row->threads).text, -8);
		words__field(printer->out, words__brief_time(row->lifetime_ns).text, -10);
		for (int j = KIND_RUN; j <= KIND_IDLE; j++)
			words__field(printer->out,
				     words__share(row->kind_ns[j], row->lifetime_ns).text, -10);
		fputc('\n', printer->out);
	}
	printer__rest(printer, model->row_count - count, "lines");
	printer__cpus(printer);
}

void printer__describe(const struct model_blame *blame, char *ret, size_t size)
{
	const struct model_wait *wait = blame->first;
	char name[PRINTER_LINE];

	findings__name(wait->waiter->group, blame->many_wait ? NULL : wait->waiter, name,
		       sizeof(name));
	*ret = '\0';
	words__say(ret, size, "%s: %s", name, words__clean(wait->state->cause, 20).text);
	findings__object(wait, name, sizeof(name));
	words__say(ret, size, "%s%s", *name ? ", " : "", name);
	findings__culprit(blame, name, sizeof(name));
	words__say(ret, size, "%s%s", *name ? ", " : "", name);
}

static void print_blames(const struct printer *printer)
{
	const struct model *model = printer->model;
	size_t count = printer__shown(printer, model->blame_count, WAITS_SHOWN);

	if (!count)
		return;
	printer__heading(printer, "who held it up");
	fputs(model->cut ? " (in the whole recording: objects are not kept per slice)\n"
			 : " (share of the waiters' time)\n",
	      printer->out);
	for (size_t i = 0; i < count; i++) {
		const struct model_blame *blame = &model->blames[i];
		char text[PRINTER_LINE];

		words__field(printer->out, words__brief_time(blame->ns).text, PRINTER_TIME);
		words__field(printer->out,
			     model->cut ? ""
					: words__share(blame->ns,
						       blame->first->waiter->group->lifetime_ns)
						  .text,
			     PRINTER_SHARE);
		words__field(printer->out, words__number(blame->count).text, -11);
		fputs("  ", printer->out);
		printer__describe(blame, text, sizeof(text));
		printer__wrap(printer, text, PRINTER_BLAME_INDENT);
		printer__paths(printer, blame);
	}
	printer__rest(printer, model->blame_count - count, "waits");
}

static void print_errors(const struct printer *printer, const struct model_syscall *call)
{
	const char *name = call->common_errno > 0 ? strerrorname_np((int)call->common_errno) : NULL;

	if (call->errors)
		fprintf(printer->out, "  %s%s%s", words__about(call->errors, call->count).text,
			name ? " " : "", name ? name : "");
	fputc('\n', printer->out);
}

static bool shows(const struct printer *printer, enum percentile percentile)
{
	return printer->width >= PERCENTILES_COLUMNS || percentile == P50 || percentile == P99;
}

/* Width of percentiles and of the maximum. All five percentiles are narrower, so that the column of
 * failed calls has room. */
static int percentile_columns(const struct printer *printer)
{
	return printer->width >= PERCENTILES_COLUMNS ? -8 : -9;
}

static void print_call(const struct printer *printer, const struct model_syscall *call, bool wide)
{
	double seconds = (double)printer->model->wall_ns / 1e9;
	double rate = seconds > 0 ? (double)call->count / seconds : 0;

	fputs("  ", printer->out);
	words__field(printer->out, words__clean(call->name, 16).text, 16);
	words__field(printer->out, words__number(call->count).text, -12);
	if (wide)
		words__field(printer->out, words__number((int64_t)(rate + 0.5)).text, -10);
	words__field(printer->out, words__brief_time(call->total_ns).text, -9);
	if (wide)
		words__field(printer->out, words__brief_time(call->run_ns).text, -9);
	for (int i = 0; i < PERCENTILES; i++) {
		int64_t ns = call->percentiles_ns[i];

		if (shows(printer, i))
			words__field(printer->out, ns < 0 ? "-" : words__brief_time(ns).text,
				     percentile_columns(printer));
	}
	words__field(printer->out, words__brief_time(call->max_ns).text,
		     percentile_columns(printer));
	print_errors(printer, call);
}

static void print_calls(const struct printer *printer)
{
	const struct model *model = printer->model;
	size_t count = printer__shown(printer, model->syscall_count, CALLS_SHOWN);
	bool wide = printer->width >= 100;
	char text[PRINTER_LINE];

	if (!count)
		return;
	printer__heading(printer, "top syscalls");
	fprintf(printer->out, " (most running time first; percentiles to 6 %%)\n");
	fprintf(printer->out, "  %-16s%12s%s%9s%s", "", "count", wide ? "     per s" : "", "total",
		wide ? "  running" : "");
	for (int i = 0; i < PERCENTILES; i++)
		if (shows(printer, i))
			words__field(printer->out, percentiles__words(i)->name,
				     percentile_columns(printer));
	words__field(printer->out, "max", percentile_columns(printer));
	fputs("  failed\n", printer->out);
	for (size_t i = 0; i < count; i++)
		print_call(printer, &model->syscalls[i], wide);
	printer__rest(printer, model->syscall_count - count, "syscalls");
	estimated__say_calls(model, count, text, sizeof(text));
	if (*text)
		printer__wrap(printer, text, 0);
}

void printer__field(const struct printer *printer, const char *name)
{
	words__field(printer->out, name, 13);
}

struct words printer__figure(const struct model_figure *figure)
{
	size_t length = strlen(figure->name);

	if (length > 3 && !strcmp(figure->name + length - 3, "_ns"))
		return words__time((int64_t)figure->value);
	return words__number((int64_t)figure->value);
}

static void print_short(const struct printer *printer)
{
	if (printer->model->measured_threads) {
		printer__states(printer);
		print_rows(printer);
		printer__waits(printer);
	}
	printer__windows(printer);
	printer__requested(printer);
	printer__trust(printer);
	printer__notes(printer);
}

static void print_full(const struct printer *printer)
{
	if (printer->model->measured_threads) {
		print_states(printer);
		print_rows(printer);
		print_blames(printer);
		print_calls(printer);
	}
	printer__windows(printer);
	printer__fibers(printer);
	printer__resident(printer);
	printer__allocated(printer);
	printer__signals(printer);
	if (printer->model->measured_threads)
		printer__hot(printer);
	printer__balance(printer);
}

int print__text(const struct model *model, const struct report_options *options, FILE *out)
{
	struct printer printer = {
		.out = out,
		.width = options->width ? options->width : term__width(out),
		.model = model,
		.options = options,
	};

	printer__head(&printer);
	if (model->windows.chosen) {
		printer__window(&printer);
		return ferror(out) ? -EIO : 0;
	}
	findings__make(model, &printer.findings);
	printer__findings(&printer);
	(options->full ? print_full : print_short)(&printer);
	return ferror(out) ? -EIO : 0;
}
