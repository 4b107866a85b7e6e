/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests and calls: for each service, what the slowest spend more time on than the fastest.
 * Times are means of windows in a band. Sums of bands are exact, so the rows add up to the length.
 */
#include <string.h>

#include "base/words.h"
#include "findings/requests.h"
#include "report/printer.h"
#include "vocabulary/histogram.h"

#define SERVICES_SHOWN 2 /* in the short report */
#define REASONS_SHORT  3
#define REASONS_FULL   14
#define REASON_COLUMNS 36
#define TIME_COLUMNS   -9
#define SHARE_COLUMNS  -8
#define INDENT         2
#define LEAST_PERCENT  5 /* of the difference that is explained if it has no share */

/* --- the head --------------------------------------------------------------------------------- */

static void say_statuses(const struct windows_service *service, char *text, size_t size)
{
	const char *before = "; ";

	for (int i = 0; i < WORDS_STATUSES; i++) {
		if (i == WORDS_STATUS_OK || !service->statuses[i])
			continue;
		words__say(text, size, "%s%s %s", before, words__number(service->statuses[i]).text,
			   window_words__status((enum window_words_status)i)->words);
		before = ", ";
	}
	if (service->statuses[WORDS_STATUSES])
		words__say(text, size, "%s%s with an end that is unknown to this version", before,
			   words__number(service->statuses[WORDS_STATUSES]).text);
}

/* Nothing, if the recording does not count what it lost. */
static void say_lost(const struct model *model, char *text, size_t size)
{
	const struct model_figure *lost =
		model__find(model->qualities, model->quality_count, "windows_lost");

	if (!lost)
		return;
	if (lost->value > 0)
		words__say(text, size, "; of all services, %s were not counted",
			   words__number((int64_t)lost->value).text);
	else
		words__say(text, size, ", all counted");
}

static void print_head(const struct printer *printer, const struct windows_service *service)
{
	char text[PRINTER_LINE] = "", name[PRINTER_LINE] = "";

	words__say(name, sizeof(name), "%s", requests_words__many(service));
	model_windows__say_service(service, name, sizeof(name));
	words__say(text, sizeof(text), "%s", words__number(service->n).text);
	if (service->n != service->count)
		words__say(text, sizeof(text), " in %s",
			   words__count(service->count, "windows").text);
	words__say(text, sizeof(text), " in %s", words__time(printer->model->wall_ns).text);
	if (printer->model->windows.options.only)
		words__say(text, sizeof(text), ", only those with '%s'",
			   words__clean(printer->model->windows.options.only, 40).text);
	say_lost(printer->model, text, sizeof(text));
	say_statuses(service, text, sizeof(text));
	printer__heading(printer, name);
	if (words__columns(name) + words__columns(text) + 2 <= printer->width)
		fputs(": ", printer->out);
	else
		fprintf(printer->out, "\n%*s", INDENT, "");
	printer__wrap(printer, text, INDENT);
}

static size_t count_kept(const struct windows *windows, const struct windows_service *service)
{
	size_t count = 0;

	for (size_t i = 0; i < windows->kept_count; i++)
		count += windows->kept[i].has_details &&
			 model_windows__service(windows, windows->kept[i].class) == service;
	return count;
}

static void print_percentiles(const struct printer *printer, const struct windows_service *service)
{
	char text[PRINTER_LINE] = "";

	for (int i = 0; i < PERCENTILES; i++)
		if (service->percentiles_ns[i] >= 0)
			words__say(text, sizeof(text), "%s%s %s", *text ? ", " : "",
				   percentiles__words(i)->name,
				   words__time(service->percentiles_ns[i]).text);
	words__say(text, sizeof(text),
		   *text ? " (to 6 %%; details of %s kept)" : "details of %s kept",
		   words__number((int64_t)count_kept(&printer->model->windows, service)).text);
	fprintf(printer->out, "%*s", INDENT, "");
	printer__wrap(printer, text, INDENT);
}

/* --- the table -------------------------------------------------------------------------------- */

static void print_time(const struct printer *printer, int64_t ns)
{
	words__field(printer->out, words__brief_time(ns).text, TIME_COLUMNS);
}

static int64_t rounded(double ns)
{
	return (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

static void print_row(const struct printer *printer, const struct windows_service *service,
		      const char *name, const struct windows_row *row, int sign)
{
	bool has_share = row->is_claimed && service->all.more_ns > 0;
	int64_t more_ns = sign * rounded(row->more_ns);

	words__field(printer->out, words__clean(name, REASON_COLUMNS).text, REASON_COLUMNS);
	for (int i = 0; i < WINDOWS_BANDS; i++) {
		int64_t ns = model_windows__mean_ns(service, row, (enum windows_bands)i);

		if (service->bands[i].count)
			print_time(printer, sign * ns);
		else
			words__field(printer->out, "-", TIME_COLUMNS);
	}
	if (model_windows__is_compared(service))
		print_time(printer, more_ns);
	else
		words__field(printer->out, "-", TIME_COLUMNS);
	words__field(printer->out,
		     has_share ? words__share(more_ns, rounded(service->all.more_ns)).text : "-",
		     SHARE_COLUMNS);
	fputc('\n', printer->out);
}

static bool is_nothing(const struct windows_row *row)
{
	for (int i = 0; i < WINDOWS_BANDS; i++)
		if (row->band_ns[i])
			return false;
	return true;
}

static void print_titles(const struct printer *printer, const struct windows_service *service)
{
	static const char *const titles[] = { "fastest", "p90–p99", "slowest" };
	char name[64] = "mean of a ";

	words__say(name, sizeof(name), "%.*s", (int)strlen(requests_words__many(service)) - 1,
		   requests_words__many(service));
	words__field(printer->out, service->n == service->count ? name : "mean of a window",
		     REASON_COLUMNS);
	for (int i = 0; i < WINDOWS_BANDS; i++)
		words__field(printer->out, titles[i], TIME_COLUMNS);
	words__field(printer->out, "more", TIME_COLUMNS);
	words__field(printer->out, "share", SHARE_COLUMNS);
	fputc('\n', printer->out);
	words__field(printer->out, "  share of all", REASON_COLUMNS);
	for (int i = 0; i < WINDOWS_BANDS; i++)
		words__field(printer->out,
			     requests_words__band(service, (enum windows_bands)i).text,
			     TIME_COLUMNS);
	fputc('\n', printer->out);
}

/* The rows that are not printed, as one. */
static void add_rest(struct windows_row *rest, const struct windows_row *row, int sign)
{
	rest->more_ns += sign * row->more_ns;
	for (int i = 0; i < WINDOWS_BANDS; i++)
		rest->band_ns[i] += sign * row->band_ns[i];
}

static void print_rows(const struct printer *printer, const struct windows_service *service)
{
	const struct windows_reason *reasons = printer->model->windows.reasons;
	size_t most = printer__shown(printer, service->row_count,
				     printer->options->full ? REASONS_FULL : REASONS_SHORT);
	size_t printed = 0, left = 0;
	struct windows_row rest = {};
	char name[PRINTER_LINE];

	for (size_t i = 0; i < service->row_count; i++) {
		const struct windows_row *row = &service->rows[i];
		int sign = model_windows__sign(&reasons[row->reason]);

		if (is_nothing(row))
			continue;
		if (printed++ >= most) {
			add_rest(&rest, row, sign);
			left++;
			continue;
		}
		*name = '\0';
		model_windows__say_reason(&reasons[row->reason], name, sizeof(name));
		print_row(printer, service, name, row, sign);
	}
	if (left) {
		snprintf(name, sizeof(name), "the other %zu%s", left,
			 printer->options->full ? " [--top]" : " [--full]");
		print_row(printer, service, name, &rest, 1);
	}
	print_row(printer, service, "all", &service->all, 1);
}

/* Whether a difference that matters has no share. */
static bool has_doubt(const struct windows_service *service)
{
	for (size_t i = 0; i < service->row_count; i++)
		if (!service->rows[i].is_claimed &&
		    service->rows[i].more_ns * 100 > service->all.more_ns * LEAST_PERCENT)
			return true;
	return false;
}

/* Who the slowest are, and whether they can be compared. */
static void print_slowest(const struct printer *printer, const struct windows_service *service)
{
	const struct windows_band *slow = &service->bands[WINDOWS_SLOW];
	const char *many = requests_words__many(service);
	char text[PRINTER_LINE] = "slowest: ";

	if (!slow->count) {
		words__say(text, sizeof(text),
			   printer->model->windows.options.slower_ns
				   ? "none was that slow"
				   : "nearly all took about the same time, so there are none");
	} else {
		model_windows__say_count(service, slow->count, slow->n, text, sizeof(text));
		words__say(text, sizeof(text), " of %s or longer, %zu of them kept",
			   words__time((int64_t)histogram_bucket_start((__u32)slow->from)).text,
			   slow->kept);
		if (!model_windows__is_compared(service))
			words__say(text, sizeof(text), "; too few %s to compare with the fastest",
				   many);
		else if (has_doubt(service))
			words__say(text, sizeof(text),
				   "; a difference without a share may be chance, or too few were "
				   "kept to tell");
	}
	fprintf(printer->out, "%*s", INDENT, "");
	printer__wrap(printer, text, INDENT + 2);
}

static void print_sentence(const struct printer *printer, const struct windows_service *service)
{
	struct requests_slow slow;
	char text[PRINTER_LINE] = "";

	if (!requests_words__slow(&printer->model->windows, service, &slow))
		return;
	requests_words__say(&slow, text, sizeof(text));
	fprintf(printer->out, "%*s", INDENT, "");
	printer__wrap(printer, text, INDENT);
}

static void print_service(const struct printer *printer, const struct windows_service *service)
{
	print_head(printer, service);
	print_percentiles(printer, service);
	if (printer->options->full)
		print_sentence(printer, service);
	if (printer->options->full || model_windows__is_compared(service)) {
		print_titles(printer, service);
		print_rows(printer, service);
	}
	print_slowest(printer, service);
	if (printer->options->full)
		printer__slowest(printer, service);
}

/* --- all services ----------------------------------------------------------------------------- */

static bool is_client(const struct windows_service *service)
{
	return !strcmp(service->first->kind, window_words__kind(WORDS_KIND_CLIENT)->key);
}

/* The service with most time after `last`. What a program asks for comes after what it does. */
static const struct windows_service *next_service(const struct windows *windows,
						  const struct windows_service *last)
{
	const struct windows_service *next = NULL;

	for (size_t i = 0; i < windows->service_count; i++) {
		const struct windows_service *one = &windows->services[i];
		bool is_behind = !last || is_client(one) > is_client(last) ||
				 (is_client(one) == is_client(last) &&
				  (one->length_ns < last->length_ns ||
				   (one->length_ns == last->length_ns && one > last)));
		bool is_before =
			!next || is_client(one) < is_client(next) ||
			(is_client(one) == is_client(next) && one->length_ns > next->length_ns);

		if (one->count && !one->is_own && is_behind && is_before)
			next = one;
	}
	return next;
}

/* Whether parts and lengths agree is known for the whole recording only. */
static void print_remainder(const struct printer *printer)
{
	const struct windows *windows = &printer->model->windows;

	if (windows->remainder < 0)
		return;
	if (!windows->remainder) {
		fprintf(printer->out,
			"\nThe parts of every request and call add up to its length.\n");
		return;
	}
	fprintf(printer->out, "\nThe parts of %s do not add up to their lengths",
		words__count(windows->remainder, "requests and calls").text);
	if (windows->remainder_ns >= 0)
		fprintf(printer->out, ": %s in all", words__time(windows->remainder_ns).text);
	fputs(".\n", printer->out);
}

void printer__windows(const struct printer *printer)
{
	const struct windows *windows = &printer->model->windows;
	const struct windows_service *service = NULL;
	size_t count = 0, most = printer->options->full ? windows->service_count : SERVICES_SHOWN;

	while ((service = next_service(windows, service)))
		if (count++ < most)
			print_service(printer, service);
	if (printer->options->full && count)
		print_remainder(printer);
	if (count > most)
		fprintf(printer->out, "\n… %s with requests or calls [--full]\n",
			words__count((int64_t)(count - most), "more services").text);
}
