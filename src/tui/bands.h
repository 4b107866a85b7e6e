/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a thread's time is divided on the screen: the states of states.def, each with a letter, so
 * that a bar is readable without colour. Pure: no terminal, no recording.
 */
#pragma once

#include <stdint.h>

#include "vocabulary/states.h"

int64_t bands__sum(const int64_t ns[SLOT_COUNT], enum kind kind);
/* The time of all states except idle and undecided ones. */
int64_t bands__busy(const int64_t ns[SLOT_COUNT]);

/*
 * Fills a bar of `width` cells with slots, SLOT_NONE for empty. The whole bar is one thread's time,
 * `one_ns`, or all busy time if that is more. Undecided and idle time share the room that is left,
 * so that a hundred sleeping threads do not hide one that works.
 */
void bands__compose(const int64_t ns[SLOT_COUNT], int64_t one_ns, int width, uint8_t *ret);
