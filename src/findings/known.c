/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/known.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>

#include "findings/known.def"

struct row {
	const char *pattern, *words;
};

#define ROW(pattern, words) { pattern, words },
static const struct row locks[] = { KNOWN_LOCKS(ROW) {} };
static const struct row weak_locks[] = { KNOWN_WEAK_LOCKS(ROW) {} };
static const struct row waits[] = { KNOWN_WAITS(ROW) {} };
static const struct row kernel[] = { KNOWN_KERNEL(ROW) {} };
static const struct row sends[] = { KNOWN_SENDS(ROW) {} };
static const struct row carriers[] = { KNOWN_CARRIERS(ROW) {} };
static const struct row taskless[] = { KNOWN_TASKLESS(ROW) {} };
static const struct row sleeps[] = { KNOWN_SLEEPS(ROW) {} };
static const struct row roots[] = { KNOWN_ROOTS(ROW) {} };
static const struct row tails[] = { KNOWN_TAILS(ROW) {} };
static const struct row modules[] = { KNOWN_TAIL_MODULES(ROW) {} };
static const struct row files[] = { KNOWN_TAIL_FILES(ROW) {} };
static const struct row libraries[] = { KNOWN_TAIL_LIBRARIES(ROW) {} };
static const struct row library_files[] = { KNOWN_LIBRARY_FILES(ROW) {} };
static const struct row packages[] = { KNOWN_LIBRARIES(ROW) {} };
static const struct row go_packages[] = { KNOWN_GO_LIBRARIES(ROW) {} };
static const struct row entries[] = { KNOWN_ENTRIES(ROW) {} };
static const struct row loops[] = { KNOWN_LOOPS(ROW) {} };
static const struct row collectors[] = { KNOWN_COLLECTORS(ROW) {} };

static const char *look_up(const struct row *rows, const char *name)
{
	for (; rows->pattern; rows++)
		if (!fnmatch(rows->pattern, name, 0))
			return rows->words;
	return NULL;
}

static unsigned int flag_if(const struct row *rows, const char *name, enum known_flag flag)
{
	return look_up(rows, name) ? flag : 0;
}

static unsigned int managed_flags(const struct hot_function *function)
{
	const char *file = function->file ? function->file : "";
	char loop[512];

	snprintf(loop, sizeof(loop), "%s:%s", file, function->name);
	return flag_if(files, file, KNOWN_TAIL) | flag_if(libraries, function->name, KNOWN_TAIL) |
	       flag_if(library_files, file, KNOWN_LIBRARY) |
	       flag_if(packages, function->name, KNOWN_LIBRARY) |
	       flag_if(taskless, function->name, KNOWN_CARRIER) |
	       flag_if(entries, function->name, KNOWN_ENTRY) | flag_if(loops, loop, KNOWN_LOOP);
}

struct known known__find(const struct hot_function *function)
{
	struct known known = { .module = hot__module(function) };

	if (function->kernel) {
		known.wait = look_up(kernel, function->name);
		known.lock = look_up(sends, function->name);
		return known;
	}
	if (function->is_managed) {
		known.flags = managed_flags(function);
		return known;
	}
	known.flags = flag_if(modules, known.module, KNOWN_TAIL) |
		      flag_if(files, function->module ? function->module : "", KNOWN_TAIL);
	if (!function->named)
		return known;
	known.lock = look_up(locks, function->name);
	if (!known.lock) {
		known.lock = look_up(weak_locks, function->name);
		known.flags |= known.lock ? KNOWN_WEAK : 0;
	}
	known.wait = look_up(waits, function->name);
	known.flags |= flag_if(carriers, function->name, KNOWN_CARRIER) |
		       flag_if(sleeps, function->name, KNOWN_SLEEP) |
		       flag_if(roots, function->name, KNOWN_ROOT) |
		       flag_if(tails, function->name, KNOWN_TAIL) |
		       flag_if(collectors, function->name, KNOWN_COLLECTOR) |
		       flag_if(loops, function->name, KNOWN_LOOP);
	if (function->language == LANGUAGE_GO)
		known.flags |= flag_if(go_packages, function->name, KNOWN_LIBRARY);
	return known;
}
