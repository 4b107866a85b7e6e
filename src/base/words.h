/*
 * Numbers and foreign names as a person reads them on a terminal. All return by value, so that they
 * can stand in a printf: words__time(ns).text.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define WORDS_MOST_COLUMNS 400

struct words {
	char text[WORDS_MOST_COLUMNS * 4 + 4];
};

/*
 * A name as it may reach a terminal: what could steer it (control characters, direction marks) or
 * is not UTF-8 becomes '?'. More than `columns` columns are cut in the middle, with "…" there.
 */
struct words words__clean(const char *name, int columns);

/* "830 ns", "83.0 µs", "412 ms", "11.4 s", "12,345 s": three digits that count. */
struct words words__time(int64_t ns);
/* "12,700" */
struct words words__number(int64_t value);
/* "12,700 calls", "1 call". `many` is the plural; -es, -ies and -s are known. */
struct words words__count(int64_t value, const char *many);
/* "24.1 MB": powers of 1000. */
struct words words__bytes(int64_t bytes);
/* For columns: "38.1 %", "<0.1 %". */
struct words words__share(int64_t part, int64_t whole);
/* For sentences: "38 %", "4.2 %". */
struct words words__about(int64_t part, int64_t whole);
/* For what should be 0: two digits that count, however small: "0.0021 %". */
struct words words__tiny_share(int64_t part, int64_t whole);

/* Appends to `text`, as much as fits into its `size` bytes. */
__attribute__((format(printf, 3, 4))) void words__say(char *text, size_t size, const char *format,
						      ...);

/* How many columns a clean text takes. */
int words__columns(const char *text);
/* Prints `text` in a field of `columns`, to the left of it or, if negative, to the right. */
void words__field(FILE *out, const char *text, int columns);
