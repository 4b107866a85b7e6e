/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a service's time the store can have: which hosts are known to have run it, which of
 * them reported, for how many of their minutes, and what they lost.
 *
 * A host is known if it had the service in the period or in the hour before it. A minute of a known
 * host is expected from the time that the host had the service, and seen if its agent reported in
 * it, with or without this service. Both are counted for each host, so that minutes of one never
 * stand for those of another.
 *
 * The table `workload` has when a service was first seen on a host. That begins anew with each
 * start of the agent, so it is believed only if it is before the period. For other hosts the rows
 * of the account are asked, which takes longer.
 *
 * What agents reported is kept for 14 days. Nothing is said about the time before.
 */
#pragma once

#include "fleet/period.h"

/* Agents send the minute that has just ended some time in the next one. */
#define COVERAGE_LATE_S 120

struct coverage_loss {
	char *name;
	uint64_t value, hosts;
	bool is_loss; /* numbers or names are missing */
};

struct coverage {
	/* Of the period, what is still known and due already. Nothing if they are equal. */
	uint64_t since_s, until_s;
	uint64_t hosts_known, hosts_seen;
	uint64_t minutes_expected, minutes_seen;
	struct coverage_loss *losses; /* values above 0, losses first */
	size_t loss_count;
	bool has_stacks;       /* there are samples of the service in the period */
	uint64_t namespaces;   /* in which the service is: the account adds them up */
	char *namespace_names; /* some of them, with commas between */
};

void coverage__release(struct coverage *coverage);
/* Which tenants have the service in the period, at most COVERAGE_MOST_TENANTS. */
#define COVERAGE_MOST_TENANTS 8
struct coverage_tenants {
	char *names[COVERAGE_MOST_TENANTS];
	size_t count;
};
void coverage_tenants__release(struct coverage_tenants *tenants);
int coverage_tenants__find(struct connection *connection, const struct period *period,
			   struct coverage_tenants *ret);
/* Names of all services of a tenant, or of all tenants if it is NULL: ends with NULL. */
struct coverage_names {
	char **names;
	size_t count;
};
void coverage_names__release(struct coverage_names *names);
int coverage_names__find(struct connection *connection, const char *tenant,
			 struct coverage_names *ret);

/* `now_s`: minutes after it, and the latest ones, are not expected yet. */
int coverage__load(struct connection *connection, const struct period *period, uint64_t now_s,
		   struct coverage *ret);
/* The end of the time that is expected: before `to_s` if that is not over yet. */
uint64_t coverage__until_s(uint64_t to_s, uint64_t now_s);
/* The begin of the time that is still known: after `from_s` if that is too long ago. */
uint64_t coverage__since_s(uint64_t from_s, uint64_t now_s);
