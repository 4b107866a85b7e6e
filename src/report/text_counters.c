/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counters of CPUs say together: instructions per cycle; and stacks that were taken by them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "findings/signal_words.h"
#include "model/model.h"
#include "report/printer.h"

#define GROUPS_SHOWN 3
#define STACKS_SHOWN 5
#define LIST_INDENT  22

/* The ratio in words; false: no cycles were counted. */
static bool say_ratio(const struct signals_signal *signal, const struct signals_sum *sum,
		      char *text, size_t size)
{
	int instructions = signals__measure(signal, "instructions");
	int cycles = signals__measure(signal, "cycles");

	if (instructions < 0 || cycles < 0 || sum->sum[cycles] <= 0)
		return false;
	words__say(text, size, "%.2f", (double)sum->sum[instructions] / (double)sum->sum[cycles]);
	return true;
}

static void say_modes(const struct signals_signal *signal, char *text, size_t size)
{
	const char *before = " (";

	for (size_t i = 0; i < signal->row_count; i++) {
		const struct signals_row *row = &signal->rows[i];
		char ratio[32] = "";

		if (!say_ratio(signal, &row->part.sum, ratio, sizeof(ratio)))
			continue;
		words__say(text, size, "%s%s %s", before, words__clean(row->operation, 20).text,
			   ratio);
		before = ", ";
	}
	words__say(text, size, "%s", before[0] == ',' ? ")" : "");
}

/* Those with most of the readings. */
static void say_groups(const struct signals_signal *signal, char *text, size_t size)
{
	size_t said = 0;

	for (size_t i = 0; i < signal->who.count && said < GROUPS_SHOWN; i++) {
		const struct signals_part *part = &signal->who.list[i];
		char who[PRINTER_LINE] = "", ratio[32] = "";

		if (!signal_words__who(part->group, part->thread, who, sizeof(who)) ||
		    !say_ratio(signal, &part->sum, ratio, sizeof(ratio)))
			continue;
		words__say(text, size, "; %s %s", who, ratio);
		said++;
	}
}

/* "2,000 ±180"; without an error, all events have a stack. */
static void say_estimate(int64_t count, double variance, char *text, size_t size)
{
	words__say(text, size, "%s", words__number(count).text);
	if (variance > 0)
		words__say(text, size, " ±%s", words__number(llround(1.96 * sqrt(variance))).text);
}

static void print_stack(const struct printer *printer, const struct model_sampled *stack)
{
	char text[PRINTER_LINE] = "", count[64] = "";

	say_estimate(stack->count, stack->variance, count, sizeof(count));
	words__field(printer->out, count, -(LIST_INDENT - 2));
	fputs("  ", printer->out);
	if (stack->node)
		hot__say_path(&printer->model->hot, stack->node, text, sizeof(text));
	else
		words__say(text, sizeof(text), "(no stack)");
	printer__wrap(printer, text, LIST_INDENT);
}

/* The stacks of one event. */
static void print_event(const struct printer *printer, const struct model_sampled *stacks,
			size_t count)
{
	size_t shown = printer__shown(printer, count, STACKS_SHOWN);
	int64_t events = 0, samples = 0;
	char text[PRINTER_LINE] = "";
	double variance = 0;

	for (size_t i = 0; i < count; i++) {
		events += stacks[i].count;
		samples += stacks[i].samples;
		variance += stacks[i].variance;
	}
	words__say(text, sizeof(text),
		   "stacks at %s: ", words__clean(stacks->event, WORDS_MOST_COLUMNS).text);
	say_estimate(events, variance, text, sizeof(text));
	words__say(text, sizeof(text), " events, from %s", words__count(samples, "samples").text);
	fputs("  ", printer->out);
	printer__wrap(printer, text, 4);
	for (size_t i = 0; i < shown; i++)
		print_stack(printer, &stacks[i]);
	printer__rest(printer, count - shown, "stacks");
}

static void print_sampled(const struct printer *printer)
{
	const struct model *model = printer->model;

	for (size_t i = 0, next; i < model->sampled_count; i = next) {
		for (next = i + 1; next < model->sampled_count &&
				   !strcmp(model->sampled[next].event, model->sampled[i].event);)
			next++;
		print_event(printer, &model->sampled[i], next - i);
	}
}

/* The kernel's counters are always there, those of CPUs need a PMU. */
void printer__counters(const struct printer *printer, const struct signals_signal *signal)
{
	char text[PRINTER_LINE] = "instructions per cycle: ";

	if (say_ratio(signal, &signal->sum, text, sizeof(text))) {
		say_modes(signal, text, sizeof(text));
		say_groups(signal, text, sizeof(text));
	} else {
		words__say(text, sizeof(text),
			   "not known: no cycles were counted [see gapless-signal-counters(7)]");
	}
	fputs("  ", printer->out);
	printer__wrap(printer, text, 4);
	print_sampled(printer);
}
