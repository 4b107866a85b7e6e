/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the agent, gives it a configuration, and closes it. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "agent/outlet_metrics.h"
#include "agent/who.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

/* Hooks are timed once in each interval, and at least this often. */
#define TEND_NS UINT64_C(10000000000)

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

static uint64_t other_workload(void *context)
{
	const struct agent *agent = context;

	return identity__other(agent->identity, clock__now_ns());
}

static const char *service_of(void *context, uint64_t id)
{
	const struct agent *agent = context;
	const struct workload *workload = identity__get(agent->identity, id);

	return workload ? workload->service : "";
}

static void note_end(void *context, uint64_t thread, uint64_t workload)
{
	const struct agent *agent = context;

	sampler__note_end(agent->sampler, thread, workload);
}

static void note_cgroup(void *context, const struct ledger_cgroup_record *record)
{
	const struct agent *agent = context;

	if (record->is_gone)
		identity__remove_cgroup(agent->identity, record->id, clock__now_ns());
	else if (identity__add_cgroup(agent->identity, record->id, record->path, clock__now_ns()))
		log_debug("no memory for the name of cgroup '%s'", record->path);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int open_collector(struct agent *agent, struct features *features)
{
	const struct config *config = agent->config;
	const struct collector_options options = {
		.fold = { .workload_of = workload_of,
			  .service_of = service_of,
			  .name_group = identity__fold_name,
			  .context = agent,
			  .note_end = note_end },
		.limits = { .most_rows = config->limits.rows,
			    .most_objects = config->limits.objects,
			    .most_groups = config->limits.groups,
			    .other_workload = other_workload,
			    .context = agent },
		.note_cgroup = note_cgroup,
		.context = agent,
		.parts = agent->parts,
		.full = config->level == CONFIG_FULL,
		.take_stack = agent->sampler ? sampler__take : NULL,
		.stack_context = agent->sampler,
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

int agent__most_level(const struct agent *agent)
{
	int most = agent->is_full                     ? GOVERNOR_FULL
		   : agent->sampler                   ? GOVERNOR_STACKS
		   : counting__count(agent->counting) ? GOVERNOR_SIGNALS
						      : GOVERNOR_LEDGER;

	return (int)agent->config->level < most ? (int)agent->config->level : most;
}

/* After a configuration that could not be used, there are no outlets. */
static void end_outlets(struct agent *agent)
{
	if (agent->outlets)
		agent->before = outlets__end(agent->outlets);
	chooser__free(agent->chooser);
	agent->outlets = NULL;
	agent->chooser = NULL;
}

static int open_outlets(struct agent *agent, const struct config *config)
{
	struct losses_row losses[LOSSES_COUNT];
	const struct outlets_host host = { .name = agent->host,
					   .id = identity__host_id(agent->identity),
					   .ledger = collector__ledger(agent->collector),
					   .losses = losses,
					   .before = agent->before };
	int err = chooser__new(config, host.id, CHOOSER_FIRST_NS, &agent->chooser);

	losses__read(agent->collector, agent->counting, agent->identity, &agent->own, losses);
	if (!err)
		err = outlets__new(config, &host, &agent->outlets);
	if (err)
		return err;
	outlet_metrics__free(agent->before);
	agent->before = NULL;
	return 0;
}

int agent__use(struct agent *agent, const struct config *config)
{
	cleanup(service_rules__free_p) struct service_rules *rules = NULL;
	cleanup(identity__free_p) struct identity *identity = NULL;
	int err = who__open(config, agent->host, &rules, &identity);

	if (err)
		return err;
	end_outlets(agent);
	identity__free(agent->identity);
	service_rules__free(agent->rules);
	agent->rules = TAKE(rules);
	agent->identity = TAKE(identity);
	agent->config = config;
	if ((int)config->level > agent__most_level(agent))
		log_warning("level '%s' cannot be reached; continuing at level '%s'",
			    governor__name((int)config->level),
			    governor__name(agent__most_level(agent)));
	if (config->metrics.syscalls && !agent->is_full)
		log_warning("metrics.syscalls needs level 'full' from the start; continuing "
			    "without it");
	agent->whole_ns = 0; /* the next step asks for the workload of every thread */
	return open_outlets(agent, config);
}

static int share(struct agent *agent)
{
	void *at = mmap(NULL, sizeof(*agent->covered_ns), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	agent->covered_ns = at;
	return 0;
}

int agent__attach(const struct config *config, const struct signal *const *signals,
		  struct features *features, struct agent **ret)
{
	cleanup(agent__free_p) struct agent *agent = calloc(1, sizeof(*agent));
	int err;

	if (!agent)
		return -ENOMEM;
	agent->config = config;
	agent->is_full = config->level == CONFIG_FULL;
	for (size_t i = 0, at = 0; config->level >= CONFIG_SIGNALS && signals[i]; i++)
		if (!signals[i]->on_request && at < SIGNAL_COUNT)
			agent->parts[at++].signal = signals[i];
	self__price_before(&agent->self);
	err = config->level >= CONFIG_STACKS ? sampler__new(&agent->sampler) : 0;
	if (!err)
		err = open_collector(agent, features);
	if (!err)
		err = open_signals(agent);
	if (!err)
		err = collector__start(agent->collector, &agent->stepped_ns);
	if (err)
		return err;
	counting__enable(agent->counting, true);
	self__price_after(&agent->self, agent->is_full);
	err = self__open(&agent->self, ledger__object(collector__ledger(agent->collector)),
			 agent->is_full);
	if (!err)
		err = share(agent);
	if (err)
		return err;
	/* What loading needed: the kernel's types, the verifier's log. */
	malloc_trim(0);
	*ret = TAKE(agent);
	return 0;
}

int agent__tend(struct agent *agent)
{
	uint64_t interval_ns = agent->config->interval_ns;

	return self__tend(&agent->self, interval_ns < TEND_NS ? interval_ns : TEND_NS);
}

void agent__pause(struct agent *agent)
{
	self__pause(&agent->self);
}

struct ledger *agent__stacks(const struct agent *agent)
{
	return agent->sampler ? collector__ledger(agent->collector) : NULL;
}

int agent__connect(struct agent *agent, int fd)
{
	int stacks_fd = ledger__tables(collector__ledger(agent->collector)).stacks_fd;
	struct code_client *client;
	int err = code_client__new(fd, &client);

	if (!err)
		sampler__connect(agent->sampler, collector__folding(agent->collector), client,
				 stacks_fd);
	return err;
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
	sampler__clear(agent->sampler, agent->stepped_ns);
	return err;
}

int agent__begin(struct agent *agent, bool is_again)
{
	int err = agent__use(agent, agent->config);

	if (!err && is_again)
		err = skip(agent);
	self__start(&agent->self, clock__now_ns());
	return err;
}

void agent__free(struct agent *agent)
{
	if (!agent)
		return;
	outlets__free(agent->outlets);
	outlet_metrics__free(agent->before);
	chooser__free(agent->chooser);
	sampler__free(agent->sampler);
	self__close(&agent->self);
	counting__free(agent->counting);
	signal_sums__free(agent->signal_step);
	signal_sums__free(agent->signal_minute);
	collector__free(agent->collector);
	bucket__free(agent->minute);
	identity__free(agent->identity);
	service_rules__free(agent->rules);
	if (agent->covered_ns)
		munmap((void *)agent->covered_ns, sizeof(*agent->covered_ns));
	free(agent);
}
