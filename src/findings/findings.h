/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The conclusions of a report in a few sentences: up to three from the accounts, then those from
 * signals.
 */
#pragma once

#include "model/model.h"

#define FINDINGS_MOST 5

struct finding {
	char text[2048]; /* cleaned: names in it cannot send control sequences to a terminal */
	int64_t ns;
	int64_t of_ns;
};

/*
 * Writes the findings, the largest first, and returns their number. Idle waiting and gapless itself
 * are never among them.
 */
size_t findings__make(const struct model *model, struct finding ret[FINDINGS_MOST]);

/* Says what a group waited for in this state, who the culprit was, and from which code. */
void findings__blame(const struct model *model, const struct model_group *group,
		     const struct model_state *state, struct finding *finding);

/* Says why there are no findings (law 4). Empty if there are some. */
void findings__why_empty(const struct model *model, struct finding *ret);

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
