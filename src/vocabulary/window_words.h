/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of windows.def, by the keys that recordings have. */
#pragma once

#include "vocabulary/windows.def"

#define WINDOW_WORDS_KIND(kind, ...)     WORDS_KIND_##kind,
#define WINDOW_WORDS_STATUS(status, ...) WORDS_STATUS_##status,
#define WINDOW_WORDS_PART(part, ...)     WORDS_PART_##part,

enum window_words_kind { WINDOW_KINDS(WINDOW_WORDS_KIND) WORDS_KINDS };
enum window_words_status { WINDOW_STATUSES(WINDOW_WORDS_STATUS) WORDS_STATUSES };
enum window_words_part { WINDOW_PARTS(WINDOW_WORDS_PART) WORDS_PARTS };

/* The part of what a window's own threads did, which goes by state. */
#define WINDOW_WORDS_OWN "own"

struct window_kind_words {
	const char *key, *one, *many;
};

struct window_status_words {
	const char *key, *words; /* words: "" if it went well */
};

struct window_part_words {
	const char *key, *words, *about;
};

const struct window_kind_words *window_words__kind(enum window_words_kind kind);
const struct window_status_words *window_words__status(enum window_words_status status);
const struct window_part_words *window_words__part(enum window_words_part part);

/* The index of a key; -1: unknown, from a newer version. `key` may be NULL. */
int window_words__find_kind(const char *key);
int window_words__find_status(const char *key);
int window_words__find_part(const char *key);

/* "HTTP"; the key itself if it is unknown. */
const char *window_words__protocol(const char *key);
