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

/* --- which hours have sums of all of their rows
 * ---------------------------------------------------
 */

struct hour {
	uint64_t begin_s;
	uint64_t summed; /* rows in its sums */
	uint64_t rows;   /* that there are now */
};

struct hours {
	struct hour *list;
	size_t count;
};

static void hours__release(struct hours *hours)
{
	free(hours->list);
}

static int take_summed(void *context, char *const *fields)
{
	struct hours *hours = context;
	struct hour *hour = APPEND(&hours->list, &hours->count);

	if (!hour)
		return -ENOMEM;
	*hour = (struct hour) {};
	return tsv__number(fields[0], &hour->begin_s) ?: tsv__number(fields[1], &hour->summed);
}

static int take_rows(void *context, char *const *fields)
{
	struct hours *hours = context;
	uint64_t begin_s, rows;
	int err = tsv__number(fields[0], &begin_s) ?: tsv__number(fields[1], &rows);

	for (size_t i = 0; i < hours->count && !err; i++)
		if (hours->list[i].begin_s == begin_s)
			hours->list[i].rows = rows;
	return err;
}

static int take_count(void *context, char *const *fields)
{
	return tsv__number(fields[0], context);
}

void period__span(const char *column, uint64_t from_s, uint64_t to_s, struct query *query)
{
	query__add(query, column);
	query__add(query, " >= ");
	query__moment(query, from_s);
	query__add(query, " AND ");
	query__add(query, column);
	query__add(query, " < ");
	query__moment(query, to_s);
}

static void add_span(const struct period *period, const char *column, uint64_t from_s,
		     uint64_t to_s, struct query *query)
{
	query__add(query, " WHERE ");
	period__who(period, query);
	query__add(query, " AND ");
	period__span(column, from_s, to_s, query);
}

static int load_summed(struct connection *connection, const struct period *period,
		       const char *table, struct hours *hours)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT toUInt32(hour) AS h, sum(rows) FROM ");
	query__table(&query, connection__tables(connection), table);
	query__add(&query, " FINAL");
	add_span(period, "hour", (period->from_s + HOUR_S - 1) / HOUR_S * HOUR_S,
		 period->to_s / HOUR_S * HOUR_S, &query);
	query__add(&query, " GROUP BY h ORDER BY h FORMAT TabSeparated");
	return connection__ask(connection, &query, 2, take_summed, hours);
}

/* One number, which the server has from the index alone. */
static int count_rows(struct connection *connection, const struct period *period, const char *table,
		      const struct hours *hours, uint64_t *ret)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT count() FROM ");
	query__table(&query, connection__tables(connection), table);
	add_span(period, "bucket", hours->list[0].begin_s,
		 hours->list[hours->count - 1].begin_s + HOUR_S, &query);
	query__add(&query, " FORMAT TabSeparated");
	return connection__ask(connection, &query, 1, take_count, ret);
}

static int load_rows(struct connection *connection, const struct period *period, const char *table,
		     struct hours *hours)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT toUInt32(toStartOfHour(bucket)) AS h, count() FROM ");
	query__table(&query, connection__tables(connection), table);
	add_span(period, "bucket", hours->list[0].begin_s,
		 hours->list[hours->count - 1].begin_s + HOUR_S, &query);
	query__add(&query, " GROUP BY h FORMAT TabSeparated");
	return connection__ask(connection, &query, 2, take_rows, hours);
}

/* Removes hours that have more rows than were summed up. `recent` is a part of the list. */
static int check_hours(struct connection *connection, const struct period *period,
		       const char *table, struct hours *recent)
{
	uint64_t summed = 0, rows;
	size_t kept = 0;
	int err = count_rows(connection, period, table, recent, &rows);

	for (size_t i = 0; i < recent->count; i++)
		summed += recent->list[i].summed;
	if (err || rows == summed)
		return err;
	err = load_rows(connection, period, table, recent);
	for (size_t i = 0; i < recent->count && !err; i++)
		if (recent->list[i].rows <= recent->list[i].summed)
			recent->list[kept++] = recent->list[i];
	recent->count = kept;
	return err;
}

static int divide(struct period *period, const struct hours *hours)
{
	cleanup(free_p) uint64_t *list = calloc(hours->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < hours->count; i++)
		list[i] = hours->list[i].begin_s;
	return period__divide(period, list, hours->count);
}

/* The time before `kept_s` that is read from minutes. */
static uint64_t count_expired(const struct period *period, uint64_t kept_s)
{
	uint64_t expired_s = 0;

	for (size_t i = 0; i < period->count; i++) {
		const struct period_part *part = &period->parts[i];

		if (!part->is_hourly && part->from_s < kept_s)
			expired_s += (part->to_s < kept_s ? part->to_s : kept_s) - part->from_s;
	}
	return expired_s;
}

/* Rows from kept_s on are still there. */
static int find_parts(struct period *period, struct connection *connection,
		      const struct period_source *source, uint64_t kept_s)
{
	cleanup(hours__release) struct hours hours = {};
	struct hours recent;
	size_t old = 0;
	int err;

	period->unchecked_s = 0;
	if (period->to_s / HOUR_S * HOUR_S < period->from_s + HOUR_S)
		return period__divide(period, NULL, 0);
	err = load_summed(connection, period, source->hourly, &hours);
	while (!err && old < hours.count && hours.list[old].begin_s < kept_s)
		old++;
	if (err || old == hours.count) {
		period->unchecked_s = old * HOUR_S;
		return err ?: divide(period, &hours);
	}
	recent = (struct hours) { hours.list + old, hours.count - old };
	err = check_hours(connection, period, source->minutes, &recent);
	hours.count = old + recent.count;
	period->unchecked_s = old * HOUR_S;
	return err ?: divide(period, &hours);
}

int period__find(struct period *period, struct connection *connection,
		 const struct period_source *source, uint64_t now_s)
{
	uint64_t kept_s = now_s > source->kept_s ? now_s - source->kept_s : 0;
	int err = find_parts(period, connection, source, kept_s);

	period->expired_s = err ? 0 : count_expired(period, kept_s);
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

void period__select(const struct period *period, const struct query_tables *tables,
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
		period__select(period, tables, source, true, query);
	if (hourly && minutes)
		query__add(query, " UNION ALL ");
	if (minutes || !hourly)
		period__select(period, tables, source, false, query);
	query__add(query, ")");
}
