/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/budgeting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/query.h"
#include "store/tsv.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_S  60

/* The first row of an answer: its columns. Only a store sends it. */
#define COLUMNS 5
static const char *const names[COLUMNS] = { "service", "probability", "begins", "ends", "hosts" };

static void release_rows(struct budgeting_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(rows[i].service);
	free(rows);
}

void budgeting__release(struct budgeting *budgeting)
{
	release_rows(budgeting->rows, budgeting->count);
	budgeting->rows = NULL;
	budgeting->count = 0;
}

/* --- question and answer ---------------------------------------------------------------------- */

/* The column `service` is needed even if this host has none. */
static void add_services(struct query *query, const struct budgeting_services *services)
{
	query__add(query, " AND service IN (");
	for (size_t i = 0; i < services->count; i++) {
		query__add(query, i ? ", " : "");
		query__quote(query, services->names[i]);
	}
	query__add(query, services->count ? ")" : "'')");
}

int budgeting__ask(const char *database, const char *tenant, const char *user,
		   const struct budgeting_services *services, char **ret)
{
	cleanup(query__release) struct query query = {};
	const struct query_tables tables = { .database = database };
	const char *text;
	char *copy;

	query__begin(&query);
	query__add(&query, "SELECT service, probability, toUInt32(since) AS begins, "
			   "toUInt32(until) AS ends, burst AS hosts FROM ");
	query__table(&query, &tables, "budget");
	query__add(&query, " FINAL WHERE tenant IN (");
	query__quote(&query, tenant);
	if (!*tenant && *user) {
		query__add(&query, ", ");
		query__quote(&query, user);
	}
	query__add(&query, ")");
	add_services(&query, services);
	query__add(&query, " ORDER BY probability DESC LIMIT ");
	query__number(&query, BUDGETING_MOST_ROWS);
	query__add(&query, " FORMAT TabSeparatedWithNames");
	text = query__finish(&query);
	copy = text ? strdup(text) : NULL;
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

struct reading {
	struct budgeting_row *rows;
	size_t count;
	bool has_names;
};

static int read_names(struct reading *reading, char *const *fields)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (strcmp(fields[i], names[i]) != 0)
			return -EBADMSG;
	reading->has_names = true;
	return 0;
}

static int take_row(void *context, char *const *fields)
{
	struct reading *reading = context;
	struct budgeting_row row = {}, *added = NULL;
	uint64_t hosts = 0;
	int err;

	if (!reading->has_names)
		return read_names(reading, fields);
	err = tsv__real(fields[1], &row.probability);
	if (!err)
		err = tsv__number(fields[2], &row.since_s);
	if (!err)
		err = tsv__number(fields[3], &row.until_s);
	if (!err)
		err = tsv__number(fields[4], &hosts);
	if (err || row.probability < 0 || row.probability > 1 || row.since_s > UINT32_MAX ||
	    row.until_s > UINT32_MAX || hosts > UINT8_MAX || reading->count == BUDGETING_MOST_ROWS)
		return -EBADMSG;
	row.is_burst = hosts > 0;
	row.service = strdup(fields[0]);
	if (row.service)
		added = APPEND(&reading->rows, &reading->count);
	if (!added) {
		free(row.service);
		return -ENOMEM;
	}
	*added = row;
	return 0;
}

int budgeting__take(struct budgeting *budgeting, const void *bytes, size_t size, uint64_t now_ns)
{
	struct reading reading = {};
	struct tsv tsv = { .columns = COLUMNS, .take = take_row, .context = &reading };
	int err = tsv__feed(&tsv, bytes, size);

	if (!err)
		err = tsv__end(&tsv);
	if (!err && !reading.has_names)
		err = -EBADMSG;
	tsv__release(&tsv);
	if (err) {
		release_rows(reading.rows, reading.count);
		return err == -ENOMEM ? err : -EBADMSG;
	}
	budgeting__release(budgeting);
	budgeting->rows = reading.rows;
	budgeting->count = reading.count;
	budgeting->read_ns = now_ns;
	return 0;
}

/* --- decision --------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	return strcmp(left, *(const char *const *)right);
}

static bool is_here(const struct budgeting_services *services, const char *name)
{
	return services->count &&
	       bsearch(name, services->names, services->count, sizeof(*services->names), compare);
}

static bool is_in_force(const struct budgeting_row *row, uint64_t minute_s)
{
	uint64_t until_s = row->until_s ? row->until_s : UINT64_MAX;

	if (row->is_burst && until_s > row->since_s + BUDGETING_MOST_BURST_S)
		until_s = row->since_s + BUDGETING_MOST_BURST_S;
	return minute_s >= row->since_s && minute_s < until_s;
}

static const struct budgeting_row *find_largest(const struct budgeting *budgeting,
						const struct budgeting_services *services,
						uint64_t minute_s, bool is_burst)
{
	const struct budgeting_row *largest = NULL;

	for (size_t i = 0; i < budgeting->count; i++) {
		const struct budgeting_row *row = &budgeting->rows[i];

		if (row->is_burst == is_burst && is_in_force(row, minute_s) &&
		    is_here(services, row->service) &&
		    (!largest || row->probability > largest->probability))
			largest = row;
	}
	return largest;
}

/* From 0 to below 1. `what` makes the numbers of minutes and bursts independent. */
static double fraction(uint64_t host_id, uint64_t minute, uint64_t what)
{
	uint64_t hash = map__mix(map__mix(map__mix(0, host_id), minute), what);

	/* Twice more, so that every bit depends on the last number too. */
	hash = map__mix(map__mix(hash, 0), 0);
	return (double)(hash >> 11) * 0x1p-53;
}

bool budgeting__choose(const struct budgeting *budgeting, const struct budgeting_services *services,
		       uint64_t minute_s, uint64_t now_ns, double *ret_probability)
{
	bool is_known = now_ns - budgeting->read_ns < BUDGETING_KEEP_S * SECOND_NS;
	const struct budgeting_row *standing = NULL, *burst = NULL;
	double usual, during;

	if (is_known) {
		standing = find_largest(budgeting, services, minute_s, false);
		burst = find_largest(budgeting, services, minute_s, true);
	}
	usual = standing ? standing->probability : budgeting->fallback;
	during = burst ? burst->probability : 0;
	/* Either of two independent events. */
	*ret_probability = usual + during - usual * during;
	return fraction(budgeting->host_id, minute_s / MINUTE_S, 1) < usual ||
	       (burst && fraction(budgeting->host_id, burst->since_s / MINUTE_S, 2) < during);
}
