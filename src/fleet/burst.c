/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/burst.h"

#include <errno.h>

#include "base/cleanup.h"

#define RECENT_S 600
#define NOTICE_S 390 /* agents read the table every 5 min ± 20 %, and wait 30 s for an answer */

static int take_number(void *context, char *const *fields)
{
	return tsv__number(fields[0], context);
}

static void add_who(const struct burst *burst, struct query *query)
{
	query__add(query, " WHERE tenant = ");
	query__quote(query, burst->tenant);
	query__add(query, " AND service = ");
	query__quote(query, burst->service);
}

static int count_hosts(struct connection *connection, struct burst *burst, uint64_t now_s)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT uniqExact(host_id) FROM ");
	query__table(&query, connection__tables(connection), "workload");
	add_who(burst, &query);
	query__add(&query, " AND last_seen >= ");
	query__moment(&query, now_s - RECENT_S);
	query__add(&query, " FORMAT TabSeparated");
	return connection__ask(connection, &query, 1, take_number, &burst->hosts_known);
}

/* The table is the same on all servers. */
static struct query_tables own_tables(const struct connection *connection)
{
	return (struct query_tables) { .database = connection__tables(connection)->database };
}

static int find_running(struct connection *connection, const struct burst *burst, uint64_t *ret_s)
{
	cleanup(query__release) struct query query = {};
	const struct query_tables tables = own_tables(connection);

	query__begin(&query);
	query__add(&query, "SELECT toUInt32(max(until)) FROM ");
	query__table(&query, &tables, "budget");
	query__add(&query, " FINAL");
	add_who(burst, &query);
	query__add(&query, " AND burst > 0 FORMAT TabSeparated");
	return connection__ask(connection, &query, 1, take_number, ret_s);
}

static int insert(struct connection *connection, const struct burst *burst, uint64_t now_s)
{
	cleanup(query__release) struct query query = {};
	const struct query_tables tables = own_tables(connection);

	query__begin(&query);
	query__add(&query, "INSERT INTO ");
	query__table(&query, &tables, "budget");
	query__add(&query, " (tenant, service, probability, since, until, burst, ver) VALUES (");
	query__quote(&query, burst->tenant);
	query__add(&query, ", ");
	query__quote(&query, burst->service);
	query__add(&query, ", ");
	query__real(&query, burst->probability);
	query__add(&query, ", ");
	query__moment(&query, burst->since_s);
	query__add(&query, ", ");
	query__moment(&query, burst->until_s);
	query__add(&query, ", ");
	query__number(&query, burst->hosts);
	query__add(&query, ", ");
	query__moment(&query, now_s);
	query__add(&query, ")");
	return connection__tell(connection, &query);
}

int burst__write(struct connection *connection, struct burst *burst, uint64_t now_s)
{
	uint64_t running_s = 0;
	int err;

	if (!burst->hosts || burst->hosts > BURST_MOST_HOSTS || !burst->length_s ||
	    burst->length_s > BURST_MOST_S)
		return -EINVAL;
	err = count_hosts(connection, burst, now_s);
	if (!err && !burst->hosts_known)
		err = -ENODATA;
	if (!err)
		err = find_running(connection, burst, &running_s);
	if (!err && running_s > now_s) {
		burst->until_s = running_s;
		err = -EALREADY;
	}
	if (err)
		return err;
	burst->since_s = (now_s + NOTICE_S + 59) / 60 * 60;
	burst->until_s = burst->since_s + burst->length_s;
	burst->probability = burst->hosts >= burst->hosts_known
				     ? 1
				     : (double)burst->hosts / (double)burst->hosts_known;
	return insert(connection, burst, now_s);
}
