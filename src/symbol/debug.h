/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the debug information of a file that does not contain it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbol/image.h"
#include "symbol/symbol.h"

struct debug_finder {
	bool no_debuginfod; /* ask no server */
};

/*
 * Finds the debug file of `image`: by build-id below /usr/lib/debug, by .gnu_debuglink, then from
 * debuginfod. The first two are tried below the module's root, then below ours. The build-id or the
 * checksum is verified. -ENOENT, -ENOMEM.
 */
int debug_finder__find(const struct debug_finder *finder, const struct symbol_module *module,
		       const struct image *image, struct image **ret);

/*
 * Finds a file with the build-id of the module, the program itself or its debug file: at its path
 * and below the folders of debug files, first of the module's root, then of ours; then from
 * debuginfod. The build-id is verified. -ENOENT, -ENOMEM.
 */
int debug_finder__find_by_id(const struct debug_finder *finder, const struct symbol_module *module,
			     struct image **ret);

/*
 * Finds the file with the DWARF that several debug files share (dwz). They name it by path and
 * build-id. -ENOENT, -ENOMEM.
 */
int debug_finder__find_shared(const struct debug_finder *finder, const struct symbol_module *module,
			      const char *path, const char *build_id, struct image **ret);
