/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing arrays. */
#pragma once

#include <stddef.h>

/*
 * Appends a zeroed element to *array, which has *count elements of `size` bytes and must have been
 * grown only by this function. NULL if out of memory or of 32-bit indexes; then array and count are
 * unchanged.
 */
void *vec__append(void *array, size_t *count, size_t size);
#define APPEND(array, count) ((__typeof__(*(array)))vec__append(array, count, sizeof(**(array))))
