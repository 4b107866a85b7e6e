/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words for states, causes and kinds. */
#pragma once

#include <stdint.h>

#include "vocabulary/slots.h"

/* A row of kinds.def. Colours are 0xRRGGBB. */
struct kind_words {
	const char *key, *words, *brief, *about;
	uint32_t light, dark;
	int terminal;
};

enum state_flag {
	STATE_TELLING = 1,    /* counts as a delay even if the thread does little else */
	STATE_ELSEWHERE = 2,  /* the time of another thread shows the reason */
	STATE_NO_CULPRIT = 4, /* a device ends the wait: do not blame the waker */
};

/* A row of states.def. */
struct state_words {
	const char *state, *cause;
	enum kind kind;
	char letter;
	const char *title;
	uint32_t light, dark;
	const char *chrome, *firefox;
	const char *phrase, *about;
	unsigned int flags;
};

const struct kind_words *kinds__words(enum kind kind);
/*
 * The kind of a state, by `state` and `kind` (here `key`) of a recording; `key` may be NULL. A wait
 * with an unknown key is KIND_DELAYING.
 */
enum kind kinds__of(const char *state, const char *key);

/* Not for SLOT_NONE. */
const struct state_words *states__words(enum ledger_slot slot);
/* The column `kind` of a recording's states: the key of a wait's kind, NULL for other states. */
const char *states__key(enum ledger_slot slot);

/*
 * The slot of a state in a recording. If `kind` differs from states.def, because the user declared
 * the state busy or idle, returns the slot of that state and cause with another kind. SLOT_NONE: a
 * newer or older version wrote the recording, and states.def does not have the state.
 */
enum ledger_slot states__find(const char *state, const char *cause, enum kind kind);
/*
 * The slot whose letter and colours to use for a state; never SLOT_NONE. A state that states.def
 * does not have with this kind looks like the last row of the kind.
 */
enum ledger_slot states__look(const char *state, const char *cause, enum kind kind);

const char *states__evidence(enum ledger_evidence evidence);
/* "": unknown. */
const char *states__ended(enum ledger_ended ended);
const char *states__object_kind(enum ledger_object kind);
