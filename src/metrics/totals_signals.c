/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of states, and what signals count. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "metrics/totals_internal.h"

/* "gapless_signal_", the name and "_seconds" must fit into EXPOSITION_LABEL_BYTES. */
#define MOST_NAME 64

/* The ledger keeps no sums of its buckets, so each value counts as the middle of its bucket. */
void totals__take_waits(struct totals *totals, enum ledger_slot slot,
			const uint32_t counts[HISTOGRAM_BUCKETS])
{
	struct bounds_histogram *histogram = &totals->waits[slot];
	uint32_t *before = totals->waits_before[slot];

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint32_t added = counts[i] - before[i];

		histogram->counts[i] += added;
		histogram->sum_ns += added * histogram_bucket_middle(i);
		totals->has_waits[slot] |= added != 0;
		before[i] = counts[i];
	}
}

void totals__skip_waits(struct totals *totals, enum ledger_slot slot,
			const uint32_t counts[HISTOGRAM_BUCKETS])
{
	memcpy(totals->waits_before[slot], counts, sizeof(totals->waits_before[slot]));
}

static void free_series(struct totals_series *series)
{
	free(series->operation);
	free(series->place);
	free(series->histogram);
	free(series);
}
DEFINE_CLEANUP(struct totals_series *, free_series)

void totals__free_families(struct totals *totals)
{
	for (size_t i = 0; i < totals->family_count; i++) {
		struct totals_series *series = totals->families[i].series, *next;

		for (; series; series = next) {
			next = series->next;
			free_series(series);
		}
		free(totals->families[i].name);
	}
	free(totals->families);
}

static size_t cost(enum totals_unit unit)
{
	return unit == TOTALS_SECONDS ? BOUNDS_SERIES : 1;
}

static bool is_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return length && length <= MOST_NAME && !name[length];
}

/* Appends a series to the family. -ENOMEM. */
static int add_series(struct totals *totals, struct totals_family *family, const char *operation,
		      const char *place, struct totals_series **ret)
{
	cleanup(free_series_p) struct totals_series *series = calloc(1, sizeof(*series));
	struct totals_series **end = &family->series;

	if (!series)
		return -ENOMEM;
	series->operation = strdup(operation);
	series->place = strdup(place);
	if (family->unit == TOTALS_SECONDS)
		series->histogram = calloc(1, sizeof(*series->histogram));
	if (!series->operation || !series->place ||
	    (family->unit == TOTALS_SECONDS && !series->histogram))
		return -ENOMEM;
	while (*end)
		end = &(*end)->next;
	*ret = *end = TAKE(series);
	totals->signal_series += cost(family->unit);
	return 0;
}

/* *ret stays NULL if there is no room for the family. */
static int find_family(struct totals *totals, const struct totals_signal *row,
		       struct totals_family **ret)
{
	struct totals_family *family = totals->families;
	struct totals_series *other;
	cleanup(free_p) char *name = NULL;

	for (size_t i = 0; i < totals->family_count; i++, family++)
		if (family->unit == row->unit && !strcmp(family->name, row->name)) {
			*ret = family;
			return 0;
		}
	if (totals->signal_series + cost(row->unit) > totals->options.most_signal_series)
		return 0;
	name = strdup(row->name);
	if (!name)
		return -ENOMEM;
	family = APPEND(&totals->families, &totals->family_count);
	if (!family)
		return -ENOMEM;
	family->name = TAKE(name);
	family->unit = row->unit;
	*ret = family;
	return add_series(totals, family, TOTALS_OTHER, TOTALS_OTHER, &other);
}

static int find_series(struct totals *totals, struct totals_family *family,
		       const struct totals_signal *row, struct totals_series **ret)
{
	char operation[EXPOSITION_LABEL_BYTES], place[EXPOSITION_LABEL_BYTES];
	struct totals_series *series = family->series;

	exposition__clean(row->operation, operation);
	exposition__clean(row->place, place);
	while (series && (strcmp(series->operation, operation) || strcmp(series->place, place)))
		series = series->next;
	if (series) {
		*ret = series;
		return 0;
	}
	if (totals->signal_series + cost(family->unit) <= totals->options.most_signal_series)
		return add_series(totals, family, operation, place, ret);
	totals->signals_folded++;
	family->folded++;
	*ret = family->series;
	return 0;
}

int totals__add_signals(struct totals *totals, const struct totals_signal *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct totals_family *family = NULL;
		struct totals_series *series = NULL;
		int err;

		if (!is_name(rows[i].name) ||
		    (rows[i].unit == TOTALS_SECONDS) != (rows[i].buckets != NULL))
			return -EINVAL;
		err = find_family(totals, &rows[i], &family);
		if (!err && !family)
			totals->signals_folded++;
		if (!err && family)
			err = find_series(totals, family, &rows[i], &series);
		if (err)
			return err;
		if (!series)
			continue;
		if (!series->histogram || !rows[i].buckets) {
			series->number += rows[i].added;
			continue;
		}
		series->histogram->sum_ns += rows[i].added;
		for (size_t k = 0; k < HISTOGRAM_BUCKETS; k++)
			series->histogram->counts[k] += rows[i].buckets[k];
	}
	return 0;
}
