/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The terminal, through ncurses; only screen.c and rescue.c include curses.h. There is one screen
 * at a time. Texts may be hostile: control characters become '?' and never reach the terminal.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Takes the terminal. From then on, every exit gives it back: screen__stop(), exit() and, with a
 * rescuer, a crash or a kill. -ENOTTY: there is no terminal; -EOPNOTSUPP: $TERM is not sufficient.
 */
int screen__start(void);
void screen__stop(void);

enum screen_style {
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_DIM,
	SCREEN_REVERSE,
	SCREEN_WARN,
};

void screen__size(int *ret_rows, int *ret_columns);
/* Nothing becomes visible before screen__show(). */
void screen__erase(void);
void screen__show(void);
/* The next screen__show() redraws everything, over what other programs wrote there. */
void screen__renew(void);

/*
 * Prints UTF-8 at a position, at most `columns` wide and not beyond the edge. What the terminal or
 * its locale cannot show becomes '?'. Returns the number of columns used.
 */
int screen__put(int row, int column, int columns, enum screen_style style, const char *text);
/* Fills the rest of a row from `column` on. */
void screen__fill(int row, int column, enum screen_style style);
/* Draws a bar with cells from bands__compose(). */
void screen__bar(int row, int column, const uint8_t *cells, int width, bool chosen);

enum screen_key {
	SCREEN_NONE = -1,
	SCREEN_RENEW = 'L' & 31, /* Ctrl-L */
	SCREEN_ENTER = '\n',
	SCREEN_ESCAPE = 27,
	SCREEN_ERASE = 127,
	SCREEN_UP = 1000,
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_RESIZED,
	SCREEN_GONE, /* the terminal is gone */
};
/*
 * Returns the next key, waiting at most `timeout_ms`. Keys not listed above are returned as
 * characters.
 */
int screen__key(int timeout_ms);
