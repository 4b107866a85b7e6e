/* Where a file's debug information is, if not in the file itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbol/image.h"
#include "symbol/symbol.h"

struct debug_finder {
	const struct symbols_options *options;
	struct debuginfod_client *client; /* made when first needed */
	bool is_offline;   /* no server, or it did not answer: it is not asked again */
	uint64_t began_ns; /* the download that is under way */
	uint64_t spent_ns; /* on all before it */
	uint64_t ended;    /* downloads that were, before they were complete */
	bool is_over;      /* the one under way is to end */
};
void debug_finder__release(struct debug_finder *finder);

/*
 * The debug file of `image`: by build-id below /usr/lib/debug, by .gnu_debuglink, from debuginfod;
 * each below the module's root and then below ours. It is certain to belong to it: build-id or
 * checksum agree. -ENOENT, -ENOMEM.
 */
int debug_finder__find(struct debug_finder *finder, const struct symbol_module *module,
		       const struct image *image, struct image **ret);

/* The file of what several debug files share (dwz), by what they say about it. -ENOENT, -ENOMEM. */
int debug_finder__find_shared(struct debug_finder *finder, const struct symbol_module *module,
			      const char *path, const char *build_id, struct image **ret);
