/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The conclusions of a report in a few sentences: up to three from the analysis of waits and
 * running time, then those from signals, then the rest.
 */
#pragma once

#include "model/model.h"

#define FINDINGS_MOST     5
#define FINDING_CULPRITS  4
#define FINDING_NAME_SIZE 64

struct finding {
	char text[2048]; /* cleaned: names in it cannot send control sequences to a terminal */
	int64_t ns;
	int64_t of_ns;
	const struct signals_row *row; /* of a signal, that the sentence already covers; NULL */

	const char
		*evidence; /* how it is known that a wait held up; NULL: it is not about a wait */
	char next[128];    /* a command that would tell more; "": none */

	/* Processes that the sentence blames, by name. */
	char culprits[FINDING_CULPRITS][FINDING_NAME_SIZE];
	size_t culprit_count;

	/* What it is about, so that a reader can look at just that. */
	const struct model_group *group; /* NULL: several */
	const struct model_state *state; /* NULL: running and ready time, or several */
	uint32_t function;               /* in hot.functions; 0: none */
};

struct findings {
	struct finding list[FINDINGS_MOST]; /* the most important first */
	size_t count;
	char none[512]; /* with no finding: that there is nothing, or why (law 4) */
	char last[512]; /* pools that waited for work, and time that was not judged; "": none */

	/* Waiting time of the target's threads, by what is known about it. */
	int64_t held_ns, idle_ns, unclear_ns;
	int64_t slept_ns; /* by a timer of its own; whether it had work is not known */
	size_t target_threads, idle_threads, idle_programs;
	size_t quiet_threads; /* that nobody woke, or that hardly ever ran */
};

/* Idle waiting and gapless itself are never among the findings. */
void findings__make(const struct model *model, struct findings *ret);

/* Says why a recording has no threads at all. Empty if it has some. */
void findings__why_empty(const struct model *model, char *text, size_t size);

/* "futex 0x7f…", "pipe:[123]"; empty if there is none. */
void findings__object(const struct model_wait *wait, char *ret, size_t size);

/*
 * "held by thread logger (tid 4242)", "first held by thread logger (tid 4242), last by threads
 * worker-*", "woken by …"; empty if the culprit is unknown.
 */
void findings__culprit(const struct model_blame *blame, char *ret, size_t size);

/*
 * "thread logger (tid 4242)", "threads worker-*"; names a single thread if `thread` is given. An
 * interrupt is shown by its name alone.
 */
void findings__name(const struct model_group *group, const struct model_thread *thread, char *ret,
		    size_t size);
