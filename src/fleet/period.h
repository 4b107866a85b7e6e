/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A period that is asked about, and which part of it is read from hourly sums. An hour is read from
 * them if it lies in the period as a whole and the service has sums of it; all other time is read
 * from the rows of minutes. So an hour whose sums were never made is not missed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "fleet/connection.h"

struct period_part {
	uint64_t from_s, to_s;
	bool is_hourly;
};

/* Who is asked about. */
struct period {
	const char *tenant, *service;
	uint64_t from_s, to_s; /* whole minutes */
	struct period_part *parts;
	size_t count;
};

void period__release(struct period *period);

/* Divides a period. `hours` ascend and are those with sums. -ENOMEM. */
int period__divide(struct period *period, const uint64_t *hours, size_t hour_count);
/* Asks the store which hours there are in `table` (ledger_1h), and divides. */
int period__find(struct period *period, struct connection *connection, const char *table);

bool period__has(const struct period *period, bool is_hourly);
/*
 * Adds "tenant = … AND service = … AND (…)" for the parts of one sort; `column` is "hour" or
 * "bucket".
 */
void period__condition(const struct period *period, bool is_hourly, struct query *query);
/* Adds "tenant = … AND service = …". */
void period__who(const struct period *period, struct query *query);
/*
 * Adds "(SELECT columns FROM hourly FINAL WHERE … UNION ALL SELECT columns FROM minutes WHERE …)",
 * or only what is needed of it.
 */
struct period_source {
	const char *hourly, *minutes; /* tables */
	const char *columns;          /* the same in both */
};
void period__rows(const struct period *period, const struct query_tables *tables,
		  const struct period_source *source, struct query *query);
