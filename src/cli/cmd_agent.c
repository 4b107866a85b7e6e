/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless agent: runs until it is told to stop. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/config.h"
#include "agent/supervisor.h"
#include "base/log.h"
#include "cli/cli.h"
#include "signals/registry.h"
#include "store/schema.h"

/* Those that are cheap and need no hooks at syscalls. */
#define SIGNALS "tcp,block"

struct options {
	struct cli_common common;
	const char *path; /* of the configuration; NULL: all defaults */
	bool check, print, schema;
};

enum { OPTION_CHECK = 256, OPTION_PRINT, OPTION_SCHEMA };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case 'c':
		options->path = arg;
		return 0;
	case OPTION_CHECK:
		options->check = true;
		return 0;
	case OPTION_PRINT:
		options->print = true;
		return 0;
	case OPTION_SCHEMA:
		options->schema = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected word '%s'", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "config", 'c', "FILE", 0, "Read the configuration from FILE", 0 },
	{ "check", OPTION_CHECK, NULL, 0, "Only check the configuration", 0 },
	{ "print-config", OPTION_PRINT, NULL, 0, "Print the configuration, with all defaults", 0 },
	{ "print-schema", OPTION_SCHEMA, NULL, 0, "Print the tables of the store as SQL", 0 },
	{},
};

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 }, {} };

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = children,
	.doc = "Accounts for all threads of this machine all the time, by service, and serves the "
	       "figures to Prometheus or sends them to ClickHouse.",
};

/* For a single server; 'gapless fleet schema' has the rest. */
static int print_schema(const struct config *config)
{
	const struct schema_options options = { .database = config->store.database };
	int err = store__print_schema(stdout, &options);

	if (err)
		log_error("the schema cannot be printed: %s",
			  err == -EINVAL ? "store.database is not a name" : strerror(-err));
	return err;
}

static int start(struct config *config, const char *path)
{
	const struct signal *chosen[SIGNALS_MOST];
	const char *bad;
	int err = registry__choose(SIGNALS, chosen, &bad);

	if (!cli__may_measure())
		return -EPERM;
	return err ? err : supervisor__run(config, path, chosen);
}

static int run(int argc, char **argv)
{
	struct options options = {};
	struct config config;
	int err;

	cli__parse(&argp, argc, argv, &options);
	if (supervisor__read_config(options.path, &config))
		return CLI_EXIT_USAGE;
	if (options.print)
		config__print(stdout, &config);
	if (options.check && !options.print)
		log_info("the configuration is valid");
	if (options.schema)
		err = print_schema(&config);
	else if (options.print || options.check)
		err = 0;
	else
		err = start(&config, options.path);
	config__release(&config);
	return err ? 1 : (options.print || options.schema) && cli__stdout_failed();
}

const struct command agent_command = {
	.name = "agent",
	.about = "always on: figures of all services for Prometheus and ClickHouse",
	.argp = &argp,
	.run = run,
};
