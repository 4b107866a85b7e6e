/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tui/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "tui/screen.h"
#include "tui/view.h"

/* The longest time between two checks for keys and for the recorder's input. */
#define PATIENCE_MS 100
#define MESSAGE_NS  UINT64_C(5000000000)
/* Stacks and names accumulate, so a long drill starts over after this time. */
#define MOST_DRILL_NS UINT64_C(600000000000)
/* Reading a drill's numbers may take one DRILL_SHAREth of the time between two readings. */
#define DRILL_SHARE       200
#define DRILL_PATIENCE_NS INT64_C(4000000000)

static const uint64_t intervals_ms[] = { 250, 500, 1000, 2000, 5000, 10000, 30000, 60000 };
#define INTERVALS (sizeof(intervals_ms) / sizeof(*intervals_ms))

static void draw(struct view *view)
{
	screen__erase();
	if (view->mode == VIEW_HELP)
		help__draw(view);
	else if (view->mode == VIEW_DRILL)
		drill__draw(view);
	else if (view->mode == VIEW_SERVICES)
		services__draw(view);
	else
		list__draw(view);
	screen__show();
}

static void say(struct view *view, const char *text)
{
	snprintf(view->message, sizeof(view->message), "%s", text);
	view->message_until_ns = clock__now_ns() + MESSAGE_NS;
}

/* --- numbers --------------------------------------------------------------------------------- */

/* The cursor follows the chosen row. If no row is chosen, it stays at its position. */
static int arrange(struct view *view)
{
	int err = table__arrange(&view->table, view->order, view->filter);

	if (!err)
		view->chosen_at = table__find(&view->table, view->chosen, view->chosen_at);
	return err;
}

static void choose(struct view *view, size_t at)
{
	view->chosen_at = at;
	view->chosen = view->table.rows[view->table.shown[at]].id;
}

static int load_list(struct view *view)
{
	int64_t own_before_ns = view->head.own_cpu_ns;
	int64_t elapsed_before_ns = view->head.elapsed_ns;
	int err = ask__table(view->ask, &view->window, view->by_thread, &view->table);

	if (!err)
		err = ask__head(view->ask, &view->head);
	if (err)
		return err;
	/* The recording has these numbers once a second, whatever the interval. */
	if (view->head.elapsed_ns > elapsed_before_ns && elapsed_before_ns)
		view->own_share = (double)(view->head.own_cpu_ns - own_before_ns) /
				  (double)(view->head.elapsed_ns - elapsed_before_ns);
	return arrange(view);
}

/* Whether a new picture is due, or nearly so, because snapshots do not come exactly on time. */
static bool is_due(const struct view *view, int64_t ns)
{
	return ns >= (int64_t)(view->interval_ns - view->interval_ns / 20);
}

static int refresh_list(struct view *view, bool *ret_new)
{
	struct ask_window window;
	int err = ask__after(view->ask, view->window.to, &window);

	*ret_new = false;
	if (err || !window.from)
		return err;
	if (view->window.from && !is_due(view, window.end_ns - window.begin_ns))
		return 0;
	view->window = window;
	*ret_new = true;
	return load_list(view);
}

/* With many threads, reading is expensive, so it happens less often, as in the ledger. */
static bool is_drill_due(const struct view *view, int64_t ns)
{
	int64_t wanted_ns = (int64_t)view->drill_cost_ns * DRILL_SHARE;

	return !view->drill_window.from ||
	       (is_due(view, ns) && (ns >= wanted_ns || ns >= DRILL_PATIENCE_NS));
}

static int load_drill(struct view *view, const struct ask_window *window)
{
	uint64_t began_ns = clock__read_ns(CLOCK_THREAD_CPUTIME_ID);
	int err = ask__table(view->drill, window, true, &view->drill_table);

	if (!err)
		err = ask__waits(view->drill, window, &view->waits);
	if (!err)
		err = ask__calls(view->drill, window, &view->calls);
	if (!err)
		err = ask__functions(view->drill, window, &view->functions);
	if (!err)
		err = ask__head(view->drill, &view->drill_head);
	view->drill_window = *window;
	view->drill_cost_ns = clock__read_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	return err;
}

static int refresh_drill(struct view *view, bool *ret_new)
{
	struct ask_window window;
	int err = ask__last(view->drill, VIEW_DRILL_NS, &window);

	if (err || !window.from || !is_drill_due(view, window.end_ns - view->drill_window.end_ns))
		return err;
	*ret_new = true;
	return load_drill(view, &window);
}

/* A thread can end before its process does. */
static bool is_drill_over(const struct view *view)
{
	return view->source->is_over(view->source->context) ||
	       (view->drill_window.from && !view->drill_table.all.threads);
}

static int refresh(struct view *view, bool *ret_new)
{
	int err;

	*ret_new = false;
	if (view->paused)
		return 0;
	/* Keep the list up to date behind a drill, so that its next window is not too long. */
	err = refresh_list(view, ret_new);
	if (!err && view->services)
		err = services__refresh(view, ret_new);
	if (!err && view->drill)
		err = refresh_drill(view, ret_new);
	if (!err && view->drill)
		view->drill_over = is_drill_over(view);
	return err;
}

/* --- keys ------------------------------------------------------------------------------------ */

/* If it fails, the list stays, with the reason as a message. */
static int show_services(struct view *view)
{
	say(view, "attaching to syscalls ...");
	draw(view);
	view->message_until_ns = services__start(view) ? clock__now_ns() + MESSAGE_NS : 0;
	return 0;
}

static void leave_drill(struct view *view)
{
	ask__free(view->drill);
	view->drill = NULL;
	view->mode = VIEW_LIST;
	view->source->leave(view->source->context);
}

static int start_drill(struct view *view)
{
	const struct top_source *source = view->source;
	struct top_view close_up;
	char why[VIEW_MESSAGE_BYTES] = "";
	int err;

	say(view, "attaching to it ...");
	draw(view);
	/*
	 * For a thread, record its whole process too. The holder of a lock is known only among
	 * recorded threads.
	 */
	err = source->drill(source->context, view->drilled.pid, &close_up, why, sizeof(why));
	if (err) {
		say(view, why);
		return 0;
	}
	view->message_until_ns = 0;
	view->drill_since_ns = clock__now_ns();
	view->drill_window = (struct ask_window) {};
	view->drill_over = view->paused = false;
	table__begin(&view->drill_table, true, 0);
	view->waits.count = view->calls.count = view->functions.count = 0;
	view->waits.total_count = view->calls.total_count = view->functions.total_count = 0;
	view->mode = VIEW_DRILL;
	err = ask__new(close_up.db, close_up.open_state, close_up.context, &view->drill);
	if (!err && view->drilled_thread)
		ask__only(view->drill, view->drilled.tid);
	return err;
}

static int enter_drill(struct view *view)
{
	if (!view->table.shown_count)
		return 0;
	choose(view, view->chosen_at);
	view->drilled = view->table.rows[view->table.shown[view->chosen_at]];
	view->drilled_thread = view->by_thread;
	return start_drill(view);
}

static int renew_drill(struct view *view)
{
	if (!view->drill || view->drill_over || view->paused ||
	    clock__now_ns() - view->drill_since_ns < MOST_DRILL_NS)
		return 0;
	leave_drill(view);
	return start_drill(view);
}

/* Skips SORT_CALLS if there are no numbers for it. */
static void change_order(struct view *view, int by)
{
	int order = (int)view->order;

	do {
		order = (order + by + SORT_COUNT) % SORT_COUNT;
	} while (order == SORT_CALLS && !ask__has_calls(view->ask));
	view->order = (enum sort)order;
}

static void change_interval(struct view *view, int by)
{
	char text[64], interval[32];
	size_t at = 0;

	while (at + 1 < INTERVALS && intervals_ms[at] * 1000000 < view->interval_ns)
		at++;
	if (by > 0 && at + 1 < INTERVALS && intervals_ms[at] * 1000000 <= view->interval_ns)
		at++;
	else if (by < 0 && at)
		at--;
	view->interval_ns = intervals_ms[at] * 1000000;
	view->source->set_interval(view->source->context, view->interval_ns);
	view__interval(view->interval_ns, interval, sizeof(interval));
	snprintf(text, sizeof(text), "a new picture every %s", interval);
	say(view, text);
}

static void move(struct view *view, int key)
{
	size_t at = view->chosen_at, last = view->table.shown_count;

	if (!last--)
		return;
	switch (key) {
	case SCREEN_UP:
	case 'k':
		at -= at > 0;
		break;
	case SCREEN_DOWN:
	case 'j':
		at++;
		break;
	case SCREEN_PAGE_UP:
		at = at > view->page ? at - view->page : 0;
		break;
	case SCREEN_PAGE_DOWN:
		at += view->page;
		break;
	case SCREEN_END:
		at = last;
		break;
	case SCREEN_HOME: /* whichever row is first */
		view->chosen_at = 0;
		view->chosen = VIEW_NONE_CHOSEN;
		return;
	default:
		return;
	}
	choose(view, at < last ? at : last);
}

static int type_filter(struct view *view, int key)
{
	size_t length = strlen(view->filter);

	if (key == SCREEN_ENTER || key == SCREEN_ESCAPE)
		view->typing = false;
	if (key == SCREEN_ESCAPE)
		view->filter[0] = '\0';
	if (key == SCREEN_ERASE && length)
		view->filter[length - 1] = '\0';
	if (key >= ' ' && key < 127 && length + 1 < sizeof(view->filter)) {
		view->filter[length] = (char)key;
		view->filter[length + 1] = '\0';
	}
	return arrange(view);
}

/*
 * A silent thread is assigned its state of now. So the other rows cannot be computed for the window
 * on the screen, which may be long over, but only for one that ends now. While paused, there is
 * none.
 */
static int change_rows(struct view *view)
{
	struct ask_window window;
	int err;

	if (view->paused) {
		say(view, "paused: other rows need new numbers [p to go on]");
		return 0;
	}
	err = ask__last(view->ask, (int64_t)(view->interval_ns + view->interval_ns / 20), &window);
	if (err)
		return err;
	view->by_thread = !view->by_thread;
	view->chosen_at = view->first = 0;
	view->chosen = VIEW_NONE_CHOSEN;
	if (!window.from)
		return 0;
	view->window = window;
	return load_list(view);
}

static int press_in_list(struct view *view, int key)
{
	switch (key) {
	case SCREEN_ENTER:
		return enter_drill(view);
	case SCREEN_ESCAPE:
		view->filter[0] = '\0';
		return arrange(view);
	case 's':
	case '>':
	case SCREEN_RIGHT:
		change_order(view, 1);
		return arrange(view);
	case 'S':
	case '<':
	case SCREEN_LEFT:
		change_order(view, -1);
		return arrange(view);
	case 't':
		return change_rows(view);
	case 'r':
		return show_services(view);
	case '/':
		view->typing = true;
		return 0;
	default:
		move(view, key);
		return 0;
	}
}

/* Keys that mean the same in the list and in the drill. */
static int press(struct view *view, int key)
{
	char words[VIEW_MESSAGE_BYTES] = "";

	switch (key) {
	case 'p':
	case ' ':
		view->paused = !view->paused;
		return 0;
	case '+':
	case '=':
		change_interval(view, 1);
		return 0;
	case '-':
		change_interval(view, -1);
		return 0;
	case 'w':
		view->source->save(view->source->context, view->drill != NULL, words,
				   sizeof(words));
		say(view, words);
		return 0;
	case 'h':
	case '?':
		view->behind_help = view->mode;
		view->mode = VIEW_HELP;
		return ask__quality(view->drill ? view->drill : view->ask, &view->quality);
	default:
		break;
	}
	if (view->mode == VIEW_LIST)
		return press_in_list(view, key);
	if (key != SCREEN_ESCAPE && key != SCREEN_LEFT && key != SCREEN_ERASE)
		return 0;
	if (view->mode == VIEW_SERVICES)
		services__leave(view);
	else
		leave_drill(view);
	return 0;
}

/* Handles a key. *ret_quit is set to end the loop. */
static int take_key(struct view *view, int key, bool *ret_quit)
{
	if (key == SCREEN_GONE)
		*ret_quit = true;
	if (key == SCREEN_RENEW)
		screen__renew();
	if (key == SCREEN_GONE || key == SCREEN_RESIZED || key == SCREEN_RENEW)
		return 0;
	if (view->typing)
		return type_filter(view, key);
	if (view->mode == VIEW_HELP) {
		view->mode = view->behind_help;
		return 0;
	}
	if (key == 'q')
		*ret_quit = true;
	return press(view, key);
}

/* --- the loop -------------------------------------------------------------------------------- */

static int loop(struct view *view)
{
	bool quit = false, is_new = true;
	uint64_t drawn_ns = 0;
	int err = 0;

	while (!err && !quit && !*view->options->stop) {
		int key;

		/* Draw at least once a second, so that messages expire and the clock advances. */
		if (is_new || clock__now_ns() - drawn_ns >= UINT64_C(1000000000)) {
			draw(view);
			drawn_ns = clock__now_ns();
		}
		is_new = false;
		key = screen__key(PATIENCE_MS);
		while (key != SCREEN_NONE && !err && !quit) {
			err = take_key(view, key, &quit);
			is_new = true;
			key = screen__key(0);
		}
		if (!err && !quit)
			err = view->source->work(view->source->context);
		if (!err && !quit) {
			bool came;

			err = refresh(view, &came);
			is_new |= came;
			if (!err)
				err = renew_drill(view);
		}
	}
	return err;
}

int top__run(const struct top_options *options, const struct top_source *source)
{
	cleanup(free_p) struct view *view = calloc(1, sizeof(*view));
	int err;

	if (!view)
		return -ENOMEM;
	view->options = options;
	view->source = source;
	view->interval_ns = options->interval_ns;
	view->by_thread = options->by_thread;
	view->own_share = -1;
	view->chosen = VIEW_NONE_CHOSEN;
	err = ask__new(source->list.db, source->list.open_state, source->list.context, &view->ask);
	if (!err)
		err = loop(view);
	if (view->drill)
		leave_drill(view);
	if (view->services)
		services__leave(view);
	ask__free(view->ask);
	table__release(&view->table);
	table__release(&view->drill_table);
	return err;
}
