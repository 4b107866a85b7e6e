/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributions by process. Only those of all processes have slices, so a cut has none of these. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/load.h"
#include "vocabulary/histogram.h"

static const char sql_owners[] =
	"SELECT signal, coalesce(place, ''), coalesce(operation, ''), pid, comm, bucket, count, rank"
	" FROM process_histograms ORDER BY 1, 2, 3, rank, bucket";

static const char *word_at(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? text : "";
}

static struct signals_row *row_of(struct signals *signals, sqlite3_stmt *row)
{
	for (size_t i = 0; i < signals->count; i++) {
		struct signals_signal *signal = &signals->list[i];

		if (strcmp(signal->name, word_at(row, 0)))
			continue;
		for (size_t j = 0; j < signal->row_count; j++)
			if (!strcmp(signal->rows[j].place, word_at(row, 1)) &&
			    !strcmp(signal->rows[j].operation, word_at(row, 2)))
				return &signal->rows[j];
	}
	return NULL;
}

/* The last owner of the row if it is this one, else a new one. NULL: out of memory. */
static struct signals_owner *owner_of(struct model *model, struct signals_row *of,
				      sqlite3_stmt *row)
{
	int64_t pid = sqlite3_column_int64(row, 3);
	struct signals_owner *last = of->owner_count ? &of->owners[of->owner_count - 1] : NULL;
	struct model_histogram *histogram;

	if (last && last->pid == pid && !strcmp(last->comm, word_at(row, 4)))
		return last;
	histogram = calloc(1, sizeof(*histogram));
	if (!histogram)
		return NULL;
	last = APPEND(&of->owners, &of->owner_count);
	if (!last) {
		free(histogram);
		return NULL;
	}
	*last = (struct signals_owner) { .pid = pid,
					 .comm = load__name(model, row, 4),
					 .histogram = histogram };
	return last;
}

static int take_owned(struct model *model, sqlite3_stmt *row)
{
	struct signals_row *of = row_of(&model->signals, row);
	int64_t number = sqlite3_column_int64(row, 5);
	int64_t count =
		load__amount(sqlite3_column_int64(row, 6), LOAD_MOST, &model->signals.loaded.owned);
	struct signals_owner *owner;
	struct bucket *bucket;

	if (number < 0 || number >= HISTOGRAM_BUCKETS)
		return -EBADMSG;
	if (!of || !count)
		return 0;
	owner = owner_of(model, of, row);
	if (!owner)
		return -ENOMEM;
	bucket = APPEND(&owner->histogram->buckets, &owner->histogram->bucket_count);
	if (!bucket)
		return -ENOMEM;
	*bucket = (struct bucket) { (int)number, count };
	owner->histogram->count += count;
	return 0;
}

static void find_percentiles(struct signals_row *row)
{
	for (size_t i = 0; i < row->owner_count; i++) {
		struct signals_owner *owner = &row->owners[i];

		percentiles__find(owner->histogram->buckets, owner->histogram->bucket_count,
				  owner->histogram->count, row->part.sum.max[0],
				  owner->percentiles);
	}
}

int signals__load_owners(struct model *model, sqlite3 *db)
{
	struct signals *signals = &model->signals;
	int err = 0;

	/* Older recordings have no such view. */
	if (load__is_answered(db, sql_owners))
		err = load__each(model, db, sql_owners, take_owned);
	for (size_t i = 0; i < signals->count && !err; i++)
		for (size_t j = 0; j < signals->list[i].row_count; j++)
			find_percentiles(&signals->list[i].rows[j]);
	return err;
}
