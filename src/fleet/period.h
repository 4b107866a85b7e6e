/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A period that is asked about, and which part of it is read from hourly sums. An hour is read from
 * them if it lies in the period as a whole and the service has sums of all of its rows; all other
 * time is read from the rows of minutes. So an hour whose sums were never made is not missed, and
 * neither are rows that arrived after they were made, or that a server left out.
 *
 * Hours whose rows have expired cannot be compared: their sums are used as they are. Time without
 * sums whose rows have expired is missing, which is counted.
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
	uint64_t unchecked_s; /* of the time that is read from sums, what could not be compared */
	uint64_t expired_s;   /* has no sums, and its rows have expired: nothing is known of it */
};

/* For how long the schema keeps rows. */
#define PERIOD_DAY_S     UINT64_C(86400)
#define PERIOD_LEDGER_S  (14 * PERIOD_DAY_S)
#define PERIOD_SAMPLES_S (3 * PERIOD_DAY_S)

void period__release(struct period *period);

/* Divides a period. `hours` ascend and are those with sums. -ENOMEM. */
int period__divide(struct period *period, const uint64_t *hours, size_t hour_count);

bool period__has(const struct period *period, bool is_hourly);
/*
 * Adds "tenant = … AND service = … AND (…)" for the parts of one sort; `column` is "hour" or
 * "bucket".
 */
void period__condition(const struct period *period, bool is_hourly, struct query *query);
/* Adds "column >= … AND column < …". */
void period__span(const char *column, uint64_t from_s, uint64_t to_s, struct query *query);
/* Adds "tenant = … AND service = …". */
void period__who(const struct period *period, struct query *query);
/*
 * Adds "(SELECT columns FROM hourly FINAL WHERE … UNION ALL SELECT columns FROM minutes WHERE …)",
 * or only what is needed of it.
 */
struct period_source {
	const char *hourly, *minutes; /* tables */
	const char *columns;          /* the same in both */
	uint64_t kept_s;              /* for how long rows of minutes are kept */
};
void period__rows(const struct period *period, const struct query_tables *tables,
		  const struct period_source *source, struct query *query);
/* Adds one of the two "SELECT". */
void period__select(const struct period *period, const struct query_tables *tables,
		    const struct period_source *source, bool is_hourly, struct query *query);
/* Asks the store which hours have sums of all of their rows, and divides. */
int period__find(struct period *period, struct connection *connection,
		 const struct period_source *source, uint64_t now_s);
