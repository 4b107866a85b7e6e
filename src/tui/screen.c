/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A terminal in a broken state is worse than no picture. ncurses restores it in endwin(), which
 * runs on every orderly exit. For all other exits there is the rescuer, which is told who has the
 * terminal.
 */
#include "tui/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/utf8.h"
#include "tui/bands.h"
#include "tui/rescue.h"

/* How long to wait after ESC for the rest of a key sequence, which comes late over a slow line. */
#define ESCAPE_MS 100

static SCREEN *screen;
static bool has_colour, has_utf8;

/* One colour for each kind. Letters distinguish the states. */
static void prepare_colours(void)
{
	const char *no_colour = getenv("NO_COLOR");

	has_colour = has_colors() && !(no_colour && *no_colour);
	if (!has_colour)
		return;
	start_color();
	use_default_colors();
	for (int i = 0; i < KIND_COUNT; i++)
		init_pair((short)(i + 1), (short)kinds__words(i)->terminal, -1);
}

int screen__start(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return -ENOTTY;
	setlocale(LC_CTYPE, "");
	has_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	rescue__tell(true);
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		rescue__tell(false);
		return -EOPNOTSUPP;
	}
	if (!tigetstr("cup") || tigetstr("cup") == (char *)-1) {
		screen__stop();
		return -EOPNOTSUPP;
	}
	atexit(screen__stop);
	prepare_colours();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	return 0;
}

void screen__stop(void)
{
	if (!screen)
		return;
	/*
	 * tmux keeps rows of an alternate screen that grew in the meantime (seen with 3.3a), so
	 * clear them.
	 */
	erase();
	refresh();
	endwin();
	rescue__tell(false);
	delscreen(screen);
	screen = NULL;
}

void screen__size(int *ret_rows, int *ret_columns)
{
	getmaxyx(stdscr, *ret_rows, *ret_columns);
}

void screen__erase(void)
{
	erase();
}

void screen__show(void)
{
	refresh();
}

void screen__renew(void)
{
	clearok(curscr, TRUE);
}

static attr_t attribute(enum screen_style style)
{
	switch (style) {
	case SCREEN_BOLD:
		return A_BOLD;
	case SCREEN_DIM:
		return A_DIM;
	case SCREEN_REVERSE:
		return A_REVERSE;
	case SCREEN_WARN:
		return A_BOLD | (has_colour ? (attr_t)COLOR_PAIR(KIND_DELAYING + 1) : 0);
	default:
		return A_NORMAL;
	}
}

/*
 * Prints one character and returns its width in columns; 0 for combining marks, which are not
 * drawn.
 */
static int put_one(int row, int column, int room, const char *text, size_t *ret_length)
{
	uint32_t point = '?';
	size_t length = utf8__decode(text, &point);
	wchar_t wide[2] = {};
	int width;

	*ret_length = length ? length : 1;
	if (!length || utf8__is_control(point))
		point = '?';
	if (point >= 0x80 && !has_utf8)
		point = point == 0x2026 ? '~' : point == 0xb5 ? 'u' : '?';
	width = wcwidth((wchar_t)point);
	if (width < 0) {
		point = '?';
		width = 1;
	}
	if (!width || width > room)
		return width > room ? room : 0;
	wide[0] = (wchar_t)point;
	mvaddnwstr(row, column, wide, 1);
	return width;
}

int screen__put(int row, int column, int columns, enum screen_style style, const char *text)
{
	int rows, most, used = 0;

	screen__size(&rows, &most);
	if (row < 0 || row >= rows || column >= most)
		return 0;
	if (columns > most - column)
		columns = most - column;
	attrset(attribute(style));
	while (*text && used < columns) {
		size_t length;

		used += put_one(row, column + used, columns - used, text, &length);
		text += length;
	}
	attrset(A_NORMAL);
	return used;
}

void screen__fill(int row, int column, enum screen_style style)
{
	int rows, most;

	screen__size(&rows, &most);
	if (row < 0 || row >= rows || column >= most)
		return;
	attrset(attribute(style));
	mvhline(row, column, ' ', most - column);
	attrset(A_NORMAL);
}

void screen__bar(int row, int column, const uint8_t *cells, int width, bool chosen)
{
	for (int i = 0; i < width; i++) {
		const struct state_words *words =
			cells[i] ? states__words((enum ledger_slot)cells[i]) : NULL;
		attr_t look = chosen ? A_BOLD : A_NORMAL;

		if (words && words->kind == KIND_IDLE)
			look = A_DIM;
		else if (words && has_colour)
			look = A_REVERSE | (attr_t)COLOR_PAIR(words->kind + 1);
		attrset(look);
		mvaddch(row, column + i, (chtype)(unsigned char)(words ? words->letter : ' '));
	}
	attrset(A_NORMAL);
}

static int key_of(int key)
{
	switch (key) {
	case ERR:
		return SCREEN_NONE;
	case '\r':
	case KEY_ENTER:
		return SCREEN_ENTER;
	case KEY_BACKSPACE:
	case '\b':
		return SCREEN_ERASE;
	case KEY_UP:
		return SCREEN_UP;
	case KEY_DOWN:
		return SCREEN_DOWN;
	case KEY_LEFT:
		return SCREEN_LEFT;
	case KEY_RIGHT:
		return SCREEN_RIGHT;
	case KEY_PPAGE:
		return SCREEN_PAGE_UP;
	case KEY_NPAGE:
		return SCREEN_PAGE_DOWN;
	case KEY_HOME:
		return SCREEN_HOME;
	case KEY_END:
		return SCREEN_END;
	case KEY_RESIZE:
		return SCREEN_RESIZED;
	default:
		return key;
	}
}

int screen__key(int timeout_ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int key = key_of(getch());

	if (key != SCREEN_NONE || timeout_ms <= 0)
		return key;
	poll(&input, 1, timeout_ms);
	if (input.revents & (POLLHUP | POLLERR | POLLNVAL))
		return SCREEN_GONE;
	return key_of(getch());
}
