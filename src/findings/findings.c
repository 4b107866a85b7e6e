/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The conclusions of a report: what the analysis found, in the order of time, then what signals
 * add.
 */
#include "findings/findings.h"
#include "findings/grown.h"

#include "base/cleanup.h"
#include "base/words.h"
#include "findings/collections.h"
#include "findings/crash.h"
#include "findings/deadlock.h"
#include "findings/goroutines.h"
#include "findings/locks.h"
#include "findings/pools.h"
#include "findings/say.h"
#include "findings/signals.h"
#include "findings/slow_requests.h"
#include "findings/summary.h"

#define FIRST_ANSWERS 3
/* Garbage collection: how much of the time is mentioned, and how much comes first. */
#define LEAST_COLLECTING 5
#define MUCH_COLLECTING  20
#define ALL_COLLECTING   1000 /* clocks of several threads may add up to more than all */

static void say_storm(struct finding *finding, const struct analysis *analysis,
		      const struct answer *answer)
{
	double seconds = (double)analysis->wall_ns / 1e9;

	say__who(finding, answer->group, 1, NULL);
	say(finding, " started %s (%s a second, mostly %s)",
	    words__count(answer->started, "processes").text,
	    words__number((int64_t)((double)answer->started / seconds + 0.5)).text,
	    words__clean(answer->program, SAY_NAME_COLUMNS).text);
	say(finding, ", which lived %s on average, %s in all",
	    words__time(answer->lifetime_ns / answer->started).text,
	    words__time(answer->lifetime_ns).text);
	say__waiters(finding, answer);
	say(finding, ".");
}

static void put_answer(struct analysis *analysis, const struct answer *answer,
		       struct finding *finding)
{
	*finding = (struct finding) { .ns = answer->ns,
				      .of_ns = answer->of_ns,
				      .group = answer->group,
				      .state = answer->cause ? answer->cause->state : NULL,
				      .evidence = answer->cause
							  ? judge__evidence(answer->cause->ground)
							  : NULL,
				      .function = answer->cause ? answer->cause->caller : 0 };
	if (answer->kind == ANSWER_WAIT)
		say_wait__put(finding, analysis, answer);
	else if (answer->kind == ANSWER_CPU)
		say_cpu__put(finding, analysis, answer);
	else
		say_storm(finding, analysis, answer);
}

static void make(struct analysis *analysis, const struct answers *answers, struct findings *ret)
{
	const struct model *model = analysis->model;
	size_t said = 0;

	ret->count += crash__put(&ret->list[0], analysis);
	ret->count += deadlock__put(&ret->list[ret->count], analysis);
	ret->count += slow_requests__put(model, true, &ret->list[ret->count], 1);
	ret->count += goroutines__put(&ret->list[ret->count], analysis);
	ret->count +=
		collections__put(&ret->list[ret->count], analysis, MUCH_COLLECTING, ALL_COLLECTING);
	for (; said < answers->count && ret->count < FIRST_ANSWERS; said++)
		put_answer(analysis, &answers->list[said], &ret->list[ret->count++]);
	ret->count += slow_requests__put(model, false, &ret->list[ret->count],
					 FINDINGS_MOST - ret->count);
	if (ret->count < FINDINGS_MOST)
		ret->count += collections__put(&ret->list[ret->count], analysis, LEAST_COLLECTING,
					       MUCH_COLLECTING);
	ret->count = findings_locks__make(model, ret->list, ret->count, FINDINGS_MOST);
	if (ret->count < FINDINGS_MOST)
		ret->count += pools__put(&ret->list[ret->count], analysis);
	ret->count = findings_signals__make(model, ret->list, ret->count, FINDINGS_MOST);
	if (ret->count < FINDINGS_MOST)
		ret->count += grown__put(&ret->list[ret->count], analysis);
	for (; said < answers->count && ret->count < FINDINGS_MOST; said++)
		put_answer(analysis, &answers->list[said], &ret->list[ret->count++]);
}

void findings__make(const struct model *model, struct findings *ret)
{
	cleanup(analysis__release) struct analysis analysis = {};
	cleanup(answers__release) struct answers answers = {};

	*ret = (struct findings) {};
	findings__why_empty(model, ret->none, sizeof(ret->none));
	if (*ret->none)
		return;
	if (analysis__make(&analysis, model) || answers__make(&analysis, &answers)) {
		words__say(ret->none, sizeof(ret->none),
			   "There was not enough memory to find the "
			   "causes of waits.");
		return;
	}
	make(&analysis, &answers, ret);
	summary__count(&analysis, ret);
	summary__put_last(ret, ret->last, sizeof(ret->last));
	if (!ret->count)
		summary__put_nothing(&analysis, ret, ret->none, sizeof(ret->none));
}
