/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of the store as SQL, for a single ClickHouse server or for a cluster. gapless-store(7)
 * describes them.
 *
 * The schema has a version. It is a list of steps: step N changes a store of version N - 1 into one
 * of version N, and step 1 creates all tables. So a new store and one that was migrated went
 * through the same statements. Each step ends with a row in the table `meta`. Steps can be
 * repeated: they do nothing the second time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What this program writes. */
#define STORE_VERSION 1

struct schema_options {
	const char *database; /* NULL: "gapless" */
	/*
	 * NULL: a single server. Otherwise the name of a cluster in the configuration of the
	 * servers: replicated tables, and for each table NAME a table NAME_all over all shards.
	 */
	const char *cluster;
	/* The server sets the column `tenant` to the name of the user who inserts. */
	bool tenant_is_user;
};

/* Placeholders in `sql` are expanded by schema.c, which explains them. */
struct schema_step {
	unsigned int version; /* after the step */
	const char *sql;
};

/* Whether a name can be used for a database or a cluster: letters, digits and _. */
bool store__is_name(const char *text);

/* All steps from an empty server to this version. -EINVAL for bad names, -EIO. */
int store__print_schema(FILE *out, const struct schema_options *options);
/* The steps after version `from`; none if `from` is this version or later. */
int store__print_migration(FILE *out, const struct schema_options *options, unsigned int from);
/* The same with other steps, in ascending order. */
int store__print_steps(FILE *out, const struct schema_options *options,
		       const struct schema_step *steps, size_t count, unsigned int from);
/*
 * Statements that compute the hourly sums again, for the hours that begin from `from_s` to before
 * `until_s`: needed if rows arrived later than the next full hour.
 */
int store__print_rollup(FILE *out, const struct schema_options *options, uint64_t from_s,
			uint64_t until_s);
