/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compressed output. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Writes `bytes` as a gzip file without name and time, so equal input gives equal output. */
int gzip__write(const void *bytes, size_t size, FILE *out);
/* The same, into memory that the caller frees. */
int gzip__pack(const void *bytes, size_t size, char **ret, size_t *ret_size);
