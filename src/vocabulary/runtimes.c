/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vocabulary/runtimes.h"

#include <stddef.h>
#include <string.h>

static const struct runtime_words words[RUNTIME_KINDS] = {
#define RUNTIME_ROW(id, key, title, language) [RUNTIME_##id] = { key, title, language },
	RUNTIMES(RUNTIME_ROW)
#undef RUNTIME_ROW
};

const struct runtime_words *runtime__words(enum runtime_kind kind)
{
	return kind > RUNTIME_NONE && kind < RUNTIME_KINDS ? &words[kind] : NULL;
}

enum runtime_kind runtime__find(const char *key)
{
	for (int kind = RUNTIME_NONE + 1; key && kind < RUNTIME_KINDS; kind++)
		if (!strcmp(words[kind].key, key))
			return kind;
	return RUNTIME_NONE;
}

static const struct {
	const char *key, *why;
} states[RUNTIME_STATE_COUNT] = {
#define RUNTIME_STATE_ROW(id, key, why) [RUNTIME_##id] = { key, why },
	RUNTIME_STATES(RUNTIME_STATE_ROW)
#undef RUNTIME_STATE_ROW
};

const char *runtime__state_key(enum runtime_state state)
{
	return states[state].key;
}

const char *runtime__why_none(const char *state_key)
{
	for (int state = 0; state_key && state < RUNTIME_STATE_COUNT; state++)
		if (!strcmp(states[state].key, state_key))
			return states[state].why;
	return NULL;
}

const char *runtime__fiber_state(enum fiber_state state)
{
	static const char *const names[FIBER_STATES] = { "runnable", "running", "syscall",
							 "waiting" };

	return names[state];
}
