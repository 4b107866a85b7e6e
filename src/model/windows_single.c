/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts and waits of windows that were kept, for those that show them one by one. */
#include "base/cleanup.h"
#include "model/load.h"
#include "model/windows_internal.h"

static const char sql_parts[] = "SELECT window, part, state, ns FROM window_part ORDER BY window";
static const char sql_waits[] =
	"SELECT " WINDOWS_WAIT_COLUMNS " ORDER BY w.window, w.ns DESC, w.state, w.object, w.by";

struct taking {
	windows_take_part *part;
	windows_take_one_wait *wait;
	void *context;
};

static int take_part(struct windows_loading *loading, sqlite3_stmt *row)
{
	const struct taking *taking = loading->context;
	const struct windows_one *one =
		model_windows__find(loading->windows, sqlite3_column_int64(row, 0));
	uint32_t reason;
	int64_t sum = 0, ns = load__amount(sqlite3_column_int64(row, 3), LOAD_MOST, &sum);
	int err;

	if (!one || !one->has_details)
		return 0;
	err = model_windows__take_reason(loading, row, 1, &reason);
	return err ? err : taking->part(taking->context, one, reason, ns);
}

static int take_wait(struct windows_loading *loading, sqlite3_stmt *row)
{
	const struct taking *taking = loading->context;
	const struct windows_one *one =
		model_windows__find(loading->windows, sqlite3_column_int64(row, 0));
	struct windows_wait wait;
	int err;

	if (!one)
		return 0;
	err = model_windows__take_wait(loading, row, &wait);
	return err ? err : taking->wait(taking->context, one, &wait);
}

static int each(struct model *model, sqlite3 *db, const char *sql, windows_take *take,
		struct taking *taking)
{
	cleanup(model_windows__release_loading) struct windows_loading loading = {
		.model = model, .windows = &model->windows, .db = db, .context = taking
	};
	int err;

	if (!model->windows.kept_count)
		return 0;
	err = model_windows__resume(&loading);
	return err ? err : model_windows__each(&loading, sql, 0, take);
}

int model_windows__each_part(struct model *model, sqlite3 *db, windows_take_part *take,
			     void *context)
{
	return each(model, db, sql_parts, take_part,
		    &(struct taking) { .part = take, .context = context });
}

int model_windows__each_wait(struct model *model, sqlite3 *db, windows_take_one_wait *take,
			     void *context)
{
	return each(model, db, sql_waits, take_wait,
		    &(struct taking) { .wait = take, .context = context });
}
