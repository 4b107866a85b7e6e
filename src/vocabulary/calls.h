/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Syscalls of this architecture: their names, and what their arguments mean. One thread only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vocabulary/call_shape.h"

/* Negative if this architecture has no such call. */
int calls__number(const char *name);

/* "newfstatat", or "syscall_455" if the number has no known name. */
const char *calls__name(uint32_t number);

/* A letter per argument, see calls.def; "" if unknown. */
const char *calls__arguments(uint32_t number);

/* True for CHOICE in calls.def; false for NEED and for a call that is not in calls.def. */
bool calls__is_by_choice(const char *name);

/* What each call waits for: CLASS_* of slots.h. */
void calls__classes(uint8_t classes[CALL_NUMBERS]);

/* What each call does to a socket: TALK_* of slots.h. */
void calls__talks(uint8_t talks[CALL_NUMBERS]);
/* Where the bytes are that it sends or receives: BYTES_* of slots.h. */
void calls__bytes(uint8_t bytes[CALL_NUMBERS]);

/* The arguments that the kernel half decodes: paths and the first descriptor. */
void calls__shapes(struct call_shape ret[CALL_NUMBERS]);
