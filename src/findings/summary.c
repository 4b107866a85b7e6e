/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left to say: threads that waited for work, time that could not be judged, and nothing. */
#include "findings/summary.h"

#include <string.h>

#include "base/words.h"

#define BUSY_PERCENT    5 /* a thread that runs or wants to run more than this is not idle */
#define MOSTLY_PERCENT  50
#define UNCLEAR_PERCENT 15 /* of the waiting time: above it, "nothing" cannot be said */

#define put(...) words__say(text, size, __VA_ARGS__)

/* Whether the thread spent most of its life like this, and hardly any of it with work. */
static bool is_mostly(const struct working *thread, enum verdict verdict)
{
	return thread->life_ns &&
	       model__reaches(thread->verdict_ns[verdict], thread->life_ns, MOSTLY_PERCENT) &&
	       !model__reaches(thread->run_ns + thread->ready_ns, thread->life_ns, BUSY_PERCENT) &&
	       !model__reaches(thread->verdict_ns[VERDICT_HELD], thread->life_ns, BUSY_PERCENT);
}

/* Groups are sorted by the name of their process, so those of one program are neighbours. */
static size_t count_programs(const struct analysis *analysis)
{
	const struct model *model = analysis->model;
	const char *last = NULL;
	size_t count = 0;

	for (size_t i = 0; i < model->group_count; i++) {
		const char *name = model->groups[i].process_comm;

		if (!analysis->groups[i].idle_threads)
			continue;
		count += !last || strcmp(last, name);
		last = name;
	}
	return count;
}

void summary__count(struct analysis *analysis, struct findings *ret)
{
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->thread_count; i++) {
		const struct working *thread = &analysis->threads[i];

		if (!answers__is_target(model->threads[i].group) || !model->threads[i].measured)
			continue;
		ret->target_threads++;
		ret->held_ns += thread->verdict_ns[VERDICT_HELD];
		ret->idle_ns += thread->verdict_ns[VERDICT_HOME] +
				thread->verdict_ns[VERDICT_QUIET] +
				thread->verdict_ns[VERDICT_PACED];
		ret->unclear_ns += thread->verdict_ns[VERDICT_UNCLEAR];
		ret->slept_ns += thread->verdict_ns[VERDICT_SLEPT];
		ret->quiet_threads += is_mostly(thread, VERDICT_QUIET);
		if (!is_mostly(thread, VERDICT_HOME))
			continue;
		ret->idle_threads++;
		analysis->groups[group_index(analysis, model->threads[i].group)].idle_threads++;
	}
	ret->idle_programs = count_programs(analysis);
}

void summary__put_last(const struct findings *findings, char *text, size_t size)
{
	*text = '\0';
	if (findings->idle_threads)
		put("%s of %s waited for work",
		    words__count((int64_t)findings->idle_threads, "threads").text,
		    words__count((int64_t)findings->idle_programs, "programs").text);
	if (findings->quiet_threads)
		put("%s%s %s not woken, or hardly ever", *text ? "; " : "",
		    words__count((int64_t)findings->quiet_threads, "threads").text,
		    findings->quiet_threads == 1 ? "was" : "were");
	if (findings->unclear_ns || findings->slept_ns)
		put("%s", *text ? "; " : "");
	if (findings->unclear_ns)
		put("%s of waiting", words__time(findings->unclear_ns).text);
	if (findings->slept_ns)
		put("%s%s of sleeping", findings->unclear_ns ? " and " : "",
		    words__time(findings->slept_ns).text);
	if (findings->unclear_ns || findings->slept_ns)
		put(" could not be told from idleness");
	if (*text)
		put(".");
}

/* Says "nothing" only if most of the waiting was judged. */
void summary__put_nothing(const struct analysis *analysis, const struct findings *findings,
			  char *text, size_t size)
{
	int64_t unclear_ns = findings->unclear_ns + findings->slept_ns;
	int64_t waited = findings->held_ns + findings->idle_ns + unclear_ns;

	*text = '\0';
	if (!findings->target_threads)
		put("No finding: only kernel threads or gapless itself were measured.");
	else if (!analysis->model->hot.samples && unclear_ns)
		put("No finding; without stacks, waiting for work looks like being held up "
		    "(%s of waiting).",
		    words__time(unclear_ns).text);
	else if (unclear_ns && model__reaches(unclear_ns, waited, UNCLEAR_PERCENT))
		put("No finding; but %s of waiting could not be told from idleness.",
		    words__time(unclear_ns).text);
	else if (findings->quiet_threads == findings->target_threads)
		put("No finding; no thread was woken, or hardly ever: whether they wait for work "
		    "or hang is not known.");
	else if (!analysis->has_turns)
		put("No thread was held up in its own code; whether it waited for answers of other "
		    "programs is not in this recording.");
	else
		put("Nothing was held up for 3 %% of its time and 1 %% of the recording, waits for "
		    "children apart, and no thread wanted a CPU for more than 30 %% of it.");
}
