/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the locks that threads waited for, and who waits for whom. */
#include <string.h>

#include "base/cleanup.h"
#include "findings/lock_sites.h"
#include "findings/locks.h"
#include "findings/signal_words.h"
#include "report/printer.h"

#define LOCKS_SHOWN    5
#define EDGES_SHOWN    5
#define SITES_SHOWN    3
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

/* "80 % ±2.1 in parse_message, p50 40.2 ms" */
static void say_site(const struct printer *printer, const struct signals_lock *lock,
		     const struct lock_site *site, char *text, size_t size)
{
	const struct hot_function *function = &printer->model->hot.functions[site->function];
	double error = 100 * (double)site->error_ns / (double)lock->wait_ns;

	words__say(text, size, "%s%s%s in %s", words__about(site->ns, lock->wait_ns).text,
		   error >= 0.05 ? " " : "", error >= 0.05 ? hot__plus_minus(error).text : "",
		   site->function ? words__clean(function->name, OBJECT_COLUMNS).text
				  : "unknown code");
	if (site->percentiles[P50] >= 0)
		words__say(text, size, ", p50 %s", words__time(site->percentiles[P50]).text);
}

/* Where the program asked for the lock, if in several places. */
static void print_sites(const struct printer *printer, const struct signals_lock *lock,
			const struct lock_site *sites, size_t count)
{
	size_t shown = printer__shown(printer, count, SITES_SHOWN);
	char text[PRINTER_LINE] = "asked for: ";
	int64_t samples = 0;

	if (count < 2 || lock->wait_ns <= 0)
		return;
	for (size_t i = 0; i < count; i++)
		samples += sites[i].samples;
	for (size_t i = 0; i < shown; i++) {
		words__say(text, sizeof(text), "%s", i ? "; " : "");
		say_site(printer, lock, &sites[i], text, sizeof(text));
	}
	if (shown < count)
		words__say(text, sizeof(text), "; %zu more", count - shown);
	words__say(text, sizeof(text), " (of %s)", words__count(samples, "samples").text);
	fprintf(printer->out, "%*s", LOCK_INDENT, "");
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
	cleanup(lock_sites__release) struct lock_sites sites = {};

	if (signal->main < 0)
		return;
	if (lock_sites__find(printer->model, signal, &sites))
		lock_sites__release(&sites);
	fprintf(printer->out, "%10s%10s%9s%9s%6s  %s\n", "waited", "waits", "average", "turn",
		"most", "lock, most time by");
	for (size_t i = 0; i < count; i++) {
		size_t site_count;
		const struct lock_site *first = lock_sites__of(&sites, i, &site_count);

		print_lock(printer, signal, &signal->locks[i]);
		print_sites(printer, &signal->locks[i], first, site_count);
	}
	printer__rest(printer, signal->lock_count - count, "locks");
	print_edges(printer, signal);
}
