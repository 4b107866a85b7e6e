/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/usdt_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/words.h"
#include "cli/cli.h"
#include "core/uprobes.h"

DEFINE_CLEANUP(struct finder *, finder__free)

struct listing {
	const struct uprobe_file *file;
	json_t *json; /* NULL: text */
	size_t count;
};

static int list_one(void *context, const struct finder_place *place)
{
	struct listing *listing = context;

	listing->count++;
	if (listing->json) {
		json_array_append_new(listing->json,
				      json_pack("{s:s, s:s, s:s, s:I, s:b}", "file",
						listing->file->path, "probe", place->name, "args",
						place->text, "offset", (json_int_t)place->offset,
						"semaphore", place->semaphore != 0));
		return 0;
	}
	printf("%-40s %-24s %s\n", words__clean(place->name, 200).text,
	       words__clean(uprobes__base(listing->file->path), 200).text,
	       words__clean(place->text, 200).text);
	return 0;
}

/* A number is a process: all files that it maps. Anything else is a file. */
static int find_files(const char *where, struct uprobe_file **ret, size_t *ret_count)
{
	struct uprobe_spec spec = { .kind = UPROBE_PROBE };
	struct target target = {};
	const struct uprobe_scope scope = { &target, NULL };
	uint64_t pid;
	int err = 0;

	if (!parse__number(where, 1, INT32_MAX, &pid)) {
		err = target__add_pid(&target, pid);
	} else {
		snprintf(spec.file, sizeof(spec.file), "%s%s", strchr(where, '/') ? "" : "./",
			 where);
	}
	return err ? err : uprobes__files(&spec, &scope, ret, ret_count);
}

int usdt_list__print(const char *where, bool json)
{
	cleanup(finder__free_p) struct finder *finder = NULL;
	cleanup(free_p) struct uprobe_file *files = NULL;
	struct listing listing = { .json = json ? json_array() : NULL };
	size_t count = 0;
	int err = find_files(where, &files, &count), last = 0;

	if (!err)
		err = finder__new(&finder);
	if (err) {
		json_decref(listing.json);
		log_error("'%s': %s", where, strerror(-err));
		return 1;
	}
	for (size_t i = 0; i < count; i++) {
		const struct finder_question question = { .kind = FINDER_PROBES,
							  .root = files[i].root,
							  .path = files[i].path,
							  .pattern = "*" };
		bool more = false;

		listing.file = &files[i];
		last = finder__ask(finder, &question, list_one, &listing, &more);
		if (last && (count == 1 || last != -ENOEXEC))
			log_warning("'%s' cannot be read: %s", files[i].path,
				    last == -ENOEXEC ? "not a program or library"
						     : strerror(-last));
	}
	if (!listing.count && !last)
		log_info("'%s' declares no probes", where);
	if (listing.json)
		cli__print_json(json_pack("{s:o}", "usdt", listing.json));
	return !listing.count && last ? 1 : 0;
}
