/* What a report comes to, in a few sentences: of the account up to three, then of signals. */
#pragma once

#include "report/model.h"

#define FINDINGS_MOST 5

struct finding {
	char text[2048]; /* clean: foreign names in it cannot steer a terminal */
	int64_t ns;
	int64_t of_ns;
};

/* The largest findings first; how many. Idle waiting and gapless itself are never among them. */
size_t findings__make(const struct model *model, struct finding ret[FINDINGS_MOST]);

/* Law 4: why there is nothing. Empty if there is something. */
void findings__why_empty(const struct model *model, struct finding *ret);

/* "futex 0x7f…", "pipe:[123]"; empty if there is none. */
void findings__object(const struct model_wait *wait, char *ret, size_t size);

/* "thread logger (tid 4242)", "threads worker-*"; a single thread where `thread` is given. An
 * interrupt goes by its name alone. */
void findings__name(const struct model_group *group, const struct model_thread *thread, char *ret,
		    size_t size);
