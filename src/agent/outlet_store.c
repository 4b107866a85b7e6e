/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/outlet_store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/outlet_profile.h"
#include "agent/outlet_signals.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/sys.h"
#include "store/sink.h"

#define SECOND_NS UINT64_C(1000000000)
#define BOOT_ID   "/proc/sys/kernel/random/boot_id"

struct outlet_store {
	struct sink *sink;
	struct fact_host host;
	struct utsname system;
	char name[256]; /* of the host */
	uint64_t epoch;
	uint64_t losses[LOSSES_COUNT]; /* at the last minute */
	struct map sent;               /* workload: its `changes` when it was sent, + 1 */
	struct outlet_profile profile; /* stacks and modules that were sent */
	bool said, said_spool;         /* the problem was logged */
};

DEFINE_CLEANUP(struct outlet_store *, outlet_store__free)

struct http_options outlet_store__http(const struct config *config)
{
	return (struct http_options) {
		.url = config->store.url,
		.user = config__or_null(config->store.user),
		.password_file = config__or_null(config->store.password_file),
		.ca_file = config__or_null(config->store.ca),
		.certificate_file = config__or_null(config->store.certificate),
		.key_file = config__or_null(config->store.key),
		.shows_secrets = config->store.plain_password,
	};
}

static int open_sink(struct outlet_store *store, const struct config *config)
{
	char boot[64], folder[PATH_MAX];
	const struct sink_options options = {
		.spool = { .folder = folder, .most_bytes = config->store.spool_bytes },
		.http = outlet_store__http(config),
		.sender = { .database = config->store.database, .host_id = store->host.host_id },
		.boot = boot,
	};
	int err = sys__read_line(BOOT_ID, boot, sizeof(boot));

	snprintf(folder, sizeof(folder), "%s/spool", config->state_directory);
	if (!err)
		err = sink__new(&options, &store->sink);
	if (err == -EBUSY)
		log_error("another agent uses '%s'", folder);
	else if (err)
		log_error("the store '%s' cannot be used: %s", config->store.url,
			  http__problem(err));
	return err;
}

int outlet_store__new(const struct config *config, const struct outlets_host *host,
		      struct outlet_store **ret)
{
	cleanup(outlet_store__free_p) struct outlet_store *store = NULL;
	int err;

	if (!*config->store.url)
		return 0;
	store = calloc(1, sizeof(*store));
	if (!store)
		return -ENOMEM;
	uname(&store->system);
	if (gethostname(store->name, sizeof(store->name) - 1))
		store->name[0] = '\0';
	store->host = (struct fact_host) {
		.host_id = host->id,
		.tenant = config->tenant,
		.cluster = config->cluster,
		.name = *host->name ? host->name : store->name,
		.kernel = store->system.release,
		.machine = store->system.machine,
		.cpus = (uint16_t)sys__cpus(),
	};
	/* What was counted so far was sent by an earlier process or configuration. */
	for (size_t i = 0; i < LOSSES_COUNT; i++)
		store->losses[i] = host->losses[i].value;
	err = open_sink(store, config);
	if (!err)
		*ret = TAKE(store);
	return err;
}

void outlet_store__free(struct outlet_store *store)
{
	if (!store)
		return;
	sink__free(store->sink);
	map__release(&store->sent);
	outlet_profile__release(&store->profile);
	free(store);
}

/* Its name has become known after its time was sent. */
static bool has_changed(const struct outlet_store *store, const struct workload *workload)
{
	uintptr_t sent = (uintptr_t)map__get(&store->sent, workload->id);

	return sent && sent != (uintptr_t)workload->changes + 1;
}

/* Forgets workloads that identity has forgotten. */
static bool is_forgotten(void *context, uint64_t id, void *value)
{
	(void)value;
	return !identity__get(context, id);
}

/* The workloads that were seen in this minute, or whose names changed. */
static int push_workloads(struct outlet_store *store, const struct fact_context *context,
			  struct identity *identity)
{
	cleanup(free_p) struct workload *rows = NULL;
	const struct workload *workload;
	size_t count = 0, at = 0;

	while ((workload = identity__next(identity, &at))) {
		struct workload *row;

		if (workload->last_seen_s < context->bucket_s && !has_changed(store, workload))
			continue;
		row = APPEND(&rows, &count);
		if (!row || map__put(&store->sent, workload->id,
				     (void *)((uintptr_t)workload->changes + 1)))
			return -ENOMEM;
		*row = *workload;
	}
	map__sweep(&store->sent, is_forgotten, identity);
	return sink__push(store->sink, FACT_WORKLOAD, context, rows, count);
}

/* What was counted in this minute. */
static int push_quality(struct outlet_store *store, const struct fact_context *context,
			const struct outlets_view *view)
{
	struct fact_quality rows[LOSSES_COUNT + 5];
	size_t count = 0;

	for (size_t i = 0; i < LOSSES_COUNT; i++) {
		uint64_t added = view->losses[i].value - store->losses[i];

		store->losses[i] = view->losses[i].value;
		if (added)
			rows[count++] = (struct fact_quality) { view->losses[i].name, added };
	}
	/* At least one row a minute, so that a host that reports can be told from one that is away.
	 */
	rows[count++] = (struct fact_quality) { "agent_cpu_ns", view->cost.cpu_ns };
	rows[count++] = (struct fact_quality) { "agent_hook_ns", view->cost.hook_ns };
	rows[count++] = (struct fact_quality) { "agent_anon_bytes", view->cost.anon_bytes };
	rows[count++] = (struct fact_quality) { "agent_bpf_bytes", view->cost.bpf_bytes };
	if (view->profile && view->chosen.is_chosen)
		rows[count++] =
			(struct fact_quality) { "sampling_probability_ppm",
						(uint64_t)(view->chosen.probability * 1e6 + 0.5) };
	return sink__push(store->sink, FACT_QUALITY, context, rows, count);
}

static int push_signals(struct outlet_store *store, const struct fact_context *context,
			const struct signal_sums *sums)
{
	struct outlet_signals_facts facts;
	int err = outlet_signals__facts(sums, &facts);

	if (!err && facts.count)
		err = sink__push(store->sink, FACT_HISTOGRAMS, context, facts.rows, facts.count);
	outlet_signals__release(&facts);
	return err;
}

/* Logs why nothing is sent or spooled, once, and the end of it. */
static void say_problems(struct outlet_store *store)
{
	struct sink_status status;
	const char *problem;
	int error;

	sink__status(store->sink, &status);
	problem = status.sender.problem;
	error = -status.spool.error;
	if (error && !store->said_spool)
		log_warning("the spool cannot be written: %s; continuing with the last ten minutes "
			    "in memory",
			    strerror(error));
	else if (!error && store->said_spool)
		log_info("the spool can be written again");
	if (*problem && !store->said)
		log_warning("the store takes nothing: %s; minutes wait until it does", problem);
	else if (!*problem && store->said)
		log_info("the store takes minutes again");
	store->said_spool = error != 0;
	store->said = *problem != '\0';
}

static int first_failure(int err, int next)
{
	err = err == -ENOBUFS ? 0 : err;
	return err || next == -ENOBUFS ? err : next;
}

int outlet_store__minute(struct outlet_store *store, const struct outlets_view *view,
			 const struct bucket *minute)
{
	const struct fact_context context = { .host = &store->host,
					      .bucket_s = view->minutes->begin_s,
					      .find = outlets__workload,
					      .find_context = view->identity };
	size_t count;
	const struct bucket_row *rows = bucket__rows(minute, &count);
	int err;

	if (store->epoch && store->epoch != view->minutes->epoch)
		sink__begin_epoch(store->sink);
	store->epoch = view->minutes->epoch;
	/* One table that has no room must not cost the others. The sink counts what it drops. */
	err = first_failure(sink__push(store->sink, FACT_LEDGER, &context, rows, count),
			    push_workloads(store, &context, view->identity));
	err = first_failure(err, push_quality(store, &context, view));
	err = first_failure(err, push_signals(store, &context, view->signals));
	err = first_failure(
		err, outlet_profile__push(&store->profile, store->sink, &context, view->profile));
	say_problems(store);
	return err;
}

/* Without the signs of life that other minutes have. */
int outlet_store__unseen(struct outlet_store *store, const struct outlets_view *view,
			 const struct minutes_gap *gap)
{
	const struct fact_context context = { .host = &store->host, .bucket_s = gap->begin_s };
	const struct fact_quality row = { counters__words(COUNTER_UNSEEN_NS)->name, gap->ns };

	for (size_t i = 0; i < LOSSES_COUNT; i++)
		if (!strcmp(view->losses[i].name, row.name))
			store->losses[i] += gap->ns;
	return sink__push(store->sink, FACT_QUALITY, &context, &row, 1);
}

void outlet_store__status(struct outlet_store *store, struct outlet_store_status *ret)
{
	uint64_t now_s = clock__read_ns(CLOCK_REALTIME) / SECOND_NS;
	struct sink_status status;

	sink__status(store->sink, &status);
	*ret = (struct outlet_store_status) {
		.spool_bytes = status.spool.bytes,
		.dropped = status.spool.dropped + status.queue_dropped,
	};
	if (status.spool.oldest_s && status.spool.oldest_s < now_s)
		ret->spool_oldest_ns = (now_s - status.spool.oldest_s) * SECOND_NS;
	for (unsigned int i = 0; i < SENDER_RESULTS && i < OUTLET_STORE_PUSHES; i++)
		ret->pushes[ret->push_count++] =
			(struct totals_push) { "clickhouse", sender__word(i),
					       status.sender.results[i] };
	if (status.spool.error)
		snprintf(ret->problem, sizeof(ret->problem), "the spool cannot be written: %s%s",
			 strerror(-status.spool.error), *status.sender.problem ? "\n" : "");
	strncat(ret->problem, status.sender.problem,
		sizeof(ret->problem) - strlen(ret->problem) - 1);
}
