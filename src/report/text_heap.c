/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what the heap signal estimated. */
#include "base/words.h"
#include "report/printer.h"

#define STACKS_SHOWN 5
#define LIST_INDENT  40

/* "±1.2 MB"; "" if the figure is exact. */
static void say_error(struct heap_figure figure, bool is_bytes, char *text, size_t size)
{
	int64_t error = (int64_t)(figure.error + 0.5);

	if (figure.error < 0)
		words__say(text, size, "±?");
	else if (error)
		words__say(text, size, "±%s",
			   is_bytes ? words__bytes(error).text : words__number(error).text);
}

static void say_calls(const char *words, struct heap_figure figure, char *text, size_t size)
{
	char error[64] = "";

	say_error(figure, false, error, sizeof(error));
	words__say(text, size, "%s%s%s %s", words__number((int64_t)(figure.value + 0.5)).text,
		   *error ? " " : "", error, words);
}

static void print_totals(const struct printer *printer, const struct heap *heap)
{
	char text[PRINTER_LINE] = "", error[64] = "";

	say_error(heap->bytes, true, error, sizeof(error));
	words__say(text, sizeof(text), "allocated: %s%s%s in ",
		   words__bytes((int64_t)(heap->bytes.value + 0.5)).text, *error ? " " : "", error);
	say_calls("calls, ", heap->calls, text, sizeof(text));
	say_calls("frees", heap->frees, text, sizeof(text));
	if (heap->is_exact)
		words__say(text, sizeof(text), "; all calls were seen");
	else
		words__say(text, sizeof(text),
			   "; estimated from %s with %.1f %% of the target's CPU time",
			   words__count((int64_t)heap->windows, "windows").text,
			   100 * heap__covered(heap));
	words__say(text, sizeof(text), "; probes cost %.1f %%", 100 * heap__cost(heap));
	if (!heap->is_exact)
		words__say(text, sizeof(text),
			   "; what was called fewer than %s times may be missing, however large",
			   words__number(heap__least_calls(heap)).text);
	fputs("  ", printer->out);
	printer__wrap(printer, text, 4);
}

static void print_stack(const struct printer *printer, const struct heap_stack *stack)
{
	char text[PRINTER_LINE] = "", bytes[64] = "", calls[64] = "";

	say_error(stack->bytes, true, bytes, sizeof(bytes));
	say_error(stack->calls, false, calls, sizeof(calls));
	words__field(printer->out, words__bytes((int64_t)(stack->bytes.value + 0.5)).text, -10);
	words__field(printer->out, bytes, -10);
	words__field(printer->out, words__number((int64_t)(stack->calls.value + 0.5)).text, -10);
	words__field(printer->out, calls, -8);
	fputs("  ", printer->out);
	if (stack->node)
		hot__say_path(&printer->model->hot, stack->node, text, sizeof(text));
	else
		words__say(text, sizeof(text), "(no stack)");
	printer__wrap(printer, text, LIST_INDENT);
}

void printer__heap(const struct printer *printer, const struct heap *heap)
{
	size_t count = printer__shown(printer, heap->stack_count, STACKS_SHOWN);

	if (!heap->windows && !heap->is_exact) {
		fputs("  no window of time was observed, so nothing can be said\n", printer->out);
		return;
	}
	print_totals(printer, heap);
	if (!count)
		return;
	fprintf(printer->out, "%10s%10s%10s%8s  %s\n", "bytes", "error", "calls", "error",
		"most bytes: by stack");
	for (size_t i = 0; i < count; i++)
		print_stack(printer, &heap->stacks[i]);
	printer__rest(printer, heap->stack_count - count, "stacks");
}
