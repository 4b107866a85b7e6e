/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pauses are found in one of several ways, best first; a way is taken if each of its hooks is
 * there. Go has no probe at a return, which would end the program: its stacks move.
 */
#include "signals/runtime/runtime_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

_Static_assert(sizeof(struct runtime_site) <= RUNTIME_SITE_BYTES, "room for it");

#define MOST_HOOKS 8
/* A pattern of a function may also match its clones. */
#define MOST_PLACES 4

struct wanted {
	const char *pattern; /* of a function; "provider:name" of a declared probe */
	bool is_probe;
	bool at_return;
	uint8_t number; /* of the declared probe's argument, from 1 on; 0: none */
	uint8_t second; /* likewise */
	struct runtime_site site;
};

struct way {
	enum runtime_kind kind;
	const char *what; /* in words; ways of the same are alternatives, and stand together */
	struct wanted hooks[MOST_HOOKS];
};

#define PROBE(name)    .pattern = (name), .is_probe = true
#define FUNCTION(name) .pattern = (name)
#define STEP(...)      .site = { __VA_ARGS__ }

#define V8_KINDS                                                                                   \
	{ FUNCTION("_ZN2v88internal18ScavengerCollector14CollectGarbageE*"),                       \
	  STEP(.step = PAUSE_IS, .place = PAUSE_GC, .cause = PAUSE_SCAVENGE) },                    \
	{                                                                                          \
		FUNCTION("_ZN2v88internal20MarkCompactCollector14CollectGarbageE*"),               \
			STEP(.step = PAUSE_IS, .place = PAUSE_GC, .cause = PAUSE_MARK_COMPACT)     \
	}

static const struct way ways[] = {
	{ RUNTIME_PYTHON, "collections",
	  .hooks = { { PROBE("python:gc__start"), .number = 1,
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_GC,
			    .tells = PAUSE_TELLS_GENERATION) },
		     { PROBE("python:gc__done"), STEP(.step = PAUSE_ENDS, .place = PAUSE_GC) } } },
	/*
	 * From 3.10 on, and up to 3.9. The generation is the second parameter of both; in 3.13,
	 * -1 leaves the choice to the function.
	 */
	{ RUNTIME_PYTHON, "collections",
	  .hooks = { { FUNCTION("gc_collect_main"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_GC, .parameter = 2,
			    .tells = PAUSE_TELLS_GENERATION, .flags = PAUSE_BY_FRAME) },
		     { FUNCTION("gc_collect_main"), .at_return = true,
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_GC, .flags = PAUSE_BY_FRAME) } } },
	/* A clone of the compiler may have other parameters. */
	{ RUNTIME_PYTHON, "collections",
	  .hooks = { { FUNCTION("gc_collect_main.*"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_GC, .flags = PAUSE_BY_FRAME) },
		     { FUNCTION("gc_collect_main.*"), .at_return = true,
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_GC, .flags = PAUSE_BY_FRAME) } } },
	{ RUNTIME_PYTHON, "collections",
	  .hooks = { { FUNCTION("collect"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_GC, .parameter = 2,
			    .tells = PAUSE_TELLS_GENERATION, .flags = PAUSE_BY_FRAME) },
		     { FUNCTION("collect"), .at_return = true,
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_GC, .flags = PAUSE_BY_FRAME) } } },
	{ RUNTIME_PYTHON, "collections",
	  .hooks = { { FUNCTION("collect.*"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_GC, .flags = PAUSE_BY_FRAME) },
		     { FUNCTION("collect.*"), .at_return = true,
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_GC, .flags = PAUSE_BY_FRAME) } } },

	{ RUNTIME_HOTSPOT, "collections",
	  .hooks = { { PROBE("hotspot:gc__begin"), .number = 1,
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_GC, .tells = PAUSE_TELLS_FULL) },
		     { PROBE("hotspot:gc__end"), STEP(.step = PAUSE_ENDS, .place = PAUSE_GC) } } },
	/* The whole stop, from the request to the release of all threads … */
	{ RUNTIME_HOTSPOT, "stops of all threads",
	  .hooks = { { FUNCTION("_ZN20SafepointSynchronize5beginEv"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_SAFEPOINT) },
		     { PROBE("hotspot:vmops__request"), .number = 1,
		       STEP(.step = PAUSE_ASKED, .tells = PAUSE_TELLS_NAME) },
		     { PROBE("hotspot:vmops__begin"), .number = 1, .second = 3,
		       STEP(.step = PAUSE_WORKS, .place = PAUSE_SAFEPOINT,
			    .tells = PAUSE_TELLS_NAME) },
		     { PROBE("hotspot:vmops__end"),
		       STEP(.step = PAUSE_WORKED, .place = PAUSE_SAFEPOINT) },
		     { FUNCTION("_ZN20SafepointSynchronize3endEv"),
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_SAFEPOINT) } } },
	/* … or only what was done while all threads were stopped. */
	{ RUNTIME_HOTSPOT, "stops of all threads",
	  .hooks = { { PROBE("hotspot:vmops__request"), .number = 1,
		       STEP(.step = PAUSE_ASKED, .tells = PAUSE_TELLS_NAME) },
		     { PROBE("hotspot:vmops__begin"), .number = 1, .second = 3,
		       STEP(.step = PAUSE_WORKS, .place = PAUSE_SAFEPOINT,
			    .tells = PAUSE_TELLS_NAME, .flags = PAUSE_IS_STOP) },
		     { PROBE("hotspot:vmops__end"),
		       STEP(.step = PAUSE_WORKED, .place = PAUSE_SAFEPOINT,
			    .flags = PAUSE_IS_STOP) } } },
	{ RUNTIME_HOTSPOT, "compilation",
	  .hooks = { { PROBE("hotspot:method__compile__begin"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_COMPILE) },
		     { PROBE("hotspot:method__compile__end"),
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_COMPILE) } } },

	/*
	 * Without a probe at a return, where that is possible. From Node 18 on, V8 calls two
	 * functions where its own clock is read; what is between it and the safepoint is sweeping
	 * that the last collection has left.
	 */
	{ RUNTIME_V8, "collections",
	  .hooks = { { FUNCTION("_ZN2v88internal8GCTracer20StartObservablePauseE*"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_GC) },
		     V8_KINDS,
		     { FUNCTION("_ZN2v88internal8GCTracer19StopObservablePauseE*"),
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_GC) } } },
	{ RUNTIME_V8, "collections",
	  .hooks = { { FUNCTION("_ZN2v88internal8GCTracer16StartInSafepointE*"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_GC) },
		     V8_KINDS,
		     { FUNCTION("_ZN2v88internal8GCTracer15StopInSafepointE*"),
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_GC) } } },
	{ RUNTIME_V8, "collections",
	  .hooks = { { FUNCTION("_ZN2v88internal4Heap14CollectGarbageENS0_15AllocationSpaceE*"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_GC, .flags = PAUSE_BY_FRAME) },
		     V8_KINDS,
		     { FUNCTION("_ZN2v88internal4Heap14CollectGarbageENS0_15AllocationSpaceE*"),
		       .at_return = true,
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_GC, .flags = PAUSE_BY_FRAME) } } },
	{ RUNTIME_V8, "incremental marking",
	  .hooks = { { FUNCTION("_ZN2v88internal18IncrementalMarking4StepE*"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_MARKING,
			    .flags = PAUSE_BY_FRAME) },
		     { FUNCTION("_ZN2v88internal18IncrementalMarking4StepE*"), .at_return = true,
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_MARKING,
			    .flags = PAUSE_BY_FRAME) } } },
	{ RUNTIME_V8, "concurrent marking",
	  .hooks = { { FUNCTION("_ZN2v88internal17ConcurrentMarking8RunMajorE*"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_MARKING,
			    .flags = PAUSE_BY_FRAME) },
		     { FUNCTION("_ZN2v88internal17ConcurrentMarking8RunMajorE*"), .at_return = true,
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_MARKING,
			    .flags = PAUSE_BY_FRAME) } } },
	/* Up to Node 16. */
	{ RUNTIME_V8, "concurrent marking",
	  .hooks = { { FUNCTION("_ZN2v88internal17ConcurrentMarking3RunE*"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_MARKING,
			    .flags = PAUSE_BY_FRAME) },
		     { FUNCTION("_ZN2v88internal17ConcurrentMarking3RunE*"), .at_return = true,
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_MARKING,
			    .flags = PAUSE_BY_FRAME) } } },
	{ RUNTIME_V8, "compilation",
	  .hooks = { { FUNCTION("_ZN2v88internal23OptimizedCompilationJob10ExecuteJobE*"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_COMPILE,
			    .flags = PAUSE_BY_FRAME) },
		     { FUNCTION("_ZN2v88internal23OptimizedCompilationJob10ExecuteJobE*"),
		       .at_return = true,
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_COMPILE,
			    .flags = PAUSE_BY_FRAME) } } },

	/* A collection stops all goroutines twice, when it begins and when it has marked. */
	{ RUNTIME_GO, "stops of all goroutines",
	  .hooks = { { FUNCTION("runtime.stopTheWorldWithSema"),
		       STEP(.step = PAUSE_BEGINS, .place = PAUSE_SAFEPOINT) },
		     { FUNCTION("runtime.clearpools"),
		       STEP(.step = PAUSE_IS, .place = PAUSE_GC, .cause = PAUSE_CYCLE_BEGINS,
			    .flags = PAUSE_IS_STOP) },
		     { FUNCTION("runtime.gcMarkTermination"),
		       STEP(.step = PAUSE_IS, .place = PAUSE_GC, .cause = PAUSE_CYCLE_ENDS,
			    .flags = PAUSE_IS_STOP) },
		     { FUNCTION("runtime.startTheWorldWithSema"),
		       STEP(.step = PAUSE_ENDS, .place = PAUSE_SAFEPOINT) } } },
	{ RUNTIME_GO, "allocations that help the collector",
	  .hooks = { { FUNCTION("runtime.gcAssistAlloc"),
		       STEP(.step = PAUSE_COUNTED, .place = PAUSE_ASSIST) } } },
};

#define WAYS (sizeof(ways) / sizeof(*ways))

struct finding_places {
	struct finder_place list[MOST_PLACES];
	size_t count;
};

static int take_place(void *context, const struct finder_place *place)
{
	struct finding_places *places = context;

	if (places->count < MOST_PLACES)
		places->list[places->count++] = *place;
	return 0;
}

/* What the compiler calls a part of a function is not the function. */
static bool is_whole(const struct finder_place *place)
{
	return !strstr(place->name, ".part.") && !strstr(place->name, ".cold");
}

static int add_place(const struct wanted *wanted, const struct finder_place *at,
		     struct runtime_places *ret)
{
	struct runtime_site site = wanted->site;

	if (wanted->number && at->argument_count >= wanted->number)
		memcpy(&site.argument, &at->arguments[wanted->number - 1], sizeof(site.argument));
	if (wanted->second && at->argument_count >= wanted->second)
		memcpy(&site.second, &at->arguments[wanted->second - 1], sizeof(site.second));
	return runtime_places__add(ret, at, wanted->at_return, &site, sizeof(site));
}

/* Returns how many places were added, or -errno. */
static int find_one(struct finder *finder, enum runtime_kind kind, const struct wanted *wanted,
		    const struct uprobe_file *file, struct runtime_places *ret)
{
	const struct finder_question question = { .kind = wanted->is_probe ? FINDER_PROBES
									   : FINDER_FUNCTIONS,
						  .root = file->root,
						  .path = file->path,
						  .pattern = wanted->pattern,
						  .for_go = kind == RUNTIME_GO,
						  .most = MOST_PLACES };
	struct finding_places places = {};
	bool more = false;
	int added = 0;
	int err = finder__ask(finder, &question, take_place, &places, &more);

	for (size_t i = 0; i < places.count && !err; i++) {
		if (!is_whole(&places.list[i]))
			continue;
		err = add_place(wanted, &places.list[i], ret);
		added++;
	}
	return err ? err : added;
}

/* Returns whether each hook is there, or -errno. If not, nothing is added. */
static int try_way(struct finder *finder, const struct way *way, const struct uprobe_file *file,
		   struct runtime_places *ret)
{
	size_t before = ret->count;

	for (size_t i = 0; i < MOST_HOOKS && way->hooks[i].pattern; i++) {
		int added = find_one(finder, way->kind, &way->hooks[i], file, ret);

		if (added > 0)
			continue;
		ret->count = before;
		return added;
	}
	return true;
}

int runtime_sites__find(struct finder *finder, enum runtime_kind kind,
			const struct uprobe_file *file, struct runtime_places *ret)
{
	size_t i = 0;

	while (i < WAYS) {
		const char *what = ways[i].what;
		bool is_other = ways[i].kind != kind;
		int found = is_other;

		for (;
		     i < WAYS && !strcmp(ways[i].what, what) && (ways[i].kind != kind) == is_other;
		     i++) {
			if (found <= 0)
				found = try_way(finder, &ways[i], file, ret);
			if (found == -ENOMEM)
				return found;
		}
		if (found <= 0)
			runtime_places__miss(ret, what);
	}
	return 0;
}
