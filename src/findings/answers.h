/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings before they are put into words, in the order of how much time they explain. */
#pragma once

#include "findings/causes.h"

enum answer_kind {
	ANSWER_WAIT,  /* a group was held up */
	ANSWER_CPU,   /* a group ran, or wanted to */
	ANSWER_STORM, /* a program started many short-lived ones */
};

#define ANSWER_MOST_WAITERS 3

struct answer {
	enum answer_kind kind;
	const struct model_group *group;
	const struct cause *cause; /* ANSWER_WAIT */
	int64_t ns;
	int64_t of_ns; /* running, ready and held-up time of the group */
	double score;
	/* Groups that only waited for this one, and the longest of their waits. */
	const struct model_group *waiters[ANSWER_MOST_WAITERS];
	size_t waiter_count;
	int64_t waiters_ns;
	/* ANSWER_STORM: how many programs, their lifetimes, and the most frequent name. */
	int64_t started, lifetime_ns;
	const char *program;
};

struct answers {
	struct answer *list;
	size_t count;
};

/* -ENOMEM. Release with answers__release() in any case. */
int answers__make(struct analysis *analysis, struct answers *ret);
void answers__release(struct answers *answers);
/* -ENOMEM */
int answers__add(struct answers *answers, const struct answer *answer);

/* Whether a group belongs to the target: not gapless itself, a kernel thread or an outside thread.
 */
/* Running time of a group in syscalls, by its account. A call has no more than that. */
int64_t answers__kernel_ns(const struct model *model, const struct model_group *group);
bool answers__is_target(const struct model_group *group);
