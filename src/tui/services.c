/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests of services since the last picture. They need syscalls, which the list does without,
 * so a recorder of their own runs while they are on the screen.
 */
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "tui/screen.h"
#include "tui/view.h"

#define HEAD_ROWS 3
#define FOOT_ROWS 1
/* From this width on, what most of the time was spent on is in the same line. */
#define WIDE          120
#define REASON_WIDTH  42
#define NUMBERS_WIDTH 36
#define KEYS          "q quit  h help  esc back  p pause  +- interval  w save"

int services__start(struct view *view)
{
	const struct top_source *source = view->source;
	struct top_view serving;
	int err = source->serve(source->context, &serving, view->message, sizeof(view->message));

	if (err)
		return err;
	err = ask__new(serving.db, serving.open_state, serving.context, &view->services);
	if (err) {
		snprintf(view->message, sizeof(view->message), "%s", strerror(-err));
		source->stop_serving(source->context);
		return err;
	}
	view->services_db = serving.db;
	view->services_head = (struct ask_head) {};
	view->served_to = 0;
	view->served_ns = 0;
	view->paused = false;
	view->mode = VIEW_SERVICES;
	return 0;
}

void services__leave(struct view *view)
{
	ask__free(view->services);
	view->services = NULL;
	serving__release(&view->serving);
	view->mode = VIEW_LIST;
	view->source->stop_serving(view->source->context);
}

/* Sums come once a second at most. */
int services__refresh(struct view *view, bool *ret_new)
{
	int64_t to, ns;
	int err = serving__until(view->services_db, view->served_to, &to, &ns);

	if (err || !to || ns < (int64_t)(view->interval_ns - view->interval_ns / 20))
		return err;
	serving__release(&view->serving);
	err = serving__read(view->services_db, view->served_to, to, &view->serving);
	view->served_to = to;
	view->served_ns = ns;
	*ret_new = true;
	return err ? err : ask__head(view->services, &view->services_head);
}

static void draw_title(const struct view *view, int columns)
{
	const struct ask_head *head = &view->services_head;
	int64_t count = 0;
	char text[256];
	int used;

	for (size_t i = 0; i < view->serving.count; i++)
		count += view->serving.rows[i].count;
	snprintf(text, sizeof(text), "gapless top  requests and calls of %.100s%s",
		 words__clean(view->source->target, 60).text, view->paused ? "  PAUSED" : "");
	screen__put(0, 0, columns, SCREEN_BOLD, text);
	if (!view->served_ns)
		return;
	snprintf(text, sizeof(text),
		 "%.40s in %.1f s; gapless itself: ", words__count(count, "requests").text,
		 (double)view->served_ns / 1e9);
	if (view->own_share < 0)
		words__say(text, sizeof(text), "not known yet");
	else
		words__say(text, sizeof(text), "%.1f %% of a CPU", view->own_share * 100);
	if (head->hooks_cpu_ns && head->elapsed_ns)
		words__say(text, sizeof(text), ", its hooks %.1f %%",
			   (double)head->hooks_cpu_ns * 100 / (double)head->elapsed_ns);
	words__say(text, sizeof(text), "; ");
	used = screen__put(1, 0, columns, SCREEN_PLAIN, text);
	view__draw_lost(head, 1, used, columns);
}

static void put_right(int row, int *column, int width, enum screen_style style, const char *text)
{
	int used = words__columns(text);

	*column += width;
	screen__put(row, *column - used, used, style, text);
}

static void draw_heading(int row, int name_width, bool is_wide)
{
	int column = name_width;

	screen__fill(row, 0, SCREEN_REVERSE);
	screen__put(row, 0, name_width, SCREEN_REVERSE, "SERVICE");
	put_right(row, &column, 9, SCREEN_REVERSE, "A SECOND");
	put_right(row, &column, 9, SCREEN_REVERSE, "FAILED");
	put_right(row, &column, 9, SCREEN_REVERSE, "P50");
	put_right(row, &column, 9, SCREEN_REVERSE, "P99");
	if (is_wide)
		screen__put(row, column + 2, REASON_WIDTH, SCREEN_REVERSE, "MOST OF THE TIME");
}

static void draw_numbers(const struct view *view, const struct serving_row *row, int at, int column)
{
	static const enum percentile shown[] = { P50, P99 };
	int64_t percentiles[PERCENTILES];
	char text[64];

	snprintf(text, sizeof(text), "%.1f", (double)row->count * 1e9 / (double)view->served_ns);
	put_right(at, &column, 9, SCREEN_PLAIN, text);
	snprintf(text, sizeof(text), "%.1f %%",
		 row->count ? (double)row->failed * 100 / (double)row->count : 0);
	put_right(at, &column, 9, row->failed ? SCREEN_WARN : SCREEN_PLAIN, text);
	serving__percentiles(row, percentiles);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		int64_t ns = percentiles[shown[i]];

		put_right(at, &column, 9, SCREEN_PLAIN, ns < 0 ? "-" : words__brief_time(ns).text);
	}
}

/* Returns the next free row. */
static int draw_row(const struct view *view, const struct serving_row *row, int at, int name_width,
		    bool is_wide)
{
	char name[512] = "", reason[160] = "";

	serving__say_service(row, name, sizeof(name));
	screen__put(at, 0, name_width - 1, SCREEN_PLAIN, name);
	draw_numbers(view, row, at, name_width);
	if (!is_wide)
		words__say(reason, sizeof(reason), "  mostly ");
	serving__say_reason(row, reason, sizeof(reason));
	if (is_wide)
		screen__put(at, name_width + NUMBERS_WIDTH + 2, REASON_WIDTH, SCREEN_PLAIN, reason);
	else
		screen__put(++at, 0, name_width + NUMBERS_WIDTH, SCREEN_DIM, reason);
	return at + 1;
}

void services__draw(struct view *view)
{
	int rows, columns, name_width, at = HEAD_ROWS;
	bool is_wide;

	screen__size(&rows, &columns);
	is_wide = columns >= WIDE;
	name_width = columns - NUMBERS_WIDTH - (is_wide ? REASON_WIDTH + 2 : 0);
	if (name_width < 12)
		name_width = 12;
	draw_title(view, columns);
	draw_heading(HEAD_ROWS - 1, name_width, is_wide);
	for (size_t i = 0; i < view->serving.count && at + !is_wide < rows - FOOT_ROWS; i++)
		at = draw_row(view, &view->serving.rows[i], at, name_width, is_wide);
	if (!view->served_ns)
		screen__put(HEAD_ROWS + 1, 2, columns - 2, SCREEN_PLAIN,
			    "attached; the first numbers come after two seconds");
	else if (!view->serving.count)
		screen__put(HEAD_ROWS + 1, 2, columns - 2, SCREEN_PLAIN, "no request ended");
	view__draw_foot(view, KEYS);
}
