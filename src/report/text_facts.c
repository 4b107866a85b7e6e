/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the last section: the budget, the kernel's own counts, and the notes. */
#include "base/words.h"
#include "report/printer.h"

#define FIELD_COLUMNS   13
#define STEPS_SHOWN     6
#define PROCESSES_SHOWN 3

void printer__collecting(const struct printer *printer)
{
	const struct pauses *pauses = &printer->model->pauses;
	size_t count = printer__shown(printer, pauses->process_count, PROCESSES_SHOWN);
	char text[PRINTER_LINE];

	for (size_t i = 0; i < count; i++)
		if (pauses__say_share(&pauses->processes[i], text, sizeof(text)))
			printer__wrap(printer, text, 0);
}

size_t printer__budget(const struct printer *printer, size_t said)
{
	const struct estimated *estimated = &printer->model->estimated;
	size_t count = printer__shown(printer, estimated->step_count, STEPS_SHOWN);
	int64_t left = estimated->all_steps - (int64_t)count;
	char text[PRINTER_LINE] = "";

	for (size_t i = 0; i < count; i++) {
		estimated__say_step(printer->model, i, text, sizeof(text));
		printer__field(printer, said + i ? "" : "quality");
		printer__wrap(printer, text, FIELD_COLUMNS);
	}
	if (left <= 0)
		return count;
	*text = '\0';
	words__say(text, sizeof(text), "… %s of the budget [--top]",
		   words__count(left, "more steps").text);
	printer__field(printer, "");
	printer__wrap(printer, text, FIELD_COLUMNS);
	return count + 1;
}

void printer__kernel_counts(const struct printer *printer)
{
	static const struct {
		const char *key, *words;
	} known[] = {
		{ "block_requests", "requests to disks that /proc/diskstats counts" },
		{ "tcp_connects", "connects that /proc/net/snmp counts" },
		{ "tcp_retransmits", "retransmits that /proc/net/snmp counts" },
	};
	int said = 0;

	/* The counts cover the whole recording, so they say nothing about a part of it. */
	if (printer->model->cut || printer->model->narrowed)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		json_t *one = json_object_get(printer->model->kernel_counts, known[i].key);
		int64_t kernel = json_integer_value(json_object_get(one, "kernel"));
		int64_t counted = json_integer_value(json_object_get(one, "counted"));
		int64_t explained = json_integer_value(json_object_get(one, "explained"));
		char text[PRINTER_LINE] = "";

		if (!kernel && !counted)
			continue;
		words__say(text, sizeof(text), "%s counted, %s %s", words__number(counted).text,
			   words__number(kernel).text, known[i].words);
		if (counted < kernel && explained)
			words__say(text, sizeof(text),
				   "; %s under way at an edge, or known to be "
				   "lost",
				   words__number(explained).text);
		printer__field(printer, said++ ? "" : "kernel");
		printer__wrap(printer, text, FIELD_COLUMNS);
	}
}

void printer__notes(const struct printer *printer)
{
	const struct model *model = printer->model;

	for (size_t i = 0; i < model->note_count; i++) {
		char text[PRINTER_LINE] = "";

		words__say(text, sizeof(text), "%s = %s",
			   words__clean(model->notes[i].name, 70).text,
			   words__clean(model->notes[i].value, WORDS_MOST_COLUMNS).text);
		printer__field(printer, i ? "" : "notes");
		printer__wrap(printer, text, FIELD_COLUMNS);
	}
}
