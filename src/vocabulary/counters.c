/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vocabulary/counters.h"

#include <stddef.h>
#include <string.h>

#define LOSS true, false
#define KEPT false, false
#define FACT false, true

#define COUNTER_WORDS(counter, ...) [COUNTER_##counter] = { __VA_ARGS__ },

static const struct counter_words words[COUNTER_COUNT] = {
	COUNTERS_LEDGER(COUNTER_WORDS) COUNTERS_WINDOWS(COUNTER_WORDS)
		COUNTERS_STACKS(COUNTER_WORDS) COUNTERS_AGENT(COUNTER_WORDS)
			COUNTERS_SIGNAL(COUNTER_WORDS)
};

const struct counter_words *counters__words(enum counter counter)
{
	return &words[counter];
}

/* A signal's counter has the signal's name in front: "tcp_unpaired". */
static bool is_of_signal(const char *name, const char *counter)
{
	size_t length = strlen(name), end = strlen(counter);

	return length > end + 1 && name[length - end - 1] == '_' &&
	       !strcmp(name + length - end, counter);
}

/* NULL: not known. */
static const struct counter_words *find(const char *name)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (i < COUNTER_SIGNALS ? !strcmp(name, words[i].name)
					: is_of_signal(name, words[i].name))
			return &words[i];
	return NULL;
}

bool counters__is_loss(const char *name)
{
	const struct counter_words *found = find(name);

	return found && found->is_loss;
}

bool counters__is_fact(const char *name)
{
	const struct counter_words *found = find(name);

	return found && found->is_fact;
}
