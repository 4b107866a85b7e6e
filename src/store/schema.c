/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of the schema (schema_text.c) has placeholders for what differs between a single server
 * and a cluster:
 *
 *   $db                       the database
 *   $on                       " ON CLUSTER …", or nothing
 *   $tenant                   the default of the column `tenant`
 *   $window                   settings: for how long tokens of inserts are remembered
 *   $engine{TABLE:NAME:ARG}   the engine, replicated within a shard
 *   $everywhere{…}            the same, replicated to all servers
 *   $all{TABLE:KEY}           the table over all shards, with the key that divides rows
 *   $rollup{TABLE}            what fills a table of hourly sums
 *   $from, $until             the hours of a roll-up
 */
#include "store/schema.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/schema_text.h"

#define DEFAULT_DATABASE "gapless"
#define MOST_ARGUMENTS   3
#define ARGUMENT_BYTES   64

struct printing {
	FILE *out;
	const char *database, *cluster;
	bool tenant_is_user;
	char from[64], until[64];
};

struct arguments {
	char text[MOST_ARGUMENTS][ARGUMENT_BYTES];
};

bool store__is_name(const char *text)
{
	if (!*text || isdigit((unsigned char)*text) || strlen(text) >= ARGUMENT_BYTES)
		return false;
	for (; *text; text++)
		if (*text != '_' && !(isascii(*text) && isalnum((unsigned char)*text)))
			return false;
	return true;
}

static void print_text(const struct printing *printing, const char *sql);

static void print_engine(const struct printing *printing, const struct arguments *arguments,
			 bool everywhere)
{
	const char *table = arguments->text[0], *engine = arguments->text[1];
	const char *version = arguments->text[2];

	if (!printing->cluster) {
		fprintf(printing->out, *version ? "%s(%s)" : "%s", engine, version);
		return;
	}
	fprintf(printing->out, "Replicated%s('/clickhouse/tables/%s/%s/%s', '%s'%s%s)", engine,
		everywhere ? "all" : "{shard}", printing->database, table,
		everywhere ? "{shard}-{replica}" : "{replica}", *version ? ", " : "", version);
}

static void print_all(const struct printing *printing, const struct arguments *arguments)
{
	const char *table = arguments->text[0], *key = arguments->text[1];

	if (!printing->cluster)
		return;
	print_text(printing, "CREATE TABLE IF NOT EXISTS $db.");
	fprintf(printing->out, "%s_all", table);
	print_text(printing, "$on AS $db.");
	fprintf(printing->out, "%s\nENGINE = Distributed('%s', '%s', '%s', %s);\n\n", table,
		printing->cluster, printing->database, table, key);
}

/* Windows of 300,000 tokens are 12 minutes of a shard with 25,000 hosts. */
static void print_window(const struct printing *printing)
{
	if (!printing->cluster)
		fputs("non_replicated_deduplication_window = 10000", printing->out);
	else
		fputs("replicated_deduplication_window = 10000, "
		      "replicated_deduplication_window_seconds = 3600, "
		      "replicated_deduplication_window_for_async_inserts = 300000, "
		      "replicated_deduplication_window_seconds_for_async_inserts = 3600",
		      printing->out);
}

static void print_select(const struct printing *printing, const char *table)
{
	for (size_t i = 0; i < schema_rollup_count; i++)
		if (!strcmp(schema_rollups[i].into, table))
			print_text(printing, schema_rollups[i].select);
}

/* Prints one placeholder; `name` has `length` bytes. */
static void print_placeholder(const struct printing *printing, const char *name, size_t length,
			      const struct arguments *arguments)
{
	FILE *out = printing->out;
	bool is_cluster = printing->cluster;

#define IS(word) (length == strlen(word) && !strncmp(name, word, length))
	if (IS("db"))
		fputs(printing->database, out);
	else if (IS("on") && is_cluster)
		fprintf(out, " ON CLUSTER '%s'", printing->cluster);
	else if (IS("tenant"))
		fputs(printing->tenant_is_user ? "DEFAULT currentUser()" : "DEFAULT ''", out);
	else if (IS("window"))
		print_window(printing);
	else if (IS("engine") || IS("everywhere"))
		print_engine(printing, arguments, IS("everywhere"));
	else if (IS("all"))
		print_all(printing, arguments);
	else if (IS("rollup"))
		print_select(printing, arguments->text[0]);
	else if (IS("from"))
		fputs(printing->from, out);
	else if (IS("until"))
		fputs(printing->until, out);
#undef IS
}

/* Reads "{a:b:c}", if it is there; returns what follows. */
static const char *read_arguments(const char *at, struct arguments *ret)
{
	size_t which = 0, length = 0;

	*ret = (struct arguments) { 0 };
	if (*at != '{')
		return at;
	for (at++; *at && *at != '}'; at++) {
		if (*at == ':' && which + 1 < MOST_ARGUMENTS) {
			which++;
			length = 0;
		} else if (length + 1 < ARGUMENT_BYTES) {
			ret->text[which][length++] = *at;
		}
	}
	return *at ? at + 1 : at;
}

/* NOLINTNEXTLINE(misc-no-recursion): the text of a placeholder has none of its own kind */
static void print_text(const struct printing *printing, const char *sql)
{
	while (*sql) {
		size_t plain = strcspn(sql, "$"), length = 0;
		struct arguments arguments;
		const char *name;

		fwrite(sql, 1, plain, printing->out);
		sql += plain;
		if (!*sql)
			return;
		name = ++sql;
		while (islower((unsigned char)name[length]))
			length++;
		sql = read_arguments(name + length, &arguments);
		print_placeholder(printing, name, length, &arguments);
	}
}

static int begin(FILE *out, const struct schema_options *options, struct printing *ret)
{
	struct printing printing = { .out = out,
				     .database = options->database ?: DEFAULT_DATABASE,
				     .cluster = options->cluster,
				     .tenant_is_user = options->tenant_is_user };

	if (!store__is_name(printing.database) ||
	    (printing.cluster && !store__is_name(printing.cluster)))
		return -EINVAL;
	snprintf(printing.from, sizeof(printing.from), "toStartOfHour(now()) - INTERVAL 1 HOUR");
	snprintf(printing.until, sizeof(printing.until), "toStartOfHour(now())");
	*ret = printing;
	return 0;
}

int store__print_steps(FILE *out, const struct schema_options *options,
		       const struct schema_step *steps, size_t count, unsigned int from)
{
	struct printing printing;
	int err = begin(out, options, &printing);

	for (size_t i = 0; !err && i < count; i++) {
		if (steps[i].version <= from)
			continue;
		fprintf(out, "-- to version %u\n\n", steps[i].version);
		print_text(&printing, steps[i].sql);
		print_text(&printing, "INSERT INTO $db.meta (version)\n");
		fprintf(out, "SELECT toUInt32(%u) AS version WHERE version NOT IN ",
			steps[i].version);
		print_text(&printing, "(SELECT version FROM $db.meta);\n");
	}
	return err ?: ferror(out) ? -EIO : 0;
}

int store__print_migration(FILE *out, const struct schema_options *options, unsigned int from)
{
	return store__print_steps(out, options, schema_steps, schema_step_count, from);
}

int store__print_schema(FILE *out, const struct schema_options *options)
{
	return store__print_migration(out, options, 0);
}

int store__print_rollup(FILE *out, const struct schema_options *options, uint64_t from_s,
			uint64_t until_s)
{
	struct printing printing;
	int err = begin(out, options, &printing);

	if (err)
		return err;
	snprintf(printing.from, sizeof(printing.from), "toStartOfHour(toDateTime(%" PRIu64 "))",
		 from_s);
	snprintf(printing.until, sizeof(printing.until), "toStartOfHour(toDateTime(%" PRIu64 "))",
		 until_s);
	for (size_t i = 0; i < schema_rollup_count; i++) {
		fprintf(out, "INSERT INTO %s.%s\n", printing.database, schema_rollups[i].into);
		print_text(&printing, schema_rollups[i].select);
		fputs(";\n\n", out);
	}
	return ferror(out) ? -EIO : 0;
}
