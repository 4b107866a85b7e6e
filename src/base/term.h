/* What the terminal can do. Colour only on a terminal, never when NO_COLOR is set. */
#pragma once

#include <stdio.h>

enum term_style { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_GOOD, TERM_WARN, TERM_BAD };

/* Escape sequences to switch `style` on and off, or "" where `out` shows no colour. */
const char *term__on(FILE *out, enum term_style style);
const char *term__off(FILE *out, enum term_style style);

/* Columns of the terminal behind `out`; 100 where it is none. At least 40. */
int term__width(FILE *out);

/*
 * Prints `words` broken at spaces so that no line passes `width` columns. The caller has already
 * written up to column `indent`; further lines start there.
 */
void term__wrap(FILE *out, const char *words, int indent, int width);
