/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless agent: runs until it is told to stop. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/lock.h"
#include "agent/notify.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/config_file.h"
#include "core/features.h"
#include "store/schema.h"

DEFINE_CLEANUP(struct features *, features__free)
DEFINE_CLEANUP(struct agent *, agent__free)

struct options {
	struct cli_common common;
	const char *path; /* of the configuration; NULL: all defaults */
	bool check, print, schema;
};

enum { OPTION_CHECK = 256, OPTION_PRINT, OPTION_SCHEMA };

static struct agent_signals signals;

static void on_stop(int number)
{
	(void)number;
	signals.stop = 1;
}

static void on_reload(int number)
{
	(void)number;
	signals.reload = 1;
}

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

/* A configuration that is not valid, or that cannot be used, changes nothing. */
static int reload(struct agent *agent, const char *path, struct config *config)
{
	struct config old = *config, new;
	int err = 0;

	signals.reload = 0;
	notify__reloading();
	if (!config_file__read(path, &new)) {
		*config = new;
		if (!agent__use(agent, config)) {
			config__release(&old);
			notify__ready();
			return 0;
		}
		*config = old;
		config__release(&new);
		err = agent__use(agent, config);
	}
	log_warning("continuing with the configuration as it was");
	notify__ready();
	return err;
}

static int serve(const struct options *options, struct config *config)
{
	cleanup(features__free_p) struct features *features = features__new();
	cleanup(agent__free_p) struct agent *agent = NULL;
	cleanup(close_p) int lock = lock__take(config->state_directory);
	struct sigaction stop = { .sa_handler = on_stop }, again = { .sa_handler = on_reload };
	int err;

	if (lock < 0 || !features)
		return lock < 0 ? lock : -ENOMEM;
	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGHUP, &again, NULL);
	err = agent__open(config, features, &agent);
	if (err)
		return err;
	log_info("the agent runs; metrics at '%s'", config->metrics.listen);
	notify__ready();
	while (!err && !signals.stop) {
		err = agent__run(agent, &signals);
		if (!err && signals.reload)
			err = reload(agent, options->path, config);
	}
	notify__stopping();
	if (err)
		log_error("the agent cannot go on: %s", strerror(-err));
	return err;
}

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

static int run(int argc, char **argv)
{
	struct options options = {};
	struct config config;
	int err;

	cli__parse(&argp, argc, argv, &options);
	if (config_file__read(options.path, &config))
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
		err = cli__may_measure() ? serve(&options, &config) : -EPERM;
	config__release(&config);
	return err ? 1 : (options.print || options.schema) && cli__stdout_failed();
}

const struct command agent_command = {
	.name = "agent",
	.about = "always on: figures of all services for Prometheus and ClickHouse",
	.argp = &argp,
	.run = run,
};
