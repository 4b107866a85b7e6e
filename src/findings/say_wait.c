/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sentence about a wait: who waited, which share of the time that it had work, for what, in which
 * code, who ended or held it, and what that one did meanwhile.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "findings/chain.h"
#include "findings/known.h"
#include "findings/say.h"
#include "findings/signals.h"

#define NAMED_PERCENT      30 /* an object or culprit with a smaller share is not named */
#define CHAIN_PART_PERCENT 15
#define CHAIN_PARTS        2
#define NEARLY_ALL_PERCENT 90
#define MOSTLY_PERCENT     70 /* one of several holders with a larger share is named */

static const struct model_sample *sample_of(const struct analysis *analysis,
					    const struct cause *cause, size_t i)
{
	return &analysis->model->samples[cause->samples[i]];
}

/* Equal for objects of one name: a journal is a new file for each transaction. */
static int64_t object_id(const struct analysis *analysis, const struct model_sample *sample)
{
	const struct signals_object *object =
		signals__object(&analysis->model->signals, sample->object);

	return object && object->name ? (int64_t)causes__hash(object->name) : sample->object;
}

static int64_t culprit_thread(const struct analysis *analysis, const struct model_sample *sample)
{
	return sample->by && sample->by->id > 0 ? (int64_t)thread_index(analysis, sample->by) + 1
						: 0;
}

static int64_t caller_of(const struct analysis *analysis, const struct model_sample *sample)
{
	return analysis__path((struct analysis *)analysis, sample->node)->caller;
}

/* The object of most of the waits, if it is worth naming; otherwise NULL. */
static const struct signals_object *find_object(const struct analysis *analysis,
						const struct cause *cause, int64_t *ret_ns)
{
	struct cause_share most = causes__largest(analysis, cause, object_id);

	*ret_ns = most.ns;
	if (!model__reaches(most.ns, cause->ns, NAMED_PERCENT))
		return NULL;
	for (size_t i = 0; i < cause->sample_count; i++)
		if (object_id(analysis, sample_of(analysis, cause, i)) == most.id)
			return signals__object(&analysis->model->signals,
					       sample_of(analysis, cause, i)->object);
	return NULL;
}

/* How often the threads of the group waited in this state: exact. */
static int64_t count_waits(const struct analysis *analysis, const struct cause *cause)
{
	const struct model *model = analysis->model;
	int64_t count = 0;

	for (size_t i = 0; i < model->thread_count; i++)
		for (size_t j = 0; j < model->threads[i].cell_count; j++)
			if (model->threads[i].group == cause->group &&
			    model->threads[i].cells[j].state == cause->state)
				count += model->threads[i].cells[j].count;
	return count;
}

/* Time of the waits that an event ended. */
static int64_t event_ns(const struct analysis *analysis, const struct cause *cause)
{
	int64_t ns = 0;

	for (size_t i = 0; i < cause->sample_count; i++)
		if (sample_of(analysis, cause, i)->ended != ENDED_TIMEOUT)
			ns += analysis->judged[cause->samples[i]].ns;
	return ns;
}

static bool is_kind(const struct signals_object *object, const char *kind)
{
	return object && object->kind && object->name && !strcmp(object->kind, kind);
}

/* A lock with a symbol, or of a class; an address says nothing. */
static bool is_symbol(const struct signals_object *object)
{
	return (is_kind(object, "futex") || is_kind(object, "monitor") ||
		is_kind(object, "lock")) &&
	       strncmp(object->name, "0x", 2) != 0;
}

static void say_lock(struct finding *finding, const struct cause *cause,
		     const struct signals_object *object)
{
	if (is_kind(object, "file"))
		say(finding, " for the lock on file %s",
		    words__clean(object->name, SAY_OBJECT_COLUMNS).text);
	else if (is_kind(object, "monitor") && is_symbol(object))
		say(finding, " for a Java monitor (synchronized) of %s",
		    words__clean(object->name, SAY_OBJECT_COLUMNS).text);
	else if (is_kind(object, "monitor"))
		say(finding, " for a Java monitor (synchronized)");
	else if (is_kind(object, "lock") && is_symbol(object))
		say(finding, " for a %s", words__clean(object->name, SAY_OBJECT_COLUMNS).text);
	else if (is_symbol(object))
		say(finding, " for the lock %s",
		    words__clean(object->name, SAY_OBJECT_COLUMNS).text);
	else
		say(finding, cause->ground == GROUND_OWNER ? " for a lock"
							   : " for a lock or another thread");
}

static void say_by_name(struct finding *finding, const struct analysis *analysis,
			const struct cause *cause, const struct signals_object *object)
{
	say(finding, " for %s", cause->what);
	if (!strcmp(cause->what, KNOWN_MEMORY_LIMIT))
		say__memory_limit(finding, analysis, cause->group);
	if (is_kind(object, "monitor") && is_symbol(object))
		say(finding, " of %s", words__clean(object->name, SAY_OBJECT_COLUMNS).text);
	else if ((is_symbol(object) && !strstr(cause->what, object->name)) ||
		 (is_kind(object, "file") && cause->state->slot == SLOT_WAIT_DISK))
		say(finding, " (%s)", words__clean(object->name, SAY_OBJECT_COLUMNS).text);
}

/* Without a stack, it is not known which of the two it was. */
static void say_memory(struct finding *finding, const struct analysis *analysis,
		       const struct cause *cause)
{
	say(finding, " for memory: reclaim, or the limit of its cgroup");
	say__memory_limit(finding, analysis, cause->group);
}

static void say_what(struct finding *finding, const struct analysis *analysis,
		     const struct cause *cause)
{
	int64_t object_ns;
	const struct signals_object *object = find_object(analysis, cause, &object_ns);
	struct words name =
		words__clean(object && object->name ? object->name : "", SAY_OBJECT_COLUMNS);
	enum ledger_slot slot = cause->state->slot;

	if (cause->peer)
		say_network__put(finding, analysis, cause);
	else if (cause->what)
		say_by_name(finding, analysis, cause, object);
	else if (slot == SLOT_WAIT_DISK && is_kind(object, "file"))
		say(finding, " for the disk, with file %s", name.text);
	else if (slot == SLOT_WAIT_FAULT && *name.text)
		say(finding, " for pages of %s to be read from disk (%s)", name.text,
		    words__count(count_waits(analysis, cause), "page faults").text);
	else if (slot == SLOT_WAIT_FAULT)
		say(finding, " for pages to be read from disk (major page faults)");
	else if (slot == SLOT_WAIT_KERNEL && is_kind(object, "memory"))
		say_memory(finding, analysis, cause);
	else if (slot == SLOT_WAIT_KERNEL && is_kind(object, "kernel lock"))
		say(finding, " for a lock in the kernel (%s)", name.text);
	else if (slot == SLOT_WAIT_LOCK || slot == SLOT_WAIT_LOCK_OWNED)
		say_lock(finding, cause, object);
	else if (slot == SLOT_WAIT_URING && *name.text)
		say(finding, " for io_uring requests on %s", name.text);
	else if (slot == SLOT_WAIT_STOPPED)
		say(finding,
		    cause->threads > 1 ? " because they were stopped" : " because it was stopped");
	else if (slot == SLOT_WAIT_POLL &&
		 !model__reaches(event_ns(analysis, cause), cause->ns, 100 - NEARLY_ALL_PERCENT))
		say(finding, " for a timer of its own (the timeout of poll)");
	else if (slot == SLOT_WAIT_POLL || slot == SLOT_WAIT_NET)
		say(finding, slot == SLOT_WAIT_POLL ? " for an event (poll)" : " for the network");
	else if (slot != SLOT_NONE && strstr(states__words(slot)->phrase, "for "))
		say(finding, " %s", strstr(states__words(slot)->phrase, "for "));
	else if (*name.text)
		say(finding, " for %s", name.text);
	else if (slot == SLOT_WAIT_OTHER)
		say(finding, " for something that the kernel does not tell");
	else
		say(finding, " (%s)", words__clean(cause->state->cause, SAY_NAME_COLUMNS).text);
	if (*name.text && strstr(finding->text, name.text) &&
	    !model__reaches(object_ns, cause->ns, NEARLY_ALL_PERCENT))
		say(finding, " (%s of it)", words__about(object_ns, cause->ns).text);
}

/* A runtime stops its threads wherever they are: waits in any code are one cause. */
static bool stops_everywhere(enum ledger_slot slot)
{
	return slot == SLOT_WAIT_GIL || slot == SLOT_WAIT_SAFEPOINT || slot == SLOT_WAIT_GC;
}

/* The code that waited: at most two callers, and the library function if there is no caller. */
static void say_code(struct finding *finding, const struct analysis *analysis,
		     const struct cause *cause)
{
	struct cause_share most = causes__largest(analysis, cause, caller_of);

	if (most.id && model__reaches(most.ns, cause->ns, NAMED_PERCENT)) {
		say(finding, ", in ");
		say__function(finding, analysis, (uint32_t)most.id);
		if (stops_everywhere(cause->state->slot) &&
		    !model__reaches(most.ns, cause->ns, NEARLY_ALL_PERCENT))
			say(finding, " (%s of it)", words__about(most.ns, cause->ns).text);
	}
	if (cause->library && (!most.id || cause->asleep || cause->state->slot == SLOT_WAIT_DISK)) {
		say(finding, most.id ? " → " : ", in ");
		say__function(finding, analysis, cause->library);
	}
}

static void say_part(struct finding *finding, const struct analysis *analysis,
		     const struct chain_part *part)
{
	const struct signals_object *object =
		signals__object(&analysis->model->signals, part->object);

	switch (part->doing) {
	case CHAIN_RAN:
		say(finding, "running ");
		break;
	case CHAIN_READY:
		say(finding, "ready without a CPU");
		break;
	case CHAIN_WOKEN:
		say(finding, "woken, without a CPU yet");
		break;
	case CHAIN_AT_HOME:
		say(finding, "waiting for work");
		break;
	default:
		if (part->asleep)
			say(finding, "asleep");
		else if (part->peer) {
			say(finding, "waiting for an answer from ");
			say__peer(finding, part->peer);
		} else if (part->what)
			say(finding, "waiting for %s", part->what);
		else if (part->state->slot)
			say(finding, "%s", states__words(part->state->slot)->phrase);
		if (object && object->name)
			say(finding, " (%s)", words__clean(object->name, SAY_OBJECT_COLUMNS).text);
		if (part->function)
			say(finding, " in ");
	}
	if (part->function)
		say__function(finding, analysis, part->function);
	else if (part->doing == CHAIN_RAN)
		say(finding, "code without a name");
	/* Not followed, because it has no account or too few samples. */
	if (part->doing == CHAIN_WAITED && part->what && part->by && !part->object) {
		say(finding, ", ended by ");
		say__who(finding, part->by->group, 1, part->by);
		say__blame(finding, part->by->group);
	}
}

/* Another thread in the same queue: that is no reason. */
static bool is_queueing(const struct chain_part *part, const struct cause *cause)
{
	return part->doing == CHAIN_WAITED && part->group == cause->group && part->what &&
	       cause->what && !strcmp(part->what, cause->what);
}

static void say_doer(struct finding *finding, const struct model_group *group,
		     const struct cause *cause, const struct model_group *culprit)
{
	if (group == cause->group && culprit == cause->group)
		say(finding, "the holder");
	else
		say__group(finding, group);
	say__blame(finding, group);
}

/* The culprit itself waited for an answer of the one that did something. */
static void say_via(struct finding *finding, const struct analysis *analysis,
		    const struct chain_part *part, const struct cause *cause,
		    const struct model_group *culprit)
{
	say_doer(finding, part->via_group, cause, culprit);
	say(finding, " was waiting for an answer from ");
	say__peer(finding, part->via_peer);
	if (part->via_function) {
		say(finding, " in ");
		say__function(finding, analysis, part->via_function);
	}
	say(finding, ", and ");
}

static void say_chain(struct finding *finding, struct analysis *analysis, const struct cause *cause,
		      const struct model_group *culprit)
{
	const struct model_group *who = culprit;
	struct chain chain;
	size_t said = 0;

	if (chain__make(analysis, cause, &chain) ||
	    chain.total_ns * 100 < (double)cause->ns * NAMED_PERCENT ||
	    chain.known_ns < chain.total_ns * 0.2) {
		chain__release(&chain);
		return;
	}
	for (size_t i = 0; i < chain.count && said < CHAIN_PARTS; i++) {
		const struct chain_part *part = &chain.parts[i];

		if (part->ns * 100 < chain.known_ns * CHAIN_PART_PERCENT)
			break;
		/* That the culprit waited for work itself explains nothing. */
		if (is_queueing(part, cause) || part->doing == CHAIN_AT_HOME)
			continue;
		say(finding, said ? ", " : "; meanwhile ");
		if (part->via_peer && !said)
			say_via(finding, analysis, part, cause, culprit);
		if (!said || part->group != who) {
			say_doer(finding, part->group, cause, culprit);
			say(finding, " was ");
		}
		who = part->group;
		say_part(finding, analysis, part);
		say(finding, " (%.0f %%, from samples)", part->ns * 100 / chain.known_ns);
		said++;
	}
	chain__release(&chain);
}

static bool is_owned(const struct analysis *analysis, const struct cause *cause)
{
	int64_t ns = 0;

	for (size_t i = 0; i < cause->sample_count; i++)
		if (sample_of(analysis, cause, i)->is_owned)
			ns += analysis->judged[cause->samples[i]].ns;
	return ns * 2 > cause->ns;
}

/*
 * Whether a group ended enough of the waits to be named. An event of another descriptor may have
 * ended a poll, so there it must have ended nearly all.
 */
static bool is_culprit(const struct analysis *analysis, const struct cause *cause,
		       const struct cause_share *group)
{
	if (!group->id || !strcmp(analysis->model->groups[group->id - 1].process_comm, "?"))
		return false;
	if (cause->ground == GROUND_SOCKET && cause->state->slot == SLOT_WAIT_POLL)
		return model__reaches(group->ns, event_ns(analysis, cause), NEARLY_ALL_PERCENT);
	return model__reaches(group->ns, cause->ns, NAMED_PERCENT);
}

/* The thread that held it most of the time, of several: they may all have one name. */
static void say_most(struct finding *finding, const struct analysis *analysis,
		     const struct cause_share *group, const struct cause_share *thread)
{
	const struct model_thread *most;

	if (!thread->id || !model__reaches(thread->ns, group->ns, MOSTLY_PERCENT))
		return;
	most = &analysis->model->threads[thread->id - 1];
	if (group_index(analysis, most->group) + 1 == (size_t)group->id)
		say(finding, " (%s of that by tid %" PRId64 ")",
		    words__about(thread->ns, group->ns).text, most->tid);
}

static void say_culprit(struct finding *finding, struct analysis *analysis,
			const struct cause *cause)
{
	struct cause_share group = causes__largest(analysis, cause, causes__culprit);
	struct cause_share thread = causes__largest(analysis, cause, culprit_thread);
	const struct model_group *culprit;
	const struct model_thread *only;
	bool owned = is_owned(analysis, cause);
	bool each = model__reaches(group.ns, cause->ns, NEARLY_ALL_PERCENT);

	if (!is_culprit(analysis, cause, &group) || !model__has_culprit(cause->state) ||
	    cause->asleep)
		return;
	culprit = &analysis->model->groups[group.id - 1];
	only = thread.ns == group.ns ? &analysis->model->threads[thread.id - 1] : NULL;
	say(finding, "; ");
	/* What a timeout ended, nobody did. */
	if (!model__reaches(group.ns, event_ns(analysis, cause), NEARLY_ALL_PERCENT))
		say(finding, "%s of it ", words__about(group.ns, cause->ns).text);
	if (culprit == cause->group && cause->threads > 1 && !only) {
		say(finding, owned  ? "held by others of them"
			     : each ? "each was ended by another of them"
				    : "ended by others of them");
	} else {
		say(finding, owned ? "held by " : "ended by ");
		say__who(finding, culprit, 1, only);
	}
	if (owned && !only)
		say_most(finding, analysis, &group, &thread);
	say__blame(finding, culprit);
	say_chain(finding, analysis, cause, culprit);
	if (only && !answers__is_target(culprit) && !culprit->kernel && !culprit->own)
		snprintf(finding->next, sizeof(finding->next), "gapless record -p %" PRId64,
			 only->pid);
}

static void say_share(struct finding *finding, const struct analysis *analysis,
		      const struct answer *answer)
{
	bool one = answer->cause->threads <= 1;
	bool all = analysis->is_command || answer->cause->verdict == VERDICT_SLEPT;

	say(finding, "%s of %s (%s of %s)", words__about(answer->ns, answer->of_ns).text,
	    all   ? one ? "its time" : "their time"
	    : one ? "the time that it had work"
		  : "the time that they had work",
	    words__time(answer->ns).text, words__time(answer->of_ns).text);
}

/* Signals that are not recorded by default and know more of some waits. */
static void say_next(struct finding *finding, const struct analysis *analysis,
		     const struct cause *cause)
{
	switch (cause->state->slot) {
	case SLOT_WAIT_LOCK_OWNED:
	case SLOT_WAIT_LOCK:
	case SLOT_WAIT_KERNEL:
		say__next(finding, analysis->model, "locks", "--signals default,locks");
		break;
	case SLOT_WAIT_FAULT:
		say__next(finding, analysis->model, "memory", "--signals default,memory");
		break;
	case SLOT_WAIT_URING:
		say__next(finding, analysis->model, "uring", "--signals default,uring");
		break;
	default:
		break;
	}
}

void say_wait__put(struct finding *finding, struct analysis *analysis, const struct answer *answer)
{
	const struct cause *cause = answer->cause;
	const char *who = cause->threads > 1 ? "they" : "it";

	say__who(finding, cause->group, cause->threads, cause->thread);
	say(finding, cause->asleep ? " slept " : " waited ");
	say_share(finding, analysis, answer);
	if (!cause->asleep)
		say_what(finding, analysis, cause);
	say_code(finding, analysis, cause);
	if (cause->verdict == VERDICT_SLEPT)
		say(finding, "; whether %s had work meanwhile is not known", who);
	else if (cause->ground == GROUND_HOME)
		say(finding, ", away from the place where %s work (inferred)",
		    cause->threads > 1 ? "they wait for" : "it waits for");
	else if (cause->asleep && cause->ground == GROUND_REQUEST)
		say(finding, ", while %s had a request to answer", who);
	if (cause->in_loop)
		say(finding, cause->threads > 1 ? "; their event loops were blocked meanwhile"
						: "; its event loop was blocked meanwhile");
	say_culprit(finding, analysis, cause);
	say_served__put(finding, analysis->model, cause->group, cause->peer);
	if (cause->state->slot == SLOT_WAIT_DISK || cause->state->slot == SLOT_WAIT_FAULT)
		findings_signals__say_refaults(analysis->model, cause->group,
					       count_waits(analysis, cause), finding);
	if (cause->state->slot == SLOT_WAIT_DISK)
		findings_signals__join(analysis->model, cause->group, finding, &finding->row);
	say__waiters(finding, answer);
	say(finding, ".");
	say_next(finding, analysis, cause);
}
