/* Compressed output. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Writes `bytes` as a gzip file without a name and a time: equal bytes in, equal bytes out. */
int gzip__write(const void *bytes, size_t size, FILE *out);
