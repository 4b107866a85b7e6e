/* Foreign names, kept as they are or in a form that no format can stumble over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TEXTS_MOST 4096 /* bytes */

/* All zeroes is none. */
struct texts {
	struct texts_entry *entries;
	const char *recent[16];
	unsigned int next;
	bool clean;  /* keep texts in a form that no format can stumble over */
	bool failed; /* a text is missing: out of memory */
};

void texts__release(struct texts *texts);

/*
 * A copy that lives as long as `texts`. If those are clean: what steers or is not UTF-8 becomes
 * '?', and what is too long ends in "…". NULL when out of memory.
 */
const char *texts__keep(struct texts *texts, const char *text);

/* The same for words that repeat: one of those kept last, if it is equal. */
const char *texts__repeat(struct texts *texts, const char *text);
