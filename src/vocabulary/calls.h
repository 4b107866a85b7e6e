/* Syscalls of this architecture: their names, and what their arguments mean. One thread only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vocabulary/call_shape.h"

/* Negative if this architecture has no such call. */
int calls__number(const char *name);

/* "newfstatat", or "syscall_455" for one without a name here. */
const char *calls__name(uint32_t number);

/* A letter per argument, see calls.def; "" where nothing is known. */
const char *calls__arguments(uint32_t number);

/* Whether it waits by choice, or nobody can tell; false for a call that calls.def does not have. */
bool calls__is_by_choice(const char *name);

/* What each call waits for: CLASS_* of slots.h. */
void calls__classes(uint8_t classes[CALL_NUMBERS]);

/* The arguments for the kernel half, which reads paths and looks behind the first descriptor. */
void calls__shapes(struct call_shape ret[CALL_NUMBERS]);
