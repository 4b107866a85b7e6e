/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The largest syscalls of each service. Like services, they keep the place that they got first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/totals_internal.h"

static int by_time(const void *left, const void *right)
{
	const struct totals_call *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

/* A failed look-up is not an error: the service may have no place. */
static struct totals_account *account_of(const struct totals *totals,
					 const struct workload *workload)
{
	struct totals_service *service = totals__find(totals, workload);

	return service && service->account ? service->account : totals->other->account;
}

static struct totals_calls *find_calls(struct totals *totals, struct totals_account *account,
				       const char *name)
{
	struct totals_calls *calls = account->calls;

	for (size_t i = 0; i < account->call_count; i++, calls++)
		if (!strncmp(calls->name, name, sizeof(calls->name) - 1))
			return calls;
	if (account->call_count == TOTALS_CALLS ||
	    totals->series + TOTALS_CALL_SERIES > totals->options.most_series ||
	    totals->calls_used + TOTALS_CALL_SERIES > totals->options.most_series / 4) {
		account->calls_folded = true;
		return &account->other_calls;
	}
	strncpy(calls->name, name, sizeof(calls->name) - 1);
	account->call_count++;
	account->series += TOTALS_CALL_SERIES;
	totals->series += TOTALS_CALL_SERIES;
	totals->calls_used += TOTALS_CALL_SERIES;
	return calls;
}

void totals__add_calls(struct totals *totals, struct totals_call *rows, size_t count,
		       totals_lookup_fn lookup, void *context)
{
	if (!totals->options.with_calls)
		return;
	if (count)
		qsort(rows, count, sizeof(*rows), by_time);
	for (size_t i = 0; i < count; i++) {
		struct totals_account *account =
			account_of(totals, lookup(context, rows[i].workload));
		struct totals_calls *calls = find_calls(totals, account, rows[i].name);

		calls->count += rows[i].count;
		calls->errors += rows[i].errors;
		calls->ns += rows[i].ns;
	}
}
