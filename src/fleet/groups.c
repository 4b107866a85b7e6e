/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define HOSTS_KEPT_S (35 * PERIOD_DAY_S)
/* What kept threads from going on, for certain. */
#define HELD "(kind = 'delaying' OR kind = 'ready')"

void groups__release(struct groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		free(groups->rows[i].name);
		free(groups->rows[i].cause);
	}
	free(groups->rows);
	*groups = (struct groups) {};
}

static int take_row(void *context, char *const *fields)
{
	struct groups *groups = context;
	struct groups_row *row = APPEND(&groups->rows, &groups->count);
	int err = 0;

	if (!row)
		return -ENOMEM;
	row->name = strdup(fields[0]);
	row->cause = strdup(fields[1]);
	if (!row->name || !row->cause)
		return -ENOMEM;
	if (groups->by == GROUPS_HOST)
		err = tsv__number(fields[0], &row->id);
	err = err ?: tsv__number(fields[2], &row->cause_ns);
	err = err ?: tsv__number(fields[3], &row->ns);
	for (int kind = 0; kind < KIND_COUNT && !err; kind++)
		err = tsv__number(fields[4 + kind], &row->kind_ns[kind]);
	return err;
}

/*
 * The inner query sums up by cause, the outer one by name. Only what held the service up for
 * certain, or kept it from a CPU, is named.
 */
static const struct period_source sources[] = {
	[GROUPS_VERSION] = { "ledger_1h", "ledger", "version AS g, state, cause, kind, ns",
			     PERIOD_LEDGER_S },
	[GROUPS_HOST] = { "ledger_host_1h", "ledger", "host_id AS g, state, cause, kind, ns",
			  PERIOD_LEDGER_S },
};

static void add_query(const struct query_tables *tables, const struct period *period,
		      enum groups_by by, struct query *query)
{
	query__add(query, "SELECT toString(g), argMaxIf(concat(state, '.', cause), t, " HELD
			  "), maxIf(t, " HELD "), sum(t)");
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		query__add(query, ", sumIf(t, kind = ");
		query__quote(query, kinds__words(kind)->key);
		query__add(query, ")");
	}
	query__add(query, " FROM (SELECT g, state, cause, kind, sum(ns) AS t FROM ");
	period__rows(period, tables, &sources[by], query);
	query__add(query, " GROUP BY g, state, cause, kind) GROUP BY g ORDER BY sumIf(t, " HELD
			  ") / sum(t) DESC, g LIMIT ");
	query__number(query, GROUPS_MOST);
	query__add(query, " FORMAT TabSeparated");
}

/* --- names of hosts --------------------------------------------------------------------------- */

static int take_host(void *context, char *const *fields)
{
	struct groups *groups = context;
	uint64_t id;
	int err = tsv__number(fields[0], &id);

	for (size_t i = 0; i < groups->count && !err; i++) {
		if (groups->rows[i].id != id || !*fields[1])
			continue;
		free(groups->rows[i].name);
		groups->rows[i].name = strdup(fields[1]);
		err = groups->rows[i].name ? 0 : -ENOMEM;
	}
	return err;
}

static int name_hosts(struct connection *connection, const struct period *period,
		      struct groups *groups)
{
	cleanup(query__release) struct query query = {};

	if (!groups->count)
		return 0;
	query__begin(&query);
	query__add(&query, "SELECT host_id, argMax(host, last_seen) FROM ");
	query__table(&query, connection__tables(connection), "workload");
	query__add(&query, " WHERE ");
	period__who(period, &query);
	query__add(&query, " AND host_id IN (");
	for (size_t i = 0; i < groups->count; i++) {
		query__add(&query, i ? "," : "");
		query__number(&query, groups->rows[i].id);
	}
	query__add(&query, ") GROUP BY host_id FORMAT TabSeparated");
	return connection__ask(connection, &query, 2, take_host, groups);
}

/* Hours with sums by service are not always those with sums by host. */
static int find_hours(struct connection *connection, uint64_t now_s, struct period *period,
		      struct groups *ret)
{
	uint64_t kept_s = now_s > HOSTS_KEPT_S ? now_s - HOSTS_KEPT_S : 0;

	if (period->from_s < kept_s)
		ret->since_s = kept_s - kept_s % 60;
	return period__find(period, connection, &sources[GROUPS_HOST], now_s);
}

int groups__load(struct connection *connection, const struct period *period, enum groups_by by,
		 uint64_t now_s, struct groups *ret)
{
	cleanup(query__release) struct query query = {};
	cleanup(period__release) struct period hosts = { .tenant = period->tenant,
							 .service = period->service,
							 .from_s = period->from_s,
							 .to_s = period->to_s };
	int err = 0;

	if (by == GROUPS_NONE)
		return 0;
	ret->by = by;
	if (by == GROUPS_HOST)
		err = find_hours(connection, now_s, &hosts, ret);
	if (err)
		return err;
	query__begin(&query);
	add_query(connection__tables(connection), by == GROUPS_HOST ? &hosts : period, by, &query);
	err = connection__ask(connection, &query, 4 + KIND_COUNT, take_row, ret);
	return err || by != GROUPS_HOST ? err : name_hosts(connection, period, ret);
}
