/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the locks that threads waited for, and who waits for whom. */
#include <string.h>

#include "findings/locks.h"
#include "findings/signal_words.h"
#include "report/printer.h"

#define LOCKS_SHOWN    5
#define EDGES_SHOWN    5
#define NAME_COLUMNS   18
#define OBJECT_COLUMNS 60
#define LOCK_INDENT    46
#define EDGE_INDENT    22

static void print_lock(const struct printer *printer, const struct signals_signal *signal,
		       const struct signals_lock *lock)
{
	enum lock_shape shape = findings_locks__shape(printer->model, signal, lock);
	int64_t count = lock->part.sum.count;
	char text[PRINTER_LINE] = "", who[PRINTER_LINE] = "";

	words__field(printer->out, words__brief_time(lock->wait_ns).text, PRINTER_TIME);
	words__field(printer->out, words__number(count).text, -10);
	words__field(printer->out, words__brief_time(lock->wait_ns / count).text, -9);
	words__field(printer->out, words__brief_time(lock->turn_ns / count).text, -9);
	words__field(printer->out, words__number(lock->most_waiters).text, -6);
	words__say(text, sizeof(text), "%s %s",
		   words__clean(lock->row->operation, NAME_COLUMNS).text,
		   words__clean(lock->object->name, OBJECT_COLUMNS).text);
	if (lock->row->percentiles[signal->main][P50] >= 0) {
		words__say(text, sizeof(text), ", ");
		signal_words__say_percentiles(lock->row, signal->main, text, sizeof(text));
	}
	if (signal_words__who(lock->part.group, lock->part.thread, who, sizeof(who)))
		words__say(text, sizeof(text), ", %s", who);
	if (shape != LOCK_PLAIN)
		words__say(text, sizeof(text), ": %s", findings_locks__word(shape));
	fputs("  ", printer->out);
	printer__wrap(printer, text, LOCK_INDENT);
}

static const struct signals_lock *lock_of(const struct signals_signal *signal,
					  const struct model_blame *blame)
{
	for (size_t i = 0; i < signal->lock_count; i++)
		if (signal->locks[i].object->id == blame->first->object)
			return &signal->locks[i];
	return NULL;
}

/* "threads worker-*: futex log_lock in orders, held by thread logger (tid 4242)" */
static void print_edge(const struct printer *printer, const struct model_blame *blame)
{
	const struct model_wait *wait = blame->first;
	char text[PRINTER_LINE] = "", name[PRINTER_LINE];

	words__field(printer->out, words__brief_time(blame->ns).text, PRINTER_TIME);
	words__field(printer->out, words__number(blame->count).text, -10);
	findings__name(wait->waiter->group, blame->many_wait ? NULL : wait->waiter, name,
		       sizeof(name));
	words__say(text, sizeof(text), "%s: ", name);
	findings__object(wait, name, sizeof(name));
	words__say(text, sizeof(text), "%s", name);
	findings__culprit(blame, name, sizeof(name));
	words__say(text, sizeof(text), "%s%s", *name ? ", " : "", name);
	fputs("  ", printer->out);
	printer__wrap(printer, text, EDGE_INDENT);
}

static void print_edges(const struct printer *printer, const struct signals_signal *signal)
{
	const struct model *model = printer->model;
	size_t count = 0, most = printer__shown(printer, model->blame_count, EDGES_SHOWN);
	size_t printed = 0;

	for (size_t i = 0; i < model->blame_count; i++) {
		if (!lock_of(signal, &model->blames[i]) || count++ >= most)
			continue;
		if (!printed++)
			fprintf(printer->out, "%10s%10s  %s%s\n", "time", "waits",
				"who waits for whom",
				model->cut ? " (in the whole recording)" : "");
		print_edge(printer, &model->blames[i]);
	}
	printer__rest(printer, count - printed, "waits");
}

void printer__locks(const struct printer *printer, const struct signals_signal *signal)
{
	size_t count = printer__shown(printer, signal->lock_count, LOCKS_SHOWN);

	if (signal->main < 0)
		return;
	fprintf(printer->out, "%10s%10s%9s%9s%6s  %s\n", "waited", "waits", "average", "turn",
		"most", "lock, most time by");
	for (size_t i = 0; i < count; i++)
		print_lock(printer, signal, &signal->locks[i]);
	printer__rest(printer, signal->lock_count - count, "locks");
	print_edges(printer, signal);
}
