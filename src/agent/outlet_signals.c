/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/outlet_signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "fold/lexicon.h"

#define NAME_BYTES 64

static bool is_time(const struct measure *measure)
{
	return !strcmp(measure->unit, "ns");
}

static bool is_bytes(const struct measure *measure)
{
	return !strcmp(measure->unit, "bytes");
}

/* --- the page --------------------------------------------------------------------------------- */

/* Adds to the family of `what`. Nothing gets no series. */
static int count_number(struct totals *totals, struct totals_signal row, const char *what)
{
	char name[NAME_BYTES];

	if (!row.added && !row.buckets)
		return 0;
	snprintf(name, sizeof(name), "%s_%s", row.name, what);
	row.name = name;
	return totals__add_signals(totals, &row, 1);
}

/* A value of events other than the first: its total. */
static int count_value(struct totals *totals, struct totals_signal row,
		       const struct measure *measure, uint64_t sum)
{
	row.added = sum;
	if (is_time(measure))
		row.unit = TOTALS_SPENT;
	else if (is_bytes(measure))
		row.unit = TOTALS_BYTES;
	/* gapless_signal_tcp_bytes_total, not gapless_signal_tcp_bytes_bytes_total */
	if (row.unit == TOTALS_BYTES && !strcmp(measure->name, measure->unit))
		return sum ? totals__add_signals(totals, &row, 1) : 0;
	return count_number(totals, row, measure->name);
}

static int count_row(struct totals *totals, const struct signal_sums_row *row)
{
	const struct signal *signal = row->signal;
	const char *operation = signal_sums__operation(row);
	char place[SIGNAL_SUMS_PLACE_BYTES];
	struct totals_signal to = { .name = signal->name,
				    .unit = TOTALS_EVENTS,
				    .operation = operation ? operation : TOTALS_OTHER,
				    .place = place,
				    .added = row->count };
	int err;

	signal_sums__place(row, place);
	err = count_number(totals, to, signal->events);
	to.added = row->errors;
	if (!err)
		err = count_number(totals, to, "errors");
	for (size_t i = 1; i < signal__values(signal) && !err; i++)
		err = count_value(totals, to, &signal->measures[i], row->values[i].sum);
	if (err || !row->values[0].buckets || !is_time(&signal->measures[0]))
		return err;
	to.unit = TOTALS_SECONDS;
	to.buckets = row->values[0].buckets;
	to.added = signal_sums__of_histogram(row, 0);
	return count_number(totals, to, signal->measures[0].name);
}

int outlet_signals__count(struct totals *totals, const struct signal_sums *step)
{
	size_t count;
	const struct signal_sums_row *rows = signal_sums__rows(step, &count);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = count_row(totals, &rows[i]);
	return err;
}

/* --- the store -------------------------------------------------------------------------------- */

/* `memory` belongs to the facts, also after a failure. NULL: out of memory, now or before. */
static void *own(struct outlet_signals_facts *facts, void *memory)
{
	void **place;

	if (!memory)
		return NULL;
	place = APPEND(&facts->owned, &facts->owned_count);
	if (!place) {
		free(memory);
		return NULL;
	}
	*place = memory;
	return memory;
}

static int add_buckets(struct outlet_signals_facts *facts, struct fact_histogram *to,
		       const struct signal_sums_value *value)
{
	uint16_t *buckets;
	uint64_t *counts;
	size_t count = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		count += value->buckets[i] != 0;
	buckets = own(facts, calloc(count + 1, sizeof(*buckets)));
	counts = own(facts, calloc(count + 1, sizeof(*counts)));
	if (!buckets || !counts)
		return -ENOMEM;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!value->buckets[i])
			continue;
		buckets[to->bucket_count] = (uint16_t)i;
		counts[to->bucket_count++] = value->buckets[i];
	}
	to->buckets = buckets;
	to->counts = counts;
	return 0;
}

/* Only what is not zero. */
static int add_fact(struct outlet_signals_facts *facts, struct fact_histogram row)
{
	struct fact_histogram *to;

	if (!row.sum && !row.bucket_count)
		return 0;
	to = APPEND(&facts->rows, &facts->count);
	if (!to)
		return -ENOMEM;
	*to = row;
	return 0;
}

static int add_row(struct outlet_signals_facts *facts, const struct signal_sums_row *row)
{
	const struct signal *signal = row->signal;
	const char *operation = signal_sums__operation(row);
	char place[SIGNAL_SUMS_PLACE_BYTES];
	struct fact_histogram to = { .signal = signal->name,
				     .operation = operation ? operation : LEXICON_OTHER };
	int err = 0;

	signal_sums__place(row, place);
	to.place = own(facts, strdup(place));
	if (!to.place)
		return -ENOMEM;
	to.measure = signal->events;
	to.sum = row->count;
	err = add_fact(facts, to);
	to.measure = "errors";
	to.sum = row->errors;
	if (!err)
		err = add_fact(facts, to);
	for (size_t i = 0; i < signal__values(signal) && !err; i++) {
		struct fact_histogram value = to;

		value.measure = signal->measures[i].name;
		value.sum = row->values[i].sum;
		value.max = row->values[i].max;
		if (row->values[i].buckets) {
			value.sum = signal_sums__of_histogram(row, i);
			err = add_buckets(facts, &value, &row->values[i]);
		}
		if (!err)
			err = add_fact(facts, value);
	}
	return err;
}

int outlet_signals__facts(const struct signal_sums *minute, struct outlet_signals_facts *ret)
{
	size_t count;
	const struct signal_sums_row *rows = signal_sums__rows(minute, &count);
	int err = 0;

	*ret = (struct outlet_signals_facts) {};
	for (size_t i = 0; i < count && !err; i++)
		err = add_row(ret, &rows[i]);
	return err;
}

void outlet_signals__release(struct outlet_signals_facts *facts)
{
	for (size_t i = 0; i < facts->owned_count; i++)
		free(facts->owned[i]);
	free(facts->owned);
	free(facts->rows);
	*facts = (struct outlet_signals_facts) {};
}
