/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the resident memory of processes. */
#include "base/words.h"
#include "report/printer.h"

#define PROCESSES_SHOWN 10
#define NAME_COLUMNS    18
#define BYTES_COLUMNS   -10

static void print_bytes(const struct printer *printer, int64_t bytes)
{
	words__field(printer->out, bytes ? words__bytes(bytes).text : "-", BYTES_COLUMNS);
}

static void print_process(const struct printer *printer, const struct resident_process *process)
{
	int64_t change = resident__total(&process->last) - resident__total(&process->first);
	char text[PRINTER_LINE] = "";

	words__say(text, sizeof(text), "%s %lld",
		   words__clean(process->comm, NAME_COLUMNS - 8).text, (long long)process->pid);
	fputs("  ", printer->out);
	words__field(printer->out, text, NAME_COLUMNS);
	for (int i = 0; i < RESIDENT_KINDS; i++)
		print_bytes(printer, process->last.bytes[i]);
	print_bytes(printer, resident__total(&process->peak));
	*text = '\0';
	words__say(text, sizeof(text), "%s%s", change < 0 ? "-" : "+",
		   words__bytes(change < 0 ? -change : change).text);
	words__field(printer->out, change ? text : "-", BYTES_COLUMNS);
	fputc('\n', printer->out);
}

void printer__resident(const struct printer *printer)
{
	const struct resident *resident = &printer->model->resident;
	size_t count = printer__shown(printer, resident->count, PROCESSES_SHOWN);

	if (!resident->count)
		return;
	printer__heading(printer, "resident memory");
	fputs(" (read about once a second; highest peak first)\n", printer->out);
	words__field(printer->out, "", NAME_COLUMNS + 2);
	for (int i = 0; i < RESIDENT_KINDS; i++)
		words__field(printer->out, resident__name(i), BYTES_COLUMNS);
	words__field(printer->out, "peak", BYTES_COLUMNS);
	words__field(printer->out, "change", BYTES_COLUMNS);
	fputc('\n', printer->out);
	for (size_t i = 0; i < count; i++)
		print_process(printer, &resident->list[i]);
	printer__rest(printer, resident->count - count, "processes");
}
