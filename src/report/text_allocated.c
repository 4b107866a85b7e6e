/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints how much memory threads allocated. */
#include "base/words.h"
#include "report/printer.h"

#define THREADS_SHOWN 10
#define NAME_COLUMNS  26
#define BYTES_COLUMNS -14

static void print_thread(const struct printer *printer, const struct allocated_thread *allocated)
{
	const struct model_thread *thread = allocated->thread;
	char text[PRINTER_LINE] = "";

	words__say(text, sizeof(text), "%s %lld", words__clean(thread->comm, 16).text,
		   (long long)thread->tid);
	fputs("  ", printer->out);
	words__field(printer->out, text, NAME_COLUMNS);
	words__field(printer->out, words__bytes(allocated->bytes).text, BYTES_COLUMNS);
	words__field(printer->out, words__bytes(allocated__rate_of(allocated)).text, BYTES_COLUMNS);
	fputc('\n', printer->out);
}

void printer__allocated(const struct printer *printer)
{
	const struct allocated *allocated = &printer->model->allocated;
	size_t count = printer__shown(printer, allocated->count, THREADS_SHOWN);

	if (!allocated->count)
		return;
	printer__heading(printer, "allocated by threads");
	fputs(" (by the count of their runtime; most first)\n", printer->out);
	words__field(printer->out, "", NAME_COLUMNS + 2);
	words__field(printer->out, "bytes", BYTES_COLUMNS);
	words__field(printer->out, "each second", BYTES_COLUMNS);
	fputc('\n', printer->out);
	for (size_t i = 0; i < count; i++)
		print_thread(printer, &allocated->list[i]);
	printer__rest(printer, allocated->count - count, "threads");
}
