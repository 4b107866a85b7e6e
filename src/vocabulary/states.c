/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vocabulary/states.h"

#include <stdbool.h>
#include <string.h>

#define STATE_WORDS(slot, state, cause, kind, letter, title, light, dark, chrome, firefox, phrase, \
		    about, flags)                                                                  \
	[SLOT_##slot] = { state, cause,  KIND_##kind, letter, title, light,                        \
			  dark,  chrome, firefox,     phrase, about, flags },
#define KIND_WORDS(kind, ...) [KIND_##kind] = { __VA_ARGS__ },

static const struct state_words words[SLOT_COUNT] = {
	[SLOT_NONE] = { "unseen", "none", KIND_UNSEEN, .title = "", .phrase = "", .about = "" },
	STATES(STATE_WORDS)
};

static const struct kind_words kinds[KIND_COUNT] = { KINDS(KIND_WORDS) };

const struct kind_words *kinds__words(enum kind kind)
{
	return &kinds[kind];
}

/* In states other than "wait", the state equals the key of the kind. */
enum kind kinds__of(const char *state, const char *key)
{
	const char *wanted = strcmp(state, "wait") ? state : key;

	for (int i = 0; wanted && i < KIND_COUNT; i++)
		if (!strcmp(kinds[i].key, wanted))
			return (enum kind)i;
	return strcmp(state, "wait") ? KIND_UNSEEN : KIND_DELAYING;
}

const struct state_words *states__words(enum ledger_slot slot)
{
	return &words[slot];
}

const char *states__key(enum ledger_slot slot)
{
	return SLOT_IS_WAIT(slot) ? kinds[words[slot].kind].key : NULL;
}

static bool is_called(enum ledger_slot slot, const char *state, const char *cause)
{
	return !strcmp(words[slot].state, state) && !strcmp(words[slot].cause, cause);
}

enum ledger_slot states__find(const char *state, const char *cause, enum kind kind)
{
	enum ledger_slot found = SLOT_NONE;

	for (enum ledger_slot slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		if (!is_called(slot, state, cause))
			continue;
		if (words[slot].kind == kind)
			return slot;
		found = found ? found : slot;
	}
	return found;
}

enum ledger_slot states__look(const char *state, const char *cause, enum kind kind)
{
	enum ledger_slot last = SLOT_NONE;

	for (enum ledger_slot slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		if (words[slot].kind != kind)
			continue;
		if (is_called(slot, state, cause))
			return slot;
		last = slot;
	}
	return last;
}

const char *states__evidence(enum ledger_evidence evidence)
{
	static const char *const names[] = { "none",   "waker",   "owner",
					     "handed", "timeout", "occupant" };

	return names[evidence <= EVIDENCE_OCCUPANT ? evidence : EVIDENCE_NONE];
}

const char *states__ended(enum ledger_ended ended)
{
	static const char *const names[] = { "", "event", "timeout", "signal", "open" };

	return names[ended <= ENDED_OPEN ? ended : ENDED_UNKNOWN];
}

const char *states__object_kind(enum ledger_object kind)
{
	static const char *const names[OBJECT_KINDS] = {
		[OBJECT_NONE] = "none",          [OBJECT_FUTEX] = "futex",
		[OBJECT_FILE] = "file",          [OBJECT_SOCKET] = "socket",
		[OBJECT_PIPE] = "pipe",          [OBJECT_CHILD] = "child",
		[OBJECT_KERNEL] = "kernel lock", [OBJECT_SYSCALL] = "syscall",
		[OBJECT_MEMORY] = "memory",      [OBJECT_ANONYMOUS] = "descriptor",
		[OBJECT_MONITOR] = "monitor",    [OBJECT_JAVA_LOCK] = "lock",
		[OBJECT_OTHER] = "other",
	};

	return names[kind < OBJECT_KINDS ? kind : OBJECT_OTHER];
}
