/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/signal_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

struct signal_sums {
	struct signal_sums_row *rows;
	size_t count;
};

int signal_sums__new(struct signal_sums **ret)
{
	struct signal_sums *sums = calloc(1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	*ret = sums;
	return 0;
}

void signal_sums__clear(struct signal_sums *sums)
{
	for (size_t i = 0; i < sums->count; i++)
		for (size_t k = 0; k < SERIES_VALUES; k++)
			free(sums->rows[i].values[k].buckets);
	free(sums->rows);
	*sums = (struct signal_sums) {};
}

void signal_sums__free(struct signal_sums *sums)
{
	if (!sums)
		return;
	signal_sums__clear(sums);
	free(sums);
}

/* There are few rows: devices times operations. */
static struct signal_sums_row *find(struct signal_sums *sums, const struct signal *signal,
				    uint32_t place, uint32_t operation)
{
	struct signal_sums_row *row;

	for (size_t i = 0; i < sums->count; i++) {
		row = &sums->rows[i];
		if (row->signal == signal && row->place == place && row->operation == operation)
			return row;
	}
	row = APPEND(&sums->rows, &sums->count);
	if (!row)
		return NULL;
	row->signal = signal;
	row->place = place;
	row->operation = operation;
	return row;
}

static void raise(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

int signal_sums__add(struct signal_sums *sums, const struct signal *signal,
		     const struct series_key *key, const struct series_sum *sum)
{
	struct signal_sums_row *row = find(sums, signal, key->place, key->operation);

	if (!row)
		return -ENOMEM;
	row->count += sum->count;
	if (key->error)
		row->errors += sum->count;
	for (size_t i = 0; i < SERIES_VALUES; i++) {
		row->values[i].sum += sum->sum[i];
		raise(&row->values[i].max, sum->max[i]);
	}
	return 0;
}

static int add_to_bucket(struct signal_sums_value *value, uint32_t bucket, uint32_t count)
{
	if (!value->buckets)
		value->buckets = calloc(HISTOGRAM_BUCKETS, sizeof(*value->buckets));
	if (!value->buckets)
		return -ENOMEM;
	value->buckets[bucket] += count;
	value->in_buckets += count;
	value->middles += count * histogram_bucket_middle(bucket);
	return 0;
}

int signal_sums__add_bucket(struct signal_sums *sums, const struct signal *signal,
			    const struct series_place *place, uint32_t value, uint32_t bucket,
			    uint32_t count)
{
	struct signal_sums_row *row;

	if (value >= SERIES_VALUES || bucket >= HISTOGRAM_BUCKETS)
		return -EINVAL;
	row = find(sums, signal, place->place, place->operation);
	return row ? add_to_bucket(&row->values[value], bucket, count) : -ENOMEM;
}

static int merge_value(struct signal_sums_value *to, const struct signal_sums_value *from)
{
	int err = 0;

	to->sum += from->sum;
	raise(&to->max, from->max);
	for (uint32_t i = 0; from->buckets && i < HISTOGRAM_BUCKETS && !err; i++)
		if (from->buckets[i])
			err = add_to_bucket(to, i, from->buckets[i]);
	return err;
}

int signal_sums__merge(struct signal_sums *sums, const struct signal_sums *from)
{
	int err = 0;

	for (size_t i = 0; i < from->count && !err; i++) {
		const struct signal_sums_row *source = &from->rows[i];
		struct signal_sums_row *row =
			find(sums, source->signal, source->place, source->operation);

		if (!row)
			return -ENOMEM;
		row->count += source->count;
		row->errors += source->errors;
		for (size_t k = 0; k < SERIES_VALUES && !err; k++)
			err = merge_value(&row->values[k], &source->values[k]);
	}
	return err;
}

const struct signal_sums_row *signal_sums__rows(const struct signal_sums *sums, size_t *ret_count)
{
	*ret_count = sums->count;
	return sums->rows;
}

uint64_t signal_sums__of_histogram(const struct signal_sums_row *row, size_t value)
{
	const struct signal_sums_value *values = &row->values[value];

	return values->in_buckets == row->count ? values->sum : values->middles;
}

const char *signal_sums__operation(const struct signal_sums_row *row)
{
	if (row->operation == SERIES_OTHER)
		return NULL;
	return row->signal->operation(row->operation);
}

void signal_sums__place(const struct signal_sums_row *row, char ret[SIGNAL_SUMS_PLACE_BYTES])
{
	ret[0] = '\0';
	if (row->place && row->signal->place)
		row->signal->place(row->place, ret, SIGNAL_SUMS_PLACE_BYTES);
}
