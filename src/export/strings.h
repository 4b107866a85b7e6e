/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A string table (base/intern.h) that owns copies of its texts. */
#pragma once

#include "base/intern.h"

/* Initialize with zeroes. */
struct strings {
	struct intern names;
};

/* -ENOMEM. */
int strings__add(struct strings *strings, const char *text, uint32_t *ret);
void strings__release(struct strings *strings);
