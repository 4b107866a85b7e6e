/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ownership of locals. An owned local is declared with cleanup(f) and an initial value; TAKE()
 * moves the value out.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup(f) __attribute__((cleanup(f)))

/* The value of `var`, which is set to NULL: ownership moves to the user of the result. */
#define TAKE(var)                                                                                  \
	({                                                                                         \
		__typeof__(var) taken_ = (var);                                                    \
		(var) = NULL;                                                                      \
		taken_;                                                                            \
	})

/* Defines f_p(), which takes a pointer to the variable, as cleanup() needs it. */
#define DEFINE_CLEANUP(type, f)                                                                    \
	static inline void f##_p(type *p)                                                          \
	{                                                                                          \
		if (*p)                                                                            \
			f(*p);                                                                     \
	}

DEFINE_CLEANUP(FILE *, fclose)
DEFINE_CLEANUP(DIR *, closedir)

static inline void free_p(void *p)
{
	free(*(void **)p);
}

static inline void close_p(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
