/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Additions to jansson. */
#pragma once

#include <jansson.h>

/*
 * The format of all `--json` output, printed as the key "format". As long as the number stays the
 * same, keys may be added, but none is removed or changes its meaning.
 */
#define JSON_FORMAT 1

/*
 * The same object with "format" as its first key. Takes ownership of `object`, which may be NULL.
 * NULL: out of memory.
 */
json_t *json__versioned(json_t *object);

/*
 * A JSON string from any bytes. Names and paths need not be UTF-8, and jansson refuses what is not.
 * Each invalid byte becomes the four characters \xNN. NULL: out of memory.
 */
json_t *json__text(const char *bytes);
