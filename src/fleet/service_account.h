/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread time of a service over a period, as the store has it: rows, and their sums by cause.
 */
#pragma once

#include "fleet/period.h"
#include "model/texts.h"
#include "vocabulary/states.h"

struct service_row {
	/* Never NULL. */
	const char *threads, *state, *cause, *object, *by_service, *by_threads, *evidence;
	enum kind kind;
	uint64_t ns, count, thread_ns, unexplained_ns;
};

/* What has most of a cause, and how much. */
struct service_share {
	const struct service_row *row; /* one that has it; NULL: nothing */
	uint64_t ns;
};

/* All rows of one state, cause and kind. */
struct service_cause {
	const char *state, *cause;
	enum kind kind;
	enum ledger_slot slot; /* for words; SLOT_NONE: a newer version wrote it */
	uint64_t ns, count;
	uint64_t timeout_ns;          /* ended by a timeout */
	struct service_share threads; /* group of threads */
	struct service_share object;  /* with a name */
	struct service_share culprit; /* (by_service, by_threads, evidence) with a service */
};

/* The kind of a row's state, by its words in the store. */
enum kind service_account__kind(const char *state, const char *key);

#define SERVICE_MOST_ROWS 100000

struct service_account {
	struct service_row *rows; /* the largest first */
	struct service_cause *causes;
	size_t row_count, cause_count;
	uint64_t ns, thread_ns, unexplained_ns;
	uint64_t kind_ns[KIND_COUNT];
	bool is_cut; /* there were more rows than SERVICE_MOST_ROWS; the smallest are missing */
	struct texts texts;
};

/* Where the rows are, for period__find(). */
extern const struct period_source service_account_source;

void service_account__release(struct service_account *account);
/* Errors of connection__ask(). The account must be all zeroes. */
int service_account__load(struct connection *connection, const struct period *period,
			  struct service_account *ret);
/* Adds a row; the strings are copied. -ENOMEM. */
int service_account__add(struct service_account *account, const struct service_row *row);
/* After the last row: makes causes and sums. -ENOMEM. */
int service_account__sum(struct service_account *account);

/* Time in which the threads certainly had work: running, ready or held up. */
uint64_t service_account__work_ns(const struct service_account *account);
