/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "vocabulary/counters.h"

#define BEFORE_S   3600
#define MOST_NAMES 20000
/* Every agent writes it every minute. */
#define SIGN_OF_LIFE "agent_cpu_ns"

void coverage__release(struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->loss_count; i++)
		free(coverage->losses[i].name);
	free(coverage->losses);
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

/* Workloads of the service that could have been there. */
static void add_known(const struct period *period, bool with_tenant, struct query *query)
{
	query__add(query, " WHERE ");
	if (with_tenant) {
		period__who(period, query);
	} else {
		query__add(query, "service = ");
		query__quote(query, period->service);
	}
	query__add(query, " AND first_seen < ");
	query__moment(query, period->to_s);
	query__add(query, " AND last_seen >= ");
	query__moment(query, period->from_s > BEFORE_S ? period->from_s - BEFORE_S : 0);
}

static int take_tenant(void *context, char *const *fields)
{
	struct coverage_tenants *tenants = context;

	if (tenants->count == COVERAGE_MOST_TENANTS)
		return 0;
	tenants->names[tenants->count] = strdup(fields[0]);
	return tenants->names[tenants->count++] ? 0 : -ENOMEM;
}

int coverage_tenants__find(struct connection *connection, const struct period *period,
			   struct coverage_tenants *ret)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT DISTINCT tenant FROM ");
	query__table(&query, connection__tables(connection), "workload");
	add_known(period, false, &query);
	query__add(&query, " ORDER BY tenant FORMAT TabSeparated");
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

/* --- hosts and minutes --------------------------------------------------------------------------
 */

static int take_known(void *context, char *const *fields)
{
	struct coverage *coverage = context;
	uint64_t stacks;
	int err = tsv__number(fields[0], &coverage->hosts_known);

	err = err ?: tsv__number(fields[1], &coverage->minutes_expected);
	err = err ?: tsv__number(fields[2], &stacks);
	if (!err)
		coverage->has_stacks = stacks > 0;
	return err;
}

/* Adds a number above 0 if there are samples. */
static void add_stacks(struct connection *connection, const struct period *period,
		       struct query *query)
{
	query__add(query, "(SELECT count() FROM (SELECT 1 FROM ");
	query__table(query, connection__tables(connection), "samples");
	query__add(query, " WHERE ");
	period__who(period, query);
	query__add(query, " AND bucket >= ");
	query__moment(query, period->from_s);
	query__add(query, " AND bucket < ");
	query__moment(query, period->to_s);
	query__add(query, " LIMIT 1))");
}

static int load_known(struct connection *connection, const struct period *period, uint64_t until_s,
		      struct coverage *ret)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT count(), toUInt64(sum(greatest(0, toInt64(");
	query__number(&query, until_s);
	query__add(&query, ") - toInt64(greatest(toUInt32(begin), ");
	query__number(&query, period->from_s);
	query__add(&query, ")))) / 60), ");
	add_stacks(connection, period, &query);
	query__add(&query, " FROM (SELECT host_id, toStartOfMinute(min(first_seen)) "
			   "AS begin FROM ");
	query__table(&query, connection__tables(connection), "workload");
	add_known(period, true, &query);
	query__add(&query, " GROUP BY host_id) FORMAT TabSeparated");
	return connection__ask(connection, &query, 3, take_known, ret);
}

static void add_hosts(struct connection *connection, const struct period *period, uint64_t until_s,
		      struct query *query)
{
	query__add(query, " WHERE tenant = ");
	query__quote(query, period->tenant);
	query__add(query, " AND bucket >= ");
	query__moment(query, period->from_s);
	query__add(query, " AND bucket < ");
	query__moment(query, until_s);
	query__add(query, connection__tables(connection)->is_cluster
				  ? " AND host_id GLOBAL IN (SELECT host_id FROM "
				  : " AND host_id IN (SELECT host_id FROM ");
	query__table(query, connection__tables(connection), "workload");
	add_known(period, true, query);
	query__add(query, ")");
}

/* --- quality -------------------------------------------------------------------------------------
 */

static int take_quality(void *context, char *const *fields)
{
	struct coverage *coverage = context;
	struct coverage_loss *loss;

	if (!strcmp(fields[0], SIGN_OF_LIFE))
		return tsv__number(fields[2], &coverage->hosts_seen)
			       ?: tsv__number(fields[3], &coverage->minutes_seen);
	loss = APPEND(&coverage->losses, &coverage->loss_count);
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

/* Costs and choices of agents are no losses. The server skips these rows by the key of the table.
 */
static int load_quality(struct connection *connection, const struct period *period,
			uint64_t until_s, struct coverage *ret)
{
	static const char *const costs[] = { "agent_hook_ns", "agent_anon_bytes", "agent_bpf_bytes",
					     "sampling_probability_ppm" };
	cleanup(query__release) struct query query = {};
	int err;

	query__begin(&query);
	query__add(&query, "SELECT name, sum(value), uniqExact(host_id), "
			   "uniqExact(host_id, bucket) FROM ");
	query__table(&query, connection__tables(connection), "quality");
	add_hosts(connection, period, until_s, &query);
	for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
		query__add(&query, " AND name != ");
		query__quote(&query, costs[i]);
	}
	query__add(&query, " AND (value > 0 OR name = '" SIGN_OF_LIFE
			   "') GROUP BY name LIMIT 1000 FORMAT TabSeparated");
	err = connection__ask(connection, &query, 4, take_quality, ret);
	if (ret->loss_count)
		qsort(ret->losses, ret->loss_count, sizeof(*ret->losses), compare_loss);
	return err;
}

int coverage__load(struct connection *connection, const struct period *period, uint64_t now_s,
		   struct coverage *ret)
{
	uint64_t until_s = coverage__until_s(period->to_s, now_s);
	int err = load_known(connection, period, until_s, ret);

	return err ?: load_quality(connection, period, until_s, ret);
}
