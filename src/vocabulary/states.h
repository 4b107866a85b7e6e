/* The words for states and causes, and which syscalls wait for what. */
#pragma once

#include <stdint.h>

#include "vocabulary/call_shape.h"
#include "vocabulary/slots.h"

struct state_words {
	const char *state;
	const char *cause;
	const char *kind;  /* of a wait: "delaying", "undecided", "idle"; else NULL */
	const char *about; /* one line for people */
};

/* Of every slot but SLOT_NONE. */
const struct state_words *states__words(enum ledger_slot slot);

/* Fills in what each syscall of this architecture waits for; by name, so the numbers are its own.
 */
void states__classes(uint8_t classes[CALL_NUMBERS]);

/* The number of a syscall on this architecture; negative: it has none of that name. */
int states__number(const char *name);

/* "newfstatat", or "syscall_455" for one without a name here. Valid until the next call. */
const char *states__syscall_name(int number);

const char *states__evidence(enum ledger_evidence evidence);
const char *states__object_kind(enum ledger_object kind);
