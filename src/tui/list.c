/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list: what each process or thread did in the last interval. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/words.h"
#include "tui/screen.h"
#include "tui/view.h"

#define HEAD_ROWS  4
#define FOOT_ROWS  2
#define NAME_WIDTH 15
#define LEAST_BAR  8
#define MOST_BAR   200
#define WIDE       100
#define KEYS       "q quit  h help  enter drill  r requests  s sort  t threads  / filter  p pause"

/* In units of threads: 1.00 is one thread during the whole window. */
static double threads(const struct view *view, int64_t ns)
{
	return view->table.window_ns ? (double)ns / (double)view->table.window_ns : 0;
}

static void draw_title(const struct view *view, int columns)
{
	char text[256], interval[32], measured[32];
	time_t now = time(NULL);
	struct tm local;

	localtime_r(&now, &local);
	view__interval(view->interval_ns, interval, sizeof(interval));
	view__interval((uint64_t)view->table.window_ns, measured, sizeof(measured));
	snprintf(text, sizeof(text), "gapless top  %02d:%02d:%02d", local.tm_hour, local.tm_min,
		 local.tm_sec);
	if (view->window.from)
		words__say(text, sizeof(text), "  %s  %s, %d ended",
			   words__count(view->head.cpus, "CPUs").text,
			   words__count(view->table.all.threads, "threads").text,
			   view->table.all.ended);
	screen__put(0, 0, columns, SCREEN_BOLD, text);
	/* On a machine with many threads, updates are less frequent than requested. */
	if (view->window.from && view->table.window_ns > (int64_t)view->interval_ns * 3 / 2)
		snprintf(text, sizeof(text), "every %s (now %s)%s", interval, measured,
			 view->paused ? "  PAUSED" : "");
	else
		snprintf(text, sizeof(text), "every %s%s", interval,
			 view->paused ? "  PAUSED" : "");
	screen__put(0, columns - (int)strlen(text), columns, SCREEN_BOLD, text);
}

static void draw_machine(const struct view *view, int columns)
{
	char text[256] = "threads:";

	for (int kind = KIND_RUN; kind <= KIND_IDLE; kind++)
		words__say(text, sizeof(text), "%s%s %.*f", kind ? "  " : " ",
			   kinds__words(kind)->brief, kind < KIND_UNDECIDED ? 2 : 1,
			   threads(view, bands__sum(view->table.all.ns, kind)));
	screen__put(1, 0, columns, SCREEN_PLAIN, text);
}

static void draw_cost(const struct view *view, int columns)
{
	const struct ask_head *head = &view->head;
	char text[256] = "gapless itself: ";
	int used;

	if (view->own_share < 0)
		words__say(text, sizeof(text), "not known yet");
	else
		words__say(text, sizeof(text), "%.1f %% of a CPU", view->own_share * 100);
	if (head->hooks_cpu_ns && head->elapsed_ns)
		words__say(text, sizeof(text), ", its hooks %.1f %%",
			   (double)head->hooks_cpu_ns * 100 / (double)head->elapsed_ns);
	words__say(text, sizeof(text), "; ");
	used = screen__put(2, 0, columns, SCREEN_PLAIN, text);
	used += view__draw_lost(head, 2, used, columns);
	if (*view->filter) {
		snprintf(text, sizeof(text), "  filter '%s'", view->filter);
		screen__put(2, used, columns, SCREEN_BOLD, text);
	}
}

/* The number columns, left to right. The column that is sorted by is always included. */
static int choose_columns(const struct view *view, enum sort ret[8])
{
	static const enum sort usual[] = { SORT_BUSY, SORT_RUN, SORT_READY, SORT_HELD };
	bool there = view->order == SORT_NAME || view->order == SORT_PID ||
		     view->order == SORT_SWITCHES || view->order == SORT_CALLS;
	int count = 0;

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		ret[count++] = usual[i];
		there |= usual[i] == view->order;
	}
	if (!there)
		ret[count++] = view->order;
	ret[count++] = SORT_SWITCHES;
	if (ask__has_calls(view->ask))
		ret[count++] = SORT_CALLS;
	return count;
}

/* Five digits and a space. Zero is left blank, so that small numbers stand out. */
static void say_value(const struct view *view, const struct table_row *row, enum sort column,
		      char *ret, size_t size)
{
	int64_t value = sort__value(row, column);
	double seconds = (double)view->table.window_ns / 1e9, number;

	if (!value) {
		snprintf(ret, size, "%6s", "");
		return;
	}
	number = sort__is_time(column) ? threads(view, value) * 100
		 : seconds > 0         ? (double)value / seconds
				       : 0;
	if (!sort__is_time(column) && number < 99999.5)
		snprintf(ret, size, "%6.0f", number);
	else if (!sort__is_time(column))
		snprintf(ret, size, "%5.0fk", number / 1000);
	else
		snprintf(ret, size, number < 999.95 ? "%6.1f" : "%6.0f", number);
}

static void draw_heading(const struct view *view, const enum sort *chosen, int count, int row)
{
	int at = 0;
	char text[64];

	screen__fill(row, 0, SCREEN_REVERSE);
	snprintf(text, sizeof(text), "%7s %-*s %4s ", view->by_thread ? "TID" : "PID", NAME_WIDTH,
		 "NAME", view->by_thread ? "" : "THR");
	at += screen__put(row, at, 100, SCREEN_REVERSE, text);
	for (int i = 0; i < count; i++) {
		char title[8];

		snprintf(title, sizeof(title), chosen[i] == view->order ? ">%.5s" : "%.6s",
			 sort__title(chosen[i]));
		snprintf(text, sizeof(text), "%6s", title);
		at += screen__put(row, at, 7, SCREEN_REVERSE, text);
	}
	screen__put(row, at + 1, 100, SCREEN_REVERSE,
		    view->order == SORT_NAME  ? "% of one thread (by name)"
		    : view->order == SORT_PID ? "% of one thread (by number)"
					      : "% of one thread");
}

static void draw_row(const struct view *view, const struct table_row *row, int at, bool chosen,
		     const enum sort *columns, int count, int width)
{
	enum screen_style style = chosen ? SCREEN_REVERSE : row->own ? SCREEN_DIM : SCREEN_PLAIN;
	uint8_t cells[MOST_BAR];
	char text[128], number[16] = "";
	int used, bar;

	if (chosen)
		screen__fill(at, 0, SCREEN_REVERSE);
	snprintf(text, sizeof(text), "%7d ", row->tid);
	used = screen__put(at, 0, width, style, text);
	screen__put(at, used, NAME_WIDTH, style, words__clean(row->name, NAME_WIDTH).text);
	used += NAME_WIDTH;
	if (!view->by_thread)
		snprintf(number, sizeof(number), "%d", row->threads);
	snprintf(text, sizeof(text), " %4s ", number);
	used += screen__put(at, used, width, style, text);
	for (int i = 0; i < count; i++) {
		say_value(view, row, columns[i], text, sizeof(text));
		used += screen__put(at, used, 7, style, text);
	}
	bar = width - used - 1;
	if (bar > MOST_BAR)
		bar = MOST_BAR;
	if (bar < LEAST_BAR)
		return;
	bands__compose(row->ns, view->table.window_ns, bar, cells);
	screen__bar(at, used + 1, cells, bar, chosen);
}

/* Says why the list is empty. */
static void draw_reason(const struct view *view, int columns)
{
	char text[VIEW_FILTER_BYTES + 256], interval[32];

	view__interval(view->interval_ns, interval, sizeof(interval));
	if (!view->window.from)
		snprintf(text, sizeof(text), "attached; the first numbers come after %s", interval);
	else if (view->table.count)
		snprintf(text, sizeof(text),
			 "no name or number fits the filter '%s'; it hides %.60s [/ to change it]",
			 view->filter, words__count((int64_t)view->table.count, "rows").text);
	else
		snprintf(text, sizeof(text), "no thread of %.200s is there now",
			 words__clean(view->source->target, 100).text);
	screen__put(HEAD_ROWS + 1, 2, columns - 2, SCREEN_PLAIN, text);
}

void list__draw(struct view *view)
{
	enum sort chosen[8];
	int rows, columns, count = choose_columns(view, chosen);

	screen__size(&rows, &columns);
	draw_title(view, columns);
	if (view->window.from) {
		draw_machine(view, columns);
		draw_cost(view, columns);
	}
	draw_heading(view, chosen, count, HEAD_ROWS - 1);
	view->page = rows > HEAD_ROWS + FOOT_ROWS ? (size_t)(rows - HEAD_ROWS - FOOT_ROWS) : 1;
	if (view->chosen_at < view->first)
		view->first = view->chosen_at;
	if (view->chosen_at >= view->first + view->page)
		view->first = view->chosen_at - view->page + 1;
	for (size_t i = 0; i < view->page && view->first + i < view->table.shown_count; i++) {
		size_t at = view->first + i;

		draw_row(view, &view->table.rows[view->table.shown[at]], HEAD_ROWS + (int)i,
			 at == view->chosen_at, chosen, count, columns);
	}
	if (!view->table.shown_count)
		draw_reason(view, columns);
	view__draw_legend(view, rows - 2, view->table.all.ns);
	view__draw_foot(view, columns < WIDE ? KEYS : KEYS "  w save  +- interval");
}
