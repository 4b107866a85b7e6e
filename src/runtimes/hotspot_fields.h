/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a class of Java has its fields. */
#pragma once

#include "runtimes/hotspot_method.h"

/*
 * The offset of the field `name` that the class itself declares. -ENOENT: it has none; -ENOTSUP:
 * the library does not tell how fields are described; -ESTALE: no description; -EFAULT.
 */
int hotspot_fields__find(struct subject *subject, uint64_t class, const char *name, uint32_t *ret);
