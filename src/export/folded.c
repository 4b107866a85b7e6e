/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, one line each: "thread;outermost;…;innermost NANOSECONDS". flamegraph.pl and many
 * others read this format. Kinds of code have the suffixes that they expect: _[k] kernel, _[i]
 * inlined, _[j] generated, or of a runtime: "burn (web.py:12)_[j]".
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/exporter.h"
#include "export/label.h"
#include "export/tree.h"

DEFINE_CLEANUP(struct tree *, tree__free)

/* A name must not contain the separator. */
static void print_text(const char *text, FILE *out)
{
	for (const char *at = text; *at;) {
		size_t length = strcspn(at, ";");

		fwrite(at, 1, length, out);
		at += length;
		if (*at) {
			fputc(':', out);
			at++;
		}
	}
}

static void print_name(const struct profile *profile, const struct tree_node *node, FILE *out)
{
	static const char *const suffixes[] = {
		[TREE_KERNEL] = "_[k]",  [TREE_INLINED] = "_[i]", [TREE_JIT] = "_[j]",
		[TREE_MANAGED] = "_[j]", [TREE_WAIT] = NULL,
	};
	char place[LABEL_SIZE];

	print_text(node->name, out);
	if (*label__place(profile, node->function, place)) {
		fputs(" (", out);
		print_text(place, out);
		fputc(')', out);
	}
	if (suffixes[node->kind])
		fputs(suffixes[node->kind], out);
}

static void print_line(const struct profile *profile, const struct tree *tree, uint32_t node,
		       FILE *out)
{
	/* Room for a thread, a note, the functions and a cause. */
	uint32_t way[CODE_MOST_DEPTH + 3];
	size_t length = 0;

	for (uint32_t at = node; at; at = tree->nodes[at].parent)
		way[length++] = at;
	while (length) {
		print_name(profile, &tree->nodes[way[--length]], out);
		fputc(length ? ';' : ' ', out);
	}
	fprintf(out, "%" PRId64 "\n", tree->nodes[node].self_ns);
}

static int write_folded(const struct profile *profile, FILE *out)
{
	cleanup(tree__free_p) struct tree *tree = NULL;
	int err = tree__build(profile, false, &tree);

	if (err)
		return err;
	for (uint32_t node = 0; node != PROFILE_NONE; node = tree__next(tree, node))
		if (node && tree->nodes[node].self_ns)
			print_line(profile, tree, node, out);
	return ferror(out) ? -EIO : 0;
}

const struct exporter export_folded = {
	.name = "folded",
	.about = "one line per stack, for flamegraph.pl and others",
	.no_idle = true,
	.write = write_folded,
};
