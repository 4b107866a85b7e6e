/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the list, the drill and the help. */
#include "tui/view.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/words.h"
#include "tui/screen.h"

void view__interval(uint64_t ns, char *ret, size_t size)
{
	if (ns < UINT64_C(1000000000))
		snprintf(ret, size, "%.0f ms", (double)ns / 1e6);
	else
		snprintf(ret, size, "%.1f s", (double)ns / 1e9);
}

void view__draw_legend(const struct view *view, int row, const int64_t ns[SLOT_COUNT])
{
	char last = 0, text[32];
	int at = 0;

	for (int i = SLOT_FIRST; i < SLOT_COUNT; i++) {
		const struct state_words *words = states__words((enum ledger_slot)i);

		if (!ns[i] || words->letter == last)
			continue;
		last = words->letter;
		snprintf(text, sizeof(text), "%c %s  ", words->letter,
			 words->kind == KIND_IDLE ? kinds__words(KIND_IDLE)->brief : words->title);
		at += screen__put(row, at, 32, SCREEN_DIM, text);
	}
}

void view__draw_foot(const struct view *view, const char *keys)
{
	int rows, columns;
	char text[VIEW_MESSAGE_BYTES];

	screen__size(&rows, &columns);
	if (view->typing)
		snprintf(text, sizeof(text), "filter by name or number: %s_   (enter, esc)",
			 view->filter);
	else
		snprintf(text, sizeof(text), "%s",
			 clock__now_ns() < view->message_until_ns ? view->message : keys);
	screen__fill(rows - 1, 0, SCREEN_REVERSE);
	screen__put(rows - 1, 0, columns, SCREEN_REVERSE, text);
}

int view__draw_lost(const struct ask_head *head, int row, int column, int most)
{
	char text[64] = "nothing lost";

	if (head->lost)
		snprintf(text, sizeof(text), "%.40s lost [h]", words__number(head->lost).text);
	return screen__put(row, column, most, head->lost ? SCREEN_WARN : SCREEN_PLAIN, text);
}
