/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divides the windows of a service by length, at the edges of buckets. Where a few buckets have
 * nearly all windows, a band can have far more than its name says, so its true share is printed.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "model/load.h"
#include "model/windows_internal.h"
#include "vocabulary/histogram.h"

static int by_bucket(const void *a, const void *b)
{
	const struct windows_count *x = a, *y = b;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	return x->bucket - y->bucket;
}

/* --- edges ------------------------------------------------------------------------------------ */

/* Adds a bucket of one class to its service. They come sorted. */
static int add_bucket(struct windows_service *service, const struct windows_count *count)
{
	struct bucket *last =
		service->bucket_count ? &service->buckets[service->bucket_count - 1] : NULL;

	if (!count->count)
		return 0;
	if (!last || last->number != count->bucket) {
		last = APPEND(&service->buckets, &service->bucket_count);
		if (!last)
			return -ENOMEM;
		last->number = count->bucket;
	}
	last->count += count->count;
	return 0;
}

/* The edge below which the number of windows is nearest to this part of all. */
static int nearest_edge(const struct windows_service *service, int percent)
{
	double wanted = (double)service->count * percent / 100, best = (double)service->count + 1;
	int64_t seen = 0;
	int edge = 0;

	for (size_t i = 0; i < service->bucket_count; i++) {
		double off;

		seen += service->buckets[i].count;
		off = (double)seen > wanted ? (double)seen - wanted : wanted - (double)seen;
		if (off >= best)
			break;
		best = off;
		edge = service->buckets[i].number + 1;
	}
	return edge;
}

/* The edge above which there are at least 1 % of the windows, and enough to speak of. */
static int slow_edge(const struct windows_service *service, int64_t slower_ns)
{
	int64_t seen = 0;
	size_t i = service->bucket_count;

	if (slower_ns > 0)
		return (int)histogram_bucket((__u64)slower_ns);
	while (i > 0 && (seen < WINDOWS_LEAST || (double)seen * 100 < (double)service->count))
		seen += service->buckets[--i].count;
	return i < service->bucket_count ? service->buckets[i].number : HISTOGRAM_BUCKETS;
}

static void find_edges(struct windows_service *service, int64_t slower_ns)
{
	struct windows_band *bands = service->bands;
	int half = nearest_edge(service, 50), high = nearest_edge(service, 90);
	int slow = slow_edge(service, slower_ns);

	if (slower_ns > 0 && half > slow)
		half = slow;
	/* So few buckets that the slowest would be among the fastest: there is nothing to compare.
	 */
	if (slow < half)
		slow = HISTOGRAM_BUCKETS;
	if (high < half)
		high = half;
	if (high > slow)
		high = slow;
	bands[WINDOWS_FAST].to = half;
	bands[WINDOWS_HIGH].from = high;
	bands[WINDOWS_HIGH].to = slow;
	bands[WINDOWS_SLOW].from = slow;
	bands[WINDOWS_SLOW].to = HISTOGRAM_BUCKETS;
}

/* --- sums ------------------------------------------------------------------------------------- */

static uint64_t key_of(size_t service, uint32_t reason)
{
	return (uint64_t)service << 32 | (uint64_t)reason;
}

struct windows_row *model_windows__row(const struct windows_loading *loading,
				       const struct windows_service *service, uint32_t reason)
{
	size_t number = (size_t)(service - loading->windows->services);
	uintptr_t at = (uintptr_t)map__get(&loading->rows, key_of(number, reason));

	return at ? &service->rows[at - 1] : NULL;
}

static int make_row(struct windows_loading *loading, struct windows_service *service,
		    uint32_t reason, struct windows_row **ret)
{
	size_t number = (size_t)(service - loading->windows->services);

	*ret = model_windows__row(loading, service, reason);
	if (*ret)
		return 0;
	*ret = APPEND(&service->rows, &service->row_count);
	if (!*ret)
		return -ENOMEM;
	(*ret)->reason = reason;
	(*ret)->error_ns = -1;
	return map__put(&loading->rows, key_of(number, reason), (void *)service->row_count);
}

static bool has_bucket(const struct windows_band *band, int bucket)
{
	return bucket >= band->from && bucket < band->to;
}

bool model_windows__is_in(const struct windows_service *service, enum windows_bands band,
			  int64_t length_ns)
{
	return has_bucket(&service->bands[band],
			  (int)histogram_bucket(length_ns > 0 ? (__u64)length_ns : 0));
}

static int add_counts(struct windows_loading *loading)
{
	struct windows *windows = loading->windows;
	int err = 0;

	for (size_t i = 0; i < loading->count_count; i++)
		loading->counts[i].service =
			model_windows__class(loading, loading->counts[i].class)->of;
	if (loading->count_count)
		qsort(loading->counts, loading->count_count, sizeof(*loading->counts), by_bucket);
	for (size_t i = 0; i < loading->count_count && !err; i++) {
		const struct windows_count *count = &loading->counts[i];

		err = add_bucket(&windows->services[count->service], count);
	}
	return err;
}

static void sum_classes(struct windows *windows)
{
	for (size_t i = 0; i < windows->class_count; i++) {
		const struct windows_class *class = &windows->classes[i];
		struct windows_service *service = &windows->services[class->of];
		int status = window_words__find_status(class->status);

		service->count += class->count;
		service->n += class->n;
		service->length_ns += class->length_ns;
		service->statuses[status < 0 ? WORDS_STATUSES : status] += class->count;
	}
}

static void sum_bands(struct windows_loading *loading)
{
	for (size_t i = 0; i < loading->count_count; i++) {
		const struct windows_count *count = &loading->counts[i];
		struct windows_service *service = &loading->windows->services[count->service];

		for (int j = 0; j < WINDOWS_BANDS; j++) {
			struct windows_band *band = &service->bands[j];

			if (!has_bucket(band, count->bucket))
				continue;
			band->count += count->count;
			band->n += count->n;
		}
	}
}

static void add_time(struct windows_service *service, struct windows_row *row,
		     const struct windows_time *time, int sign)
{
	row->ns += time->ns;
	for (int i = 0; i < WINDOWS_BANDS; i++) {
		if (!has_bucket(&service->bands[i], time->bucket))
			continue;
		row->band_ns[i] += time->ns;
		service->bands[i].length_ns += time->ns * sign;
	}
}

static int sum_times(struct windows_loading *loading)
{
	for (size_t i = 0; i < loading->time_count; i++) {
		const struct windows_time *time = &loading->times[i];
		uint32_t number = model_windows__class(loading, time->class)->of;
		struct windows_service *service = &loading->windows->services[number];
		struct windows_row *row;
		int err;

		if (!time->ns)
			continue;
		err = make_row(loading, service, time->reason, &row);
		if (err)
			return err;
		add_time(service, row, time,
			 model_windows__sign(&loading->windows->reasons[time->reason]));
	}
	return 0;
}

bool model_windows__is_compared(const struct windows_service *service)
{
	return service->bands[WINDOWS_FAST].count >= WINDOWS_LEAST &&
	       service->bands[WINDOWS_SLOW].count >= WINDOWS_LEAST;
}

static double mean_of(int64_t ns, int64_t count)
{
	return count > 0 ? (double)ns / (double)count : 0;
}

int64_t model_windows__mean_ns(const struct windows_service *service, const struct windows_row *row,
			       enum windows_bands band)
{
	return (int64_t)(mean_of(row->band_ns[band], service->bands[band].count) + 0.5);
}

static void compare(struct windows_service *service, struct windows_row *row)
{
	const struct windows_band *bands = service->bands;

	row->more_ns = mean_of(row->band_ns[WINDOWS_SLOW], bands[WINDOWS_SLOW].count) -
		       mean_of(row->band_ns[WINDOWS_FAST], bands[WINDOWS_FAST].count);
}

static void finish(struct windows_service *service)
{
	service->all.error_ns = -1;
	service->all.ns = service->length_ns;
	for (int i = 0; i < WINDOWS_BANDS; i++) {
		if (service->bands[i].length_ns < 0)
			service->bands[i].length_ns = 0;
		service->all.band_ns[i] = service->bands[i].length_ns;
	}
	compare(service, &service->all);
	for (size_t i = 0; i < service->row_count; i++)
		compare(service, &service->rows[i]);
}

int model_windows__make_bands(struct windows_loading *loading)
{
	struct windows *windows = loading->windows;
	int err = add_counts(loading);

	if (err)
		return err;
	sum_classes(windows);
	for (size_t i = 0; i < windows->service_count; i++) {
		struct windows_service *service = &windows->services[i];

		find_edges(service, windows->options.slower_ns);
		percentiles__find(service->buckets, service->bucket_count, service->count, 0,
				  service->percentiles_ns);
	}
	sum_bands(loading);
	err = sum_times(loading);
	for (size_t i = 0; i < windows->service_count && !err; i++)
		finish(&windows->services[i]);
	return err;
}
