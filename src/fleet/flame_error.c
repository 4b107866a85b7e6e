/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/flame_error.h"

#include <math.h>

#include "base/cleanup.h"
#include "fleet/burst.h"

#define MINUTE_S 60
/* Rows of about 80 bytes; an answer has a limit. */
#define MOST_MINUTES 500000

static double variance_of(const struct flame_error *error)
{
	double p = error->last.probability;

	return (1 - p) * error->t * error->t + p * error->s;
}

static bool belongs(const struct flame_error *error, const struct flame_minute *minute)
{
	const struct flame_minute *last = &error->last;

	return error->length && error->length < BURST_MOST_S / MINUTE_S &&
	       last->host == minute->host && last->begin_s + MINUTE_S == minute->begin_s &&
	       last->probability == minute->probability;
}

void flame_error__add(struct flame_error *error, const struct flame_minute *minute)
{
	struct flame_minute added = *minute;

	if (!(added.probability >= 0))
		added.probability = 0;
	if (added.probability > 1)
		added.probability = 1;
	error->minutes++;
	error->ns += added.ns;
	if (!belongs(error, &added)) {
		error->variance += variance_of(error);
		error->t = error->s = 0;
		error->length = 0;
	}
	error->t += (double)added.ns;
	error->s += added.square;
	error->length++;
	error->last = added;
}

double flame_error__of(const struct flame_error *error)
{
	double variance = error->variance + variance_of(error);

	return variance > 0 ? sqrt(variance) : 0;
}

static int take_minute(void *context, char *const *fields)
{
	struct flame_minute minute;
	uint64_t ppm = 0;
	int err = tsv__number(fields[0], &minute.host);

	err = err ?: tsv__number(fields[1], &minute.begin_s);
	err = err ?: tsv__number(fields[2], &minute.ns);
	err = err ?: tsv__real(fields[3], &minute.square);
	err = err ?: tsv__number(fields[4], &ppm);
	minute.probability = (double)ppm / 1e6;
	if (!err)
		flame_error__add(context, &minute);
	return err;
}

/* An agent reports the probability of each minute that it has chosen. */
static void add_probabilities(const struct period *period, const struct query_tables *tables,
			      struct query *query)
{
	query__add(query, "(SELECT host_id, bucket, max(value) AS ppm FROM ");
	query__table(query, tables, "quality");
	query__add(query, " WHERE tenant = ");
	query__quote(query, period->tenant);
	query__add(query, " AND name = 'sampling_probability_ppm' AND ");
	period__span("bucket", period->from_s, period->to_s, query);
	query__add(query, " GROUP BY host_id, bucket) AS q");
}

int flame_error__load(struct connection *connection, const struct period *period,
		      struct flame_error *ret)
{
	const struct query_tables *tables = connection__tables(connection);
	cleanup(query__release) struct query query = {};
	int err;

	query__begin(&query);
	query__add(&query, "SELECT c.host_id, toUInt32(c.bucket) AS at, c.t, c.s, q.ppm FROM "
			   "(SELECT host_id, bucket, sum(ns) AS t, sum(toFloat64(ns2)) AS s FROM ");
	query__table(&query, tables, "samples");
	query__add(&query, " WHERE ");
	period__who(period, &query);
	query__add(&query, " AND ");
	period__span("bucket", period->from_s, period->to_s, &query);
	query__add(&query, " GROUP BY host_id, bucket) AS c LEFT JOIN ");
	add_probabilities(period, tables, &query);
	query__add(&query, " ON c.host_id = q.host_id AND c.bucket = q.bucket "
			   "ORDER BY c.host_id, at LIMIT ");
	query__number(&query, MOST_MINUTES);
	query__add(&query, " FORMAT TabSeparated");
	err = connection__ask(connection, &query, 5, take_minute, ret);
	ret->is_cut = ret->minutes == MOST_MINUTES;
	return err;
}
