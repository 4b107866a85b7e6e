/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers within names: decimal digits, or long hexadecimal words such as ids and hashes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The length of the number at `at`, or of what stands between two numbers. Letters of a word stay
 * together, so that no hexadecimal number begins inside a word. `at` must not be empty.
 */
size_t numbers__token(const char *at, bool *ret_is_number);
