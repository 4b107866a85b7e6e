/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/functions/function_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "signals/functions/function_probes.h"
#include "symbol/finder.h"

/* Each question reads the symbols of a file again; meanwhile, no records are taken. */
#define MOST_NS    UINT64_C(2000000000)
#define MOST_NAMES 4096

static struct {
	struct finder *finder;
	struct map names; /* by a hash of the object; value: the name */
	uint64_t spent_ns;
} names;

void function_names__release(void)
{
	finder__free(names.finder);
	map__free_values(&names.names);
	memset(&names, 0, sizeof(names));
}

struct asking {
	char *name;
	size_t size;
	const char *file;
	uint64_t offset;
};

static int take(void *context, const struct finder_place *place)
{
	const struct asking *asking = context;

	snprintf(asking->name, asking->size, "%.160s+%#llx (%.60s)", place->name,
		 (unsigned long long)(asking->offset - place->offset), asking->file);
	return 0;
}

/* In the process's own root, which may be a container's; if it has ended, in ours. */
static void ask(const char *path, uint64_t pid, uint64_t offset, char *name, size_t size)
{
	struct asking asking = { name, size, uprobes__base(path), offset };
	char root[32];
	struct finder_question question = {
		.kind = FINDER_OFFSET, .root = root, .path = path, .at = offset - 1
	};
	bool more;

	if (*path != '/' || (!names.finder && finder__new(&names.finder)))
		return;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	if (!pid || finder__ask(names.finder, &question, take, &asking, &more)) {
		root[0] = '\0';
		(void)finder__ask(names.finder, &question, take, &asking, &more);
	}
}

void function_probes__name_caller(struct event *event)
{
	uint64_t key = map__mix(map__mix(0, event->object[0]), event->object[1]), begin_ns;
	char name[SIGNAL_SCRATCH / 4], *kept;

	if (!event->values[0].text)
		return;
	kept = map__get(&names.names, key);
	if (!kept && names.spent_ns < MOST_NS && names.names.count < MOST_NAMES) {
		begin_ns = clock__now_ns();
		snprintf(name, sizeof(name), "%s", event->object_name);
		ask(event->values[0].text, event->values[1].number, event->values[0].number, name,
		    sizeof(name));
		names.spent_ns += clock__now_ns() - begin_ns;
		kept = strdup(name);
		if (kept && map__put(&names.names, key, kept)) {
			free(kept);
			kept = NULL;
		}
	}
	if (kept)
		event->object_name = kept;
}
