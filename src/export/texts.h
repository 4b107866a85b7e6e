/* Foreign names, kept in a form that no format can stumble over. */
#pragma once

#include <stddef.h>

/* All zeroes is none. */
struct texts {
	struct texts_entry *entries;
	const char *recent[16];
	unsigned int next;
};

void texts__release(struct texts *texts);

/*
 * A copy that lives as long as `texts`: what steers or is not UTF-8 becomes '?', and what is too
 * long ends in "…". NULL when out of memory.
 */
const char *texts__keep(struct texts *texts, const char *text);

/* The same for words that repeat: one of those kept last, if it is equal. */
const char *texts__repeat(struct texts *texts, const char *text);
