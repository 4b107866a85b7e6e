/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/svg_code.h"

#include <math.h>
#include <stdio.h>

#define LANGUAGE_WHITE 0.45

/* `white` is the share of white in the colour, so that names are readable. */
static const struct {
	enum tree_kind kind;
	const char *class, *words;
	enum ledger_slot slot;
	double white;
} codes[] = {
	{ TREE_USER, "u", "running in the program", SLOT_RUN_USER, 0.45 },
	{ TREE_INLINED, "i", "in an inlined function", SLOT_RUN_USER, 0.62 },
	{ TREE_KERNEL, "k", "in the kernel", SLOT_RUN_KERNEL, 0.1 },
	{ TREE_JIT, "j", "in generated code", SLOT_RUN_ANY, 0.25 },
};
_Static_assert(sizeof(codes) / sizeof(*codes) == SVG_OWN_CODES, "their number");

size_t svg_code__of(const struct profile *profile, const struct tree_node *node)
{
	size_t i = 0;

	if (node->kind == TREE_MANAGED)
		return SVG_OWN_CODES + code__language(&profile->code, node->function);
	while (i < SVG_OWN_CODES && codes[i].kind != node->kind)
		i++;
	return i < SVG_OWN_CODES ? i : SVG_CODES;
}

uint32_t svg_code__blend(uint32_t from, uint32_t to, double share)
{
	uint32_t colour = 0;

	for (int shift = 16; shift >= 0; shift -= 8) {
		int a = from >> shift & 0xff, b = to >> shift & 0xff;

		colour |= (uint32_t)lround(a + (b - a) * share) << shift;
	}
	return colour;
}

uint32_t svg_code__colour(size_t code)
{
	if (code >= SVG_OWN_CODES)
		return svg_code__blend(code_language__look(code - SVG_OWN_CODES)->light, SVG_WHITE,
				       LANGUAGE_WHITE);
	return svg_code__blend(states__words(codes[code].slot)->light, SVG_WHITE,
			       codes[code].white);
}

void svg_code__say(size_t code, char *words, size_t size)
{
	if (code < SVG_OWN_CODES)
		snprintf(words, size, "%s", codes[code].words);
	else
		snprintf(words, size, "in %s", code_language__name(code - SVG_OWN_CODES));
}

struct svg_class svg_code__class(size_t code, long shade)
{
	struct svg_class class;

	if (code < SVG_OWN_CODES)
		snprintf(class.text, sizeof(class.text), "%s%ld", codes[code].class, shade % 10);
	else
		snprintf(class.text, sizeof(class.text), "l%zu_%ld", (code - SVG_OWN_CODES) % 100,
			 shade % 10);
	return class;
}
