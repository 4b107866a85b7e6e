/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formats numbers and untrusted names for users. All functions return by value, so that they can be
 * used as arguments of printf: words__time(ns).text.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define WORDS_MOST_COLUMNS 400

struct words {
	char text[WORDS_MOST_COLUMNS * 4 + 4];
};

/*
 * A name that is safe to print on a terminal: characters that control it (control characters,
 * direction marks) and bytes that are not UTF-8 become '?'. A name of more than `columns` columns
 * is shortened in the middle, with "…" there.
 */
struct words words__clean(const char *name, int columns);

/*
 * "830 ns", "83.0 µs", "412 ms", "11.4 s": three significant digits. Times of more than two minutes
 * and of more than two hours are "29 min 3 s" and "2 h 5 min".
 */
struct words words__time(int64_t ns);
/* For columns: at most 8 columns up to 1,000 hours: "29.1 min", "2.08 h". */
struct words words__brief_time(int64_t ns);
/* "12,700" */
struct words words__number(int64_t value);
/* "12,700 calls", "1 call". `many` is the plural; handles -es, -ies and -s. */
struct words words__count(int64_t value, const char *many);
/* "24.1 MB": powers of 1000. */
struct words words__bytes(int64_t bytes);
/* For columns: "38.1 %", "<0.1 %". */
struct words words__share(int64_t part, int64_t whole);
/* For sentences: "38 %", "4.2 %". */
struct words words__about(int64_t part, int64_t whole);
/* For values that should be 0: two significant digits, however small: "0.0021 %". */
struct words words__tiny_share(int64_t part, int64_t whole);

/* Appends to `text`, truncating at its `size` bytes. */
__attribute__((format(printf, 3, 4))) void words__say(char *text, size_t size, const char *format,
						      ...);

/* The number of columns of a clean text. */
int words__columns(const char *text);
/* Prints `text` in a field of `columns` columns, left-aligned or, if negative, right-aligned. */
void words__field(FILE *out, const char *text, int columns);
