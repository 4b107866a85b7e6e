/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/outlet_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "agent/governor.h"
#include "agent/outlet_otlp.h"
#include "agent/outlet_signals.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "metrics/pages.h"
#include "metrics/server.h"
#include "metrics/totals.h"
#include "vocabulary/calls.h"
#include "vocabulary/states.h"

/* Two disks need more than the 200 that totals.h has for signals. */
#define SIGNAL_SERIES 400
#define MANY_SERIES   2000

#define CALL_NAME_BYTES 32

/* What the outlets count from their own begin on. */
struct counted {
	uint64_t batches, profiles, points; /* lost */
	struct totals_push
		pushes[OUTLET_STORE_PUSHES + OUTLET_OTLP_PUSHES + OUTLET_PROFILES_PUSHES];
	size_t push_count;
	struct server_counts scrapes;
};

struct outlet_metrics {
	struct totals_options options;
	struct totals *totals;
	struct counted before;    /* by outlets of an earlier configuration */
	struct counted now;       /* with that */
	struct server *server;    /* NULL: none */
	struct outlet_otlp *otlp; /* NULL: none */
	struct utsname system;
	uint64_t start_ns;  /* Unix time */
	uint64_t totals_ns; /* Unix time at which the first step began; 0: there was none */
	char said[SERVER_MESSAGE_BYTES]; /* the server's problem that was logged last */
};

DEFINE_CLEANUP(struct outlet_metrics *, outlet_metrics__free)
DEFINE_CLEANUP(struct pages *, pages__unref)

static int open_server(struct outlet_metrics *metrics, const struct config *config)
{
	const struct server_options options = {
		.address = config->metrics.listen,
		.files = { .certificate = config__or_null(config->metrics.certificate),
			   .key = config__or_null(config->metrics.key),
			   .client_ca = config__or_null(config->metrics.client_ca),
			   .token = config__or_null(config->metrics.token_file) },
	};
	char message[SERVER_MESSAGE_BYTES];
	int err = server__new(&options, message, &metrics->server);

	if (err)
		log_error("metrics cannot be served at '%s': %s", config->metrics.listen, message);
	return err;
}

/* Lengths of intervals, from the arrays of all CPUs. */
static void take_waits(struct totals *totals, const struct ledger *ledger,
		       void (*take)(struct totals *totals, enum ledger_slot slot,
				    const uint32_t counts[HISTOGRAM_BUCKETS]))
{
	for (int slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		uint32_t counts[HISTOGRAM_BUCKETS] = {};

		for (int cpu = 0; cpu < ledger__cpus(ledger); cpu++) {
			const struct ledger_histogram *histogram =
				&ledger__histograms(ledger, cpu)[slot];

			for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
				counts[i] += histogram->buckets[i];
		}
		take(totals, slot, counts);
	}
}

/* Another configuration with the same series goes on with their counters. */
static bool is_same(const struct totals_options *one, const struct totals_options *other)
{
	return one->detail == other->detail && one->most_services == other->most_services &&
	       one->most_series == other->most_series &&
	       one->most_signal_series == other->most_signal_series &&
	       one->with_calls == other->with_calls;
}

static void go_on(struct outlet_metrics *metrics, struct outlet_metrics *before)
{
	metrics->totals = TAKE(before->totals);
	metrics->before = before->now;
	metrics->start_ns = before->start_ns;
	metrics->totals_ns = before->totals_ns;
}

static int open_totals(struct outlet_metrics *metrics, const struct outlets_host *host)
{
	int err;

	if (host->before && is_same(&metrics->options, &host->before->options)) {
		go_on(metrics, host->before);
		return 0;
	}
	metrics->start_ns = clock__read_ns(CLOCK_REALTIME);
	err = totals__new(&metrics->options, &metrics->totals);
	/* An earlier process, or an earlier configuration, has shown what there is so far. */
	if (!err)
		take_waits(metrics->totals, host->ledger, totals__skip_waits);
	return err;
}

int outlet_metrics__new(const struct config *config, const struct outlets_host *host,
			struct outlet_metrics **ret)
{
	const struct totals_options options = {
		.detail = config->metrics.detail == CONFIG_SERVICE ? TOTALS_SERVICE : TOTALS_NODE,
		.most_services = config->metrics.most_services,
		.most_series = config->metrics.most_series,
		.most_signal_series =
			config->metrics.most_series >= MANY_SERIES ? SIGNAL_SERIES : 0,
		.with_calls = config->metrics.syscalls && config->level == CONFIG_FULL,
	};
	cleanup(outlet_metrics__free_p) struct outlet_metrics *metrics = NULL;
	bool has_server = strcmp(config->metrics.listen, "off") != 0;
	int err = 0;

	if (!has_server && !*config->otlp.url)
		return 0;
	metrics = calloc(1, sizeof(*metrics));
	if (!metrics)
		return -ENOMEM;
	uname(&metrics->system);
	metrics->options = options;
	if (has_server)
		err = open_server(metrics, config);
	if (!err)
		err = outlet_otlp__new(config, host->name, host->id, &metrics->otlp);
	if (!err)
		err = open_totals(metrics, host);
	if (!err)
		*ret = TAKE(metrics);
	return err;
}

void outlet_metrics__close(struct outlet_metrics *metrics)
{
	outlet_otlp__free(metrics->otlp);
	server__free(metrics->server);
	metrics->otlp = NULL;
	metrics->server = NULL;
}

void outlet_metrics__free(struct outlet_metrics *metrics)
{
	if (!metrics)
		return;
	outlet_metrics__close(metrics);
	totals__free(metrics->totals);
	free(metrics);
}

/* What the other outlets have done. */
struct others {
	const struct outlet_store_status *store;
	const struct outlet_profiles_status *profiles;
};

/* What the outlets say about themselves. */
struct account {
	struct outlet_otlp_status otlp;
	struct totals_lost lost[LOSSES_COUNT + 3];
	size_t lost_count;
};

static void add_loss(struct account *account, const char *what, uint64_t count)
{
	account->lost[account->lost_count++] = (struct totals_lost) { what, count };
}

static void add_pushes(struct outlet_metrics *metrics, const struct totals_push *pushes,
		       size_t count)
{
	struct counted *now = &metrics->now;
	const struct counted *before = &metrics->before;

	for (size_t i = 0; i < count; i++) {
		struct totals_push *push = &now->pushes[now->push_count++];

		*push = pushes[i];
		for (size_t k = 0; k < before->push_count; k++)
			if (!strcmp(before->pushes[k].sink, push->sink) &&
			    !strcmp(before->pushes[k].result, push->result))
				push->count += before->pushes[k].count;
	}
}

static void fill_account(struct account *account, struct outlet_metrics *metrics,
			 const struct outlets_view *view, const struct others *others)
{
	struct counted *now = &metrics->now;

	*now = metrics->before;
	now->push_count = 0;
	now->batches += others->store->dropped;
	now->profiles += others->profiles->lost;
	for (size_t i = 0; i < LOSSES_COUNT; i++)
		if (view->losses[i].is_shown)
			add_loss(account, view->losses[i].name, view->losses[i].value);
	add_loss(account, "batches", now->batches);
	add_pushes(metrics, others->store->pushes, others->store->push_count);
	if (others->profiles->push_count)
		add_loss(account, "profiles", now->profiles);
	add_pushes(metrics, others->profiles->pushes, others->profiles->push_count);
	if (!metrics->otlp)
		return;
	outlet_otlp__status(metrics->otlp, &account->otlp);
	now->points += account->otlp.rejected;
	add_loss(account, "points", now->points);
	add_pushes(metrics, account->otlp.pushes, OUTLET_OTLP_PUSHES);
}

static int expose(struct outlet_metrics *metrics, const struct outlets_view *view,
		  const struct outlet_store_status *store, const struct account *account,
		  struct exposition **ret)
{
	struct server_counts served = {};
	struct totals_agent agent = {
		.version = GAPLESS_VERSION,
		.kernel = metrics->system.release,
		.level = governor__name(view->level),
		.governor_level = view->level,
		.sampling_ppm = view->level >= GOVERNOR_STACKS
					? (uint64_t)(view->chosen.probability * 1e6 + 0.5)
					: 0,
		.start_time_ns = metrics->start_ns,
		.cpu_ns = view->cost.cpu_ns,
		.hook_ns = view->cost.hook_ns,
		.hooks_partly = view->cost.is_partly,
		.anon_bytes = view->cost.anon_bytes,
		.bpf_bytes = view->cost.bpf_bytes,
		.spool_bytes = store->spool_bytes,
		.spool_oldest_ns = store->spool_oldest_ns,
		.lost = account->lost,
		.lost_count = account->lost_count,
		.pushes = metrics->now.pushes,
		.push_count = metrics->now.push_count,
	};

	if (metrics->server)
		served = server__counts(metrics->server);
	metrics->now.scrapes.served += served.served;
	metrics->now.scrapes.refused += served.refused;
	agent.scrapes_served = metrics->now.scrapes.served;
	agent.scrapes_refused = metrics->now.scrapes.refused;
	return totals__expose(metrics->totals, &agent, ret);
}

/* Logs a problem with certificates or tokens once, and its end. */
static void say_problem(struct outlet_metrics *metrics)
{
	char problem[SERVER_MESSAGE_BYTES];

	server__problem(metrics->server, problem);
	if (!strcmp(problem, metrics->said))
		return;
	if (*problem)
		log_warning("metrics: %s; continuing with the files as they were read", problem);
	else
		log_info("metrics: certificate and token are in order again");
	memcpy(metrics->said, problem, sizeof(problem));
}

/* Reasons not to be ready, one per line. */
static int set_reasons(struct outlet_metrics *metrics, const struct others *others,
		       const struct account *account)
{
	const char *const problems[] = { others->store->problem, account->otlp.problem,
					 others->profiles->problem };
	char reasons[sizeof(others->store->problem) + sizeof(account->otlp.problem) +
		     sizeof(others->profiles->problem)] = "";

	for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
		size_t length = strlen(reasons);

		snprintf(reasons + length, sizeof(reasons) - length, "%s%s",
			 length && *problems[i] ? "\n" : "", problems[i]);
	}
	return server__set_reasons(metrics->server, reasons);
}

static int publish(struct outlet_metrics *metrics, const struct outlets_view *view,
		   const struct others *others)
{
	cleanup(pages__unref_p) struct pages *pages = NULL;
	struct account account = {};
	struct exposition *exposition;
	int err;

	fill_account(&account, metrics, view, others);
	err = expose(metrics, view, others->store, &account, &exposition);
	if (!err)
		err = pages__new(exposition, &pages);
	if (!err && metrics->otlp)
		err = outlet_otlp__step(metrics->otlp, pages, metrics->totals_ns);
	if (err || !metrics->server)
		return err;
	server__publish(metrics->server, pages);
	say_problem(metrics);
	return set_reasons(metrics, others, &account);
}

static int add_calls(struct totals *totals, const struct folding *folding,
		     struct identity *identity)
{
	size_t count;
	const struct folding_call *calls = folding__calls(folding, &count);
	cleanup(free_p) struct totals_call *rows = calloc(count + 1, sizeof(*rows));
	cleanup(free_p) char(*names)[CALL_NAME_BYTES] = calloc(count + 1, sizeof(*names));

	if (!rows || !names)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		bool is_other = calls[i].number == FOLDING_OTHER_CALL;

		snprintf(names[i], sizeof(names[i]), "%s",
			 is_other ? TOTALS_OTHER : calls__name(calls[i].number));
		rows[i] = (struct totals_call) { .workload = calls[i].workload,
						 .name = names[i],
						 .count = calls[i].count,
						 .errors = calls[i].errors,
						 .ns = calls[i].ns };
	}
	totals__add_calls(totals, rows, count, outlets__workload, identity);
	return 0;
}

int outlet_metrics__step(struct outlet_metrics *metrics, const struct outlets_view *view,
			 const struct bucket *step, uint64_t step_ns,
			 const struct outlet_store_status *store,
			 const struct outlet_profiles_status *profiles)
{
	const struct others others = { store, profiles };
	size_t count;
	const struct bucket_row *rows = bucket__rows(step, &count);
	int err = totals__add_step(metrics->totals, rows, count, step_ns, outlets__workload,
				   view->identity);

	if (err)
		return err;
	if (!metrics->totals_ns)
		metrics->totals_ns = clock__read_ns(CLOCK_REALTIME) - step_ns;
	take_waits(metrics->totals, collector__ledger(view->collector), totals__take_waits);
	err = outlet_signals__count(metrics->totals, view->signals);
	if (!err)
		err = add_calls(metrics->totals, collector__folding(view->collector),
				view->identity);
	if (err)
		return err;
	return publish(metrics, view, &others);
}
