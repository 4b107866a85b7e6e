/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what goroutines did. */
#include "base/words.h"
#include "report/printer.h"

#define GROUPS_SHOWN 12
#define WAITS_SHOWN  3
#define NAME_COLUMNS 34
#define WAIT_INDENT  27

static void print_time(const struct printer *printer, int64_t ns)
{
	words__field(printer->out, ns ? words__time(ns).text : "-", PRINTER_TIME);
}

static void print_wait(const struct printer *printer, const struct fibers_wait *wait)
{
	int64_t error_ns = hot__error_ns(&wait->sum);
	char text[PRINTER_LINE] = "", error[64] = "";

	if (error_ns)
		words__say(error, sizeof(error), "±%s", words__time(error_ns).text);
	words__field(printer->out, words__time(wait->sum.ns).text, -14);
	words__field(printer->out, error, -11);
	fputs("  ", printer->out);
	words__say(text, sizeof(text), "%s",
		   wait->reason ? wait->reason : runtime__fiber_state(wait->state));
	if (wait->object_name)
		words__say(text, sizeof(text), ", %s", wait->object_name);
	words__say(text, sizeof(text), ": ");
	if (wait->node)
		hot__say_path(&printer->model->hot, wait->node, text, sizeof(text));
	else
		words__say(text, sizeof(text), "(no stack)");
	printer__wrap(printer, text, WAIT_INDENT);
}

/* Below the line of a group, in the same columns. */
static void print_exact(const struct printer *printer, const struct fibers_group *group)
{
	static const enum fiber_state order[] = { FIBER_RUNNING, FIBER_RUNNABLE, FIBER_SYSCALL,
						  FIBER_WAITING };
	int64_t ns[FIBER_STATES], changes = 0, added;
	char text[128] = "";

	for (int i = 0; i < FIBER_STATES; i++) {
		ns[i] = fibers__exact_ns(group, (enum fiber_state)i, &added);
		changes += added;
	}
	words__say(text, sizeof(text), "  exact, of %s changes", words__number(changes).text);
	fputs("  ", printer->out);
	words__field(printer->out, text, NAME_COLUMNS);
	words__field(printer->out, "", -8);
	for (int i = 0; i < FIBER_STATES; i++)
		print_time(printer, ns[order[i]]);
	fputc('\n', printer->out);
}

static void print_group(const struct printer *printer, const struct fibers_group *group)
{
	size_t count = printer__shown(printer, group->wait_count, WAITS_SHOWN);

	fputs("  ", printer->out);
	words__field(printer->out,
		     words__clean(group->start ? group->start : "(unknown)", NAME_COLUMNS).text,
		     NAME_COLUMNS);
	words__field(printer->out, words__number((int64_t)group->fibers).text, -8);
	print_time(printer, group->run.ns);
	for (int i = 0; i < FIBER_STATES; i++)
		if (i != FIBER_RUNNING)
			print_time(printer, group->sums[i].ns);
	fputc('\n', printer->out);
	if (group->exact_count)
		print_exact(printer, group);
	for (size_t i = 0; i < count; i++)
		print_wait(printer, &group->waits[i]);
	if (count < group->wait_count)
		printer__rest(printer, group->wait_count - count, "places");
}

static size_t own_groups(const struct fibers *fibers)
{
	size_t count = 0;

	while (count < fibers->count && !fibers->groups[count].is_internal)
		count++;
	return count;
}

static void print_internal(const struct printer *printer, size_t from)
{
	const struct fibers *fibers = &printer->model->fibers;
	int64_t count = 0, run_ns = 0;

	for (size_t i = from; i < fibers->count; i++) {
		count += (int64_t)fibers->groups[i].fibers;
		run_ns += fibers->groups[i].run.ns;
	}
	if (!count)
		return;
	fputs("  ", printer->out);
	words__field(printer->out, "(of the runtime)", NAME_COLUMNS);
	words__field(printer->out, words__number(count).text, -8);
	print_time(printer, run_ns);
	fputc('\n', printer->out);
}

void printer__fibers(const struct printer *printer)
{
	const struct fibers *fibers = &printer->model->fibers;
	size_t all = own_groups(fibers), count = printer__shown(printer, all, GROUPS_SHOWN);

	if (!fibers->count)
		return;
	printer__heading(printer, FIBERS_NAME);
	fprintf(printer->out, " (sampled%s; by the function that they began with)\n",
		fibers->has_exact ? "; exact where it says so" : "");
	words__field(printer->out, "", NAME_COLUMNS + 2);
	words__field(printer->out, "seen", -8);
	words__field(printer->out, "running", PRINTER_TIME);
	words__field(printer->out, "runnable", PRINTER_TIME);
	words__field(printer->out, "syscall", PRINTER_TIME);
	words__field(printer->out, "waiting", PRINTER_TIME);
	fputc('\n', printer->out);
	for (size_t i = 0; i < count; i++)
		print_group(printer, &fibers->groups[i]);
	printer__rest(printer, all - count, "functions");
	print_internal(printer, all);
	if (fibers->has_exact)
		fputs("  exact times are Go's own: running includes waiting for a CPU\n",
		      printer->out);
}
