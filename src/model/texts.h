/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores strings from a recording, unchanged or in a form that is safe for every output format. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TEXTS_MOST 4096 /* bytes */

/* Initialize with zeroes. */
struct texts {
	struct texts_entry *entries;
	const char *recent[16];
	unsigned int next;
	bool clean;  /* convert texts to a form that is safe for every output format */
	bool failed; /* out of memory: at least one text is missing */
};

void texts__release(struct texts *texts);

/*
 * Copies a string. The copy lives as long as `texts`. If `clean` is set, control characters and
 * bytes that are not UTF-8 become '?', and a text that is too long ends in "…". Returns NULL when
 * out of memory.
 */
const char *texts__keep(struct texts *texts, const char *text);

/* The same for strings that repeat: returns one of the last copies if it is equal. */
const char *texts__repeat(struct texts *texts, const char *text);
