/* Patterns as in a shell: * any bytes, ? one, [a-z] and [!a-z] one of a set, \ the next as it is.
 */
#pragma once

#include <stdbool.h>

#include "bpf/glob.h"

/* -EINVAL: empty; -ENAMETOOLONG: it takes more bytes than a name has. */
int glob__compile(const char *pattern, struct glob *ret);

bool glob__matches(const struct glob *glob, const char *name);
