/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of code in the flame graph as SVG, with their colours: one for each language of a runtime.
 */
#pragma once

#include "export/tree.h"

#define SVG_OWN_CODES 4
#define SVG_CODES     (SVG_OWN_CODES + LANGUAGE_COUNT)
#define SVG_PALE      0xd6dbe2 /* of code that never runs */
#define SVG_WHITE     0xffffff

/* SVG_CODES: it is no code. */
size_t svg_code__of(const struct profile *profile, const struct tree_node *node);
/* The colour of such code while it runs. */
uint32_t svg_code__colour(size_t code);
/* "running in the program", "in Python" */
void svg_code__say(size_t code, char *words, size_t size);

/* The name of its class in the style; `shade`: how much of its time it ran. */
struct svg_class {
	char text[16];
};
struct svg_class svg_code__class(size_t code, long shade);

/* Mixes two colours. `share` 0 is `from`, 1 is `to`. */
uint32_t svg_code__blend(uint32_t from, uint32_t to, double share);
