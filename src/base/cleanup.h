/* Ownership of locals. An owned local carries cleanup(f) and an initial value; TAKE() moves it out.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup(f) __attribute__((cleanup(f)))

/* The value of `var`, which is left empty: ownership moves to whoever gets the result. */
#define TAKE(var)                                                                                  \
	({                                                                                         \
		__typeof__(var) taken_ = (var);                                                    \
		(var) = NULL;                                                                      \
		taken_;                                                                            \
	})

/* Defines f_p(), which frees through a pointer to the variable, as cleanup() wants it. */
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
