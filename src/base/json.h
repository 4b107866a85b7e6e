/* What jansson leaves to its users. */
#pragma once

#include <jansson.h>

/*
 * The format of everything that `--json` prints, as its key "format". Under one number, keys are
 * added, but none goes or changes its meaning.
 */
#define JSON_FORMAT 1

/* The same object with "format" as its first key. Takes `object`, which may be NULL; NULL: no
 * memory. */
json_t *json__versioned(json_t *object);

/*
 * A JSON string of any bytes: names and paths need not be UTF-8, and jansson refuses those that
 * are not. An offending byte becomes the four characters \xNN. NULL when out of memory.
 */
json_t *json__text(const char *bytes);
