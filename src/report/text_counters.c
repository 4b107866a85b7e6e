/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counters of CPUs say together: instructions per cycle. */
#include <stdio.h>
#include <string.h>

#include "findings/signal_words.h"
#include "model/model.h"
#include "report/printer.h"

#define GROUPS_SHOWN 3

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
}
