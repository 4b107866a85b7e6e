/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/period.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define HOUR_S 3600

void period__release(struct period *period)
{
	free(period->parts);
	period->parts = NULL;
	period->count = 0;
}

/* Adds a part, or extends the last one. */
static int add_part(struct period *period, uint64_t from_s, uint64_t to_s, bool is_hourly)
{
	struct period_part *last = period->count ? &period->parts[period->count - 1] : NULL;

	if (from_s >= to_s)
		return 0;
	if (last && last->is_hourly == is_hourly && last->to_s == from_s) {
		last->to_s = to_s;
		return 0;
	}
	last = APPEND(&period->parts, &period->count);
	if (!last)
		return -ENOMEM;
	*last = (struct period_part) { from_s, to_s, is_hourly };
	return 0;
}

int period__divide(struct period *period, const uint64_t *hours, size_t hour_count)
{
	uint64_t at_s = period->from_s;
	int err = 0;

	period__release(period);
	for (size_t i = 0; i < hour_count && !err; i++) {
		if (hours[i] < at_s || hours[i] + HOUR_S > period->to_s)
			continue;
		err = add_part(period, at_s, hours[i], false);
		if (!err)
			err = add_part(period, hours[i], hours[i] + HOUR_S, true);
		at_s = hours[i] + HOUR_S;
	}
	return err ?: add_part(period, at_s, period->to_s, false);
}

struct hours {
	uint64_t *list;
	size_t count;
};

static int take_hour(void *context, char *const *fields)
{
	struct hours *hours = context;
	uint64_t *hour = APPEND(&hours->list, &hours->count);

	return hour ? tsv__number(fields[0], hour) : -ENOMEM;
}

int period__find(struct period *period, struct connection *connection, const char *table)
{
	cleanup(query__release) struct query query = {};
	struct hours hours = {};
	int err = 0;

	if (period->to_s - period->from_s < HOUR_S)
		return period__divide(period, NULL, 0);
	query__begin(&query);
	query__add(&query, "SELECT DISTINCT toUInt32(hour) AS h FROM ");
	query__table(&query, connection__tables(connection), table);
	query__add(&query, " WHERE ");
	period__who(period, &query);
	query__add(&query, " AND hour >= ");
	query__moment(&query, period->from_s);
	query__add(&query, " AND hour < ");
	query__moment(&query, period->to_s);
	query__add(&query, " ORDER BY h FORMAT TabSeparated");
	err = connection__ask(connection, &query, 1, take_hour, &hours);
	if (!err)
		err = period__divide(period, hours.list, hours.count);
	free(hours.list);
	return err;
}

bool period__has(const struct period *period, bool is_hourly)
{
	for (size_t i = 0; i < period->count; i++)
		if (period->parts[i].is_hourly == is_hourly)
			return true;
	return false;
}

void period__who(const struct period *period, struct query *query)
{
	query__add(query, "tenant = ");
	query__quote(query, period->tenant);
	query__add(query, " AND service = ");
	query__quote(query, period->service);
}

void period__condition(const struct period *period, bool is_hourly, struct query *query)
{
	const char *column = is_hourly ? "hour" : "bucket", *before = "";

	period__who(period, query);
	query__add(query, " AND (");
	for (size_t i = 0; i < period->count; i++) {
		const struct period_part *part = &period->parts[i];

		if (part->is_hourly != is_hourly)
			continue;
		query__add(query, before);
		query__add(query, column);
		query__add(query, " >= ");
		query__moment(query, part->from_s);
		query__add(query, " AND ");
		query__add(query, column);
		query__add(query, " < ");
		query__moment(query, part->to_s);
		before = " OR ";
	}
	/* No part of this sort. */
	query__add(query, *before ? ")" : "0)");
}

static void add_select(const struct period *period, const struct query_tables *tables,
		       const struct period_source *source, bool is_hourly, struct query *query)
{
	query__add(query, "SELECT ");
	query__add(query, source->columns);
	query__add(query, " FROM ");
	query__table(query, tables, is_hourly ? source->hourly : source->minutes);
	/* An hour that was summed up twice counts once. */
	query__add(query, is_hourly ? " FINAL WHERE " : " WHERE ");
	period__condition(period, is_hourly, query);
}

void period__rows(const struct period *period, const struct query_tables *tables,
		  const struct period_source *source, struct query *query)
{
	bool hourly = period__has(period, true), minutes = period__has(period, false);

	query__add(query, "(");
	if (hourly)
		add_select(period, tables, source, true, query);
	if (hourly && minutes)
		query__add(query, " UNION ALL ");
	if (minutes || !hourly)
		add_select(period, tables, source, false, query);
	query__add(query, ")");
}
