/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/outlet_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "agent/outlet_signals.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "metrics/pages.h"
#include "metrics/server.h"
#include "metrics/totals.h"
#include "vocabulary/states.h"

struct outlet_metrics {
	struct totals *totals;
	struct server *server;
	struct utsname system;
	uint64_t start_ns; /* Unix time */
};

DEFINE_CLEANUP(struct outlet_metrics *, outlet_metrics__free)
DEFINE_CLEANUP(struct pages *, pages__unref)

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static int open_server(struct outlet_metrics *metrics, const struct config *config)
{
	const struct server_options options = {
		.address = config->metrics.listen,
		.files = { .certificate = or_null(config->metrics.certificate),
			   .key = or_null(config->metrics.key),
			   .client_ca = or_null(config->metrics.client_ca),
			   .token = or_null(config->metrics.token_file) },
	};
	char message[SERVER_MESSAGE_BYTES];
	int err = server__new(&options, message, &metrics->server);

	if (err)
		log_error("metrics cannot be served at '%s': %s", config->metrics.listen, message);
	return err;
}

int outlet_metrics__new(const struct config *config, struct outlet_metrics **ret)
{
	const struct totals_options options = {
		.detail = config->metrics.detail == CONFIG_SERVICE ? TOTALS_SERVICE : TOTALS_NODE,
		.most_services = config->metrics.most_services,
		.most_series = config->metrics.most_series,
	};
	cleanup(outlet_metrics__free_p) struct outlet_metrics *metrics = NULL;
	int err;

	if (!strcmp(config->metrics.listen, "off"))
		return 0;
	metrics = calloc(1, sizeof(*metrics));
	if (!metrics)
		return -ENOMEM;
	uname(&metrics->system);
	metrics->start_ns = clock__read_ns(CLOCK_REALTIME);
	err = totals__new(&options, &metrics->totals);
	if (!err)
		err = open_server(metrics, config);
	if (!err)
		*ret = TAKE(metrics);
	return err;
}

void outlet_metrics__free(struct outlet_metrics *metrics)
{
	if (!metrics)
		return;
	server__free(metrics->server);
	totals__free(metrics->totals);
	free(metrics);
}

static const struct workload *find_workload(void *context, uint64_t id)
{
	return identity__get(context, id);
}

/* Lengths of intervals, from the arrays of all CPUs. */
static void take_waits(struct totals *totals, const struct ledger *ledger)
{
	for (int slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		uint32_t counts[HISTOGRAM_BUCKETS] = {};

		for (int cpu = 0; cpu < ledger__cpus(ledger); cpu++) {
			const struct ledger_histogram *histogram =
				&ledger__histograms(ledger, cpu)[slot];

			for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
				counts[i] += histogram->buckets[i];
		}
		totals__take_waits(totals, slot, counts);
	}
}

static int publish(struct outlet_metrics *metrics, const struct outlets_view *view,
		   const struct outlet_store_status *store)
{
	struct server_counts served = server__counts(metrics->server);
	struct totals_lost lost[LOSSES_COUNT + 1];
	struct totals_agent agent = {
		.version = GAPLESS_VERSION,
		.kernel = metrics->system.release,
		.level = config__level_word(view->level),
		.governor_level = view->level,
		.start_time_ns = metrics->start_ns,
		.cpu_ns = view->cost.cpu_ns,
		.hook_ns = view->cost.hook_ns,
		.anon_bytes = view->cost.anon_bytes,
		.bpf_bytes = view->cost.bpf_bytes,
		.spool_bytes = store->spool_bytes,
		.spool_oldest_ns = store->spool_oldest_ns,
		.scrapes_served = served.served,
		.scrapes_refused = served.refused,
		.lost = lost,
		.pushes = store->pushes,
		.push_count = store->push_count,
	};
	cleanup(pages__unref_p) struct pages *pages = NULL;
	struct exposition *exposition;
	int err;

	for (size_t i = 0; i < LOSSES_COUNT; i++)
		if (view->losses[i].is_loss)
			lost[agent.lost_count++] = (struct totals_lost) { view->losses[i].name,
									  view->losses[i].value };
	lost[agent.lost_count++] = (struct totals_lost) { "batches", store->dropped };
	err = totals__expose(metrics->totals, &agent, &exposition);
	if (!err)
		err = pages__new(exposition, &pages);
	if (err)
		return err;
	server__publish(metrics->server, pages);
	return server__set_reasons(metrics->server, store->problem);
}

int outlet_metrics__step(struct outlet_metrics *metrics, const struct outlets_view *view,
			 const struct bucket *step, uint64_t step_ns,
			 const struct outlet_store_status *store)
{
	size_t count;
	const struct bucket_row *rows = bucket__rows(step, &count);
	int err = totals__add_step(metrics->totals, rows, count, step_ns, find_workload,
				   view->identity);

	if (err)
		return err;
	take_waits(metrics->totals, collector__ledger(view->collector));
	err = outlet_signals__count(metrics->totals, view->signals);
	if (err)
		return err;
	return publish(metrics, view, store);
}
