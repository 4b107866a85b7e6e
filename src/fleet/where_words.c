/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/where_words.h"

#include <stdarg.h>
#include <string.h>

#include "base/words.h"
#include "fleet/moment.h"

#define NAME_COLUMNS    60
#define NAMED_PERCENT   30 /* an object or culprit with a smaller share is not named */
#define NEARLY_ALL      90
#define HELD_PERCENT    5  /* of the time with work: worth a sentence */
#define LOCK_PERCENT    5  /* of all time: the same for unclear locks */
#define UNCLEAR_PERCENT 20 /* … and for other unclear waits */
#define MOST_HELD       3
#define MOST_UNCLEAR    2
#define RAN_PERCENT     50 /* of the time with work */

static bool reaches(uint64_t part, uint64_t whole, unsigned int percent)
{
	return part && (double)part * 100 >= (double)whole * percent;
}

struct words where_words__phrase(const struct service_cause *cause)
{
	struct words words = {};

	if (cause->slot != SLOT_NONE)
		words__say(words.text, sizeof(words.text), "%s",
			   states__words(cause->slot)->phrase);
	else
		words__say(words.text, sizeof(words.text), "%s.%s",
			   words__clean(cause->state, 10).text,
			   words__clean(cause->cause, 20).text);
	return words;
}

const char *where_words__role(const char *evidence)
{
	static const struct {
		enum ledger_evidence evidence;
		const char *words;
	} roles[] = { { EVIDENCE_WAKER, "ended by" },
		      { EVIDENCE_OWNER, "held by" },
		      { EVIDENCE_HANDED, "passed on by" },
		      { EVIDENCE_TIMEOUT, "ended by a timeout" } };

	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(states__evidence(roles[i].evidence), evidence))
			return roles[i].words;
	return "";
}

__attribute__((format(printf, 2, 3))) static void say(struct where_sentence *sentence,
						      const char *format, ...)
{
	size_t length = strlen(sentence->text);
	va_list args;

	va_start(args, format);
	vsnprintf(sentence->text + length, sizeof(sentence->text) - length, format, args);
	va_end(args);
}

/* ", 38 % of it", unless it is nearly all. */
static void say_part(struct where_sentence *sentence, uint64_t part, uint64_t whole)
{
	if (!reaches(part, whole, NEARLY_ALL))
		say(sentence, ", %s of it", words__about((int64_t)part, (int64_t)whole).text);
}

/* " (tcp :5432, 60 % of it; threads 'worker-*')" */
static void say_object(struct where_sentence *sentence, const struct service_cause *cause)
{
	const struct service_share *object = &cause->object, *threads = &cause->threads;
	const char *before = " (";

	if (object->row && reaches(object->ns, cause->ns, NAMED_PERCENT)) {
		say(sentence, "%s%s", before, words__clean(object->row->object, NAME_COLUMNS).text);
		say_part(sentence, object->ns, cause->ns);
		before = "; ";
	}
	if (threads->row && reaches(threads->ns, cause->ns, NAMED_PERCENT)) {
		say(sentence, "%sthreads '%s'", before,
		    words__clean(threads->row->threads, NAME_COLUMNS).text);
		say_part(sentence, threads->ns, cause->ns);
		before = "; ";
	}
	say(sentence, "%s", *before == ';' ? ")" : "");
}

/* "its own threads 'x'", "the threads 'y' of z" */
static void say_culprit(struct where_sentence *sentence, const struct service_row *row,
			const char *service)
{
	if (!strcmp(row->by_service, service))
		say(sentence, "threads of %s itself", words__clean(service, NAME_COLUMNS).text);
	else
		say(sentence, "%s", words__clean(row->by_service, NAME_COLUMNS).text);
	if (*row->by_threads)
		say(sentence, " ('%s')", words__clean(row->by_threads, NAME_COLUMNS).text);
}

static bool has_evidence(const struct service_row *row, enum ledger_evidence evidence)
{
	return !strcmp(row->evidence, states__evidence(evidence));
}

/* Who held it, or who ended it, which is less. */
static void say_who(struct where_sentence *sentence, const struct service_cause *cause,
		    const char *service)
{
	const struct service_share *share = &cause->culprit;
	bool is_named = share->row && reaches(share->ns, cause->ns, NAMED_PERCENT);

	if (is_named && has_evidence(share->row, EVIDENCE_OWNER)) {
		say(sentence, " %s of it was held by ",
		    words__about((int64_t)share->ns, (int64_t)cause->ns).text);
		say_culprit(sentence, share->row, service);
		say(sentence, ".");
	} else if (is_named && has_evidence(share->row, EVIDENCE_HANDED)) {
		say(sentence, " In %s of it the lock was passed on; of its holders, one is known: ",
		    words__about((int64_t)share->ns, (int64_t)cause->ns).text);
		say_culprit(sentence, share->row, service);
		say(sentence, ".");
	} else if (is_named) {
		say(sentence, " %s of it was ended by ",
		    words__about((int64_t)share->ns, (int64_t)cause->ns).text);
		say_culprit(sentence, share->row, service);
		say(sentence, "; whoever ends a wait did not necessarily cause it.");
	} else if (reaches(cause->timeout_ns, cause->ns, NAMED_PERCENT)) {
		say(sentence, " %s of it was ended by a timeout.",
		    words__about((int64_t)cause->timeout_ns, (int64_t)cause->ns).text);
	} else if (cause->slot == SLOT_WAIT_NET && cause->object.row &&
		   !*cause->object.row->by_service &&
		   reaches(cause->object.ns, cause->ns, NAMED_PERCENT)) {
		say(sentence, " Who is at the other end of %s is not known from these hosts.",
		    words__clean(cause->object.row->object, NAME_COLUMNS).text);
	}
}

/* --- what would tell more --------------------------------------------------------------------- */

/* A command must be about the same time, and the same tenant. */
static void say_period(struct where_sentence *sentence, const struct period *period)
{
	words__say(sentence->next, sizeof(sentence->next), " --from '%s' --to '%s'",
		   moment__words(period->from_s).text, moment__words(period->to_s).text);
	if (*period->tenant)
		words__say(sentence->next, sizeof(sentence->next), " --tenant '%s'",
			   words__clean(period->tenant, NAME_COLUMNS).text);
}

static void say_stacks(struct where_sentence *sentence, const struct period *period,
		       bool has_stacks)
{
	const char *service = period->service;

	if (has_stacks) {
		words__say(sentence->next, sizeof(sentence->next),
			   "stacks of this time are in the store: gapless fleet flame %s",
			   words__clean(service, NAME_COLUMNS).text);
		say_period(sentence, period);
		return;
	}
	words__say(
		sentence->next, sizeof(sentence->next),
		"level stacks would tell: gapless fleet burst %s --hosts 20 --for 60s, or gapless "
		"record on one of its hosts (--by host lists them)",
		words__clean(service, NAME_COLUMNS).text);
}

/* Nobody is blamed for a quota or a device. */
static bool may_blame(const struct service_cause *cause)
{
	return cause->kind == KIND_DELAYING &&
	       (cause->slot == SLOT_NONE ||
		!(states__words(cause->slot)->flags & STATE_NO_CULPRIT));
}

/* The service that held it, or that answered; NULL: none, or itself. */
static const char *other_service(const struct service_cause *cause, const char *service)
{
	const struct service_share *share = &cause->culprit;

	return may_blame(cause) && share->row && reaches(share->ns, cause->ns, NAMED_PERCENT) &&
			       strcmp(share->row->by_service, service) != 0
		       ? share->row->by_service
		       : NULL;
}

static const char *remedy_of(enum ledger_slot slot)
{
	switch (slot) {
	case SLOT_READY_THROTTLED:
		return "cpu.max of the cgroup is the quota (in Kubernetes: the CPU limit of the "
		       "container)";
	case SLOT_READY_WOKEN:
	case SLOT_READY_PREEMPTED:
		return "other threads had the CPUs of these hosts: --by host shows where";
	case SLOT_WAIT_DISK:
	case SLOT_WAIT_FAULT:
		return "level signals tells how long requests to the device took (signal block)";
	case SLOT_WAIT_NET:
		return "what the other end did is in the account of the service that answers there";
	default:
		return NULL;
	}
}

static void say_remedy(struct where_sentence *sentence, const struct service_cause *cause,
		       const struct period *period, bool has_stacks)
{
	const char *other = other_service(cause, period->service), *remedy = remedy_of(cause->slot);

	if (other)
		words__say(sentence->next, sizeof(sentence->next),
			   "what %s did meanwhile: gapless fleet where %s",
			   words__clean(other, NAME_COLUMNS).text,
			   words__clean(other, NAME_COLUMNS).text);
	if (other)
		say_period(sentence, period);
	else if (remedy)
		words__say(sentence->next, sizeof(sentence->next), "%s", remedy);
	else
		say_stacks(sentence, period, has_stacks);
}

/* --- sentences -------------------------------------------------------------------------------- */

static struct where_sentence *add(struct where_words *words)
{
	struct where_sentence *sentence = &words->list[words->count++];

	*sentence = (struct where_sentence) {};
	return sentence;
}

static void say_held(struct where_sentence *sentence, const struct service_cause *cause,
		     const char *service, uint64_t work_ns)
{
	say(sentence, "%s spent %s %s", words__clean(service, NAME_COLUMNS).text,
	    words__time((int64_t)cause->ns).text, where_words__phrase(cause).text);
	say_object(sentence, cause);
	say(sentence, ", %s of the time that it certainly had work.",
	    words__about((int64_t)cause->ns, (int64_t)work_ns).text);
	if (may_blame(cause))
		say_who(sentence, cause, service);
}

static void say_unclear(struct where_sentence *sentence, const struct service_cause *cause,
			const char *service, uint64_t all_ns)
{
	bool is_lock = !strcmp(cause->cause, "lock");

	say(sentence, "Unclear: %s spent %s %s", words__clean(service, NAME_COLUMNS).text,
	    words__time((int64_t)cause->ns).text, where_words__phrase(cause).text);
	say_object(sentence, cause);
	say(sentence, ", %s of its thread time",
	    words__about((int64_t)cause->ns, (int64_t)all_ns).text);
	say(sentence, is_lock ? ". The account alone cannot tell a lock that delays work from a "
				"queue that is empty."
			      : ". The account alone cannot tell a delay from a wait for the "
				"next work.");
	say_who(sentence, cause, service);
}

static bool is_held(const struct service_cause *cause)
{
	return cause->kind == KIND_DELAYING || cause->kind == KIND_READY;
}

static bool is_telling(const struct service_cause *cause)
{
	return cause->slot != SLOT_NONE && states__words(cause->slot)->flags & STATE_TELLING;
}

static void say_all_held(const struct service_account *account, const struct period *period,
			 bool has_stacks, struct where_words *ret)
{
	uint64_t work_ns = service_account__work_ns(account);

	for (size_t i = 0; i < account->cause_count && ret->count < MOST_HELD; i++) {
		const struct service_cause *cause = &account->causes[i];
		struct where_sentence *sentence;

		if (!is_held(cause) || !reaches(cause->ns, work_ns, HELD_PERCENT))
			continue;
		sentence = add(ret);
		say_held(sentence, cause, period->service, work_ns);
		say_remedy(sentence, cause, period, has_stacks);
	}
}

/* Locks come first: they are rarely a wait for work only. */
static void say_all_unclear(const struct service_account *account, const struct period *period,
			    bool has_stacks, struct where_words *ret)
{
	size_t most = ret->count + MOST_UNCLEAR;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < account->cause_count && ret->count < most; i++) {
			const struct service_cause *cause = &account->causes[i];
			struct where_sentence *sentence;

			if (cause->kind != KIND_UNDECIDED || is_telling(cause) != !pass ||
			    !reaches(cause->ns, account->ns, pass ? UNCLEAR_PERCENT : LOCK_PERCENT))
				continue;
			sentence = add(ret);
			say_unclear(sentence, cause, period->service, account->ns);
			say_stacks(sentence, period, has_stacks);
		}
}

static void say_ran(const struct service_account *account, const struct period *period,
		    bool has_stacks, struct where_words *ret)
{
	uint64_t ran_ns = account->kind_ns[KIND_RUN], work_ns = service_account__work_ns(account);
	struct where_sentence *sentence;

	if (!reaches(ran_ns, work_ns, RAN_PERCENT))
		return;
	sentence = add(ret);
	say(sentence, "%s ran for %s, %s of the time that it certainly had work.",
	    words__clean(period->service, NAME_COLUMNS).text, words__time((int64_t)ran_ns).text,
	    words__about((int64_t)ran_ns, (int64_t)work_ns).text);
	say_stacks(sentence, period, has_stacks);
}

static struct words share_of(const struct service_account *account, enum kind kind)
{
	return words__about((int64_t)account->kind_ns[kind], (int64_t)account->ns);
}

void where_words__say(const struct service_account *account, const struct period *period,
		      bool has_stacks, struct where_words *ret)
{
	struct where_sentence *sentence;

	ret->count = 0;
	say_all_held(account, period, has_stacks, ret);
	say_all_unclear(account, period, has_stacks, ret);
	say_ran(account, period, has_stacks, ret);
	if (ret->count)
		return;
	sentence = add(ret);
	say(sentence,
	    "No single cause stands out for %s: ran %s, ready %s, held up %s, unclear %s, unseen "
	    "%s of its thread time.",
	    words__clean(period->service, NAME_COLUMNS).text, share_of(account, KIND_RUN).text,
	    share_of(account, KIND_READY).text, share_of(account, KIND_DELAYING).text,
	    share_of(account, KIND_UNDECIDED).text, share_of(account, KIND_UNSEEN).text);
}
