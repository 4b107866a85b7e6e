/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/sampled_on.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* The entry of an event's stack: different addresses in the same functions share one. */
static struct model_sampled *entry_of(struct model *model, const char *event, uint32_t node)
{
	struct model_sampled *entry;

	for (size_t i = model->sampled_count; i > 0; i--) {
		entry = &model->sampled[i - 1];
		if (strcmp(entry->event, event) != 0)
			break;
		if (entry->node == node)
			return entry;
	}
	entry = APPEND(&model->sampled, &model->sampled_count);
	if (entry)
		*entry = (struct model_sampled) { .event = event, .node = node };
	return entry;
}

static int compare(const void *left, const void *right)
{
	const struct model_sampled *a = left, *b = right;
	int order = strcmp(a->event, b->event);

	if (order)
		return order;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return (a->node > b->node) - (a->node < b->node);
}

int sampled_on__load(struct fold *fold, struct model *model, sqlite3 *db)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int64_t all = 0;
	int err, rc = SQLITE_DONE;

	/* Older recordings have no such table. */
	if (sqlite3_table_column_metadata(db, "main", "signal_sample", NULL, NULL, NULL, NULL, NULL,
					  NULL))
		return 0;
	/* Each sample with the weight n stands for one event and n - 1 that were not seen. */
	err = load__prepare(model, db,
			    "SELECT operation, stack, sum(count), count(*),"
			    " sum(1.0 * count * (count - 1)) FROM signal_sample WHERE"
			    " signal = 'counters' AND operation IS NOT NULL AND time_ns > ?1 AND"
			    " time_ns <= ?2 GROUP BY operation, stack ORDER BY 1, 2",
			    &row);
	while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		const struct fold_stack *stack = fold__stack(fold, sqlite3_column_int64(row, 1));
		const char *event = load__text(model, row, 0);
		struct model_sampled *entry =
			event ? entry_of(model, event, stack ? stack->node : 0) : NULL;

		if (!entry)
			return -ENOMEM;
		entry->count += load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &all);
		entry->samples += sqlite3_column_int64(row, 3);
		entry->variance += sqlite3_column_double(row, 4);
	}
	if (!err && model->sampled_count)
		qsort(model->sampled, model->sampled_count, sizeof(*model->sampled), compare);
	return err ? err : load__error(rc);
}
