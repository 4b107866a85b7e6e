/*
 * What a thread's time is split into on the screen: the states of states.def, each with a letter,
 * so that a bar can be read without colour. Pure: no terminal, no recording.
 */
#pragma once

#include <stdint.h>

#include "vocabulary/states.h"

int64_t bands__sum(const int64_t ns[SLOT_COUNT], enum kind kind);
/* All but idle and undecided. */
int64_t bands__busy(const int64_t ns[SLOT_COUNT]);

/*
 * A bar of `width` cells: which slot each one shows, SLOT_NONE for none. The whole bar is one
 * thread's time, `one_ns`, or all that is busy if that is more. What is undecided and idle shares
 * the room that is left, so that a hundred threads that sleep do not hide the one that works.
 */
void bands__compose(const int64_t ns[SLOT_COUNT], int64_t one_ns, int width, uint8_t *ret);
