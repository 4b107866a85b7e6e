/* What states and threads are called in all formats that have names for them. */
#pragma once

#include "export/profile.h"

#define LABEL_SIZE (3 * PROFILE_MOST_TEXT)

/* "wait.lock" */
const char *label__state(const struct profile_state *state, char ret[LABEL_SIZE]);
/* "logger (thread 1004)" */
const char *label__thread(const struct profile_thread *thread, char ret[LABEL_SIZE]);
/* What profile_sample.by is to a wait in this state: "held by" or "woken by". */
const char *label__evidence(const struct profile_state *state);
