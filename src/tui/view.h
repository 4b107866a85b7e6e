/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of top.c, as the drawing code sees it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/serving.h"
#include "tui/ask.h"
#include "tui/table.h"
#include "tui/top.h"

#define VIEW_FILTER_BYTES  48
#define VIEW_MESSAGE_BYTES 256
#define VIEW_NONE_CHOSEN   INT64_MIN
/* The length of a drill's window. Samples are few, so those of one second say little. */
#define VIEW_DRILL_NS INT64_C(10000000000)

enum view_mode { VIEW_LIST, VIEW_DRILL, VIEW_SERVICES, VIEW_HELP };

struct view {
	const struct top_options *options;
	const struct top_source *source;
	enum view_mode mode, behind_help;
	bool paused, typing, by_thread;
	uint64_t interval_ns;

	/* The list. */
	struct ask *ask;
	struct ask_window window;
	struct ask_head head;
	double own_share; /* of one CPU, in the window; < 0: not known yet */
	struct table table;
	enum sort order;
	char filter[VIEW_FILTER_BYTES];
	int64_t chosen;   /* id of the row that was moved to or entered */
	size_t chosen_at; /* position of the cursor among the shown rows */
	size_t first;     /* the topmost row on the screen */
	size_t page;      /* rows that fit on the screen */

	/* The drill. */
	struct ask *drill;
	struct table_row drilled; /* the process or thread */
	bool drilled_thread;
	struct ask_window drill_window;
	struct ask_head drill_head;
	struct table drill_table;
	struct ask_lines waits, calls, functions;
	bool drill_over;
	uint64_t drill_cost_ns; /* CPU time of the last reading of its numbers */
	uint64_t drill_since_ns;

	/* The services. */
	struct ask *services; /* NULL: they are not on the screen */
	sqlite3 *services_db;
	struct ask_head services_head;
	struct serving serving;
	int64_t served_to; /* the last slice that was read */
	int64_t served_ns; /* the time that `serving` covers; 0: nothing was read yet */

	struct ask_lines quality; /* shown in the help */
	char message[VIEW_MESSAGE_BYTES];
	uint64_t message_until_ns;
};

void list__draw(struct view *view);
void drill__draw(struct view *view);
void services__draw(struct view *view);
/* On failure, the message says why. */
int services__start(struct view *view);
void services__leave(struct view *view);
/* Sets *ret_new if there are new numbers. */
int services__refresh(struct view *view, bool *ret_new);
void help__draw(struct view *view);

/* Draws the last row: keys, a prompt or a message. */
void view__draw_foot(const struct view *view, const char *keys);
/* "nothing lost", "5 lost [h]"; returns the columns used. */
int view__draw_lost(const struct ask_head *head, int row, int column, int most);
/* "1.0 s", "250 ms" */
void view__interval(uint64_t ns, char *ret, size_t size);
/* Draws a legend of the states that have time in `ns`. */
void view__draw_legend(const struct view *view, int row, const int64_t ns[SLOT_COUNT]);
