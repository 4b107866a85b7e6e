/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tui/bands.h"

#include <stdbool.h>
#include <string.h>

int64_t bands__sum(const int64_t ns[SLOT_COUNT], enum kind kind)
{
	int64_t sum = 0;

	for (int slot = SLOT_FIRST; slot < SLOT_COUNT; slot++)
		if (states__words(slot)->kind == kind)
			sum += ns[slot];
	return sum;
}

static bool is_busy(int slot)
{
	enum kind kind = states__words(slot)->kind;

	return kind != KIND_UNDECIDED && kind != KIND_IDLE;
}

int64_t bands__busy(const int64_t ns[SLOT_COUNT])
{
	int64_t sum = 0;

	for (int slot = SLOT_FIRST; slot < SLOT_COUNT; slot++)
		if (is_busy(slot))
			sum += ns[slot];
	return sum;
}

/*
 * Rounds edges, not lengths. So cells leave no gaps and do not overlap, and a state shorter than
 * half a cell disappears first.
 */
void bands__compose(const int64_t ns[SLOT_COUNT], int64_t one_ns, int width, uint8_t *ret)
{
	double busy = (double)bands__busy(ns), quiet = 0, whole = (double)one_ns, edge = 0, shrink;
	int at = 0;

	for (int i = SLOT_FIRST; i < SLOT_COUNT; i++)
		quiet += is_busy(i) ? 0 : (double)ns[i];
	if (busy > whole)
		whole = busy;
	/*
	 * If a thread began or ended within the window, the bar stays partly empty. If there is
	 * more quiet time than room, it shrinks.
	 */
	shrink = quiet > whole - busy ? (whole - busy) / (quiet > 0 ? quiet : 1) : 1;
	for (int i = SLOT_FIRST; i < SLOT_COUNT && whole > 0; i++) {
		edge += (double)ns[i] * (is_busy(i) ? 1 : shrink);
		for (; at < width && at + 0.5 < edge * width / whole; at++)
			ret[at] = (uint8_t)i;
	}
	memset(ret + at, SLOT_NONE, (size_t)(width - at));
}
