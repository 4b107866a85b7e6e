/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/service_account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define COLUMNS "threads, state, cause, kind, object, by_service, by_threads, evidence"
#define SUMS    "ns, count, thread_ns, unexplained_ns"
enum { COLUMN_COUNT = 12 };
/*
 * Rows are grouped by one number instead of eight words. A server computes the hash of a word once
 * for each different word, not for each row; that takes 40 % less of its time.
 */
#define WORDS                                                                                      \
	"any(threads), any(state), any(cause), any(kind), any(object), any(by_service), "          \
	"any(by_threads), any(evidence)"
#define KEY                                                                                        \
	"cityHash64(threads) + 3 * cityHash64(state) + 5 * cityHash64(cause) + "                   \
	"7 * cityHash64(kind) + 11 * cityHash64(object) + 13 * cityHash64(by_service) + "          \
	"17 * cityHash64(by_threads) + 19 * cityHash64(evidence)"

const struct period_source service_account_source = { "ledger_1h", "ledger", COLUMNS ", " SUMS,
						      PERIOD_LEDGER_S };

void service_account__release(struct service_account *account)
{
	free(account->rows);
	free(account->causes);
	texts__release(&account->texts);
	*account = (struct service_account) {};
}

static const char *keep(struct service_account *account, const char *text)
{
	return texts__repeat(&account->texts, text);
}

int service_account__add(struct service_account *account, const struct service_row *row)
{
	struct service_row *added;

	if (account->row_count == SERVICE_MOST_ROWS) {
		account->is_cut = true;
		return 0;
	}
	added = APPEND(&account->rows, &account->row_count);
	if (!added)
		return -ENOMEM;
	*added = *row;
	added->threads = keep(account, row->threads);
	added->state = keep(account, row->state);
	added->cause = keep(account, row->cause);
	added->object = keep(account, row->object);
	added->by_service = keep(account, row->by_service);
	added->by_threads = keep(account, row->by_threads);
	added->evidence = keep(account, row->evidence);
	return account->texts.failed ? -ENOMEM : 0;
}

/* A kind that this version does not know proves nothing. */
enum kind service_account__kind(const char *state, const char *key)
{
	enum kind kind = kinds__of(state, key);

	return !strcmp(state, "wait") && strcmp(kinds__words(kind)->key, key) != 0 ? KIND_UNDECIDED
										   : kind;
}

static int take_row(void *context, char *const *fields)
{
	struct service_row row = {
		.threads = fields[0],
		.state = fields[1],
		.cause = fields[2],
		.kind = service_account__kind(fields[1], fields[3]),
		.object = fields[4],
		.by_service = fields[5],
		.by_threads = fields[6],
		.evidence = fields[7],
	};
	int err = tsv__number(fields[8], &row.ns);

	err = err ?: tsv__number(fields[9], &row.count);
	err = err ?: tsv__number(fields[10], &row.thread_ns);
	err = err ?: tsv__number(fields[11], &row.unexplained_ns);
	return err ?: service_account__add(context, &row);
}

int service_account__load(struct connection *connection, const struct period *period,
			  struct service_account *ret)
{
	cleanup(query__release) struct query query = {};
	int err;

	query__begin(&query);
	query__add(&query, "SELECT " WORDS ", sum(ns) AS t, sum(count), sum(thread_ns), "
			   "sum(unexplained_ns) FROM ");
	period__rows(period, connection__tables(connection), &service_account_source, &query);
	query__add(&query, " GROUP BY " KEY " ORDER BY t DESC LIMIT ");
	query__number(&query, SERVICE_MOST_ROWS + 1);
	query__add(&query, " FORMAT TabSeparated");
	ret->texts.clean = true;
	err = connection__ask(connection, &query, COLUMN_COUNT, take_row, ret);
	return err ?: service_account__sum(ret);
}

/* --- sums ------------------------------------------------------------------------------------- */

static int compare_row(const void *a, const void *b)
{
	const struct service_row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return strcmp(x->threads, y->threads) ?: strcmp(x->object, y->object);
}

static struct service_cause *find_cause(struct service_account *account,
					const struct service_row *row)
{
	struct service_cause *cause;

	for (size_t i = 0; i < account->cause_count; i++) {
		cause = &account->causes[i];
		if (cause->kind == row->kind && !strcmp(cause->cause, row->cause) &&
		    !strcmp(cause->state, row->state))
			return cause;
	}
	cause = APPEND(&account->causes, &account->cause_count);
	if (cause) {
		cause->state = row->state;
		cause->cause = row->cause;
		cause->kind = row->kind;
		cause->slot = states__find(row->state, row->cause, row->kind);
	}
	return cause;
}

static bool belongs(const struct service_cause *cause, const struct service_row *row)
{
	return cause->kind == row->kind && !strcmp(cause->cause, row->cause) &&
	       !strcmp(cause->state, row->state);
}

/* Orders rows by what a share is of; 0: they share it. */
typedef int (*compare_fn)(const void *a, const void *b);

static int compare_threads(const void *a, const void *b)
{
	const struct service_row *x = *(const struct service_row *const *)a;
	const struct service_row *y = *(const struct service_row *const *)b;

	return strcmp(x->threads, y->threads);
}

static int compare_object(const void *a, const void *b)
{
	const struct service_row *x = *(const struct service_row *const *)a;
	const struct service_row *y = *(const struct service_row *const *)b;

	return strcmp(x->object, y->object);
}

static int compare_culprit(const void *a, const void *b)
{
	const struct service_row *x = *(const struct service_row *const *)a;
	const struct service_row *y = *(const struct service_row *const *)b;

	return strcmp(x->by_service, y->by_service) ?:
	       strcmp(x->by_threads, y->by_threads) ?:
						      strcmp(x->evidence, y->evidence);
}

static bool has_threads(const struct service_row *row)
{
	return *row->threads;
}

static bool has_object(const struct service_row *row)
{
	return *row->object;
}

static bool has_culprit(const struct service_row *row)
{
	return *row->by_service;
}

/* The largest sum of rows that `has` and that are equal for `compare`. Sorts the list. */
static struct service_share find_most(const struct service_row **list, size_t count,
				      bool (*has)(const struct service_row *row),
				      compare_fn compare)
{
	struct service_share most = {}, now = {};

	qsort(list, count, sizeof(*list), compare);
	for (size_t i = 0; i < count; i++) {
		if (!has(list[i]))
			continue;
		if (!now.row || compare(&list[i], &now.row) != 0)
			now = (struct service_share) { list[i], 0 };
		now.ns += list[i]->ns;
		if (now.ns > most.ns)
			most = now;
	}
	return most;
}

static int find_shares(struct service_account *account, struct service_cause *cause)
{
	cleanup(free_p) const struct service_row **list =
		calloc(account->row_count + 1, sizeof(struct service_row *));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < account->row_count; i++)
		if (belongs(cause, &account->rows[i]))
			list[count++] = &account->rows[i];
	cause->threads = find_most(list, count, has_threads, compare_threads);
	cause->object = find_most(list, count, has_object, compare_object);
	cause->culprit = find_most(list, count, has_culprit, compare_culprit);
	return 0;
}

static int compare_cause(const void *a, const void *b)
{
	const struct service_cause *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns) ?: (int)x->kind - (int)y->kind;
}

int service_account__sum(struct service_account *account)
{
	int err = 0;

	if (account->row_count)
		qsort(account->rows, account->row_count, sizeof(*account->rows), compare_row);
	for (size_t i = 0; i < account->row_count; i++) {
		const struct service_row *row = &account->rows[i];
		struct service_cause *cause = find_cause(account, row);

		if (!cause)
			return -ENOMEM;
		cause->ns += row->ns;
		cause->count += row->count;
		if (!strcmp(row->evidence, states__evidence(EVIDENCE_TIMEOUT)))
			cause->timeout_ns += row->ns;
		account->ns += row->ns;
		account->thread_ns += row->thread_ns;
		account->unexplained_ns += row->unexplained_ns;
		account->kind_ns[row->kind] += row->ns;
	}
	for (size_t i = 0; i < account->cause_count && !err; i++)
		err = find_shares(account, &account->causes[i]);
	if (account->cause_count)
		qsort(account->causes, account->cause_count, sizeof(*account->causes),
		      compare_cause);
	return err;
}

uint64_t service_account__work_ns(const struct service_account *account)
{
	return account->kind_ns[KIND_RUN] + account->kind_ns[KIND_READY] +
	       account->kind_ns[KIND_DELAYING];
}
