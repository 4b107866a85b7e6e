/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Terminal capabilities. Colour only on a terminal, never if NO_COLOR is set. */
#pragma once

#include <stdio.h>

enum term_style { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_GOOD, TERM_WARN, TERM_BAD };

/* Escape sequences to switch `style` on and off, or "" if `out` shows no colour. */
const char *term__on(FILE *out, enum term_style style);
const char *term__off(FILE *out, enum term_style style);

/* The same for one of the eight ANSI colours. */
const char *term__colour(FILE *out, int colour);
const char *term__plain(FILE *out);

/* Columns of the terminal `out`; 100 if it is not a terminal. At least 40. */
int term__width(FILE *out);

/*
 * Prints `words` broken at spaces so that no line exceeds `width` columns. The caller has already
 * printed up to column `indent`; further lines start there.
 */
void term__wrap(FILE *out, const char *words, int indent, int width);
