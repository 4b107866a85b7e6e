/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "vocabulary/counters.h"

#define HOUR_S     3600
#define BEFORE_S   HOUR_S
#define MOST_NAMES 20000
/* Every agent writes it every minute. */
#define SIGN_OF_LIFE "agent_cpu_ns"

void coverage__release(struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->loss_count; i++)
		free(coverage->losses[i].name);
	free(coverage->losses);
	free(coverage->namespace_names);
	*coverage = (struct coverage) {};
}

void coverage_tenants__release(struct coverage_tenants *tenants)
{
	for (size_t i = 0; i < tenants->count; i++)
		free(tenants->names[i]);
	*tenants = (struct coverage_tenants) {};
}

void coverage_names__release(struct coverage_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct coverage_names) {};
}

uint64_t coverage__until_s(uint64_t to_s, uint64_t now_s)
{
	uint64_t last_s = now_s > COVERAGE_LATE_S ? now_s - COVERAGE_LATE_S : 0;

	last_s -= last_s % 60;
	return to_s < last_s ? to_s : last_s;
}

uint64_t coverage__since_s(uint64_t from_s, uint64_t now_s)
{
	uint64_t first_s = now_s > PERIOD_LEDGER_S ? now_s - PERIOD_LEDGER_S : 0;

	first_s = (first_s + 59) / 60 * 60;
	return from_s > first_s ? from_s : first_s;
}

static uint64_t hour_before(uint64_t at_s)
{
	return at_s > BEFORE_S ? at_s - BEFORE_S : 0;
}

static int take_tenant(void *context, char *const *fields)
{
	struct coverage_tenants *tenants = context;

	if (tenants->count == COVERAGE_MOST_TENANTS)
		return 0;
	tenants->names[tenants->count] = strdup(fields[0]);
	return tenants->names[tenants->count++] ? 0 : -ENOMEM;
}

/*
 * Not by first_seen, which begins anew with each start of an agent. A workload is forgotten after
 * 35 days, sums of hours are not.
 */
int coverage_tenants__find(struct connection *connection, const struct period *period,
			   struct coverage_tenants *ret)
{
	const struct query_tables *tables = connection__tables(connection);
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT DISTINCT tenant FROM (SELECT tenant FROM ");
	query__table(&query, tables, "workload");
	query__add(&query, " WHERE service = ");
	query__quote(&query, period->service);
	query__add(&query, " AND last_seen >= ");
	query__moment(&query, hour_before(period->from_s));
	if (period->to_s - period->from_s >= BEFORE_S) {
		query__add(&query, " UNION ALL SELECT tenant FROM ");
		query__table(&query, tables, "ledger_1h");
		query__add(&query, " WHERE service = ");
		query__quote(&query, period->service);
		query__add(&query, " AND ");
		period__span("hour", period->from_s, period->to_s, &query);
	}
	query__add(&query, ") ORDER BY tenant FORMAT TabSeparated");
	return connection__ask(connection, &query, 1, take_tenant, ret);
}

static int take_name(void *context, char *const *fields)
{
	struct coverage_names *names = context;
	char **name;

	name = APPEND(&names->names, &names->count);
	if (!name)
		return -ENOMEM;
	*name = strdup(fields[0]);
	return *name ? 0 : -ENOMEM;
}

int coverage_names__find(struct connection *connection, const char *tenant,
			 struct coverage_names *ret)
{
	cleanup(query__release) struct query query = {};
	char **end;
	int err;

	query__begin(&query);
	query__add(&query, "SELECT DISTINCT service FROM ");
	query__table(&query, connection__tables(connection), "workload");
	if (tenant) {
		query__add(&query, " WHERE tenant = ");
		query__quote(&query, tenant);
	}
	query__add(&query, " ORDER BY service LIMIT ");
	query__number(&query, MOST_NAMES);
	query__add(&query, " FORMAT TabSeparated");
	err = connection__ask(connection, &query, 1, take_name, ret);
	if (err)
		return err;
	end = APPEND(&ret->names, &ret->count);
	if (!end)
		return -ENOMEM;
	ret->count--;
	return 0;
}

/* --- hosts and minutes ------------------------------------------------------------------------ */

struct hosts {
	struct connection *connection;
	const struct query_tables *tables;
	const struct period *period;
	struct coverage *ret;
	uint64_t late; /* hosts whose first_seen does not tell */
};

static int take_hosts(void *context, char *const *fields)
{
	struct hosts *hosts = context;
	struct coverage *coverage = hosts->ret;
	uint64_t stacks;
	int err = tsv__number(fields[0], &coverage->hosts_known);

	err = err ?: tsv__number(fields[1], &coverage->minutes_expected);
	err = err ?: tsv__number(fields[2], &coverage->hosts_seen);
	err = err ?: tsv__number(fields[3], &coverage->minutes_seen);
	err = err ?: tsv__number(fields[4], &hosts->late);
	err = err ?: tsv__number(fields[5], &coverage->namespaces);
	err = err ?: tsv__number(fields[7], &stacks);
	if (err)
		return err;
	coverage->has_stacks = stacks > 0;
	free(coverage->namespace_names);
	coverage->namespace_names = strdup(fields[6]);
	return coverage->namespace_names ? 0 : -ENOMEM;
}

static void add_any(const struct hosts *hosts, const char *table, const char *column,
		    uint64_t from_s, uint64_t to_s, struct query *query)
{
	query__add(query, "(SELECT count() FROM (SELECT 1 FROM ");
	query__table(query, hosts->tables, table);
	query__add(query, " WHERE ");
	period__who(hosts->period, query);
	query__add(query, " AND ");
	period__span(column, from_s, to_s, query);
	query__add(query, " LIMIT 1))");
}

/* Adds a number above 0 if there are samples: minutes, or sums of whole hours, which stay longer.
 */
static void add_stacks(const struct hosts *hosts, struct query *query)
{
	uint64_t from_s = hosts->period->from_s, to_s = hosts->period->to_s;
	uint64_t first_s = (from_s + HOUR_S - 1) / HOUR_S * HOUR_S, end_s = to_s / HOUR_S * HOUR_S;

	add_any(hosts, "samples", "bucket", from_s, to_s, query);
	if (first_s >= end_s)
		return;
	query__add(query, " + ");
	add_any(hosts, "samples_1h", "hour", first_s, end_s, query);
}

static int take_stacks(void *context, char *const *fields)
{
	uint64_t stacks;
	int err = tsv__number(fields[0], &stacks);

	if (!err)
		((struct coverage *)context)->has_stacks = stacks > 0;
	return err;
}

/* If nothing else is known any more. */
static int load_stacks(const struct hosts *hosts)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT ");
	add_stacks(hosts, &query);
	query__add(&query, " FORMAT TabSeparated");
	return connection__ask(hosts->connection, &query, 1, take_stacks, hosts->ret);
}

/* Hosts that may have had the service since an hour before: `first`, and namespaces `names`. */
static void add_workloads(const struct hosts *hosts, struct query *query)
{
	query__add(query, "(SELECT host_id, toUInt32(toStartOfMinute(min(f))) AS first, "
			  "groupUniqArray(toString(n)) AS names FROM (SELECT host_id, "
			  "min(first_seen) AS f, max(last_seen) AS l, any(namespace) AS n FROM ");
	query__table(query, hosts->tables, "workload");
	query__add(query, " WHERE ");
	period__who(hosts->period, query);
	query__add(query, " GROUP BY host_id, workload_id HAVING l >= ");
	query__moment(query, hour_before(hosts->ret->since_s));
	query__add(query, ") GROUP BY host_id) AS k");
}

/* The minutes in which the agent of a host reported, and the first one. */
static void add_signs(const struct hosts *hosts, struct query *query)
{
	query__add(query, " LEFT JOIN (SELECT host_id, toUInt32(min(bucket)) AS sign, "
			  "groupBitmapState(toUInt32(intDiv(toUInt32(bucket), 60))) AS minutes "
			  "FROM ");
	query__table(query, hosts->tables, "quality");
	query__add(query, " WHERE tenant = ");
	query__quote(query, hosts->period->tenant);
	query__add(query, " AND name = '" SIGN_OF_LIFE "' AND ");
	period__span("bucket", hour_before(hosts->ret->since_s), hosts->ret->until_s, query);
	query__add(query, " GROUP BY host_id) AS q ON k.host_id = q.host_id");
}

/* When hosts had the service according to the account, at the earliest an hour before. */
static void add_rows(const struct hosts *hosts, struct query *query)
{
	static const struct period_source hourly = { "ledger_host_1h", "ledger",
						     "host_id, hour AS at", 0 };
	static const struct period_source minutes = { "ledger_host_1h", "ledger",
						      "host_id, bucket AS at", 0 };

	query__add(query, " LEFT JOIN (SELECT host_id, toUInt32(min(at)) AS row FROM (SELECT "
			  "host_id, bucket AS at FROM ");
	query__table(query, hosts->tables, minutes.minutes);
	query__add(query, " WHERE ");
	period__who(hosts->period, query);
	query__add(query, " AND ");
	period__span("bucket", hour_before(hosts->ret->since_s), hosts->ret->since_s, query);
	for (int is_hourly = 0; is_hourly < 2; is_hourly++) {
		if (!period__has(hosts->period, is_hourly))
			continue;
		query__add(query, " UNION ALL ");
		period__select(hosts->period, hosts->tables, is_hourly ? &hourly : &minutes,
			       is_hourly, query);
	}
	query__add(query, ") GROUP BY host_id) AS r ON k.host_id = r.host_id");
}

/*
 * From when a host is expected. A row of an hour stands for its begin, so it is not believed before
 * the first sign of the agent. Without a row, the host had the service when it was first seen.
 */
static void add_begin(const struct hosts *hosts, bool with_rows, struct query *query)
{
	uint64_t since_s = hosts->ret->since_s;

	query__add(query, "multiIf(first <= ");
	query__number(query, since_s);
	query__add(query, ", toUInt32(");
	query__number(query, since_s);
	query__add(query, "), ");
	if (with_rows) {
		query__add(query, "row > 0, greatest(toUInt32(");
		query__number(query, since_s);
		query__add(query, "), row, sign > 0 ? least(first, sign) : row), ");
	}
	query__add(query, "first) AS begin");
}

static int load_hosts(struct hosts *hosts, bool with_rows)
{
	const struct coverage *coverage = hosts->ret;
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT countIf(is_known), sum(expected), "
			   "countIf(seen > 0 OR (is_known AND expected = 0)), sum(seen), "
			   "countIf(is_late), length(groupUniqArrayArrayIf(names, is_known) AS n), "
			   "arrayStringConcat(arraySlice(arraySort(n), 1, 5), ', '), ");
	add_stacks(hosts, &query);
	query__add(&query, " FROM (SELECT names, ");
	add_begin(hosts, with_rows, &query);
	query__add(&query, ", first > ");
	query__number(&query, coverage->since_s);
	query__add(&query, " AS is_late, begin < ");
	query__number(&query, hosts->period->to_s);
	query__add(&query, " AS is_known, toUInt64(begin < ");
	query__number(&query, coverage->until_s);
	query__add(&query, " ? intDiv(");
	query__number(&query, coverage->until_s);
	query__add(&query, " - begin, 60) : 0) AS expected, "
			   "bitmapCardinality(bitmapSubsetInRange(minutes, "
			   "toUInt32(intDiv(begin, 60)), toUInt32(");
	query__number(&query, coverage->until_s / 60);
	query__add(&query, "))) AS seen FROM ");
	add_workloads(hosts, &query);
	add_signs(hosts, &query);
	if (with_rows)
		add_rows(hosts, &query);
	query__add(&query, ") FORMAT TabSeparated");
	return connection__ask(hosts->connection, &query, 8, take_hosts, hosts);
}

/* --- quality ---------------------------------------------------------------------------------- */

static int take_quality(void *context, char *const *fields)
{
	struct coverage *coverage = context;
	struct coverage_loss *loss = APPEND(&coverage->losses, &coverage->loss_count);

	if (!loss)
		return -ENOMEM;
	loss->name = strdup(fields[0]);
	loss->is_loss = counters__is_loss(fields[0]);
	if (!loss->name)
		return -ENOMEM;
	return tsv__number(fields[1], &loss->value) ?: tsv__number(fields[2], &loss->hosts);
}

static int compare_loss(const void *a, const void *b)
{
	const struct coverage_loss *x = a, *y = b;

	return (int)y->is_loss - (int)x->is_loss ?: strcmp(x->name, y->name);
}

static void add_quality(const struct hosts *hosts, struct query *query)
{
	query__add(query, "SELECT name, sum(value), uniqExact(host_id) FROM ");
	query__table(query, hosts->tables, "quality");
	query__add(query, " WHERE tenant = ");
	query__quote(query, hosts->period->tenant);
	query__add(query, " AND ");
	period__span("bucket", hosts->ret->since_s, hosts->ret->until_s, query);
	query__add(query, hosts->tables->is_cluster ? " AND host_id GLOBAL IN (SELECT host_id FROM "
						    : " AND host_id IN (SELECT host_id FROM ");
	query__table(query, hosts->tables, "workload");
	query__add(query, " WHERE ");
	period__who(hosts->period, query);
	query__add(query, " AND last_seen >= ");
	query__moment(query, hour_before(hosts->ret->since_s));
	query__add(query, ")");
}

/* Costs and choices of agents are no losses. The server skips these rows by the key of the table.
 */
static int load_quality(const struct hosts *hosts)
{
	static const char *const costs[] = { SIGN_OF_LIFE, "agent_hook_ns", "agent_anon_bytes",
					     "agent_bpf_bytes", "sampling_probability_ppm" };
	struct coverage *coverage = hosts->ret;
	cleanup(query__release) struct query query = {};
	int err;

	query__begin(&query);
	add_quality(hosts, &query);
	for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
		query__add(&query, " AND name != ");
		query__quote(&query, costs[i]);
	}
	query__add(&query, " AND value > 0 GROUP BY name LIMIT 1000 FORMAT TabSeparated");
	err = connection__ask(hosts->connection, &query, 3, take_quality, coverage);
	if (coverage->loss_count)
		qsort(coverage->losses, coverage->loss_count, sizeof(*coverage->losses),
		      compare_loss);
	return err;
}

int coverage__load(struct connection *connection, const struct period *period, uint64_t now_s,
		   struct coverage *ret)
{
	struct hosts hosts = { .connection = connection,
			       .tables = connection__tables(connection),
			       .period = period,
			       .ret = ret };
	int err;

	ret->since_s = coverage__since_s(period->from_s, now_s);
	ret->until_s = coverage__until_s(period->to_s, now_s);
	if (ret->until_s < ret->since_s)
		ret->until_s = ret->since_s;
	/* All of it has expired. */
	if (ret->since_s >= period->to_s)
		return load_stacks(&hosts);
	err = load_hosts(&hosts, false);
	if (!err && hosts.late)
		err = load_hosts(&hosts, true);
	return err ?: load_quality(&hosts);
}
