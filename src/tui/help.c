/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The help: keys, letters of states, and what was lost. */
#include <inttypes.h>
#include <stdio.h>

#include "base/words.h"
#include "tui/screen.h"
#include "tui/view.h"

static const char *const keys[] = {
	"q        quit                          enter    look closer at the row",
	"s > S <  sort by next, previous state esc      back",
	"t        threads or processes          p space  pause the picture",
	"/        filter by name or number      + -      longer, shorter interval",
	"up down page home end  ctrl-l renew     w        save the last minute in a file",
	"r        requests of services",
	NULL,
};

static void draw_letters(int *row, int columns)
{
	for (int i = SLOT_FIRST; i < SLOT_COUNT; i += 2) {
		char text[200];
		int used = 0;

		for (int j = i; j < i + 2 && j < SLOT_COUNT; j++) {
			const struct state_words *words = states__words((enum ledger_slot)j);

			snprintf(text, sizeof(text), "%c %-6s %s", words->letter, words->title,
				 words->about);
			screen__put(*row, used, columns, SCREEN_PLAIN, text);
			used += 39;
		}
		++*row;
	}
}

void help__draw(struct view *view)
{
	int rows, columns, row = 0;
	char text[400];

	screen__size(&rows, &columns);
	for (int i = 0; keys[i]; i++)
		screen__put(row++, 0, columns, SCREEN_PLAIN, keys[i]);
	screen__put(row++, 0, columns, SCREEN_DIM,
		    "A bar is one thread's time, or all that is busy if that is more:");
	draw_letters(&row, columns);
	screen__put(row++, 0, columns, SCREEN_BOLD,
		    view->quality.count ? "lost, repaired, or not known so far:"
					: "nothing was lost so far");
	for (size_t i = 0; i < view->quality.count && row < rows - 1; i++) {
		const struct ask_line *line = &view->quality.lines[i];

		snprintf(text, sizeof(text), " %-24s %12.30s  %s", line->name,
			 words__number(line->count).text, line->more);
		screen__put(row++, 0, columns, SCREEN_PLAIN, text);
	}
	view__draw_foot(view, "any key: back");
}
