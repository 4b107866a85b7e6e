/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses user input: durations, sizes, lists, and words that are nearly right. No allocation. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * "500ms", "10s", "1.5m", "2h", "250us", "100ns" in nanoseconds; a bare number is seconds.
 * -EINVAL for anything else, -ERANGE past 64 bits or for a duration of zero.
 */
int parse__duration(const char *text, uint64_t *ret_ns);

/* The same for a time since a start, which may be zero; -ERANGE past 63 bits. */
int parse__offset(const char *text, uint64_t *ret_ns);

/* "4096", "64k", "16M", "1G" (powers of 1024; a trailing "B" or "iB" is accepted) in bytes. */
int parse__size(const char *text, uint64_t *ret_bytes);

/*
 * A whole decimal number from `least` to `most`, without any other characters. -EINVAL or -ERANGE.
 */
int parse__number(const char *text, uint64_t least, uint64_t most, uint64_t *ret);

/*
 * The next word of a comma-separated list; advances *list past it. NULL at the end. Empty words
 * ("a,,b") are returned with length 0, so that the caller can refuse them.
 */
const char *parse__next_word(const char **list, size_t *ret_length);

/*
 * The word of `known` (ends with NULL) that is most similar to `typed`, or NULL if none is similar.
 */
const char *parse__nearest(const char *typed, const char *const *known);
