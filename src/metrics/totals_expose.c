/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The families of gapless-metrics(7), in the order of the page. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "metrics/totals_internal.h"
#include "vocabulary/states.h"

DEFINE_CLEANUP(struct exposition *, exposition__free)

#define NANOSECONDS 9 /* digits */
#define MILLIONTHS  6

static const char *const state_names[TOTALS_STATES] = { "run", "ready", "wait", "unseen" };

/* What is shown, in the order of the names. */
struct view {
	struct exposition *out;
	const struct totals *totals;
	struct totals_service **services;
	size_t count;
};

static void view_release(struct view *view)
{
	free(view->services);
}

static void begin(struct exposition *out, const char *name, enum exposition_type type,
		  const char *unit, const char *help)
{
	exposition__family(out, &(struct exposition_family) {
					.name = name,
					.help = help,
					.unit = unit,
					.type = type,
				});
}

static void begin_services(struct view *view, const char *name, enum exposition_type type,
			   const char *unit, const char *help, const char *label)
{
	exposition__family(view->out, &(struct exposition_family) {
					      .name = name,
					      .help = help,
					      .unit = unit,
					      .type = type,
					      .labels = { "namespace", "service", label },
				      });
}

/* A service, whose samples come next. */
static const struct totals_service *choose(const struct view *view, size_t service)
{
	view->out->age_ns = view->services[service]->account->age_ns;
	return view->services[service];
}

static void show_one(struct exposition *out, const char *name, enum exposition_type type,
		     const char *unit, uint64_t number, unsigned int digits, const char *help)
{
	begin(out, name, type, unit, help);
	exposition__sample(out, NULL, number, digits);
}

static int by_name(const void *left, const void *right)
{
	const struct totals_service *a = *(struct totals_service *const *)left;
	const struct totals_service *b = *(struct totals_service *const *)right;
	int order = strcmp(a->namespace_name, b->namespace_name);

	return order ? order : strcmp(a->service, b->service);
}

static bool is_shown(const struct totals *totals, const struct totals_service *service)
{
	const struct totals_account *account = service->account;

	if (service != totals->other)
		return account != NULL;
	for (size_t i = 0; i < TOTALS_CELLS; i++)
		if (account->places[i] != CELL_ABSENT)
			return true;
	return account->call_count || account->calls_folded;
}

static int list_services(struct view *view)
{
	struct totals_service *service;
	size_t at = 0;

	view->services = calloc(view->totals->placed + 1, sizeof(struct totals_service *));
	if (!view->services)
		return -ENOMEM;
	while ((service = map__next(&view->totals->services, &at)))
		for (; service; service = service->next)
			if (is_shown(view->totals, service))
				view->services[view->count++] = service;
	if (view->count)
		qsort(view->services, view->count, sizeof(struct totals_service *), by_name);
	return 0;
}

static void show_cells(struct exposition *out, const struct totals_service *service)
{
	const struct totals_account *account = service->account;
	const char *values[] = { service->namespace_name, service->service, "", "", "" };
	uint64_t folded_ns = 0;
	bool has_folded = false;

	for (size_t i = 0; i < TOTALS_CELLS; i++) {
		if (account->places[i] == CELL_FOLDED) {
			folded_ns += account->ns[i];
			has_folded = true;
		}
		if (account->places[i] != CELL_OWN)
			continue;
		values[2] = states__words(TOTALS_CELL_SLOT(i))->state;
		values[3] = states__words(TOTALS_CELL_SLOT(i))->cause;
		values[4] = kinds__words(TOTALS_CELL_KIND(i))->key;
		exposition__sample(out, values, account->ns[i], NANOSECONDS);
	}
	if (!has_folded)
		return;
	values[2] = values[3] = values[4] = TOTALS_OTHER;
	exposition__sample(out, values, folded_ns, NANOSECONDS);
}

static void show_thread_seconds(struct view *view)
{
	exposition__family(
		view->out,
		&(struct exposition_family) {
			.name = "gapless_thread_seconds",
			.help = "Wall time of all threads by state, cause of waiting and kind. The "
				"states of a service add up to the lifetimes of its threads.",
			.unit = "seconds",
			.type = EXPOSITION_COUNTER,
			.labels = { "namespace", "service", "state", "cause", "kind" },
		});
	for (size_t i = 0; i < view->count; i++)
		show_cells(view->out, choose(view, i));
}

static void show_transitions(struct view *view)
{
	begin_services(view, "gapless_transitions", EXPOSITION_COUNTER, NULL,
		       "How often threads entered a state.", "state");
	for (size_t i = 0; i < view->count; i++)
		for (int k = 0; k < TOTALS_STATES; k++) {
			const struct totals_service *service = choose(view, i);
			const char *values[] = { service->namespace_name, service->service,
						 state_names[k] };
			uint64_t count = service->account->transitions[k];

			if (count || k < TOTALS_STATES - 1)
				exposition__sample(view->out, values, count, 0);
		}
}

static void show_threads(struct view *view)
{
	uint64_t step_ns = view->totals->step_ns ? view->totals->step_ns : 1;

	begin_services(view, "gapless_threads", EXPOSITION_GAUGE, NULL,
		       "Threads, the mean over the last step.", NULL);
	for (size_t i = 0; i < view->count; i++) {
		const struct totals_service *service = choose(view, i);
		const char *values[] = { service->namespace_name, service->service };

		/* Thousandths, rounded. */
		exposition__sample(view->out, values,
				   (service->account->thread_ns * 1000 + step_ns / 2) / step_ns, 3);
	}
	begin_services(view, "gapless_unexplained_seconds", EXPOSITION_COUNTER, "seconds",
		       "Thread time that was seen but cannot be attributed.", NULL);
	for (size_t i = 0; i < view->count; i++) {
		const struct totals_service *service = choose(view, i);
		const char *values[] = { service->namespace_name, service->service };

		exposition__sample(view->out, values, service->account->unexplained_ns,
				   NANOSECONDS);
	}
}

static void show_waits(const struct totals *totals, struct exposition *out)
{
	exposition__family(
		out,
		&(struct exposition_family) {
			.name = "gapless_wait_seconds",
			.help = "Length of single intervals in a state on the whole machine; the "
				"sum is made from the middles of buckets.",
			.unit = "seconds",
			.type = EXPOSITION_HISTOGRAM,
			.labels = { "state", "cause", "kind" },
		});
	for (enum ledger_slot slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		const struct state_words *words = states__words(slot);
		const char *values[] = { words->state, words->cause,
					 kinds__words(words->kind)->key };

		if (totals->has_waits[slot])
			exposition__histogram(out, values, &totals->waits[slot]);
	}
}

static void show_family(const struct totals_family *family, struct exposition *out)
{
	static const struct {
		const char *suffix, *help, *unit;
		enum exposition_type type;
	} units[] = {
		[TOTALS_SECONDS] = { "_seconds", "Durations of events of a signal.", "seconds",
				     EXPOSITION_HISTOGRAM },
		[TOTALS_SPENT] = { "_seconds", "Time of events of a signal.", "seconds",
				   EXPOSITION_COUNTER },
		[TOTALS_BYTES] = { "_bytes", "Bytes of events of a signal.", "bytes",
				   EXPOSITION_COUNTER },
		[TOTALS_EVENTS] = { "", "Events of a signal.", NULL, EXPOSITION_COUNTER },
	};
	char name[EXPOSITION_LABEL_BYTES];

	snprintf(name, sizeof(name), "gapless_signal_%s%s", family->name,
		 units[family->unit].suffix);
	exposition__family(out, &(struct exposition_family) {
					.name = name,
					.help = units[family->unit].help,
					.unit = units[family->unit].unit,
					.type = units[family->unit].type,
					.labels = { "operation", "place" },
				});
	for (const struct totals_series *series = family->series; series; series = series->next) {
		const char *values[] = { series->operation, series->place };

		if (series == family->series && !family->folded)
			continue;
		if (series->histogram)
			exposition__histogram(out, values, series->histogram);
		else
			exposition__sample(out, values, series->number,
					   family->unit == TOTALS_SPENT ? NANOSECONDS : 0);
	}
}

enum call_number { CALL_COUNT, CALL_SECONDS, CALL_ERRORS };

static void show_call(struct exposition *out, const struct totals_service *service,
		      const char *name, const struct totals_calls *calls, enum call_number number)
{
	const char *values[] = { service->namespace_name, service->service, name };

	switch (number) {
	case CALL_COUNT:
		exposition__sample(out, values, calls->count, 0);
		break;
	case CALL_SECONDS:
		exposition__sample(out, values, calls->ns, NANOSECONDS);
		break;
	case CALL_ERRORS:
		exposition__sample(out, values, calls->errors, 0);
		break;
	}
}

static void show_calls(struct view *view, enum call_number number)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct totals_service *service = choose(view, i);
		const struct totals_account *account = service->account;

		for (size_t k = 0; k < account->call_count; k++)
			show_call(view->out, service, account->calls[k].name, &account->calls[k],
				  number);
		if (account->calls_folded)
			show_call(view->out, service, TOTALS_OTHER, &account->other_calls, number);
	}
}

static void show_all_calls(struct view *view)
{
	begin_services(view, "gapless_syscalls", EXPOSITION_COUNTER, NULL,
		       "Syscalls that ended, the largest of each service.", "syscall");
	show_calls(view, CALL_COUNT);
	begin_services(view, "gapless_syscall_seconds", EXPOSITION_COUNTER, "seconds",
		       "Time from the begin to the end of syscalls.", "syscall");
	show_calls(view, CALL_SECONDS);
	begin_services(view, "gapless_syscall_errors", EXPOSITION_COUNTER, NULL,
		       "Syscalls that returned an error.", "syscall");
	show_calls(view, CALL_ERRORS);
}

/* Services of the last step, causes, syscalls and rows of signals without their own series. */
static uint64_t count_folded(const struct view *view)
{
	uint64_t folded = view->totals->unplaced + view->totals->signals_folded;

	for (size_t i = 0; i < view->count; i++) {
		const struct totals_account *account = view->services[i]->account;

		for (size_t k = 0; k < TOTALS_CELLS; k++)
			folded += account->places[k] == CELL_FOLDED;
		folded += account->calls_folded;
	}
	return folded;
}

static void show_lost(struct exposition *out, const struct totals_agent *agent)
{
	uint64_t rest = 0;

	exposition__family(
		out, &(struct exposition_family) {
			     .name = "gapless_agent_lost",
			     .help = "What was lost, times in nanoseconds; gapless-quality(7).",
			     .type = EXPOSITION_COUNTER,
			     .labels = { "what" },
		     });
	for (size_t i = 0; i < agent->lost_count; i++) {
		if (i < TOTALS_AGENT_ROWS)
			exposition__sample(out, &agent->lost[i].what, agent->lost[i].count, 0);
		else
			rest += agent->lost[i].count;
	}
	if (agent->lost_count > TOTALS_AGENT_ROWS)
		exposition__sample(out, (const char *[]) { TOTALS_OTHER }, rest, 0);
}

static void show_pushes(struct exposition *out, const struct totals_agent *agent)
{
	uint64_t rest = 0;

	exposition__family(
		out, &(struct exposition_family) {
			     .name = "gapless_agent_push",
			     .help = "Batches and requests to stores and receivers, by result.",
			     .type = EXPOSITION_COUNTER,
			     .labels = { "sink", "result" },
		     });
	for (size_t i = 0; i < agent->push_count; i++) {
		const struct totals_push *push = &agent->pushes[i];

		if (i < TOTALS_PUSH_ROWS)
			exposition__sample(out, (const char *[]) { push->sink, push->result },
					   push->count, 0);
		else
			rest += push->count;
	}
	if (agent->push_count > TOTALS_PUSH_ROWS)
		exposition__sample(out, (const char *[]) { TOTALS_OTHER, TOTALS_OTHER }, rest, 0);
}

static void show_cost(struct exposition *out, const struct totals_agent *agent)
{
	show_one(out, "gapless_agent_cpu_seconds", EXPOSITION_COUNTER, "seconds", agent->cpu_ns,
		 NANOSECONDS, "CPU time of the agent's own processes.");
	if (agent->hook_ns)
		show_one(out, "gapless_agent_hook_seconds", EXPOSITION_COUNTER, "seconds",
			 agent->hook_ns, NANOSECONDS,
			 agent->hooks_partly
				 ? "CPU time of the hooks at context switches and syscalls, "
				   "estimated; other hooks are not priced."
				 : "CPU time of the hooks in the kernel, estimated from samples.");
	exposition__family(out, &(struct exposition_family) {
					.name = "gapless_agent_memory_bytes",
					.help = "Memory of the agent: anonymous, and BPF maps.",
					.unit = "bytes",
					.type = EXPOSITION_GAUGE,
					.labels = { "of" },
				});
	exposition__sample(out, (const char *[]) { "anon" }, agent->anon_bytes, 0);
	exposition__sample(out, (const char *[]) { "bpf" }, agent->bpf_bytes, 0);
}

static void show_agent(struct view *view, const struct totals_agent *agent)
{
	struct exposition *out = view->out;

	show_cost(out, agent);
	begin(out, "gapless_agent_governor_level", EXPOSITION_GAUGE, NULL,
	      "-1: ledger, read once a minute, 0: ledger, 1: signals too, 2: stacks too, 3: full.");
	exposition__signed(out, NULL, agent->governor_level);
	show_one(out, "gapless_agent_sampling_probability_ratio", EXPOSITION_GAUGE, "ratio",
		 agent->sampling_ppm, MILLIONTHS, "The chance that a minute is chosen for stacks.");
	show_one(out, "gapless_agent_spool_bytes", EXPOSITION_GAUGE, "bytes", agent->spool_bytes, 0,
		 "Batches on disk that no store has taken yet.");
	show_one(out, "gapless_agent_spool_oldest_seconds", EXPOSITION_GAUGE, "seconds",
		 agent->spool_oldest_ns, NANOSECONDS, "Age of the oldest of these batches.");
	show_one(out, "gapless_agent_start_time_seconds", EXPOSITION_GAUGE, "seconds",
		 agent->start_time_ns, NANOSECONDS, "Unix time of the agent's start.");
	show_one(out, "gapless_agent_ended_thread_seconds", EXPOSITION_COUNTER, "seconds",
		 view->totals->ended_ns, NANOSECONDS,
		 "Thread time of services whose series have ended.");
	show_one(out, "gapless_agent_series_folded", EXPOSITION_GAUGE, NULL, count_folded(view), 0,
		 "Services, causes, syscalls and signals that have no series of their own.");
	exposition__family(out, &(struct exposition_family) {
					.name = "gapless_agent_scrapes",
					.help = "Requests for the metrics, by result.",
					.type = EXPOSITION_COUNTER,
					.labels = { "result" },
				});
	exposition__sample(out, (const char *[]) { "served" }, agent->scrapes_served, 0);
	exposition__sample(out, (const char *[]) { "refused" }, agent->scrapes_refused, 0);
	show_lost(out, agent);
	show_pushes(out, agent);
	exposition__family(out, &(struct exposition_family) {
					.name = "gapless_build_info",
					.help = "1, with the versions as labels.",
					.type = EXPOSITION_GAUGE,
					.labels = { "version", "kernel", "level" },
				});
	exposition__sample(out, (const char *[]) { agent->version, agent->kernel, agent->level }, 1,
			   0);
}

int totals__expose(const struct totals *totals, const struct totals_agent *agent,
		   struct exposition **ret)
{
	cleanup(exposition__free_p) struct exposition *out = NULL;
	cleanup(view_release) struct view view = { .totals = totals };
	int err = exposition__new(&out);

	if (err)
		return err;
	view.out = out;
	err = list_services(&view);
	if (err)
		return err;
	show_thread_seconds(&view);
	show_transitions(&view);
	show_threads(&view);
	show_waits(totals, out);
	for (size_t i = 0; i < totals->family_count; i++)
		show_family(&totals->families[i], out);
	if (totals->options.with_calls)
		show_all_calls(&view);
	show_agent(&view, agent);
	err = exposition__failed(out);
	if (err)
		return err;
	*ret = TAKE(out);
	return 0;
}
