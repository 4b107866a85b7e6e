/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of a service went: the account, sentences about it, a table, and how far it can be
 * trusted. The words are those of the report.
 */
#pragma once

#include <jansson.h>

#include "fleet/coverage.h"
#include "fleet/groups.h"
#include "fleet/service_account.h"

struct where {
	struct period period;
	struct service_account account;
	struct coverage coverage;
	struct groups groups; /* of --by version or host; no rows otherwise */
	const char *database;
};

void where__release(struct where *where);
/* The period must be set. -ENODATA: the service has no rows in it. */
int where__load(struct connection *connection, enum groups_by by, uint64_t now_s,
		struct where *where);

void where__print(const struct where *where, FILE *out);
/* NULL: out of memory. */
json_t *where__json(const struct where *where);
