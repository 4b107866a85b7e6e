/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless fleet where and burst. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/fleet.h"
#include "fleet/burst.h"
#include "fleet/moment.h"
#include "fleet/where.h"

#define MINUTE_S  60
#define SECOND_NS UINT64_C(1000000000)

static int parse_period(const struct fleet_options *options, uint64_t now_s, struct period *ret)
{
	const char *from = options->from ? options->from : "1h", *to = options->to ?: "now";
	uint64_t from_s, to_s;

	if (moment__parse(from, now_s, &from_s) || moment__parse(to, now_s, &to_s)) {
		log_error("'%s' or '%s' is not a time [3h, 20m, 2d: ago; 14:20: UTC; "
			  "'2026-11-17 03:00']",
			  from, to);
		return -EINVAL;
	}
	/* Rows are minutes. */
	ret->from_s = from_s - from_s % MINUTE_S;
	ret->to_s = (to_s + MINUTE_S - 1) / MINUTE_S * MINUTE_S;
	if (ret->from_s < ret->to_s)
		return 0;
	log_error("--from and --to leave nothing: the end is not after the begin");
	return -EINVAL;
}

void fleet__say_unknown(struct connection *connection, const struct period *period,
			const char *what)
{
	cleanup(coverage_names__release) struct coverage_names names = {};

	if (coverage_names__find(connection, period->tenant, &names)) {
		log_error("%s", connection__problem(connection));
		return;
	}
	for (size_t i = 0; i < names.count; i++) {
		if (strcmp(names.names[i], period->service))
			continue;
		log_error("the service '%s' has no %s from %s", period->service, what,
			  moment__span(period->from_s, period->to_s).text);
		return;
	}
	if (!names.count)
		log_error("the store has no services%s yet",
			  period->tenant ? " of this tenant" : "");
	else
		cli__unknown("service", period->service, (const char *const *)names.names);
}

static int choose_tenant(struct connection *connection, struct period *period, char **ret_tenant)
{
	cleanup(coverage_tenants__release) struct coverage_tenants tenants = {};
	int err = coverage_tenants__find(connection, period, &tenants);

	if (err) {
		log_error("%s", connection__problem(connection));
		return err;
	}
	if (!tenants.count) {
		fleet__say_unknown(connection, period, "time");
		return -ENODATA;
	}
	if (tenants.count > 1) {
		log_error("several tenants have a service '%s': '%s', '%s'%s [--tenant NAME]",
			  period->service, tenants.names[0], tenants.names[1],
			  tenants.count > 2 ? ", …" : "");
		return -EINVAL;
	}
	*ret_tenant = TAKE(tenants.names[0]);
	return 0;
}

int fleet__find(struct connection *connection, const struct fleet_options *options, uint64_t now_s,
		struct period *ret, char **ret_tenant)
{
	int err = parse_period(options, now_s, ret);

	if (err)
		return err;
	ret->service = options->service;
	if (options->tenant)
		*ret_tenant = strdup(options->tenant);
	else
		err = choose_tenant(connection, ret, ret_tenant);
	if (!err && !*ret_tenant)
		err = -ENOMEM;
	if (!err)
		ret->tenant = *ret_tenant;
	return err;
}

static enum groups_by parse_by(const char *by)
{
	static const char *const words[] = { "cause", "version", "host", NULL };

	for (int i = 0; words[i]; i++)
		if (!by || !strcmp(words[i], by))
			return i ? i - 1 + GROUPS_VERSION : GROUPS_NONE;
	cli__unknown("word for --by", by, words);
	exit(CLI_EXIT_USAGE);
}

int fleet__where(struct connection *connection, const struct fleet_options *options)
{
	cleanup(where__release) struct where where = {};
	cleanup(free_p) char *tenant = NULL;
	enum groups_by by = parse_by(options->by);
	uint64_t now_s = (uint64_t)time(NULL);
	int err = fleet__find(connection, options, now_s, &where.period, &tenant);

	if (err)
		return err == -EINVAL ? CLI_EXIT_USAGE : EXIT_FAILURE;
	err = where__load(connection, by, now_s, &where);
	if (err == -ENODATA)
		fleet__say_unknown(connection, &where.period, "time");
	else if (err)
		log_error("%s", connection__problem(connection));
	if (err)
		return EXIT_FAILURE;
	if (options->common.json)
		return cli__print_json(where__json(&where)) ? 0 : EXIT_FAILURE;
	where__print(&where, stdout);
	return 0;
}

/* --- burst ------------------------------------------------------------------------------------ */

static int parse_burst(const struct fleet_options *options, struct burst *ret)
{
	uint64_t length_ns;

	if (!options->hosts || !options->length) {
		log_error("a burst needs --hosts N and --for TIME");
		return -EINVAL;
	}
	if (parse__number(options->hosts, 1, BURST_MOST_HOSTS, &ret->hosts)) {
		log_error("--hosts takes a number from 1 to %d", BURST_MOST_HOSTS);
		return -EINVAL;
	}
	if (parse__duration(options->length, &length_ns) || length_ns < SECOND_NS ||
	    length_ns > BURST_MOST_S * SECOND_NS) {
		log_error("--for takes a time from 1s to %dm", BURST_MOST_S / 60);
		return -EINVAL;
	}
	ret->length_s = (length_ns + SECOND_NS - 1) / SECOND_NS;
	return 0;
}

static void say_burst(const struct burst *burst)
{
	printf("asked for stacks of %s on about %s of %s, %s\n"
	       "agents at level stacks will take them; then:\n"
	       "gapless fleet flame %s --from '%s' --to '%s'\n",
	       words__clean(burst->service, 60).text,
	       words__number((int64_t)(burst->hosts < burst->hosts_known ? burst->hosts
									 : burst->hosts_known))
		       .text,
	       words__count((int64_t)burst->hosts_known, "hosts").text,
	       moment__span(burst->since_s, burst->until_s).text,
	       words__clean(burst->service, 60).text, moment__words(burst->since_s).text,
	       moment__words(burst->until_s).text);
}

int fleet__burst(struct connection *connection, const struct fleet_options *options)
{
	struct burst burst = { .service = options->service };
	struct period period = {};
	cleanup(free_p) char *tenant = NULL;
	uint64_t now_s = (uint64_t)time(NULL);
	int err = parse_burst(options, &burst);

	if (!err)
		err = fleet__find(connection, options, now_s, &period, &tenant);
	if (err)
		return err == -EINVAL ? CLI_EXIT_USAGE : EXIT_FAILURE;
	burst.tenant = tenant;
	err = burst__write(connection, &burst, now_s);
	if (!err)
		say_burst(&burst);
	else if (err == -ENODATA)
		log_error("no host has had the service '%s' in the last 10 minutes",
			  options->service);
	else if (err == -EALREADY)
		log_error("a burst of '%s' is under way until %s UTC [one at a time]",
			  options->service, moment__words(burst.until_s).text);
	else
		log_error("%s", connection__problem(connection));
	return err ? EXIT_FAILURE : 0;
}
