/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sentence about the CPU: how long a group ran, in which code, and how long it had no CPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "findings/cpus.h"
#include "findings/running.h"
#include "findings/say.h"
#include "findings/signals.h"
#include "vocabulary/roles.h"

#define SAID_PERCENT           15 /* of the running time */
#define EXACT_PERCENT          5  /* the same, if it is measured and not estimated */
#define RECLAIM_PERCENT        5
#define READY_PERCENT          5 /* of running and ready time */
#define FAILED_PERCENT         50
#define UNNAMED_PERCENT        50
#define PATH_PERCENT           30
#define OCCUPANT_PERCENT       30
#define LEAST_OCCUPIED_PERCENT 10 /* of the time without a CPU: less is noise */
#define QUOTA_PERCENT          10
#define LEAST_ACCEPT_NS        10000000
#define NEARLY_ALL_PERCENT     90
#define MEMBER_PERCENT         30 /* of the busiest thread's time: this thread counts as busy too */

/* The threads of a group that want a CPU, without siblings that sleep. */
struct busy {
	const struct model_thread *first;
	size_t threads;
	int64_t run_ns, ready_ns, life_ns;
	int64_t throttled_ns; /* the part of ready_ns without quota */
};

static int64_t throttled_ns(const struct model_thread *thread)
{
	int64_t ns = 0;

	for (size_t i = 0; i < thread->cell_count; i++)
		if (thread->cells[i].state->slot == SLOT_READY_THROTTLED)
			ns += thread->cells[i].ns;
	return ns;
}

static struct busy find_busy(const struct analysis *analysis, const struct model_group *group)
{
	const struct model *model = analysis->model;
	const struct group_work *work = &analysis->groups[group_index(analysis, group)];
	struct busy busy = {};
	int64_t most_ns = 0, all_throttled_ns = 0;

	for (size_t i = 0; i < model->thread_count; i++) {
		int64_t ns = analysis->threads[i].run_ns + analysis->threads[i].ready_ns;

		if (model->threads[i].group != group || ns <= most_ns)
			continue;
		most_ns = ns;
		busy.first = &model->threads[i];
	}
	for (size_t i = 0; i < model->thread_count; i++) {
		const struct working *thread = &analysis->threads[i];
		int64_t quota_ns = throttled_ns(&model->threads[i]);

		if (model->threads[i].group != group)
			continue;
		all_throttled_ns += quota_ns;
		if (!model__reaches(thread->run_ns + thread->ready_ns, most_ns, MEMBER_PERCENT))
			continue;
		busy.threads++;
		busy.run_ns += thread->run_ns;
		busy.ready_ns += thread->ready_ns;
		busy.life_ns += thread->life_ns;
		busy.throttled_ns += quota_ns;
	}
	/* Many processes that live briefly: the group as a whole is the subject. */
	if ((busy.run_ns + busy.ready_ns) * 2 < work->run_ns + work->ready_ns)
		busy = (struct busy) { busy.first,     group->threads,     work->run_ns,
				       work->ready_ns, group->lifetime_ns, all_throttled_ns };
	return busy;
}

/* The pattern of most of the paths that a group passed to a syscall. */
static void say_path(struct finding *finding, const struct analysis *analysis,
		     const struct model_group *group, const char *call, int64_t error)
{
	const struct model *model = analysis->model;
	const struct model_path *most = NULL;
	int64_t all = 0;

	for (size_t i = 0; i < model->path_count; i++) {
		const struct model_path *path = &model->paths[i];

		if (strcmp(path->call, call) || path->error != error ||
		    (path->thread && path->thread->group != group))
			continue;
		all += path->count;
		if (!most || path->count > most->count)
			most = path;
	}
	if (!most || !model__reaches(most->count, all, PATH_PERCENT))
		return;
	say(finding, ", %s on %s", words__about(most->count, all).text,
	    words__clean(most->pattern, SAY_OBJECT_COLUMNS).text);
	if (most->paths > 1)
		say(finding, " (%s)", words__count(most->paths, "paths").text);
}

/* Whether the counts of syscalls, which are of the whole recording, are those of this group. */
static bool made_nearly_all(const struct analysis *analysis, const struct model_group *group)
{
	const struct model *model = analysis->model;
	int64_t all_ns = 0;

	for (size_t i = 0; i < model->group_count; i++)
		if (answers__is_target(&model->groups[i]))
			all_ns += analysis->groups[i].run_ns;
	return model__reaches(analysis->groups[group_index(analysis, group)].run_ns, all_ns,
			      NEARLY_ALL_PERCENT);
}

/* ": 12,700 calls a second, 99 % of them fail with ENOENT, 80 % on /opt/x/…" */
static void say_failures(struct finding *finding, const struct analysis *analysis,
			 const struct model_group *group, const char *call)
{
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->syscall_count; i++) {
		const struct model_syscall *counted = &model->syscalls[i];
		const char *error = strerrorname_np((int)counted->common_errno);

		if (strcmp(counted->name, call) || !made_nearly_all(analysis, group))
			continue;
		say(finding, ": %s a second",
		    words__count(
			    (int64_t)((double)counted->count * 1e9 / (double)model->wall_ns + 0.5),
			    "calls")
			    .text);
		if (!model__reaches(counted->common_count, counted->count, FAILED_PERCENT))
			error = NULL;
		if (error)
			say(finding, ", %s of them fail with %s",
			    words__about(counted->common_count, counted->count).text, error);
		say_path(finding, analysis, group, call, error ? counted->common_errno : 0);
	}
}

static void say_code(struct finding *finding, const struct analysis *analysis,
		     const struct running *running)
{
	int64_t all = running->sampled_ns;

	if (running->function) {
		say(finding, ", %s of that under ", words__about(running->function_ns, all).text);
		if (running->caller) {
			say__function(finding, analysis, running->caller);
			say(finding, " → ");
		}
		say__function(finding, analysis, running->function);
	} else if (model__reaches(running->unnamed_ns, all, UNNAMED_PERCENT)) {
		say(finding, ", %s of that in code without names",
		    words__about(running->unnamed_ns, all).text);
	} else if (running->most) {
		say(finding, ", most in ");
		say__function(finding, analysis, running->most);
		say(finding, " (%s)", words__about(running->most_ns, all).text);
	}
}

/* The file of most of the group's waits for page faults; NULL: none. */
static const struct signals_object *file_of_faults(const struct analysis *analysis,
						   const struct model_group *group)
{
	const struct model *model = analysis->model;
	const struct model_wait *most = NULL;

	for (size_t i = 0; i < model->wait_count; i++)
		if (model->waits[i].waiter->group == group && model->waits[i].object &&
		    model->waits[i].state->slot == SLOT_WAIT_FAULT &&
		    (!most || model->waits[i].ns > most->ns))
			most = &model->waits[i];
	return most ? signals__object(&model->signals, most->object) : NULL;
}

static void say_faults(struct finding *finding, const struct analysis *analysis,
		       const struct model_group *group, const struct running *running)
{
	const struct user_time *faults = &analysis->model->user_time;
	const struct signals_object *file = file_of_faults(analysis, group);

	say(finding, ", %s in page faults",
	    words__about(running->fault_ns, running->sampled_ns).text);
	if (!faults->has_faults)
		return;
	say(finding, " (%s in the recording, %s of them major",
	    words__number(faults->minor + faults->major).text, words__number(faults->major).text);
	if (file && faults->major)
		say(finding, ", most of these waited for %s",
		    words__clean(file->name, SAY_OBJECT_COLUMNS).text);
	say(finding, ")");
	say__next(finding, analysis->model, "memory", "--signals default,memory");
}

static void say_interrupts(struct finding *finding, const struct analysis *analysis,
			   const struct running *running)
{
	int64_t ns = running->interrupt_ns, all = running->interrupt_of_ns;

	if (!running->is_interrupt_exact && model__reaches(ns, all, SAID_PERCENT)) {
		say(finding, ", %s in interrupts that hit it", words__about(ns, all).text);
		say__next(finding, analysis->model, "irq", "--signals default,irq");
	}
	/* A thread that sends to its own machine runs softirqs itself: they did not hit it. */
	if (running->is_interrupt_exact && model__reaches(ns, all, EXACT_PERCENT))
		say(finding, ", interrupts and softirqs took %s of that (%s)",
		    words__about(ns, all).text, words__time(ns).text);
}

static void say_reclaim(struct finding *finding, const struct analysis *analysis,
			const struct model_group *group, const struct running *running)
{
	say(finding, ", %s in memory reclaim at the limit of its cgroup",
	    words__about(running->reclaim_ns, running->sampled_ns).text);
	say__memory_limit(finding, analysis, group);
	say__next(finding, analysis->model, "memory", "--signals default,memory");
}

static void say_kernel(struct finding *finding, const struct analysis *analysis,
		       const struct model_group *group, const struct running *running)
{
	int64_t all = running->sampled_ns;

	if (model__reaches(running->fault_ns, all, SAID_PERCENT))
		say_faults(finding, analysis, group, running);
	say_interrupts(finding, analysis, running);
	if (model__reaches(running->collector_ns, all, SAID_PERCENT))
		say(finding, ", %s in garbage collection",
		    words__about(running->collector_ns, all).text);
	if (model__reaches(running->reclaim_ns, all, RECLAIM_PERCENT))
		say_reclaim(finding, analysis, group, running);
	if (*running->call && model__reaches(running->call_ns, running->call_of_ns, SAID_PERCENT)) {
		say(finding, ", %s in the system call %s",
		    words__about(running->call_ns, running->call_of_ns).text,
		    words__clean(running->call, SAY_NAME_COLUMNS).text);
		say_failures(finding, analysis, group, running->call);
		if (running->call_caller && running->call_caller != running->function) {
			say(finding, ", called by ");
			say__function(finding, analysis, running->call_caller);
		}
	}
}

/* If this group made nearly all system calls, their exact sums tell more than samples. */
static void find_call(const struct analysis *analysis, const struct model_group *group,
		      struct running *running)
{
	const struct model *model = analysis->model;
	int64_t run_ns = analysis->groups[group_index(analysis, group)].run_ns;

	running->call_of_ns = running->sampled_ns;
	if (!model->syscall_count || model->syscalls->run_ns > answers__kernel_ns(model, group) ||
	    !made_nearly_all(analysis, group))
		return;
	if (strcmp(running->call, model->syscalls->name))
		running->call_caller = 0;
	snprintf(running->call, sizeof(running->call), "%s", model->syscalls->name);
	running->call_ns = model->syscalls->run_ns;
	running->call_of_ns = run_ns;
}

static bool is_allocator(const struct model *model, uint32_t function)
{
	static const char *const names[] = { "malloc",    "free",         "calloc",
					     "realloc",   "_int_malloc",  "_int_free",
					     "sysmalloc", "operator new", "operator delete" };

	for (size_t i = 0; function && i < sizeof(names) / sizeof(*names); i++) {
		size_t length = strlen(names[i]);
		const char *name = model->hot.functions[function].name;

		if (!strncmp(name, names[i], length) && (!name[length] || name[length] == '('))
			return true;
	}
	return false;
}

static void say_run(struct finding *finding, struct analysis *analysis, const struct answer *answer,
		    const struct busy *busy)
{
	struct running running;

	say(finding, "ran for %s of the time (%s)", words__about(busy->run_ns, busy->life_ns).text,
	    words__time(busy->run_ns).text);
	if (running__find(analysis, answer->group, &running))
		return;
	find_call(analysis, answer->group, &running);
	say_code(finding, analysis, &running);
	if (is_allocator(analysis->model, running.function) ||
	    is_allocator(analysis->model, running.most))
		say__next(finding, analysis->model, "heap", "--memory-heap");
	say_kernel(finding, analysis, answer->group, &running);
	if (model__reaches(running.reclaim_ns, running.sampled_ns, RECLAIM_PERCENT))
		findings_signals__say_rereads(analysis->model, answer->group, finding);
}

/* The process that ran longest on the CPUs on which the group was queued, and all such time. */
static const struct model_group *find_occupant(const struct model *model,
					       const struct model_group *group, int64_t *ret_ns,
					       int64_t *ret_all_ns)
{
	cleanup(free_p) int64_t *by_group = calloc(model->group_count + 1, sizeof(*by_group));
	const struct model_group *most = NULL;

	*ret_ns = *ret_all_ns = 0;
	for (size_t i = 0; by_group && i < model->occupant_count; i++) {
		const struct model_occupant *occupant = &model->occupants[i];
		const struct model_group *by = occupant->by ? occupant->by->group : NULL;
		int64_t *ns = by ? &by_group[by - model->groups] : NULL;

		if (occupant->thread->group != group)
			continue;
		*ret_all_ns += occupant->ns;
		if (!ns)
			continue;
		*ns += occupant->ns;
		if (*ns <= *ret_ns)
			continue;
		*ret_ns = *ns;
		most = by;
	}
	return most;
}

static void say_occupant(struct finding *finding, const struct model *model,
			 const struct model_group *group)
{
	int64_t ns, all_ns;
	const struct model_group *by = find_occupant(model, group, &ns, &all_ns);

	if (!by || by->own || !strncmp(by->process_comm, "gapless", 7) ||
	    !model__reaches(ns, all_ns, OCCUPANT_PERCENT))
		return;
	say(finding, ": ");
	if (by == group) {
		say(finding, "%s of it while other threads of the same group ran",
		    words__about(ns, all_ns).text);
		return;
	}
	say__group(finding, by);
	say(finding, " had it for %s of that", words__about(ns, all_ns).text);
	say__blame(finding, by);
}

/* Time without quota; nobody had the CPU in its place. */
static bool say_quota(struct finding *finding, const struct model *model, const struct busy *busy)
{
	const struct model_limit *limit = model__limit(model, busy->first->process, "cpu");

	if (!model__reaches(busy->throttled_ns, busy->ready_ns, QUOTA_PERCENT))
		return false;
	say(finding, ", %s of that throttled: the CPU quota of its cgroup",
	    words__about(busy->throttled_ns, busy->ready_ns).text);
	if (limit)
		say(finding, " %s (%s)", words__clean(limit->cgroup, SAY_OBJECT_COLUMNS).text,
		    words__clean(limit->value, SAY_NAME_COLUMNS).text);
	else if (busy->first->cgroup)
		say(finding, " %s", words__clean(busy->first->cgroup, SAY_OBJECT_COLUMNS).text);
	say(finding, " was used up");
	return true;
}

static void say_ready(struct finding *finding, const struct analysis *analysis,
		      const struct answer *answer, const struct busy *busy)
{
	say(finding, "%s ready without a CPU for %s (%s)", busy->threads > 1 ? "were" : "was",
	    words__about(busy->ready_ns, busy->life_ns).text, words__time(busy->ready_ns).text);
	if (!say_quota(finding, analysis->model, busy) &&
	    model__reaches(busy->ready_ns, busy->life_ns, LEAST_OCCUPIED_PERCENT)) {
		say_occupant(finding, analysis->model, answer->group);
		cpus__say_group(analysis->model, answer->group, finding->text,
				sizeof(finding->text));
	}
	say__next(finding, analysis->model, "cpu", "--signals default,cpu");
}

/* A thread that is busy accepts too late: says how long new connections waited for it. */
static void say_accepts(struct finding *finding, const struct model *model,
			const struct model_group *group)
{
	const struct signals_signal *tcp = signals__of(&model->signals, ROLE_CONNECTIONS);

	for (size_t i = 0; tcp && tcp->main >= 0 && i < tcp->row_count; i++) {
		const struct signals_row *row = &tcp->rows[i];
		int64_t p50_ns = row->percentiles[tcp->main][P50];

		if (strcmp(row->operation, "accept") || row->part.group != group ||
		    p50_ns < LEAST_ACCEPT_NS)
			continue;
		say(finding, "; meanwhile %s waited to be accepted by it (p50 %s, longest %s)",
		    words__count(row->part.sum.count, "connections").text, words__time(p50_ns).text,
		    words__time(row->part.sum.max[tcp->main]).text);
		finding->row = row;
	}
}

void say_cpu__put(struct finding *finding, struct analysis *analysis, const struct answer *answer)
{
	struct busy busy = find_busy(analysis, answer->group);
	bool waits = model__reaches(busy.ready_ns, busy.run_ns + busy.ready_ns, READY_PERCENT);

	say__who(finding, answer->group, busy.threads, busy.first);
	say(finding, " ");
	if (waits && busy.ready_ns > busy.run_ns) {
		say_ready(finding, analysis, answer, &busy);
		say(finding, "; %s ", busy.threads > 1 ? "they" : "it");
		say_run(finding, analysis, answer, &busy);
	} else {
		say_run(finding, analysis, answer, &busy);
		if (waits) {
			say(finding, ", and ");
			say_ready(finding, analysis, answer, &busy);
		}
	}
	say_accepts(finding, analysis->model, answer->group);
	say__waiters(finding, answer);
	say(finding, ".");
}
