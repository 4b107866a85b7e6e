/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/agent.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "agent/collector.h"
#include "agent/counting.h"
#include "agent/governor.h"
#include "agent/losses.h"
#include "agent/minutes.h"
#include "agent/notify.h"
#include "agent/outlets.h"
#include "agent/sampling.h"
#include "agent/self.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/sys.h"
#include "identity/identity.h"
#include "identity/kubelet.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)
/* Look for signals and for a full ring at least this often. */
#define LOOK_MS 500
/* How often the service manager's watchdog hears from us. */
#define ALIVE_NS (10 * SECOND_NS)

struct agent {
	const struct config *config;
	char host[KUBELET_URL_BYTES]; /* "": that of the machine */
	struct service_rules *rules;
	struct identity *identity;
	struct collector *collector;
	struct bucket *minute;
	struct part parts[SIGNAL_COUNT + 1];
	struct counting *counting;
	struct signal_sums *signal_step, *signal_minute;
	struct outlets *outlets;
	struct sampling *sampling;     /* NULL: no stacks */
	struct sampling_minute chosen; /* the current minute */
	struct minutes minutes;
	struct self self;
	struct self_cost cost;
	struct governor governor;
	struct losses_own own;
	bool has_run;
	uint64_t stepped_ns; /* the last step */
	uint64_t whole_ns;   /* the last step with all threads */
};

DEFINE_CLEANUP(struct agent *, agent__free)
DEFINE_CLEANUP(struct identity *, identity__free)
DEFINE_CLEANUP(struct service_rules *, service_rules__free)

/* --- who is who ------------------------------------------------------------------------------- */

/* Without memory, the time of the process still counts, as that of unknown ones. */
static uint64_t workload_of(void *context, const struct folding_process *process)
{
	const struct agent *agent = context;
	const struct identity_process wanted = { .cgroup_id = process->cgroup_id,
						 .pid = (int32_t)process->pid,
						 .is_kernel = process->is_kernel,
						 .name = process->name };
	struct workload *workload;

	if (identity__find(agent->identity, &wanted, clock__now_ns(), &workload))
		return UINT64_MAX;
	return workload->id;
}

static const char *service_of(void *context, uint64_t id)
{
	const struct agent *agent = context;
	const struct workload *workload = identity__get(agent->identity, id);

	return workload ? workload->service : "";
}

static void note_cgroup(void *context, const struct ledger_cgroup_record *record)
{
	const struct agent *agent = context;

	if (record->is_gone)
		identity__remove_cgroup(agent->identity, record->id, clock__now_ns());
	else if (identity__add_cgroup(agent->identity, record->id, record->path, clock__now_ns()))
		log_debug("no memory for the name of cgroup '%s'", record->path);
}

static int make_rules(const struct config *config, struct service_rules **ret)
{
	cleanup(service_rules__free_p) struct service_rules *rules = NULL;
	const struct config_lines *lines = &config->identity.rules;
	char why[SERVICE_ERROR_BYTES];
	int err = service_rules__new(&rules);

	for (size_t i = 0; i < lines->count && !err; i++) {
		err = service_rules__add(rules, lines->text[i], why);
		if (err == -EINVAL)
			log_error("configuration, line %u: %s", lines->line[i], why);
	}
	if (!err)
		*ret = TAKE(rules);
	return err;
}

/* All nodes of a cluster have the same configuration, so the name may refer to the environment. */
static int expand_host(struct agent *agent, const struct config *config)
{
	int err = kubelet__expand(config->host, agent->host);

	if (err)
		log_error("the host name '%s' cannot be expanded: %s", config->host,
			  err == -ENOENT ? "a variable is not set" : strerror(-err));
	return err;
}

static int make_identity(const struct config *config, const char *host,
			 const struct service_rules *rules, struct identity **ret)
{
	const struct kubelet_settings kubelet = { .url = config->identity.kubelet,
						  .ca_file = config->identity.kubelet_ca,
						  .token_file =
							  config->identity.kubelet_token_file };
	const struct identity_settings settings = {
		.tenant = config->tenant,
		.host = *host ? host : NULL,
		.most = config->identity.most,
		.most_cgroups = config->identity.most,
		.rules = rules,
		.kubelet = *config->identity.kubelet ? &kubelet : NULL,
	};
	int err = identity__new(&settings, ret);

	if (err)
		log_error("processes cannot be told apart: %s [see 'gapless doctor']",
			  err == -EPERM ? "the kubelet's token must not leave the machine "
					  "unencrypted"
					: strerror(-err));
	return err;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_collector(struct agent *agent, struct features *features)
{
	const struct config *config = agent->config;
	const struct collector_options options = {
		.fold = { .workload_of = workload_of,
			  .service_of = service_of,
			  .name_group = identity__fold_name,
			  .context = agent },
		.limits = { .most_rows = config->limits.rows,
			    .most_objects = config->limits.objects,
			    .most_groups = config->limits.groups },
		.note_cgroup = note_cgroup,
		.context = agent,
		.parts = agent->parts,
	};
	int err = collector__open(&options, features, &agent->collector);

	return err ? err : bucket__new(&options.limits, &agent->minute);
}

static int open_signals(struct agent *agent)
{
	int err = signal_sums__new(&agent->signal_step);

	if (!err)
		err = signal_sums__new(&agent->signal_minute);
	if (!err)
		err = counting__open(agent->parts,
				     ledger__object(collector__ledger(agent->collector)),
				     &agent->counting);
	return err;
}

/* The highest level that is configured and whose hooks could be attached at the start. */
static int level_of(const struct agent *agent)
{
	int most = counting__count(agent->counting) ? GOVERNOR_SIGNALS : GOVERNOR_LEDGER;

	return (int)agent->config->level < most ? (int)agent->config->level : most;
}

int agent__use(struct agent *agent, const struct config *config)
{
	cleanup(service_rules__free_p) struct service_rules *rules = NULL;
	cleanup(identity__free_p) struct identity *identity = NULL;
	struct losses_row losses[LOSSES_COUNT];
	struct outlets_host host;
	int err = make_rules(config, &rules);

	if (!err)
		err = expand_host(agent, config);
	if (!err)
		err = make_identity(config, agent->host, rules, &identity);
	if (err)
		return err;
	outlets__free(agent->outlets);
	sampling__free(agent->sampling);
	agent->outlets = NULL;
	agent->sampling = NULL;
	identity__free(agent->identity);
	service_rules__free(agent->rules);
	agent->rules = TAKE(rules);
	agent->identity = TAKE(identity);
	agent->config = config;
	if ((int)config->level > level_of(agent))
		log_warning("level '%s' cannot be reached; continuing at level '%s'",
			    governor__name((int)config->level), governor__name(level_of(agent)));
	if (config->metrics.syscalls)
		log_warning("metrics.syscalls needs level 'full', which the agent does not have "
			    "yet; continuing without it");
	agent->whole_ns = 0; /* the next step asks for the workload of every thread */
	host = (struct outlets_host) { .name = agent->host,
				       .id = identity__host_id(agent->identity),
				       .ledger = collector__ledger(agent->collector),
				       .losses = losses };
	losses__read(agent->collector, agent->counting, agent->identity, &agent->own, losses);
	err = sampling__new(config, host.id, SAMPLING_FIRST_NS, &agent->sampling);
	return err ? err : outlets__new(config, &host, &agent->outlets);
}

int agent__attach(const struct config *config, const struct signal *const *signals,
		  struct features *features, struct agent **ret)
{
	cleanup(agent__free_p) struct agent *agent = calloc(1, sizeof(*agent));
	int err;

	if (!agent)
		return -ENOMEM;
	agent->config = config;
	for (size_t i = 0; config->level >= CONFIG_SIGNALS && i < SIGNAL_COUNT && signals[i]; i++)
		agent->parts[i].signal = signals[i];
	self__price_before(&agent->self);
	err = open_collector(agent, features);
	if (!err)
		err = open_signals(agent);
	if (!err)
		err = collector__start(agent->collector, &agent->stepped_ns);
	if (err)
		return err;
	counting__enable(agent->counting, true);
	self__price_after(&agent->self);
	/* What loading needed: the kernel's types, the verifier's log. */
	malloc_trim(0);
	*ret = TAKE(agent);
	return 0;
}

void agent__time_hooks(struct agent *agent)
{
	self__start(&agent->self, ledger__object(collector__ledger(agent->collector)),
		    clock__now_ns());
}

void agent__let_go(struct agent *agent)
{
	self__let_go(&agent->self);
}

/* Books what happened before in a step that nobody gets. */
static int skip(struct agent *agent)
{
	const struct bucket *step;
	int err = identity__update(agent->identity, clock__now_ns());

	if (!err)
		err = collector__step(agent->collector, true, &step);
	/* Twice: the earlier process may have ended between the two maps of a signal. */
	for (int i = 0; i < 2 && !err; i++)
		err = counting__step(agent->counting, agent->signal_step);
	signal_sums__clear(agent->signal_step);
	agent->stepped_ns = clock__now_ns();
	return err;
}

int agent__begin(struct agent *agent, bool is_again)
{
	int err = agent__use(agent, agent->config);

	return err || !is_again ? err : skip(agent);
}

void agent__free(struct agent *agent)
{
	if (!agent)
		return;
	outlets__free(agent->outlets);
	sampling__free(agent->sampling);
	counting__free(agent->counting);
	signal_sums__free(agent->signal_step);
	signal_sums__free(agent->signal_minute);
	collector__free(agent->collector);
	bucket__free(agent->minute);
	identity__free(agent->identity);
	service_rules__free(agent->rules);
	free(agent);
}

/* --- steps and minutes ------------------------------------------------------------------------ */

static void note_work(struct agent *agent, const struct bucket *step)
{
	uint64_t switches = 0, run_ns = 0;
	size_t count;
	const struct bucket_row *rows = bucket__rows(step, &count);

	for (size_t i = 0; i < count; i++)
		if (SLOT_IS_RUN(rows[i].key.slot)) {
			switches += rows[i].count;
			run_ns += rows[i].ns;
		}
	self__add(&agent->self, switches, run_ns);
}

static void measure(struct agent *agent)
{
	agent->cost =
		self__cost(&agent->self, folding__threads(collector__folding(agent->collector)),
			   clock__now_ns());
}

static struct outlets_view view_of(struct agent *agent, const struct signal_sums *signals,
				   struct losses_row losses[LOSSES_COUNT])
{
	agent->own.rows_folded = bucket__folded(agent->minute);
	losses__read(agent->collector, agent->counting, agent->identity, &agent->own, losses);
	return (struct outlets_view) { .identity = agent->identity,
				       .collector = agent->collector,
				       .minutes = &agent->minutes,
				       .losses = losses,
				       .signals = signals,
				       .cost = agent->cost,
				       .level = agent->governor.level,
				       .chosen = agent->chosen };
}

static struct governor_use use_of(const struct agent *agent)
{
	return (struct governor_use) {
		.now_ns = clock__now_ns(),
		.cpu_ns = agent->cost.cpu_ns,
		.hook_ns = agent->cost.hook_ns,
		.switches = agent->self.work.switches,
		.memory_bytes = agent->cost.anon_bytes + agent->cost.bpf_bytes,
	};
}

static void start_governor(struct agent *agent)
{
	const struct governor_limits limits = { .cpu_ppm = agent->config->budget.cpu_ppm,
						.memory_bytes = agent->config->budget.memory_bytes,
						.cpus = sys__cpus(),
						.most = level_of(agent) };
	struct governor_use use;

	measure(agent);
	use = use_of(agent);
	governor__start(&agent->governor, &limits, &use);
	counting__enable(agent->counting, agent->governor.level >= GOVERNOR_SIGNALS);
}

/* The cost of hooks is known after the first step. */
static void govern(struct agent *agent)
{
	struct governor_use use = use_of(agent);
	enum governor_reason reason;

	if (agent->self.is_timing)
		return;
	reason = governor__look(&agent->governor, &use);
	if (reason == GOVERNOR_UNCHANGED)
		return;
	agent->own.level_changes++;
	counting__enable(agent->counting, agent->governor.level >= GOVERNOR_SIGNALS);
	log_info("level '%s' from now on: %s", governor__name(agent->governor.level),
		 reason == GOVERNOR_ROOM     ? "ten minutes within the budget"
		 : reason == GOVERNOR_MEMORY ? "memory beyond the budget [budget.memory]"
					     : "CPU time beyond the budget [budget.cpu_ppm]");
}

static void begin_minute(struct agent *agent, uint64_t now_ns)
{
	agent->chosen =
		sampling__begin(agent->sampling, agent->identity, agent->minutes.begin_s, now_ns);
}

static int close_minute(struct agent *agent, uint64_t now_ns)
{
	struct losses_row losses[LOSSES_COUNT];
	struct outlets_view view;
	int err;

	agent->own.minutes_open += !bucket__closes(agent->minute);
	view = view_of(agent, agent->signal_minute, losses);
	err = outlets__minute(agent->outlets, &view, agent->minute);
	minutes__begin(&agent->minutes, now_ns, clock__wall_offset_ns());
	begin_minute(agent, now_ns);
	bucket__clear(agent->minute);
	signal_sums__clear(agent->signal_minute);
	if (!err)
		err = folding__forget_words(collector__folding(agent->collector));
	malloc_trim(0);
	return err;
}

static int step_signals(struct agent *agent)
{
	int err;

	signal_sums__clear(agent->signal_step);
	err = counting__step(agent->counting, agent->signal_step);
	return err ? err : signal_sums__merge(agent->signal_minute, agent->signal_step);
}

static int take_step(struct agent *agent)
{
	uint64_t now_ns = clock__now_ns();
	/* Steps come a little early or late. */
	bool is_whole = now_ns - agent->whole_ns >= MINUTE_NS - SECOND_NS / 2;
	struct losses_row losses[LOSSES_COUNT];
	const struct bucket *step;
	struct outlets_view view;
	int err = identity__update(agent->identity, now_ns);

	if (!err)
		err = collector__step(agent->collector, is_whole, &step);
	if (!err)
		err = step_signals(agent);
	if (err)
		return err;
	if (is_whole)
		agent->whole_ns = now_ns;
	note_work(agent, step);
	measure(agent);
	govern(agent);
	err = bucket__merge(agent->minute, step);
	view = view_of(agent, agent->signal_step, losses);
	if (!err)
		err = outlets__step(agent->outlets, &view, step, now_ns - agent->stepped_ns);
	agent->stepped_ns = now_ns;
	if (!err && minutes__is_over(&agent->minutes, now_ns))
		err = close_minute(agent, now_ns);
	return err;
}

static uint64_t interval_of(const struct agent *agent)
{
	return agent->governor.level == GOVERNOR_SLOW ? MINUTE_NS : agent->config->interval_ns;
}

int agent__run(struct agent *agent, const struct agent_signals *signals)
{
	uint64_t now_ns = clock__now_ns(), next_ns, alive_ns = 0;
	int err = 0;

	minutes__start(&agent->minutes, now_ns, clock__wall_offset_ns());
	begin_minute(agent, now_ns);
	/* After a new configuration, the minute goes on. */
	if (!agent->has_run)
		agent->own.unseen_ns += minutes__passed_ns(&agent->minutes, now_ns);
	agent->has_run = true;
	start_governor(agent);
	next_ns = minutes__next(&agent->minutes, now_ns, interval_of(agent));
	while (!err && !signals->stop && !signals->reload) {
		now_ns = clock__now_ns();
		if (now_ns >= next_ns || collector__is_pressed(agent->collector)) {
			err = take_step(agent);
			next_ns =
				minutes__next(&agent->minutes, clock__now_ns(), interval_of(agent));
			continue;
		}
		if (now_ns - alive_ns >= ALIVE_NS) {
			notify__alive();
			alive_ns = now_ns;
		}
		now_ns = (next_ns - now_ns) / 1000000 + 1;
		err = collector__poll(agent->collector, now_ns < LOOK_MS ? (int)now_ns : LOOK_MS);
	}
	if (!err)
		err = take_step(agent);
	now_ns = clock__now_ns();
	if (signals->stop)
		agent->own.unseen_ns += MINUTE_NS - minutes__passed_ns(&agent->minutes, now_ns);
	return err ? err : close_minute(agent, now_ns);
}
