/* What jansson leaves to its users. */
#pragma once

#include <jansson.h>

/*
 * A JSON string of any bytes: names and paths need not be UTF-8, and jansson refuses those that
 * are not. An offending byte becomes the four characters \xNN. NULL when out of memory.
 */
json_t *json__text(const char *bytes);
