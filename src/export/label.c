#include "export/label.h"

#include <stdio.h>
#include <string.h>

const char *label__state(const struct profile_state *state, char ret[LABEL_SIZE])
{
	snprintf(ret, LABEL_SIZE, "%s.%s", state->state, state->cause);
	return ret;
}

const char *label__thread(const struct profile_thread *thread, char ret[LABEL_SIZE])
{
	/* What is no thread, like an interrupt, has a name only. */
	snprintf(ret, LABEL_SIZE, thread->tid > 0 ? "%s (thread %d)" : "%s", thread->comm,
		 thread->tid);
	return ret;
}

/* The ledger keeps futex waits apart whose owner it knows: those alone are "lock, delaying". */
const char *label__evidence(const struct profile_state *state)
{
	return state->kind && !strcmp(state->kind, "delaying") && !strcmp(state->cause, "lock")
		       ? "held by"
		       : "woken by";
}
