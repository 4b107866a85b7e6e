/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page's data as JSON, written as it comes. It stands inside a <script> element, so no '<' may
 * be in it; everything that is not ASCII is escaped, line separators with it.
 *
 * Every function takes the key of the value, NULL inside an array. Whether the stream failed is
 * asked at the end.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json_out.h"
#include "base/map.h"

/* Texts that the document has once and refers to by number; 0 is none. */
struct html_texts {
	char **list;
	size_t count;
	size_t bytes;
	int64_t left_out; /* for want of room */
	struct map places;
};

struct html_out {
	struct json_out json;
	struct html_texts texts;
};

void html_out__release(struct html_out *out);

/* A name of somebody else's, made clean and short; NULL: null. */
void html_out__text(struct html_out *out, const char *key, const char *text);
/* A sentence of our own, as long as it is; NULL: null. */
void html_out__words(struct html_out *out, const char *key, const char *words);

/* The keys "light" and "dark". */
void html_out__colours(struct html_out *out, uint32_t light, uint32_t dark);

/* The number of a text, made clean and short; 0 for NULL. Texts beyond the budget are all one. */
uint32_t html_out__keep(struct html_out *out, const char *text);
/* All texts that were kept. */
void html_out__texts(struct html_out *out, const char *key);
