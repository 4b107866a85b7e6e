/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report on one screen: the conclusions, where the time went, the longest waits, and whether
 * the data can be trusted. The table of states goes by what is known of each wait, its cause; it
 * does not divide waits into idle ones and others, which is for the conclusions to say.
 */
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "base/words.h"
#include "findings/change.h"
#include "findings/findings.h"
#include "report/printer.h"
#include "vocabulary/counters.h"

#define PHRASE_COLUMNS 44
#define STATES_SHOWN   8
#define WAITS_SHOWN    5
/* Shorter waits are left out unless --top is given: of the time of the threads that waited. */
#define LEAST_PERCENT 1

void printer__findings(const struct printer *printer)
{
	const struct findings *findings = &printer->findings;
	struct change change;

	printer__heading(printer, "in short");
	fputc('\n', printer->out);
	for (size_t i = 0; i < findings->count; i++) {
		fprintf(printer->out, "%zu. ", i + 1);
		printer__wrap(printer, findings->list[i].text, 3);
		if (*findings->list[i].next)
			fprintf(printer->out, "   more: %s\n", findings->list[i].next);
	}
	if (*findings->none)
		printer__wrap(printer, findings->none, 0);
	if (change__find(printer->model, &change)) {
		printer__wrap(printer, change.text, 0);
		fprintf(printer->out, "   %s\n", change.command);
	}
	if (*findings->last)
		printer__wrap(printer, findings->last, 0);
}

static int by_time(const void *a, const void *b)
{
	const struct model_state *x = *(const struct model_state *const *)a;
	const struct model_state *y = *(const struct model_state *const *)b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x > y) - (x < y);
}

/* "worker-* (62 %)": the group that has most of a state. */
static void print_most(const struct printer *printer, const struct model_state *state)
{
	const struct model *model = printer->model;
	const size_t i = (size_t)(state - model->states);
	const struct model_group *most = NULL;

	for (size_t j = 0; j < model->group_count; j++)
		if (!most || model->groups[j].state_ns[i] > most->state_ns[i])
			most = &model->groups[j];
	if (!most || !most->state_ns[i])
		return;
	fprintf(printer->out, "  %s (%s)",
		words__clean(most->name,
			     printer->width - PHRASE_COLUMNS + PRINTER_TIME + PRINTER_SHARE - 10)
			.text,
		words__about(most->state_ns[i], state->ns).text);
}

static void print_state(const struct printer *printer, const struct model_state *state)
{
	char name[PRINTER_LINE] = "";

	if (state->slot)
		words__say(name, sizeof(name), "%s", states__words(state->slot)->phrase);
	else
		words__say(name, sizeof(name), "%s.%s", words__clean(state->state, 10).text,
			   words__clean(state->cause, 20).text);
	fputs(term__colour(printer->out, kinds__words(state->kind)->terminal), printer->out);
	words__field(printer->out, name, PHRASE_COLUMNS);
	fputs(term__plain(printer->out), printer->out);
	words__field(printer->out, words__brief_time(state->ns).text, PRINTER_TIME);
	words__field(printer->out, words__share(state->ns, printer->model->threads_ns).text,
		     PRINTER_SHARE);
	print_most(printer, state);
	fputc('\n', printer->out);
}

void printer__states(const struct printer *printer)
{
	const struct model *model = printer->model;
	const struct model_state *list[64] = {};
	size_t count = 0, shown;
	int64_t left_ns = 0;

	for (size_t i = 0; i < model->state_count && count < 64; i++)
		if (model->states[i].ns)
			list[count++] = &model->states[i];
	qsort(list, count, sizeof(*list), by_time);
	shown = printer__shown(printer, count, STATES_SHOWN);
	printer__heading(printer, "where the time went");
	words__field(printer->out, "time",
		     -PHRASE_COLUMNS + PRINTER_TIME + words__columns("where the time went"));
	words__field(printer->out, "share", PRINTER_SHARE);
	fputs("  most of it by\n", printer->out);
	for (size_t i = 0; i < shown; i++)
		print_state(printer, list[i]);
	for (size_t i = shown; i < count; i++)
		left_ns += list[i]->ns;
	fprintf(printer->out, "of %s of thread time", words__time(model->threads_ns).text);
	if (left_ns)
		fprintf(printer->out, "; %s in %s [--full]",
			words__share(left_ns, model->threads_ns).text,
			words__count((int64_t)(count - shown), "more states").text);
	fputc('\n', printer->out);
	printer__collecting(printer);
}

static bool is_shown(const struct printer *printer, const struct model_blame *blame)
{
	int64_t whole = blame->first->waiter->group->lifetime_ns;

	/* A futex without an owner may be a queue of work: see --full. */
	if (blame->first->state->kind != KIND_DELAYING)
		return false;
	return printer->options->top || printer->model->cut ||
	       model__reaches(blame->ns, whole, LEAST_PERCENT);
}

void printer__waits(const struct printer *printer)
{
	const struct model *model = printer->model;
	size_t most = printer->options->top ? printer->options->top : WAITS_SHOWN, count = 0;

	for (size_t i = 0; i < model->blame_count && count < most; i++) {
		const struct model_blame *blame = &model->blames[i];
		const struct model_group *waiters = blame->first->waiter->group;
		char text[PRINTER_LINE];

		if (!is_shown(printer, blame))
			continue;
		if (!count++) {
			printer__heading(printer, "longest waits");
			fputs(model->cut ? " (in the whole recording: objects are not kept per "
					   "slice)\n"
					 : " (share of the waiters' time)\n",
			      printer->out);
		}
		words__field(printer->out, words__brief_time(blame->ns).text, PRINTER_TIME);
		words__field(printer->out,
			     model->cut ? "" : words__share(blame->ns, waiters->lifetime_ns).text,
			     PRINTER_SHARE);
		fputs("  ", printer->out);
		printer__describe(blame, text, sizeof(text));
		printer__wrap(printer, text, -PRINTER_TIME - PRINTER_SHARE + 2);
	}
}

/* Appends the counters that are not 0, by name. Returns how many there are. */
static size_t say_counters(const struct model *model, char *text, size_t size)
{
	size_t said = 0;

	for (size_t i = 0; i < model->quality_count; i++) {
		const struct model_figure *figure = &model->qualities[i];

		if (figure->value && !counters__is_fact(figure->name))
			words__say(text, size, "%s%s %s", said++ ? ", " : "; counted: ",
				   words__clean(figure->name, 40).text,
				   printer__figure(figure).text);
	}
	return said;
}

/* Appends the hooks that could not be attached. Returns how many there are. */
static size_t say_hooks(const struct model *model, char *text, size_t size)
{
	size_t said = 0, i;
	json_t *hook;

	json_array_foreach (model->hooks, i, hook)
		if (!json_is_string(json_object_get(hook, "kind")))
			words__say(
				text, size, "%s%s", said++ ? ", " : "; without ",
				words__clean(json_string_value(json_object_get(hook, "event")), 60)
					.text);
	return said;
}

/* Appends what was changed to keep the budget. Returns whether there is anything. */
static bool say_budget(const struct model *model, char *text, size_t size)
{
	char clause[PRINTER_LINE];

	estimated__say_in_short(model, clause, sizeof(clause));
	if (*clause)
		words__say(text, size, "; %s", clause);
	return *clause;
}

/*
 * One line if nothing is wrong. Whatever was lost or repaired is in it; --full explains it.
 */
void printer__trust(const struct printer *printer)
{
	const struct model *model = printer->model;
	const struct model_figure *cost =
		model__find(model->costs, model->cost_count, "own_cpu_ns");
	char text[PRINTER_LINE] = "";
	size_t said;

	words__say(text, sizeof(text), "Data: %s",
		   model->complete ? "complete"
				   : "incomplete, the recorder was killed or is still at work");
	if (!model->quality_count)
		words__say(text, sizeof(text), "; what was lost is unknown, there are no counters");
	words__say(text, sizeof(text), "; %s unexplained",
		   words__share(model->unexplained_ns, model->threads_ns).text);
	if (model->remainder_ns && !model->cut)
		words__say(text, sizeof(text), "; the states miss the threads' lifetimes by %s",
			   words__time(model->remainder_ns).text);
	if (cost)
		words__say(
			text, sizeof(text), "; own cost %s of one CPU",
			words__share((int64_t)cost->value, model->end_ns - model->start_ns).text);
	said = say_budget(model, text, sizeof(text));
	said += say_counters(model, text, sizeof(text)) + say_hooks(model, text, sizeof(text));
	if (said)
		words__say(text, sizeof(text), " [--full explains]");
	else if (model->quality_count)
		words__say(text, sizeof(text), "; nothing lost");
	fputc('\n', printer->out);
	printer__wrap(printer, text, 0);
}
