/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Candidates are (group, cause) sums, ready time per group, and syscalls. Each has a rank:
 *
 *   0  delays: waits that hold up work, missing CPUs, syscalls that use much running time
 *   1  running itself, if it is most of a group's time
 *   2  waits that explain nothing by themselves: waits for a child, whose own time explains them,
 *      and waits of threads that only waited, such as a shell at its terminal. A wait for a lock
 *      never has this rank, because it may be the deadlock that the user is looking for.
 *   3  unclear waits: a pool that waits for work looks the same as one that waits for a lock
 *
 * Within a rank, the longest comes first. Time and share come from the accounts, which can be cut.
 * The object and the culprit come from the waits, which exist only for the whole recording.
 */
#include "findings/findings.h"

#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "findings/signals.h"

#define NAME_COLUMNS 40

/* Anything with a smaller share is not a finding: of its group's time, and of the wall time. */
#define LEAST_PERCENT       1
#define LEAST_RUN_PERCENT   50
#define LEAST_OPEN_PERCENT  10
#define LEAST_CALL_PERCENT  10
#define LEAST_STORM_PERCENT 25
#define MOSTLY_PERCENT      80

/* Limit on findings from the accounts. The remaining ones are for signals. */
#define LEDGERS_MOST 3

enum rank { RANK_DELAY, RANK_RUN, RANK_PARKED, RANK_UNDECIDED, RANK_NONE };

struct candidate {
	enum rank rank;
	int64_t ns;
	const struct model_group *group;
	const struct model_state *state;  /* set: a wait in this state */
	const struct model_syscall *call; /* set: a syscall; both NULL: ready or running */
};

#define say(finding, ...) words__say((finding)->text, sizeof((finding)->text), __VA_ARGS__)

/* "Threads worker-* of app" or "Thread main (tid 4242)", as the beginning of a sentence. */
static bool say_subject(struct finding *finding, const struct model *model,
			const struct model_group *group)
{
	bool one = group->members == 1;
	char name[512];

	findings__name(group, one ? group->first : NULL, name, sizeof(name));
	say(finding, "T%s", name + 1);
	if (model->measured_processes > 1 && strcmp(group->process_comm, group->name))
		say(finding, " of %s", words__clean(group->process_comm, NAME_COLUMNS).text);
	return one;
}

static void say_share(struct finding *finding, bool one)
{
	say(finding, "%s of %s time (%s of %s)", words__about(finding->ns, finding->of_ns).text,
	    one ? "its" : "their", words__time(finding->ns).text, words__time(finding->of_ns).text);
}

/* Whether all waits were for kernel locks. If not, some were for memory or for RCU. */
static bool is_for_locks(const struct model *model, const struct candidate *candidate)
{
	for (size_t i = 0; i < model->blame_count; i++) {
		const struct model_wait *wait = model->blames[i].first;

		if (wait->waiter->group == candidate->group && wait->state == candidate->state &&
		    (!wait->object_kind || strcmp(wait->object_kind, "kernel lock")))
			return false;
	}
	return true;
}

static void say_wait(struct finding *finding, const struct model *model,
		     const struct candidate *candidate, const struct signals_row **ret_said)
{
	enum ledger_slot slot = candidate->state->slot;
	bool one = say_subject(finding, model, candidate->group);

	finding->of_ns = candidate->group->lifetime_ns;
	say(finding, " spent ");
	say_share(finding, one);
	if (slot == SLOT_WAIT_KERNEL && !is_for_locks(model, candidate))
		say(finding, " waiting inside the kernel");
	else if (slot)
		say(finding, " %s", states__words(slot)->phrase);
	else
		say(finding, " waiting (%s)",
		    words__clean(candidate->state->cause, NAME_COLUMNS).text);
	findings__blame(model, candidate->group, candidate->state, finding);
	if (slot == SLOT_WAIT_DISK)
		findings_signals__join(model, candidate->group, finding, ret_said);
	say(finding, candidate->rank == RANK_UNDECIDED
			     ? "; whether that is idleness cannot be told from outside."
			     : ".");
}

/* Names the group that used the CPUs most, if that is known. */
static void say_cpus(struct finding *finding, const struct model *model)
{
	const struct model_group *most = NULL;
	int64_t capacity;
	char name[512];

	if (model->cut || !model->has_idle ||
	    __builtin_mul_overflow(model->cpus, model->end_ns - model->start_ns, &capacity) ||
	    capacity <= 0)
		return;
	say(finding, ": the machine's %lld CPUs were %s busy", (long long)model->cpus,
	    words__about(capacity - model->idle_ns, capacity).text);
	for (size_t i = 0; i < model->group_count; i++)
		if (!most || model->groups[i].kind_ns[KIND_RUN] > most->kind_ns[KIND_RUN])
			most = &model->groups[i];
	if (!most || !model__reaches(most->kind_ns[KIND_RUN], capacity, 20))
		return;
	findings__name(most, most->members == 1 ? most->first : NULL, name, sizeof(name));
	say(finding, ", %s with %s", words__about(most->kind_ns[KIND_RUN], capacity).text, name);
}

static void say_ready(struct finding *finding, const struct model *model,
		      const struct candidate *candidate)
{
	bool one = say_subject(finding, model, candidate->group);

	finding->of_ns = candidate->group->lifetime_ns;
	say(finding, " %s ready to run but had no CPU for ", one ? "was" : "were");
	say_share(finding, one);
	say_cpus(finding, model);
	say(finding, model->has_idle ? "." : " [record -a to see who had it].");
}

static void say_run(struct finding *finding, const struct model *model,
		    const struct candidate *candidate)
{
	bool one = say_subject(finding, model, candidate->group);
	int64_t user_ns = 0;

	finding->of_ns = candidate->group->lifetime_ns;
	say(finding, " ran for ");
	say_share(finding, one);
	for (size_t i = 0; i < model->state_count; i++)
		if (model->states[i].slot == SLOT_RUN_USER)
			user_ns += candidate->group->state_ns[i];
	if (user_ns)
		say(finding, ", %s of that outside syscalls",
		    words__about(user_ns, finding->ns).text);
	hot__say_run(model, candidate->group, finding->text, sizeof(finding->text));
	say(finding, ".");
}

static int64_t running_ns(const struct model *model)
{
	int64_t ns = 0;

	for (size_t i = 0; i < model->group_count; i++)
		if (!model->groups[i].own)
			ns += model->groups[i].kind_ns[KIND_RUN];
	return ns;
}

/* The process, if the recording has only one; otherwise NULL. */
static const char *only_process(const struct model *model)
{
	const char *name = NULL;

	for (size_t i = 0; i < model->group_count; i++) {
		const struct model_group *group = &model->groups[i];

		if (group->own || !group->threads)
			continue;
		if (name && strcmp(name, group->process_comm))
			return NULL;
		name = group->process_comm;
	}
	return name;
}

static void say_call(struct finding *finding, const struct model *model,
		     const struct candidate *candidate)
{
	const struct model_syscall *call = candidate->call;
	const char *process = only_process(model);
	const char *error = strerrorname_np((int)call->common_errno);
	double seconds = (double)model->wall_ns / 1e9;

	finding->of_ns = running_ns(model);
	say(finding, "%s was called %s a second; ", words__clean(call->name, NAME_COLUMNS).text,
	    words__count((int64_t)((double)call->count / seconds + 0.5), "times").text);
	say(finding, "that took %s of ", words__about(finding->ns, finding->of_ns).text);
	if (process)
		say(finding, "the running time of process %s",
		    words__clean(process, NAME_COLUMNS).text);
	else
		say(finding, "all running time");
	say(finding, " (%s of %s)", words__time(finding->ns).text,
	    words__time(finding->of_ns).text);
	if (model__reaches(call->errors, call->count, 10)) {
		say(finding, "; %s of the calls failed",
		    words__about(call->errors, call->count).text);
		if (error && model__reaches(call->common_count, call->errors, 50))
			say(finding, " with %s", error);
	}
	hot__say_call(model, call->name, finding->text, sizeof(finding->text));
	say(finding, ".");
}

/* Inserts a candidate into the sorted list of the best ones. The last one drops out. */
static void offer(struct candidate best[static LEDGERS_MOST], const struct candidate *candidate)
{
	struct candidate next = *candidate;

	for (size_t i = 0; i < LEDGERS_MOST; i++) {
		struct candidate other = best[i];

		if (next.rank > other.rank || (next.rank == other.rank && next.ns <= other.ns))
			continue;
		best[i] = next;
		next = other;
	}
}

static enum rank wait_rank(const struct model_group *group, const struct model_state *state)
{
	unsigned int flags = states__words(state->slot)->flags;
	int64_t active = group->kind_ns[KIND_RUN] + group->kind_ns[KIND_READY];

	if (state->kind == KIND_UNDECIDED)
		return RANK_UNDECIDED;
	if (flags & STATE_TELLING)
		return RANK_DELAY;
	return !(flags & STATE_ELSEWHERE) && (double)active * 1000 >= (double)group->lifetime_ns
		       ? RANK_DELAY
		       : RANK_PARKED;
}

static void offer_waits(const struct model *model, const struct model_group *group,
			struct candidate *best)
{
	for (size_t i = 0; i < model->state_count; i++) {
		const struct model_state *state = &model->states[i];
		enum rank rank = wait_rank(group, state);
		int least = rank == RANK_DELAY ? LEAST_PERCENT : LEAST_OPEN_PERCENT;
		int64_t ns = group->state_ns[i];

		if ((state->kind == KIND_UNDECIDED || state->kind == KIND_DELAYING) &&
		    model__reaches(ns, group->lifetime_ns, least) &&
		    model__reaches(ns, model->wall_ns, least))
			offer(best, &(struct candidate) { rank, ns, group, state, NULL });
	}
}

static void offer_cpu(const struct model *model, const struct model_group *group,
		      struct candidate *best)
{
	int64_t ready = group->kind_ns[KIND_READY], run = group->kind_ns[KIND_RUN];

	if (model__reaches(ready, group->lifetime_ns, LEAST_PERCENT) &&
	    model__reaches(ready, model->wall_ns, LEAST_PERCENT))
		offer(best, &(struct candidate) { RANK_DELAY, ready, group, NULL, NULL });
	if (model__reaches(run, group->lifetime_ns, LEAST_RUN_PERCENT) &&
	    model__reaches(run, model->wall_ns, LEAST_OPEN_PERCENT))
		offer(best, &(struct candidate) { RANK_RUN, run, group, NULL, NULL });
}

/*
 * Waits are summed over many threads, running time is not. So a syscall that takes much of the
 * running time gets a place regardless of how large the waits are. It is what a programmer can
 * change at once.
 */
static void offer_calls(const struct model *model, struct candidate *best)
{
	struct candidate most = { .rank = RANK_NONE };
	int64_t running = running_ns(model);

	for (size_t i = 0; i < model->syscall_count; i++) {
		const struct model_syscall *call = &model->syscalls[i];

		/*
		 * If it exceeds all running time, the call must have waited; findings about waits
		 * cover that.
		 */
		if (call->run_ns > running || !model->wall_ns ||
		    !model__reaches(call->run_ns, running, LEAST_CALL_PERCENT) ||
		    !model__reaches(call->run_ns, model->wall_ns, LEAST_PERCENT))
			continue;
		if (most.ns < call->run_ns)
			most = (struct candidate) { RANK_DELAY, call->run_ns, NULL, NULL, call };
	}
	if (most.rank == RANK_NONE)
		return;
	if (model__reaches(most.ns, running, LEAST_STORM_PERCENT))
		best[LEDGERS_MOST - 1] = (struct candidate) { .rank = RANK_NONE };
	offer(best, &most);
}

/*
 * Says "mostly idle by choice" if that is true. Kernel threads are left out: they are always idle.
 */
static bool say_idle(struct finding *finding, const struct model *model)
{
	const struct model_state *most = NULL;
	int64_t most_ns = 0;

	*finding = (struct finding) {};
	for (size_t i = 0; i < model->group_count; i++) {
		if (model->groups[i].own || model->groups[i].kernel)
			continue;
		finding->of_ns += model->groups[i].lifetime_ns;
		finding->ns += model->groups[i].kind_ns[KIND_IDLE];
	}
	for (size_t i = 0; i < model->state_count; i++) {
		int64_t ns = 0;

		for (size_t j = 0; j < model->group_count; j++)
			if (!model->groups[j].own && !model->groups[j].kernel)
				ns += model->groups[j].state_ns[i];
		if (model->states[i].kind != KIND_IDLE || ns <= most_ns)
			continue;
		most = &model->states[i];
		most_ns = ns;
	}
	if (!most || !model__reaches(finding->ns, finding->of_ns, MOSTLY_PERCENT))
		return false;
	say(finding, "The target was mostly idle by choice: %s of its threads' time in %s",
	    words__about(most_ns, finding->of_ns).text,
	    words__clean(most->cause, NAME_COLUMNS).text);
	if (most_ns < finding->ns)
		say(finding, ", %s idle in all", words__about(finding->ns, finding->of_ns).text);
	say(finding, ".");
	return true;
}

size_t findings__make(const struct model *model, struct finding ret[FINDINGS_MOST])
{
	const struct signals_row *said = NULL;
	struct candidate best[LEDGERS_MOST] = { { .rank = RANK_NONE },
						{ .rank = RANK_NONE },
						{ .rank = RANK_NONE } };
	size_t count = 0;

	for (size_t i = 0; i < model->group_count; i++) {
		const struct model_group *group = &model->groups[i];

		if (group->own)
			continue;
		/* Waits of kernel threads delay nobody by themselves. */
		if (!group->kernel)
			offer_waits(model, group, best);
		offer_cpu(model, group, best);
	}
	offer_calls(model, best);
	for (; count < LEDGERS_MOST && best[count].rank != RANK_NONE; count++) {
		const struct candidate *candidate = &best[count];
		struct finding *finding = &ret[count];

		*finding = (struct finding) { .ns = candidate->ns };
		if (candidate->call)
			say_call(finding, model, candidate);
		else if (candidate->state)
			say_wait(finding, model, candidate, &said);
		else if (candidate->rank == RANK_RUN)
			say_run(finding, model, candidate);
		else
			say_ready(finding, model, candidate);
	}
	count = findings_signals__make(model, said, ret, count, FINDINGS_MOST);
	if (count < LEDGERS_MOST && say_idle(&ret[count], model))
		count++;
	return count;
}
