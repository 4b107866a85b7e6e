/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of 'gapless fleet' share. */
#pragma once

#include "cli/cli.h"
#include "fleet/connection.h"
#include "fleet/period.h"

#define FLEET_MOST_DIRECTORIES 16

struct fleet_options {
	struct cli_common common;
	const char *verb, *service;
	/* Where the store is. "" or NULL: not given. */
	const char *config, *url, *database, *user, *password_file, *ca, *certificate, *key;
	const char *tenant; /* NULL: found by the service */
	const char *from, *to, *by;
	const char *output;
	bool idle;
	const char *hosts, *length; /* of a burst */
	const char *directories[FLEET_MOST_DIRECTORIES + 1];
	const char *share; /* "1/3" */
	const char *cluster, *from_version, *rollup;
	bool tenant_is_user;
};

/*
 * Finds the tenant of the service, and parses the period. Logs what is wrong. The period refers to
 * the options and to *ret_tenant, which the caller frees.
 */
int fleet__find(struct connection *connection, const struct fleet_options *options, uint64_t now_s,
		struct period *ret, char **ret_tenant);
/* Says that the service is not known, and which are similar; or that it has nothing then. */
void fleet__say_unknown(struct connection *connection, const struct period *period,
			const char *what);

/* Each returns an exit code. */
int fleet__where(struct connection *connection, const struct fleet_options *options);
int fleet__flame(struct connection *connection, const struct fleet_options *options);
int fleet__symbolize(struct connection *connection, const struct fleet_options *options);
int fleet__burst(struct connection *connection, const struct fleet_options *options);
