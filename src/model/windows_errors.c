/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How sure it is that the slowest windows spend more time on something. Sums of bands are exact,
 * but a few odd windows can make up all of a sum. So the spread of the windows that were kept says
 * how far such a mean is from that of other windows of the same kind.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "model/load.h"
#include "model/windows_internal.h"

static const char sql_parts[] = "SELECT window, part, state, ns FROM window_part ORDER BY window";

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* Weighted sums over kept windows of a band: of weights, of a time, and of squares. */
struct moments {
	double w, ww, x, xx;
};

/* The windows being added up: rows of `window_part` come by window. */
struct spread {
	struct windows_loading *loading;
	const struct windows_one *one; /* NULL: one that does not count */
	double ns[WINDOWS_MOST_REASONS];
	uint32_t touched[WINDOWS_MOST_REASONS];
	size_t touched_count;
	struct moments *moments; /* by service: one for each row, then one for all of a window */
	size_t *begins;          /* of each service in `moments` */
};

static void release(struct spread *spread)
{
	free(spread->moments);
	free(spread->begins);
}

/* The two bands that are compared take turns. */
static struct moments *moments_of(const struct spread *spread,
				  const struct windows_service *service, size_t row, bool is_slow)
{
	size_t number = (size_t)(service - spread->loading->windows->services);

	return &spread->moments[(spread->begins[number] + row) * 2 + is_slow];
}

static int begin(struct spread *spread)
{
	const struct windows *windows = spread->loading->windows;
	size_t count = 0;

	spread->begins = calloc(windows->service_count + 1, sizeof(*spread->begins));
	for (size_t i = 0; i < windows->service_count && spread->begins; i++) {
		spread->begins[i] = count;
		count += windows->services[i].row_count + 1;
	}
	spread->moments = calloc(count * 2 + 1, sizeof(*spread->moments));
	return spread->begins && spread->moments ? 0 : -ENOMEM;
}

/* Whether a window is in one of the bands that are compared. */
static bool counts(const struct windows_service *service, const struct windows_one *one,
		   bool *ret_is_slow)
{
	*ret_is_slow = model_windows__is_in(service, WINDOWS_SLOW, one->length_ns);
	return one->weight > 0 && one->has_details &&
	       (*ret_is_slow || model_windows__is_in(service, WINDOWS_FAST, one->length_ns));
}

static void add_weights(struct spread *spread)
{
	struct windows *windows = spread->loading->windows;

	for (size_t i = 0; i < windows->kept_count; i++) {
		const struct windows_one *one = &windows->kept[i];
		struct windows_service *service = &windows->services[one->class->of];
		struct moments *all;
		bool is_slow;

		for (int j = 0; j < WINDOWS_BANDS; j++)
			service->bands[j].kept +=
				one->weight > 0 && one->has_details &&
				model_windows__is_in(service, (enum windows_bands)j,
						     one->length_ns);
		if (!counts(service, one, &is_slow))
			continue;
		all = moments_of(spread, service, service->row_count, is_slow);
		all->w += one->weight;
		all->ww += one->weight * one->weight;
	}
}

static void add(struct moments *to, double weight, double x)
{
	to->x += weight * x;
	to->xx += weight * x * x;
}

static void finish_window(struct spread *spread)
{
	struct windows *windows = spread->loading->windows;
	const struct windows_one *one = spread->one;
	struct windows_service *service = one ? &windows->services[one->class->of] : NULL;
	bool is_slow = one && model_windows__is_in(service, WINDOWS_SLOW, one->length_ns);
	double total = 0;

	for (size_t i = 0; i < spread->touched_count; i++) {
		uint32_t reason = spread->touched[i];
		const struct windows_row *row =
			one ? model_windows__row(spread->loading, service, reason) : NULL;

		total += spread->ns[reason] * model_windows__sign(&windows->reasons[reason]);
		if (row)
			add(moments_of(spread, service, (size_t)(row - service->rows), is_slow),
			    one->weight, spread->ns[reason]);
		spread->ns[reason] = 0;
	}
	if (one)
		add(moments_of(spread, service, service->row_count, is_slow), one->weight, total);
	spread->touched_count = 0;
	spread->one = NULL;
}

static int add_part(struct spread *spread, sqlite3_stmt *row)
{
	int64_t sum = 0, ns = load__amount(sqlite3_column_int64(row, 3), LOAD_MOST, &sum);
	uint32_t reason;
	int err = model_windows__take_reason(spread->loading, row, 1, &reason);

	if (err || !ns)
		return err;
	if (!spread->ns[reason])
		spread->touched[spread->touched_count++] = reason;
	spread->ns[reason] += (double)ns;
	return 0;
}

static int add_parts(struct spread *spread)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	struct windows *windows = spread->loading->windows;
	int err = load__prepare(spread->loading->model, spread->loading->db, sql_parts, &row);
	int rc = SQLITE_DONE;
	int64_t last = 0;
	bool is_slow;

	if (err)
		return err;
	for (bool first = true; !err && (rc = sqlite3_step(row)) == SQLITE_ROW; first = false) {
		int64_t id = sqlite3_column_int64(row, 0);

		if (first || id != last) {
			finish_window(spread);
			spread->one = model_windows__find(windows, id);
			last = id;
			if (spread->one && !counts(&windows->services[spread->one->class->of],
						   spread->one, &is_slow))
				spread->one = NULL;
		}
		if (spread->one)
			err = add_part(spread, row);
	}
	finish_window(spread);
	return err ? err : load__error(rc);
}

/* The square of the standard error of a mean; -1: too few windows to tell. */
static double variance_of(const struct moments *sums, const struct moments *all)
{
	double n = all->ww > 0 ? all->w * all->w / all->ww : 0;
	double mean = all->w > 0 ? sums->x / all->w : 0;

	if (n < 2)
		return -1;
	return fmax(sums->xx / all->w - mean * mean, 0) / (n - 1);
}

static void judge(const struct spread *spread, const struct windows_service *service, size_t number,
		  struct windows_row *row)
{
	double slow = variance_of(moments_of(spread, service, number, true),
				  moments_of(spread, service, service->row_count, true));
	double fast = variance_of(moments_of(spread, service, number, false),
				  moments_of(spread, service, service->row_count, false));

	if (slow < 0)
		return;
	row->error_ns = sqrt(slow + fmax(fast, 0));
	row->is_claimed = model_windows__is_compared(service) && row->more_ns > 0 &&
			  row->more_ns > 2 * row->error_ns;
}

static int by_more(const void *a, const void *b, void *context)
{
	const struct windows_row *x = a, *y = b;
	const struct windows_reason *reasons = context;
	int order =
		model_windows__sign(&reasons[y->reason]) - model_windows__sign(&reasons[x->reason]);

	if (order)
		return order;
	if (x->more_ns != y->more_ns)
		return x->more_ns < y->more_ns ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->reason > y->reason) - (x->reason < y->reason);
}

int model_windows__load_errors(struct windows_loading *loading)
{
	cleanup(release) struct spread spread = { .loading = loading };
	struct windows *windows = loading->windows;
	int err = begin(&spread);

	if (!err) {
		add_weights(&spread);
		err = add_parts(&spread);
	}
	for (size_t i = 0; i < windows->service_count && !err; i++) {
		struct windows_service *service = &windows->services[i];

		for (size_t j = 0; j < service->row_count; j++)
			judge(&spread, service, j, &service->rows[j]);
		judge(&spread, service, service->row_count, &service->all);
		if (service->row_count)
			qsort_r(service->rows, service->row_count, sizeof(*service->rows), by_more,
				windows->reasons);
	}
	return err;
}
