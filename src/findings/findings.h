/* What a report comes to, in a few sentences: of the account up to three, then of signals. */
#pragma once

#include "model/model.h"

#define FINDINGS_MOST 5

struct finding {
	char text[2048]; /* clean: foreign names in it cannot steer a terminal */
	int64_t ns;
	int64_t of_ns;
};

/* The largest findings first; how many. Idle waiting and gapless itself are never among them. */
size_t findings__make(const struct model *model, struct finding ret[FINDINGS_MOST]);

/* Says what a group waited for in this state, because of whom and from where. */
void findings__blame(const struct model *model, const struct model_group *group,
		     const struct model_state *state, struct finding *finding);

/* Law 4: why there is nothing. Empty if there is something. */
void findings__why_empty(const struct model *model, struct finding *ret);

/* "futex 0x7f…", "pipe:[123]"; empty if there is none. */
void findings__object(const struct model_wait *wait, char *ret, size_t size);

/*
 * "held by thread logger (tid 4242)", "first held by thread logger (tid 4242), last by threads
 * worker-*", "woken by …"; empty if nobody is known.
 */
void findings__culprit(const struct model_blame *blame, char *ret, size_t size);

/* "thread logger (tid 4242)", "threads worker-*"; a single thread where `thread` is given. An
 * interrupt goes by its name alone. */
void findings__name(const struct model_group *group, const struct model_thread *thread, char *ret,
		    size_t size);
