/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

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
static void add_query(const struct query_tables *tables, const struct period *period,
		      enum groups_by by, struct query *query)
{
	bool is_host = by == GROUPS_HOST;
	const struct period_source source = {
		.hourly = is_host ? "ledger_host_1h" : "ledger_1h",
		.minutes = "ledger",
		.columns = is_host ? "host_id AS g, state, cause, kind, ns"
				   : "version AS g, state, cause, kind, ns",
	};

	query__add(query, "SELECT toString(g), argMaxIf(concat(state, '.', cause), t, " HELD
			  "), maxIf(t, " HELD "), sum(t)");
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		query__add(query, ", sumIf(t, kind = ");
		query__quote(query, kinds__words(kind)->key);
		query__add(query, ")");
	}
	query__add(query, " FROM (SELECT g, state, cause, kind, sum(ns) AS t FROM ");
	period__rows(period, tables, &source, query);
	query__add(query, " GROUP BY g, state, cause, kind) GROUP BY g ORDER BY sumIf(t, " HELD
			  ") / sum(t) DESC, g LIMIT ");
	query__number(query, GROUPS_MOST);
	query__add(query, " FORMAT TabSeparated");
}

/* --- names of hosts -----------------------------------------------------------------------------
 */

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

int groups__load(struct connection *connection, const struct period *period, enum groups_by by,
		 struct groups *ret)
{
	cleanup(query__release) struct query query = {};
	int err;

	if (by == GROUPS_NONE)
		return 0;
	ret->by = by;
	query__begin(&query);
	add_query(connection__tables(connection), period, by, &query);
	err = connection__ask(connection, &query, 4 + KIND_COUNT, take_row, ret);
	return err || by != GROUPS_HOST ? err : name_hosts(connection, period, ret);
}
