/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/chooser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/budgeting.h"
#include "agent/outlet_store.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/vec.h"
#include "store/asker.h"
#include "store/http.h"

#define SECOND_NS UINT64_C(1000000000)
/* fleet/burst.c knows how often tables are read at least. */
#define INTERVAL_NS (300 * SECOND_NS)
/* A service is here if it had threads in the last two minutes. */
#define PRESENT_S 120
/* Services in a question; the others are not asked for. */
#define MOST_SERVICES 4096

struct chooser {
	const struct config *config;
	struct asker *asker; /* NULL: no store */
	struct budgeting budgeting;
	bool said_problem, said_services;
};

DEFINE_CLEANUP(struct chooser *, chooser__free)

static int open_asker(struct chooser *chooser, uint64_t first_ns)
{
	const struct config *config = chooser->config;
	const struct asker_options options = {
		.http = outlet_store__http(config),
		.interval_ns = INTERVAL_NS,
		.first_ns = first_ns,
	};
	int err = asker__new(&options, &chooser->asker);

	if (err)
		log_error("the store '%s' cannot be asked for the budget of stacks: %s",
			  config->store.url, http__problem(err));
	return err;
}

int chooser__new(const struct config *config, uint64_t host_id, uint64_t first_ns,
		 struct chooser **ret)
{
	cleanup(chooser__free_p) struct chooser *chooser = NULL;
	int err = 0;

	if (config->level < CONFIG_STACKS)
		return 0;
	chooser = calloc(1, sizeof(*chooser));
	if (!chooser)
		return -ENOMEM;
	chooser->config = config;
	chooser->budgeting.host_id = host_id;
	chooser->budgeting.fallback = (double)config->stacks.probability_ppm / 1e6;
	if (*config->store.url)
		err = open_asker(chooser, first_ns);
	if (!err)
		*ret = TAKE(chooser);
	return err;
}

void chooser__free(struct chooser *chooser)
{
	if (!chooser)
		return;
	asker__free(chooser->asker);
	budgeting__release(&chooser->budgeting);
	free(chooser);
}

/* --- a minute --------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The services of this host, sorted, each once. The names are identity's. */
static int list_services(const struct identity *identity, uint64_t minute_s, const char ***ret,
			 size_t *ret_count)
{
	cleanup(free_p) const char **names = NULL;
	const struct workload *workload;
	size_t count = 0, kept = 0, at = 0;

	while ((workload = identity__next(identity, &at))) {
		const char **name;

		if (workload->last_seen_s + PRESENT_S < minute_s || !*workload->service)
			continue;
		name = APPEND(&names, &count);
		if (!name)
			return -ENOMEM;
		*name = workload->service;
	}
	if (count)
		qsort(names, count, sizeof(*names), compare);
	for (size_t i = 0; i < count; i++)
		if (!kept || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	*ret = TAKE(names);
	*ret_count = kept;
	return 0;
}

/* Logs that the store gives no budget, once, and when it does again. */
static void say(struct chooser *chooser, const char *problem)
{
	if (problem && !chooser->said_problem)
		log_warning("the budget of stacks cannot be read: %s; continuing with the last one "
			    "for an hour, and then with stacks.probability",
			    problem);
	else if (!problem && chooser->said_problem)
		log_info("the budget of stacks is read again");
	chooser->said_problem = problem != NULL;
}

static void take_answer(struct chooser *chooser, uint64_t now_ns)
{
	char problem[ASKER_PROBLEM_BYTES];
	struct asker_answer answer;
	int err = asker__take(chooser->asker, &answer, problem);

	if (err == -EIO)
		say(chooser, problem);
	if (err)
		return;
	err = budgeting__take(&chooser->budgeting, answer.bytes, answer.size, now_ns);
	free(answer.bytes);
	say(chooser, err == -EBADMSG ? "the store's answer is not valid"
		     : err           ? strerror(-err)
				     : NULL);
}

static int ask(struct chooser *chooser, const struct budgeting_services *services)
{
	const struct config *config = chooser->config;
	struct budgeting_services asked = *services;
	cleanup(free_p) char *sql = NULL;
	int err;

	if (asked.count > MOST_SERVICES) {
		if (!chooser->said_services)
			log_warning("there are %zu services here; continuing without the budget of "
				    "those beyond %d",
				    asked.count, MOST_SERVICES);
		chooser->said_services = true;
		asked.count = MOST_SERVICES;
	}
	err = budgeting__ask(config->store.database, config->tenant, config->store.user, &asked,
			     &sql);
	return err ? err : asker__set(chooser->asker, sql);
}

struct chooser_minute chooser__begin(struct chooser *chooser, const struct identity *identity,
				     uint64_t minute_s, uint64_t now_ns)
{
	cleanup(free_p) const char **names = NULL;
	struct budgeting_services services = {};
	struct chooser_minute minute = {};

	if (!chooser || list_services(identity, minute_s, &names, &services.count))
		return minute;
	services.names = names;
	if (chooser->asker) {
		take_answer(chooser, now_ns);
		if (ask(chooser, &services))
			log_debug("no memory for the question for the budget of stacks");
	}
	minute.is_chosen = budgeting__choose(&chooser->budgeting, &services, minute_s, now_ns,
					     &minute.probability);
	return minute;
}
