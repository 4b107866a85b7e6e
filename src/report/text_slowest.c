/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of the slowest requests or calls of a service beyond their parts: names, waits and
 * samples. Only windows that were chosen at random have these, so every number has its error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "findings/requests.h"
#include "report/printer.h"

#define NAMES_SHOWN    5
#define WAITS_SHOWN    4
#define PATHS_SHOWN    3
#define PATHS_MOST     200
#define PATH_SIZE      512
#define EXAMPLES_SHOWN 3
#define NAME_COLUMNS   37
#define TEXT_COLUMNS   64
#define LEAST_PERCENT  1 /* of the time of the slowest */
#define WAIT_INDENT    27
#define PATH_INDENT    16

/* --- by name ---------------------------------------------------------------------------------- */

static int64_t failed(const struct windows_name *name)
{
	return name->statuses[WORDS_STATUS_REFUSED] + name->statuses[WORDS_STATUS_FAILED] +
	       name->statuses[WORDS_STATUS_ABANDONED];
}

static void print_name(const struct printer *printer, const struct windows_name *name)
{
	static const enum percentile shown[] = { P50, P99 };
	const char *text = *name->name ? name->name : "(no name)";

	words__field(printer->out, words__clean(text, NAME_COLUMNS - 1).text, NAME_COLUMNS);
	words__field(printer->out, words__number(name->count).text, -12);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		int64_t ns = name->percentiles_ns[shown[i]];

		words__field(printer->out, ns < 0 ? "-" : words__brief_time(ns).text, -9);
	}
	words__field(printer->out,
		     failed(name) ? words__share(failed(name), name->count).text : "-", -8);
	fputc('\n', printer->out);
}

static void print_names(const struct printer *printer, const struct windows_service *service)
{
	size_t count = printer__shown(printer, service->name_count, NAMES_SHOWN);

	if (service->name_count < 2 && (!service->name_count || !*service->names[0].name))
		return;
	words__field(printer->out, "by name, most time first", NAME_COLUMNS);
	fprintf(printer->out, "%12s%9s%9s%8s\n", service->n == service->count ? "count" : "windows",
		"p50", "p99", "failed");
	for (size_t i = 0; i < count; i++)
		print_name(printer, &service->names[i]);
	printer__rest(printer, service->name_count - count, "names");
}

/* --- what they waited for --------------------------------------------------------------------- */

static void print_wait(const struct printer *printer, const struct windows_service *service,
		       const struct windows_wait *wait)
{
	const struct windows_band *slow = &service->bands[WINDOWS_SLOW];
	double error = 200 * sqrt(wait->variance) / (double)slow->length_ns;
	char text[PRINTER_LINE] = "";

	words__field(printer->out,
		     words__brief_time((int64_t)(wait->ns / (double)slow->count)).text,
		     PRINTER_TIME);
	words__field(printer->out, words__share((int64_t)wait->ns, slow->length_ns).text,
		     PRINTER_SHARE);
	words__field(printer->out, error >= 0.05 ? hot__plus_minus(error).text : "", -7);
	requests_words__say_wait(printer->model, wait, text, sizeof(text));
	fputs("  ", printer->out);
	printer__wrap(printer, text, WAIT_INDENT);
}

static size_t count_waits(const struct windows_service *service)
{
	size_t count = 0;

	while (count < service->wait_count &&
	       service->waits[count].ns * 100 >=
		       (double)service->bands[WINDOWS_SLOW].length_ns * LEAST_PERCENT)
		count++;
	return count;
}

static void print_waits(const struct printer *printer, const struct windows_service *service)
{
	const struct windows_band *slow = &service->bands[WINDOWS_SLOW];
	size_t known = count_waits(service);
	size_t count = printer__shown(printer, known, WAITS_SHOWN);
	char text[PRINTER_LINE] = "";

	if (!known || !slow->count || slow->length_ns <= 0)
		return;
	words__say(text, sizeof(text),
		   "what threads waited for while they worked for the slowest (mean time, share of "
		   "the length; the four longest waits of each, from %s kept of %s)",
		   words__number((int64_t)slow->kept).text, words__number(slow->count).text);
	printer__wrap(printer, text, 2);
	for (size_t i = 0; i < count; i++)
		print_wait(printer, service, &service->waits[i]);
	printer__rest(printer, known - count, "waits");
}

/* --- code ------------------------------------------------------------------------------------- */

/* Paths that differ only in what is left out are printed as one. */
struct shown {
	struct hot_sum sum;
	char text[PATH_SIZE];
};

static void say_path(const struct printer *printer, const struct windows_path *path, char *text,
		     size_t size)
{
	words__say(text, size, "%s%s%s: ", words__clean(path->state->state, 10).text,
		   *path->state->cause ? "." : "", words__clean(path->state->cause, 20).text);
	if (path->node)
		hot__say_path(&printer->model->hot, path->node, text, size);
	else
		words__say(text, size, "code unknown: no user stack");
}

static int by_weight(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->sum.ns != y->sum.ns)
		return x->sum.ns < y->sum.ns ? 1 : -1;
	return strcmp(x->text, y->text);
}

/* Returns how many differ. `ret` has room for as many as there are paths. */
static size_t join_paths(const struct printer *printer, const struct windows_path *paths,
			 size_t count, struct shown *ret)
{
	size_t joined = 0;

	for (size_t i = 0; i < count; i++) {
		struct shown *one = &ret[joined];
		size_t j = 0;

		*one = (struct shown) { .sum = paths[i].sum };
		say_path(printer, &paths[i], one->text, sizeof(one->text));
		while (j < joined && strcmp(ret[j].text, one->text) != 0)
			j++;
		if (j < joined)
			hot__add(&ret[j].sum, &one->sum);
		else
			joined++;
	}
	qsort(ret, joined, sizeof(*ret), by_weight);
	return joined;
}

static void print_path(const struct printer *printer, const struct shown *path,
		       const struct hot_sum *all)
{
	words__field(printer->out, words__about(path->sum.ns, all->ns).text, PRINTER_SHARE);
	words__field(printer->out, hot__plus_minus(hot__error(&path->sum, all)).text, -6);
	fputs("  ", printer->out);
	printer__wrap(printer, path->text, PATH_INDENT);
}

static void print_paths(const struct printer *printer, const struct windows_service *service)
{
	cleanup(free_p) struct windows_path *paths = NULL;
	cleanup(free_p) struct shown *list = NULL;
	struct hot_sum all = {};
	char text[PRINTER_LINE] = "";
	size_t count, joined, shown;

	if (model_windows__paths(printer->model, service, &paths, &count) || !count)
		return;
	for (size_t i = 0; i < count; i++)
		hot__add(&all, &paths[i].sum);
	/* The others have little weight, but would take time to compare. */
	count = count < PATHS_MOST ? count : PATHS_MOST;
	list = calloc(count, sizeof(*list));
	if (!list)
		return;
	joined = join_paths(printer, paths, count, list);
	shown = printer__shown(printer, joined, PATHS_SHOWN);
	words__say(text, sizeof(text),
		   "code of threads while they worked for the slowest (share of %s in %s)",
		   words__time(all.ns).text, words__count(all.samples, "samples").text);
	printer__wrap(printer, text, 2);
	for (size_t i = 0; i < shown; i++)
		print_path(printer, &list[i], &all);
	printer__rest(printer, joined - shown, "paths");
}

/* --- single ones ------------------------------------------------------------------------------ */

static void print_examples(const struct printer *printer, const struct windows_service *service)
{
	const struct windows_one *examples[EXAMPLES_SHOWN];
	size_t count = model_windows__examples(&printer->model->windows, service, EXAMPLES_SHOWN,
					       examples);

	if (count)
		fputs("the slowest that were kept\n", printer->out);
	for (size_t i = 0; i < count; i++) {
		const struct windows_one *one = examples[i];
		int columns = printer->width + PRINTER_TIME - 30;

		words__field(printer->out, words__brief_time(one->length_ns).text, PRINTER_TIME);
		fprintf(printer->out, "  report --window %lld", (long long)one->id);
		if (one->text)
			fprintf(printer->out, "  %s",
				words__clean(one->text,
					     columns < TEXT_COLUMNS ? columns : TEXT_COLUMNS)
					.text);
		fputc('\n', printer->out);
	}
}

static void print_links(const struct printer *printer, const struct windows_service *service)
{
	struct requests_links links;
	char text[PRINTER_LINE] = "part of others, known by: ";

	requests_words__links(&printer->model->windows, service, &links);
	if (!links.all)
		return;
	for (size_t i = 0; i < links.count; i++)
		words__say(text, sizeof(text), "%s%s %s", i ? ", " : "",
			   *links.list[i].evidence ? words__clean(links.list[i].evidence, 20).text
						   : "unknown",
			   words__about(links.list[i].count, links.all).text);
	words__say(text, sizeof(text), " (of %s kept) [gapless-requests(7)]",
		   words__number(links.all).text);
	printer__wrap(printer, text, 2);
}

void printer__slowest(const struct printer *printer, const struct windows_service *service)
{
	print_names(printer, service);
	print_waits(printer, service);
	print_paths(printer, service);
	print_examples(printer, service);
	print_links(printer, service);
}
