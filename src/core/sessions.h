/* The signals of one recording, together. One that fails never takes the others along (law 5). */
#pragma once

#include "core/session.h"
#include "core/timing.h"

struct sessions;

/* `wanted` ends with NULL. options->number is given here. Logs; -errno only if out of memory. */
int sessions__open(const struct signal *const *wanted, struct session_options options,
		   struct features *features, struct sessions **ret);
void sessions__free(struct sessions *sessions);

/* How many could be opened; once attached, how many are at work. */
size_t sessions__count(const struct sessions *sessions);
/* Attaches their hooks, which count nothing until sessions__start(). */
void sessions__attach(struct sessions *sessions);
void sessions__start(struct sessions *sessions);
void sessions__stop(struct sessions *sessions);

int sessions__poll(struct sessions *sessions);
/* All that was added since the last time, and what was lost so far. Some milliseconds long. */
int sessions__write(struct sessions *sessions, int64_t from, int64_t to);
/* See core/publish.h. */
int sessions__forget(struct sessions *sessions, uint64_t before_ns);

void sessions__add_hooks(const struct sessions *sessions, json_t *list);
/* Adds {signal: {map: entries}} of those with a kernel half of their own. */
void sessions__add_maps(const struct sessions *sessions, json_t *object);
void sessions__time(const struct sessions *sessions, struct timing *timing);
