/* Arrays that grow. */
#pragma once

#include <stddef.h>

/*
 * One more zeroed element at the end of *array, which has *count of `size` bytes each and was only
 * ever grown by this function. NULL when out of memory, or of 32-bit indexes; both then stay as
 * they are.
 */
void *vec__append(void *array, size_t *count, size_t size);
#define APPEND(array, count) ((__typeof__(*(array)))vec__append(array, count, sizeof(**(array))))
