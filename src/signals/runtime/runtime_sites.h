/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a runtime tells what it does: declared probes where it has them, otherwise functions by
 * name. Nothing here logs. For use by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/uprobes.h"
#include "signals/runtime/runtime.h"
#include "vocabulary/runtimes.h"

/* A place that was found, and what a hit there means. */
struct runtime_place {
	struct finder_place at;
	struct runtime_site site;
	bool at_return;
};

struct runtime_places {
	struct runtime_place *list; /* the caller's */
	size_t count;
	char missing[96]; /* what cannot be seen, in words: "collections"; "": nothing */
};

/* Adds the places in one file. 0 or -errno; *ret is the caller's in any case. */
int runtime_sites__find(struct finder *finder, enum runtime_kind kind,
			const struct uprobe_file *file, struct runtime_places *ret);
