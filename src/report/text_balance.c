/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the times add up, what was lost, and what the recording cost. */
#include <jansson.h>
#include <string.h>

#include "base/words.h"
#include "report/printer.h"
#include "vocabulary/counters.h"

static void print_quality(const struct printer *printer)
{
	const struct model *model = printer->model;
	size_t said = 0, i;
	json_t *hook;

	for (i = 0; i < model->quality_count; i++) {
		const struct model_figure *figure = &model->qualities[i];
		char text[PRINTER_LINE] = "";

		if (!figure->value || counters__is_fact(figure->name))
			continue;
		words__say(text, sizeof(text), "%s %s%s%s", words__clean(figure->name, 40).text,
			   printer__figure(figure).text, figure->words ? ": " : "",
			   words__clean(figure->words, WORDS_MOST_COLUMNS).text);
		if (figure->remedy && *figure->remedy)
			words__say(text, sizeof(text), " [%s]",
				   words__clean(figure->remedy, WORDS_MOST_COLUMNS).text);
		printer__field(printer, said++ ? "" : "quality");
		printer__wrap(printer, text, 13);
	}
	json_array_foreach (model->hooks, i, hook) {
		const char *event = json_string_value(json_object_get(hook, "event"));
		const char *why = json_string_value(json_object_get(hook, "why_not"));
		const char *signal = json_string_value(json_object_get(hook, "signal"));
		char text[PRINTER_LINE] = "";

		if (json_is_string(json_object_get(hook, "kind")))
			continue;
		words__say(text, sizeof(text), "%s%swithout %s: %s", words__clean(signal, 40).text,
			   signal ? " " : "", words__clean(event, 60).text,
			   words__clean(why, WORDS_MOST_COLUMNS).text);
		printer__field(printer, said++ ? "" : "quality");
		printer__wrap(printer, text, 13);
	}
	said += printer__budget(printer, said);
	if (said)
		return;
	printer__field(printer, "quality");
	fputs(model->quality_count ? "nothing lost\n" : "unknown: there are no counters\n",
	      printer->out);
}

static void print_cost(const struct printer *printer)
{
	const struct model *model = printer->model;
	const struct {
		const char *name, *words;
		bool of_cpu;
	} known[] = {
		{ "setup_cpu_ns", "CPU to start", false },
		{ "own_cpu_ns", "CPU while recording", true },
		{ "hooks_cpu_ns", "in hooks", true },
		{ "hooks_target_ns", "of that in the target", false },
		{ "max_rss_bytes", "memory", false },
		{ "recording_bytes", "recording", false },
	};
	const char *before = "";
	char text[PRINTER_LINE] = "";

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct model_figure *figure =
			model__find(model->costs, model->cost_count, known[i].name);
		int64_t value = figure ? (int64_t)figure->value : 0;

		if (!figure)
			continue;
		words__say(text, sizeof(text), "%s%s %s", before,
			   strstr(known[i].name, "_bytes") ? words__bytes(value).text
							   : words__time(value).text,
			   known[i].words);
		if (known[i].of_cpu)
			words__say(text, sizeof(text), " (%s of one CPU)",
				   words__share(value, model->end_ns - model->start_ns).text);
		before = ", ";
	}
	if (!text[0])
		return;
	printer__field(printer, "own cost");
	printer__wrap(printer, text, 13);
}

void printer__balance(const struct printer *printer)
{
	const struct model *model = printer->model;
	char text[PRINTER_LINE] = "";

	printer__heading(printer, "does it add up?");
	fputc('\n', printer->out);
	printer__field(printer, "unexplained");
	fprintf(printer->out, "%s, %s of the thread time\n",
		words__time(model->unexplained_ns).text,
		words__tiny_share(model->unexplained_ns, model->threads_ns).text);
	printer__field(printer, "remainder");
	if (model->remainder_ns)
		words__say(text, sizeof(text), "%s: %s", words__time(model->remainder_ns).text,
			   model->cut ? "edges of the cut, where accounts are prorated"
				      : "the states do not add up to the threads' lifetimes");
	else
		words__say(text, sizeof(text), "0: every thread's states add up to its lifetime");
	printer__wrap(printer, text, 13);
	print_quality(printer);
	printer__samples(printer);
	printer__kernel_counts(printer);
	print_cost(printer);
	printer__notes(printer);
	if (model->complete)
		return;
	printer__field(printer, "incomplete");
	printer__wrap(printer,
		      "the recorder was killed or is still at work; this is all up to its last "
		      "slice, and of each thread up to its last change",
		      13);
}
