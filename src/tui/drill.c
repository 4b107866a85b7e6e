/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One process or thread in detail: causes, waits, syscalls, functions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "findings/signal_words.h"
#include "tui/screen.h"
#include "tui/view.h"

#define SECTIONS    4
#define HEAD_ROWS   3
#define FOOT_ROWS   2
#define MOST_BAR    400
#define MOST_COLUMN 160

/*
 * The length of the window. Shares are shares of one thread's time, so several threads can exceed
 * 100 %.
 */
static double seconds_of(const struct view *view)
{
	return (double)(view->drill_window.end_ns - view->drill_window.begin_ns) / 1e9;
}

/* The cost comes last, so that losses are shown even if there is no room for the cost. */
static void draw_numbers(const struct view *view, int columns)
{
	char text[128];
	int used;

	snprintf(text, sizeof(text), "last %.1f s, in %% of one thread; ", seconds_of(view));
	used = screen__put(1, 0, columns, SCREEN_PLAIN, text);
	used += view__draw_lost(&view->drill_head, 1, used, columns);
	if (view->own_share < 0)
		return;
	snprintf(text, sizeof(text), "; gapless itself: %.1f %% of a CPU", view->own_share * 100);
	screen__put(1, used, columns, SCREEN_PLAIN, text);
}

static void draw_head(const struct view *view, int columns)
{
	const struct table_row *all = &view->drill_table.all;
	uint8_t cells[MOST_BAR];
	char text[320];
	int width = columns < MOST_BAR ? columns : MOST_BAR;

	snprintf(text, sizeof(text), "%s %d %.130s  %.80s%s%s",
		 view->drilled_thread ? "thread" : "process", view->drilled.tid,
		 words__clean(view->drilled.name, 30).text,
		 words__count(all->threads, "threads").text,
		 view->drilled_thread ? "" : ", children born since included",
		 view->drill_over ? "  ENDED"
		 : view->paused   ? "  PAUSED"
				  : "");
	screen__put(0, 0, columns, SCREEN_BOLD, text);
	if (!view->drill_window.from) {
		screen__put(1, 0, columns, SCREEN_PLAIN,
			    view->drill_over ? "it was over before there was anything to count"
					     : "attached to it; the first numbers come at once");
		return;
	}
	draw_numbers(view, columns);
	bands__compose(all->ns, view->drill_table.window_ns, width, cells);
	screen__bar(2, 0, cells, width, false);
}

static void draw_title(int row, int columns, const char *title, const char *numbers)
{
	char text[MOST_COLUMN + 64];

	screen__fill(row, 0, SCREEN_REVERSE);
	screen__put(row, 0, columns, SCREEN_REVERSE, title);
	snprintf(text, sizeof(text), "%s", numbers);
	screen__put(row, columns - words__columns(text), columns, SCREEN_REVERSE, text);
}

static void draw_line(int row, int columns, const char *name, const char *numbers)
{
	int most = columns - words__columns(numbers) - 2;

	if (most < 8)
		most = columns;
	screen__put(row, 1, most, SCREEN_PLAIN, words__clean(name, most).text);
	screen__put(row, columns - words__columns(numbers), columns, SCREEN_PLAIN, numbers);
}

static int by_time(const int64_t *ns, int limit_band, int64_t below)
{
	int best = -1;

	for (int i = SLOT_FIRST; i < SLOT_COUNT; i++)
		if ((ns[i] < below || (ns[i] == below && i > limit_band)) && ns[i] > 0 &&
		    (best < 0 || ns[i] > ns[best]))
			best = i;
	return best;
}

/* Where the time of the process or thread went, the longest first. */
static void draw_causes(const struct view *view, int row, int lines, int columns)
{
	const int64_t *ns = view->drill_table.all.ns;
	int band = -1;
	int64_t below = INT64_MAX;

	draw_title(row, columns, "where its time went", "time   % of a thread");
	for (int i = 0; i < lines && (band = by_time(ns, band, below)) >= 0; i++) {
		const struct state_words *words = states__words((enum ledger_slot)band);
		char name[128], state[32], numbers[80];

		snprintf(state, sizeof(state), "%s.%s", words->state, words->cause);
		snprintf(name, sizeof(name), "%c %-15s %s", words->letter, state, words->about);
		snprintf(numbers, sizeof(numbers), "%9.20s %9.1f %%",
			 words__brief_time(ns[band]).text,
			 (double)ns[band] * 100 / (double)view->drill_table.window_ns);
		draw_line(row + 1 + i, columns, name, numbers);
		below = ns[band];
	}
	if (by_time(ns, -1, INT64_MAX) < 0)
		draw_line(row + 1, columns, "nothing yet: it has not been counted for an interval",
			  "");
}

static void draw_waits(const struct view *view, int row, int lines, int columns)
{
	draw_title(row, columns, "waits that ended, 1 to 2 s late: for what, by whom",
		   "time    waits/s");
	for (int i = 0; i < lines && i < (int)view->waits.count; i++) {
		const struct ask_line *line = &view->waits.lines[i];
		char name[400], numbers[80];

		snprintf(name, sizeof(name), "%s%s%s", line->name, *line->more ? ": " : "",
			 line->more);
		snprintf(numbers, sizeof(numbers), "%9.20s %10.1f",
			 words__brief_time(line->ns).text, (double)line->count / seconds_of(view));
		draw_line(row + 1 + i, columns, name, numbers);
	}
	if (!view->waits.count)
		draw_line(row + 1, columns, "none: no wait of it ended in this time", "");
}

/* "openat", "openat: some fail, mostly with ENOENT" */
static void say_call(const struct ask_line *line, char *ret, size_t size)
{
	snprintf(ret, size, "%s", line->name);
	if (!line->errors || !*line->more)
		return;
	words__say(ret, size, ": %s fail, mostly with ",
		   line->errors == line->count ? "all" : "some");
	signal_words__error(atoll(line->more), ret, size);
}

static void draw_calls(const struct view *view, int row, int lines, int columns)
{
	char title[80];

	snprintf(title, sizeof(title), "syscalls%s, %.0f a second",
		 view->drilled_thread && !ask__has_calls(view->drill) ? " of its whole process"
								      : "",
		 view->drill_window.from ? (double)view->calls.total_count / seconds_of(view) : 0);
	draw_title(row, columns, title, "time    calls/s  errors/s");
	for (int i = 0; i < lines && i < (int)view->calls.count; i++) {
		const struct ask_line *line = &view->calls.lines[i];
		char name[300], numbers[80], errors[32] = "";

		say_call(line, name, sizeof(name));
		if (line->errors)
			snprintf(errors, sizeof(errors), "%.1f",
				 (double)line->errors / seconds_of(view));
		snprintf(numbers, sizeof(numbers), "%9.20s %10.1f %9s",
			 words__brief_time(line->ns).text, (double)line->count / seconds_of(view),
			 errors);
		draw_line(row + 1 + i, columns, name, numbers);
	}
	if (!view->options->drill_full)
		draw_line(row + 1, columns, "not counted at level sched [--level full]", "");
	else if (!view->calls.count)
		draw_line(row + 1, columns, "none: no call ended in this time", "");
}

static void draw_functions(const struct view *view, int row, int lines, int columns)
{
	char title[100];

	snprintf(title, sizeof(title), "hot functions, by %.60s of running time",
		 words__count(view->functions.total_count, "samples").text);
	draw_title(row, columns, title, "samples   share");
	for (int i = 0; i < lines && i < (int)view->functions.count; i++) {
		const struct ask_line *line = &view->functions.lines[i];
		char name[400], numbers[80];

		if (*line->more && strncmp(line->name, line->more, strlen(line->more)))
			snprintf(name, sizeof(name), "%s  (%s)", line->name, line->more);
		else
			snprintf(name, sizeof(name), "%s", line->name);
		snprintf(numbers, sizeof(numbers), "%7" PRId64 " %7.20s", line->count,
			 words__share(line->ns, view->functions.total_ns).text);
		draw_line(row + 1 + i, columns, name, numbers);
	}
	if (!view->options->drill_full)
		draw_line(row + 1, columns, "no stacks at level sched [--level full]", "");
	else if (!view->functions.count)
		draw_line(row + 1, columns, "none: it was not on a CPU when the clock ticked", "");
}

/* Each section gets its share of the rows, and the rows that others do not need. */
static void share_rows(const struct view *view, int room, int ret[SECTIONS])
{
	int wanted[SECTIONS] = { 0, (int)view->waits.count, (int)view->calls.count,
				 (int)view->functions.count };
	int left = room;

	for (int i = SLOT_FIRST; i < SLOT_COUNT; i++)
		wanted[0] += view->drill_table.all.ns[i] > 0;
	for (int i = 0; i < SECTIONS; i++) {
		int share = room / SECTIONS;

		/* Room for a heading; an empty section also has a line that says so. */
		wanted[i] = wanted[i] ? wanted[i] + 1 : 2;
		ret[i] = wanted[i] < share ? wanted[i] : share;
		left -= ret[i];
	}
	for (bool more = true; more && left > 0;) {
		more = false;
		for (int i = 0; i < SECTIONS && left > 0; i++)
			if (ret[i] < wanted[i]) {
				ret[i]++;
				left--;
				more = true;
			}
	}
}

void drill__draw(struct view *view)
{
	static void (*const draw[SECTIONS])(const struct view *, int, int,
					    int) = { draw_causes, draw_waits, draw_calls,
						     draw_functions };
	int rows, columns, row = HEAD_ROWS, share[SECTIONS];

	screen__size(&rows, &columns);
	draw_head(view, columns);
	share_rows(view, rows - HEAD_ROWS - FOOT_ROWS, share);
	for (int i = 0; i < SECTIONS && view->drill_window.from; i++) {
		if (share[i] >= 2)
			draw[i](view, row, share[i] - 1, columns);
		row += share[i];
	}
	view__draw_legend(view, rows - 2, view->drill_table.all.ns);
	view__draw_foot(view, "esc back  p pause  w save  h help  q quit");
}
