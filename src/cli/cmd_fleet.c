/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless fleet: asks the store that agents fill. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/supervisor.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/fleet.h"
#include "fleet/moment.h"
#include "store/schema.h"

#define HOUR_S 3600

DEFINE_CLEANUP(struct connection *, connection__free)

enum {
	KEY_FROM = 256,
	KEY_TO,
	KEY_BY,
	KEY_STORE,
	KEY_DATABASE,
	KEY_USER,
	KEY_PASSWORD,
	KEY_CA,
	KEY_CERTIFICATE,
	KEY_KEY,
	KEY_TENANT,
	KEY_IDLE,
	KEY_HOSTS,
	KEY_FOR,
	KEY_DIRECTORY,
	KEY_SHARE,
	KEY_CLUSTER,
	KEY_VERSION,
	KEY_ROLLUP,
	KEY_TENANT_IS_USER,
};

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "The store:", 1 },
	{ "store", KEY_STORE, "URL", 0, "ClickHouse's HTTP interface", 1 },
	{ "config", 'c', "FILE", 0, "Take the store from this configuration of an agent", 1 },
	{ "database", KEY_DATABASE, "NAME", 0, "Its database; gapless by default", 1 },
	{ "user", KEY_USER, "NAME", 0, "A user who may read it", 1 },
	{ "password-file", KEY_PASSWORD, "FILE", 0, "With the password of this user", 1 },
	{ "ca", KEY_CA, "FILE", 0, "Trust only servers with a certificate of this authority", 1 },
	{ "certificate", KEY_CERTIFICATE, "FILE", 0, "Of this client", 1 },
	{ "key", KEY_KEY, "FILE", 0, "Its private key", 1 },
	{ NULL, 0, NULL, 0, "What is asked about:", 2 },
	{ "from", KEY_FROM, "TIME", 0, "Begin: 3h ago, 14:20, '2026-11-17 03:00'; default 1h", 2 },
	{ "to", KEY_TO, "TIME", 0, "End; now by default", 2 },
	{ "tenant", KEY_TENANT, "NAME", 0, "If several tenants have a service of this name", 2 },
	{ "by", KEY_BY, "WORD", 0, "where: also by version or host; cause by default", 2 },
	{ NULL, 0, NULL, 0, "Others:", 3 },
	{ "output", 'o', "FILE", 0, "flame: FILE.svg, FILE.html or FILE.folded", 3 },
	{ "idle", KEY_IDLE, NULL, 0, "flame: with waits for work", 3 },
	{ "hosts", KEY_HOSTS, "N", 0, "burst: on about N hosts, at most 100", 3 },
	{ "for", KEY_FOR, "TIME", 0, "burst: this long, at most 5m", 3 },
	{ "directory", KEY_DIRECTORY, "DIR", 0, "symbolize: search debug files here", 3 },
	{ "share", KEY_SHARE, "I/N", 0, "symbolize: only the Ith of N parts of the modules", 3 },
	{ "cluster", KEY_CLUSTER, "NAME", 0, "schema: for a cluster of servers", 3 },
	{ "from-version", KEY_VERSION, "N", 0, "schema: only what a store of version N lacks", 3 },
	{ "rollup", KEY_ROLLUP, "TIME", 0, "schema: what sums up the hour of TIME again", 3 },
	{ "tenant-is-user", KEY_TENANT_IS_USER, NULL, 0,
	  "schema: the tenant is the user who inserts", 3 },
	{},
};

/* The text that an option sets; NULL: another sort of option. */
static const char **text_of(struct fleet_options *options, int key)
{
	switch (key) {
	case KEY_STORE:
		return &options->url;
	case 'c':
		return &options->config;
	case KEY_DATABASE:
		return &options->database;
	case KEY_USER:
		return &options->user;
	case KEY_PASSWORD:
		return &options->password_file;
	case KEY_CA:
		return &options->ca;
	case KEY_CERTIFICATE:
		return &options->certificate;
	case KEY_KEY:
		return &options->key;
	case KEY_FROM:
		return &options->from;
	case KEY_TO:
		return &options->to;
	case KEY_TENANT:
		return &options->tenant;
	case KEY_BY:
		return &options->by;
	case 'o':
		return &options->output;
	case KEY_HOSTS:
		return &options->hosts;
	case KEY_FOR:
		return &options->length;
	case KEY_SHARE:
		return &options->share;
	case KEY_CLUSTER:
		return &options->cluster;
	case KEY_VERSION:
		return &options->from_version;
	case KEY_ROLLUP:
		return &options->rollup;
	default:
		return NULL;
	}
}

static void add_directory(struct argp_state *state, struct fleet_options *options, const char *arg)
{
	size_t i = 0;

	while (options->directories[i])
		i++;
	if (i == FLEET_MOST_DIRECTORIES)
		argp_error(state, "--directory more than %d times", FLEET_MOST_DIRECTORIES);
	options->directories[i] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct fleet_options *options = state->input;
	const char **text = text_of(options, key);

	if (text) {
		*text = arg;
		return 0;
	}
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case KEY_IDLE:
		options->idle = true;
		return 0;
	case KEY_TENANT_IS_USER:
		options->tenant_is_user = true;
		return 0;
	case KEY_DIRECTORY:
		add_directory(state, options, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (options->service)
			argp_error(state, "unexpected word '%s'", arg);
		*(options->verb ? &options->service : &options->verb) = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 }, {} };

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.args_doc = "where SERVICE\nflame SERVICE\nburst SERVICE\nsymbolize\nschema",
	.children = children,
	.doc = "Answers questions about services on many hosts, from the store that agents fill.",
};

/* --- schema ----------------------------------------------------------------------------------- */

/* The statements for the hour that the time is in. */
static int print_rollup(const struct fleet_options *options, const struct schema_options *schema)
{
	uint64_t at_s;

	if (moment__parse(options->rollup, (uint64_t)time(NULL), &at_s)) {
		log_error("--rollup takes a time, not '%s' [3h, '2026-11-17 03:00']",
			  options->rollup);
		exit(CLI_EXIT_USAGE);
	}
	at_s -= at_s % HOUR_S;
	return store__print_rollup(stdout, schema, at_s, at_s + HOUR_S);
}

static int print_schema(const struct fleet_options *options)
{
	const struct schema_options schema = { .database = options->database,
					       .cluster = options->cluster,
					       .tenant_is_user = options->tenant_is_user };
	uint64_t from = 0;
	int err;

	if (options->from_version && parse__number(options->from_version, 0, UINT32_MAX, &from)) {
		log_error("--from-version takes a number, not '%s'", options->from_version);
		return CLI_EXIT_USAGE;
	}
	err = options->rollup ? print_rollup(options, &schema)
			      : store__print_migration(stdout, &schema, (unsigned int)from);
	if (err == -EINVAL)
		log_error("names of databases and clusters have only letters, digits and _");
	else if (err)
		log_error("the schema cannot be printed: %s", strerror(-err));
	return err == -EINVAL ? CLI_EXIT_USAGE : err ? EXIT_FAILURE : 0;
}

/* --- the store -------------------------------------------------------------------------------- */

/* The option, or the line of the configuration, or NULL. */
static const char *either(const char *option, const char *line)
{
	return option ? option : *line ? line : NULL;
}

static int open_connection(struct fleet_options *options, const struct config *config,
			   struct connection **ret)
{
	const struct connection_options how = {
		.http = { .url = either(options->url, config->store.url),
			  .user = either(options->user, config->store.user),
			  .password_file =
				  either(options->password_file, config->store.password_file),
			  .ca_file = either(options->ca, config->store.ca),
			  .certificate_file =
				  either(options->certificate, config->store.certificate),
			  .key_file = either(options->key, config->store.key),
			  .shows_secrets = config->store.plain_password,
			  .timeout_s = 120,
			  .keeps_connection = true },
		.database = either(options->database, config->store.database),
	};
	char problem[CONNECTION_PROBLEM_BYTES];
	int err;

	if (!how.http.url) {
		log_error("which store? [--store URL, or --config FILE of an agent]");
		return -EINVAL;
	}
	if (!options->tenant && *config->tenant)
		options->tenant = config->tenant;
	err = connection__open(&how, ret, problem);
	if (err)
		log_error("%s", problem);
	return err;
}

static const struct verb {
	const char *name;
	bool needs_service;
	int (*run)(struct connection *connection, const struct fleet_options *options);
} verbs[] = {
	{ "where", true, fleet__where },
	{ "flame", true, fleet__flame },
	{ "symbolize", false, fleet__symbolize },
	{ "burst", true, fleet__burst },
	{ "schema", false, NULL },
};
#define VERB_COUNT (sizeof(verbs) / sizeof(*verbs))

static const struct verb *find_verb(const struct fleet_options *options)
{
	const char *names[VERB_COUNT + 1] = {};

	for (size_t i = 0; i < VERB_COUNT; i++) {
		names[i] = verbs[i].name;
		if (options->verb && !strcmp(options->verb, verbs[i].name))
			return &verbs[i];
	}
	if (options->verb)
		cli__unknown("question", options->verb, names);
	else
		log_error("which question? [where, flame, symbolize, burst, schema]");
	return NULL;
}

static int ask(const struct verb *verb, struct fleet_options *options)
{
	cleanup(connection__free_p) struct connection *connection = NULL;
	struct config config;
	int err, status = EXIT_FAILURE;

	if (supervisor__read_config(options->config, &config))
		return CLI_EXIT_USAGE;
	err = open_connection(options, &config, &connection);
	if (!err)
		status = verb->run(connection, options);
	else if (err == -EINVAL || err == -EPERM)
		status = CLI_EXIT_USAGE;
	config__release(&config);
	return status;
}

static int run(int argc, char **argv)
{
	struct fleet_options options = {};
	const struct verb *verb;

	cli__parse(&argp, argc, argv, &options);
	verb = find_verb(&options);
	if (!verb)
		return CLI_EXIT_USAGE;
	if (verb->needs_service != (options.service != NULL)) {
		log_error("'gapless fleet %s' takes %s", verb->name,
			  verb->needs_service ? "the name of a service" : "no service");
		return CLI_EXIT_USAGE;
	}
	return verb->run ? ask(verb, &options) : print_schema(&options);
}

const struct command fleet_command = {
	.name = "fleet",
	.about = "questions about services on many hosts, to the store of the agents",
	.argp = &argp,
	.run = run,
};
