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
	STATE_TELLING = 1,    /* a delay even of a thread that does little else */
	STATE_ELSEWHERE = 2,  /* the time of another thread tells why */
	STATE_NO_CULPRIT = 4, /* a device ends it: the thread that wakes is not to blame */
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
/* By the words of a recording; `key` may be NULL. An unknown key is taken as delaying. */
enum kind kinds__of(const char *state, const char *key);

/* Of every slot but SLOT_NONE. */
const struct state_words *states__words(enum ledger_slot slot);
/* The column `kind` of a recording's states: the key of a wait's kind, NULL for other states. */
const char *states__key(enum ledger_slot slot);

/*
 * The slot of a state that a recording names. If it is of another kind here, because the reader
 * was told to call it busy or idle, that one. SLOT_NONE: a newer or older recording has it, and
 * states.def does not.
 */
enum ledger_slot states__find(const char *state, const char *cause, enum kind kind);
/* The slot whose letter and colours a state has; never SLOT_NONE. Those that states.def does not
 * know with this kind look like the last row of the kind. */
enum ledger_slot states__look(const char *state, const char *cause, enum kind kind);

const char *states__evidence(enum ledger_evidence evidence);
const char *states__object_kind(enum ledger_object kind);
