/* Syscalls of this architecture: their names, and what their arguments mean. One thread only. */
#pragma once

#include <stdint.h>

#include "vocabulary/call_shape.h"

/* Negative if this architecture has no such call. */
int calls__number(const char *name);

/* "newfstatat", or "syscall_455" for one without a name here. */
const char *calls__name(uint32_t number);

/*
 * A letter per argument, "" where nothing is known:
 *   f  descriptor            p  path           n  number       x  bits, in hex
 *   d  descriptor of a       s  signed number  o  bits, octal  .  an address: says nothing to
 *      folder, or AT_FDCWD                                        a reader
 */
const char *calls__arguments(uint32_t number);

/* The same for the kernel half, which reads paths and looks behind the first descriptor. */
void calls__shapes(struct call_shape ret[CALL_NUMBERS]);
