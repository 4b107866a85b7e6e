/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of a question to the store. What comes from a user or from the store itself gets into
 * it only through query__quote() and query__number(), so it can never be taken for SQL. There are
 * no parameters of the server ("{name:String}"), because not all versions have them.
 *
 * The first failure is kept, and everything after it is skipped. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Tables of the store: a database, and whether tables over all shards are there. */
struct query_tables {
	const char *database; /* store__is_name() */
	bool is_cluster;      /* NAME_all exists */
};

struct query {
	FILE *out;
	char *text;
	size_t size;
	bool failed;
};

/* Release after query__finish(), too. */
void query__begin(struct query *query);
void query__release(struct query *query);
/* The text, which belongs to the query; NULL if out of memory. */
const char *query__finish(struct query *query);

/* SQL that is part of the program. */
void query__add(struct query *query, const char *sql);
void query__number(struct query *query, uint64_t number);
void query__real(struct query *query, double number);
/* A string literal of any bytes. */
void query__quote(struct query *query, const char *text);
/* "gapless.ledger", or "gapless.ledger_all" */
void query__table(struct query *query, const struct query_tables *tables, const char *name);
/* "toDateTime(1763388000)": the same moment in every time zone. */
void query__moment(struct query *query, uint64_t unix_s);
