/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shell patterns: * matches any bytes, ? one byte, [a-z] and [!a-z] one byte of a set; \ quotes the
 * next byte.
 */
#pragma once

#include <stdbool.h>

#include "bpf/glob.h"

/* -EINVAL: the pattern is empty; -ENAMETOOLONG: it matches only names longer than a name can be. */
int glob__compile(const char *pattern, struct glob *ret);

bool glob__matches(const struct glob *glob, const char *name);
