/*
 * The terminal, through ncurses, which only this and the guard include. One at a time. What it is
 * given may be foreign: it shows characters, and never obeys them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Takes the terminal over. From then on every way out gives it back: screen__stop(), exit() and,
 * with a guard, a crash or a kill. -ENOTTY: there is none; -EOPNOTSUPP: $TERM cannot do it.
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
/* Nothing is seen before screen__show(). */
void screen__erase(void);
void screen__show(void);
/* The next one is written whole, over whatever others wrote there. */
void screen__renew(void);

/*
 * Puts UTF-8 at a place, at most `columns` of it and not over the edge; what the terminal or its
 * locale cannot show becomes '?'. Returns how many columns it took.
 */
int screen__put(int row, int column, int columns, enum screen_style style, const char *text);
/* Fills the rest of a row from `column` on. */
void screen__fill(int row, int column, enum screen_style style);
/* A bar: cells as bands__compose() gives them. */
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
	SCREEN_GONE, /* the terminal is no more */
};
/* The next key, waiting at most so long; other keys as the character that they are. */
int screen__key(int timeout_ms);
