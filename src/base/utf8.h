/* Characters in bytes from anywhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the UTF-8 character at `text` and its code point; 0 if the bytes are none. */
size_t utf8__decode(const char *text, uint32_t *ret_point);

/*
 * Whether a character steers what shows it (control characters, line separators, marks that turn
 * the direction of what follows) or is none (U+FFFE and U+FFFF, which XML refuses).
 */
bool utf8__steers(uint32_t point);

/* Puts '?' in the place of all that steers a terminal, but for ends of lines and tabs, and of bytes
 * that are no characters. */
void utf8__tame(char *text);
