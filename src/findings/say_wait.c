/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sentence about a wait: who waited, which share of the time that it had work, for what, in which
 * code, who ended or held it, and what that one did meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "findings/chain.h"
#include "findings/say.h"
#include "findings/signals.h"
#include "vocabulary/roles.h"

#define NAMED_PERCENT      30 /* an object or culprit with a smaller share is not named */
#define CHAIN_PART_PERCENT 15
#define CHAIN_PARTS        2
#define NEARLY_ALL_PERCENT 90
#define LOST_PERCENT       1

static const struct model_sample *sample_of(const struct analysis *analysis,
					    const struct cause *cause, size_t i)
{
	return &analysis->model->samples[cause->samples[i]];
}

static int64_t object_id(const struct analysis *analysis, const struct model_sample *sample)
{
	(void)analysis;
	return sample->object;
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
	return signals__object(&analysis->model->signals, most.id);
}

static bool is_kind(const struct signals_object *object, const char *kind)
{
	return object && object->kind && object->name && !strcmp(object->kind, kind);
}

/* A lock with a symbol; an address says nothing. */
static bool is_symbol(const struct signals_object *object)
{
	return is_kind(object, "futex") && strncmp(object->name, "0x", 2) &&
	       !strstr(object->name, "_PyRuntime");
}

/*
 * Whether an event ended one of the group's waits on these sockets. The sums of waits are exact;
 * a short wait may have no sample.
 */
static bool has_answer(const struct analysis *analysis, const struct cause *cause)
{
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->wait_count; i++) {
		const struct model_wait *wait = &model->waits[i];

		if (wait->waiter->group == cause->group && wait->turn == (int)cause->turn &&
		    strcmp(wait->ended, states__ended(ENDED_TIMEOUT)))
			return true;
	}
	return false;
}

/* How many of the waits a timeout ended; 0 if something else ended one of them. */
static int64_t count_timeouts(const struct analysis *analysis, const struct cause *cause,
			      int64_t *ret_longest_ns)
{
	int64_t count = 0;

	*ret_longest_ns = 0;
	for (size_t i = 0; i < cause->sample_count; i++) {
		const struct model_sample *sample = sample_of(analysis, cause, i);

		if (sample->ended != ENDED_TIMEOUT)
			return 0;
		count += sample->count;
		if (sample->wait_ns > *ret_longest_ns)
			*ret_longest_ns = sample->wait_ns;
	}
	return has_answer(analysis, cause) ? 0 : count;
}

static void say_timeouts(struct finding *finding, const struct analysis *analysis,
			 const struct cause *cause)
{
	int64_t longest_ns, count = count_timeouts(analysis, cause, &longest_ns);

	if (!count)
		return;
	say(finding, ", but none came: ");
	if (count > 1)
		say(finding, "all %s timed out, the longest after %s",
		    words__count(count, "waits").text, words__time(longest_ns).text);
	else
		say(finding, "the wait timed out after %s", words__time(longest_ns).text);
}

/* Segments that had to be sent again on connections to this peer. */
static void say_lost(struct finding *finding, const struct model *model, const char *peer)
{
	const struct signals_signal *tcp = signals__of(&model->signals, ROLE_CONNECTIONS);

	for (size_t i = 0; tcp && peer && i < tcp->service_count; i++) {
		const struct signals_service *service = &tcp->services[i];

		if (strcmp(service->name, peer) || service->accepts ||
		    !model__reaches(service->again, service->segments, LOST_PERCENT))
			continue;
		say(finding,
		    "; %s of the %s segments sent there had to be sent again (%s "
		    "retransmits): they or their answers were lost or late",
		    words__about(service->again, service->segments).text,
		    words__number(service->segments).text, words__number(service->again).text);
	}
}

/* How many connections to this peer failed, and the error of one of them. */
static void say_failed(struct finding *finding, const struct model *model, const char *peer)
{
	const struct signals_signal *tcp = signals__of(&model->signals, ROLE_CONNECTIONS);
	int64_t count = 0, error = 0;

	for (size_t i = 0; tcp && peer && i < tcp->series_count; i++) {
		const struct signals_series *series = &tcp->series[i];
		const char *name = series->object ? series->object->name : "";
		size_t length = strlen(name), tail = strlen(peer);

		if (!series->error || strcmp(tcp->rows[series->row].operation, "connect") ||
		    length < tail || strcmp(name + length - tail, peer))
			continue;
		count += series->sum.count;
		error = series->error;
	}
	if (count)
		say(finding, "; %s there failed: %s", words__count(count, "connections").text,
		    strerrordesc_np((int)error) ? strerrordesc_np((int)error) : "unknown error");
}

static void say_answer(struct finding *finding, const struct analysis *analysis,
		       const struct cause *cause)
{
	struct words peer =
		words__clean(cause->peer ? cause->peer : "a socket", SAY_OBJECT_COLUMNS);

	if (cause->turn == TURN_CONNECTING) {
		say(finding, " for a connection to %s", peer.text);
		say_failed(finding, analysis->model, cause->peer);
	} else if (cause->what && strstr(cause->what, "name server"))
		say(finding, " for an answer of the name server %s", peer.text);
	else
		say(finding, " for an answer from %s", peer.text);
	if (!analysis->has_turns)
		say(finding, " (inferred from the port numbers)");
	if (cause->turn != TURN_CONNECTING)
		say_timeouts(finding, analysis, cause);
	say_lost(finding, analysis->model, cause->peer);
	if (cause->turn == TURN_UNSENT)
		say(finding,
		    "; part of what it sent was held back until an acknowledgement came (Nagle's "
		    "algorithm: TCP_NODELAY turns it off)");
}

static void say_lock(struct finding *finding, const struct cause *cause,
		     const struct signals_object *object)
{
	if (is_kind(object, "file"))
		say(finding, " for the lock on file %s",
		    words__clean(object->name, SAY_OBJECT_COLUMNS).text);
	else if (is_symbol(object))
		say(finding, " for the lock %s",
		    words__clean(object->name, SAY_OBJECT_COLUMNS).text);
	else
		say(finding, cause->ground == GROUND_OWNER ? " for a lock"
							   : " for a lock or another thread");
}

static void say_by_name(struct finding *finding, const struct cause *cause,
			const struct signals_object *object)
{
	say(finding, " for %s", cause->what);
	if (is_symbol(object) || (is_kind(object, "file") && cause->state->slot == SLOT_WAIT_DISK))
		say(finding, " (%s)", words__clean(object->name, SAY_OBJECT_COLUMNS).text);
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
		say_answer(finding, analysis, cause);
	else if (cause->what)
		say_by_name(finding, cause, object);
	else if (slot == SLOT_WAIT_DISK && is_kind(object, "file"))
		say(finding, " for the disk, with file %s", name.text);
	else if (slot == SLOT_WAIT_FAULT && *name.text)
		say(finding, " for pages of %s to be read from disk (%s)", name.text,
		    words__count(cause->count, "page faults").text);
	else if (slot == SLOT_WAIT_FAULT)
		say(finding, " for pages to be read from disk (major page faults)");
	else if (slot == SLOT_WAIT_KERNEL && is_kind(object, "kernel lock"))
		say(finding, " for a lock in the kernel (%s)", name.text);
	else if (slot == SLOT_WAIT_LOCK || slot == SLOT_WAIT_LOCK_OWNED)
		say_lock(finding, cause, object);
	else if (slot == SLOT_WAIT_URING && *name.text)
		say(finding, " for io_uring requests on %s", name.text);
	else if (slot == SLOT_WAIT_STOPPED)
		say(finding, " because it was stopped");
	else if (slot == SLOT_WAIT_POLL || slot == SLOT_WAIT_NET)
		say(finding, slot == SLOT_WAIT_POLL ? " for an event (poll)" : " for the network");
	else if (slot != SLOT_NONE)
		say(finding, " %s",
		    strstr(states__words(slot)->phrase, "for ")
			    ? strstr(states__words(slot)->phrase, "for ")
			    : states__words(slot)->phrase);
	else
		say(finding, " (%s)", words__clean(cause->state->cause, SAY_NAME_COLUMNS).text);
	if (*name.text && strstr(finding->text, name.text) &&
	    !model__reaches(object_ns, cause->ns, NEARLY_ALL_PERCENT))
		say(finding, " (%s of it)", words__about(object_ns, cause->ns).text);
}

/* The code that waited: at most two callers, and the library function if there is no caller. */
static void say_code(struct finding *finding, const struct analysis *analysis,
		     const struct cause *cause)
{
	struct cause_share most = causes__largest(analysis, cause, caller_of);

	if (most.id && model__reaches(most.ns, cause->ns, NAMED_PERCENT)) {
		say(finding, ", in ");
		say__function(finding, analysis, (uint32_t)most.id);
	}
	if (cause->library && (!most.id || cause->state->slot == SLOT_WAIT_SLEEP ||
			       cause->state->slot == SLOT_WAIT_DISK)) {
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
		else if (part->peer)
			say(finding, "waiting for an answer from %s",
			    words__clean(part->peer, SAY_OBJECT_COLUMNS).text);
		else if (part->what)
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
		if (!said || part->group != who) {
			if (part->group == cause->group && culprit == cause->group)
				say(finding, "the holder");
			else
				say__group(finding, part->group);
			say__blame(finding, part->group);
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

/* Time of the waits that an event ended. */
static int64_t event_ns(const struct analysis *analysis, const struct cause *cause)
{
	int64_t ns = 0;

	for (size_t i = 0; i < cause->sample_count; i++)
		if (sample_of(analysis, cause, i)->ended != ENDED_TIMEOUT)
			ns += analysis->judged[cause->samples[i]].ns;
	return ns;
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

static void say_culprit(struct finding *finding, struct analysis *analysis,
			const struct cause *cause)
{
	struct cause_share group = causes__largest(analysis, cause, causes__culprit);
	struct cause_share thread = causes__largest(analysis, cause, culprit_thread);
	const struct model_group *culprit;
	const struct model_thread *only;
	bool owned = is_owned(analysis, cause);

	if (!is_culprit(analysis, cause, &group) || !model__has_culprit(cause->state) ||
	    cause->state->slot == SLOT_WAIT_SLEEP)
		return;
	culprit = &analysis->model->groups[group.id - 1];
	only = thread.ns == group.ns ? &analysis->model->threads[thread.id - 1] : NULL;
	if (culprit == cause->group && cause->threads > 1 && !only) {
		say(finding,
		    owned ? "; they held it by turns" : "; each was ended by another of them");
	} else {
		say(finding, owned ? "; held by " : "; ended by ");
		say__who(finding, culprit, 1, only);
	}
	say__blame(finding, culprit);
	say_chain(finding, analysis, cause, culprit);
}

static void say_share(struct finding *finding, const struct analysis *analysis,
		      const struct answer *answer)
{
	bool one = answer->cause->threads <= 1;

	say(finding, "%s of %s (%s of %s)", words__about(answer->ns, answer->of_ns).text,
	    analysis->is_command ? one ? "its time" : "their time"
	    : one                ? "the time that it had work"
				 : "the time that they had work",
	    words__time(answer->ns).text, words__time(answer->of_ns).text);
}

void say_wait__put(struct finding *finding, struct analysis *analysis, const struct answer *answer)
{
	const struct cause *cause = answer->cause;
	bool sleeps = cause->state->slot == SLOT_WAIT_SLEEP;

	say__who(finding, cause->group, cause->threads, cause->thread);
	say(finding, sleeps ? " slept " : " waited ");
	say_share(finding, analysis, answer);
	if (!sleeps)
		say_what(finding, analysis, cause);
	say_code(finding, analysis, cause);
	if (sleeps && cause->verdict == VERDICT_SLEPT)
		say(finding, "; whether it had work meanwhile is not known");
	else if (cause->ground == GROUND_HOME)
		say(finding, ", away from the place where it waits for work (inferred)");
	else if (sleeps && cause->ground == GROUND_REQUEST)
		say(finding, ", while it had a request to answer");
	say_culprit(finding, analysis, cause);
	if (cause->state->slot == SLOT_WAIT_DISK)
		findings_signals__join(analysis->model, cause->group, finding, &finding->row);
	say__waiters(finding, answer);
	say(finding, ".");
}
