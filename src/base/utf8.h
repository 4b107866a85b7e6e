/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Characters in untrusted bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the UTF-8 character at `text` and its code point; 0 if it is invalid. */
size_t utf8__decode(const char *text, uint32_t *ret_point);

/*
 * Whether a character controls the display (control characters, line separators, marks that change
 * the text direction) or is a noncharacter (U+FFFE and U+FFFF, which XML refuses).
 */
bool utf8__is_control(uint32_t point);

/*
 * Replaces by '?' all characters that control a terminal, except newlines and tabs, and all bytes
 * that are not valid UTF-8.
 */
void utf8__sanitize(char *text);
