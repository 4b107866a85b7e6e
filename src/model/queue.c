/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why threads had no CPU: who had it, the limits and the pressure of their cgroups. */
#include <errno.h>
#include <string.h>

#include "model/load.h"
#include "model/sql.h"

static int take_occupant(struct model *model, sqlite3_stmt *row)
{
	struct model_occupant occupant = {
		.thread = load__thread(model, sqlite3_column_int64(row, 0)),
		.by = load__thread(model, sqlite3_column_int64(row, 1)),
		.ns = load__amount(sqlite3_column_int64(row, 2), LOAD_MOST,
				   &model->loaded.occupant_ns),
	};
	struct model_occupant *kept;

	if (!occupant.thread)
		return 0;
	kept = APPEND(&model->occupants, &model->occupant_count);
	if (!kept)
		return -ENOMEM;
	*kept = occupant;
	return 0;
}

static int take_limit(struct model *model, sqlite3_stmt *row)
{
	struct model_limit *limit = APPEND(&model->limits, &model->limit_count);
	int64_t all = 0;

	if (!limit)
		return -ENOMEM;
	limit->process = sqlite3_column_int64(row, 0);
	limit->cgroup = load__name(model, row, 1);
	limit->kind = load__name(model, row, 2);
	limit->value = load__name(model, row, 3);
	limit->throttled_ns = sqlite3_column_type(row, 4) == SQLITE_NULL
				      ? -1
				      : load__amount(sqlite3_column_int64(row, 4), LOAD_MOST, &all);
	return 0;
}

static int take_refaults(struct model *model, sqlite3_stmt *row)
{
	const char *cgroup = (const char *)sqlite3_column_text(row, 0);
	int64_t all = 0, count = load__amount(sqlite3_column_int64(row, 1), LOAD_MOST, &all);

	for (size_t i = 0; cgroup && i < model->limit_count; i++)
		if (!strcmp(model->limits[i].kind, "memory") &&
		    !strcmp(model->limits[i].cgroup, cgroup))
			model->limits[i].refaults = count;
	return 0;
}

static int take_pressure(struct model *model, sqlite3_stmt *row)
{
	struct model_pressure *pressure = APPEND(&model->pressures, &model->pressure_count);
	int64_t all = 0;

	if (!pressure)
		return -ENOMEM;
	pressure->cgroup = load__name(model, row, 0);
	pressure->kind = load__name(model, row, 1);
	pressure->some_ns = load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &all);
	pressure->full_ns = load__amount(sqlite3_column_int64(row, 3), LOAD_MOST, &all);
	pressure->of_ns = load__amount(sqlite3_column_int64(row, 4), LOAD_MOST, &all);
	return 0;
}

static bool has_column(sqlite3 *db, const char *table, const char *column)
{
	return !sqlite3_table_column_metadata(db, NULL, table, column, NULL, NULL, NULL, NULL,
					      NULL);
}

int load__queue(struct model *model, sqlite3 *db)
{
	int err = 0;

	if (!model->cut && has_column(db, "occupant", "by"))
		err = load__each(model, db,
				 "SELECT thread, by, sum(ns) FROM occupant GROUP BY 1, 2"
				 " ORDER BY 3 DESC, 1, 2",
				 take_occupant);
	/*
	 * The limit that held a process back most comes first, then the innermost. One whose time
	 * is not known, because the cgroup is gone, comes before those that held nothing back.
	 */
	if (!err && has_column(db, "cgroup_limit", "throttled_ns"))
		err = load__each(
			model, db,
			"SELECT process, cgroup, kind, value, throttled_ns FROM cgroup_limit"
			" ORDER BY process, kind, coalesce(throttled_ns, 1) DESC,"
			" length(cgroup) DESC",
			take_limit);
	if (!err && has_column(db, "refault_slice", "file"))
		err = load__each(model, db, sql__refaults, take_refaults);
	model->has_pressures = !model->cut && has_column(db, "pressure", "of_ns");
	if (!err && model->has_pressures)
		err = load__each(model, db,
				 "SELECT cgroup, kind, some_ns, full_ns, of_ns FROM pressure"
				 " ORDER BY some_ns DESC, cgroup, kind LIMIT 1000",
				 take_pressure);
	return err;
}

const struct model_limit *model__limit(const struct model *model, int64_t process, const char *kind)
{
	for (size_t i = 0; i < model->limit_count; i++)
		if (model->limits[i].process == process && !strcmp(model->limits[i].kind, kind))
			return &model->limits[i];
	return NULL;
}
