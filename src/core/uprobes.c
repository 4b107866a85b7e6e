/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/uprobes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hooks.h"
#include "core/sys.h"

/* --- what users write ------------------------------------------------------------------------- */

/* The colon behind the file: the first one that is not part of "::". NULL: none. */
static const char *find_colon(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at != ':')
			continue;
		if (at[1] != ':')
			return at;
		at++;
	}
	return NULL;
}

static bool parse_whole(const char *text, uint64_t *ret)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 0);
	return !errno && !*end;
}

/* Splits "symbol+0x10". "operator+" has no number. */
static int set_name(struct uprobe_spec *spec, const char *text)
{
	const char *plus = strrchr(text, '+');
	size_t length = strlen(text);

	if (plus && plus > text && parse_whole(plus + 1, &spec->at))
		length = (size_t)(plus - text);
	if (length >= sizeof(spec->name))
		return -ENAMETOOLONG;
	memcpy(spec->name, text, length);
	return 0;
}

static int set_file(struct uprobe_spec *spec, const char *text, size_t length)
{
	if (!length)
		return -EINVAL;
	if (length >= sizeof(spec->file))
		return -ENAMETOOLONG;
	memcpy(spec->file, text, length);
	return 0;
}

int uprobes__parse(const char *text, struct uprobe_spec *ret)
{
	const char *colon = find_colon(text), *name = colon ? colon + 1 : text;
	struct uprobe_spec spec = {};
	int err = colon ? set_file(&spec, text, (size_t)(colon - text)) : 0;

	if (err)
		return err;
	if (!*name || (colon && find_colon(name)))
		return -EINVAL;
	if (!strcmp(spec.file, "kernel"))
		spec.kind = UPROBE_KERNEL;
	if (spec.kind != UPROBE_KERNEL && !strncmp(name, "0x", 2)) {
		spec.kind = UPROBE_ADDRESS;
		if (!parse_whole(name, &spec.at))
			return -EINVAL;
	} else {
		err = set_name(&spec, name);
	}
	if (!err)
		*ret = spec;
	return err;
}

int uprobes__parse_usdt(const char *text, struct uprobe_spec *ret)
{
	const char *first = strchr(text, ':'), *second, *name = text;
	struct uprobe_spec spec = { .kind = UPROBE_PROBE };
	int err = 0;

	if (!first)
		return -EINVAL;
	second = strchr(first + 1, ':');
	if (second) {
		name = first + 1;
		err = set_file(&spec, text, (size_t)(first - text));
	}
	if (err)
		return err;
	if (*name == ':' || !strchr(name, ':')[1] || (second && strchr(second + 1, ':')))
		return -EINVAL;
	if (strlen(name) >= sizeof(spec.name))
		return -ENAMETOOLONG;
	snprintf(spec.name, sizeof(spec.name), "%s", name);
	*ret = spec;
	return 0;
}

/* --- places ----------------------------------------------------------------------------------- */

const char *uprobes__base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* NULL with 0: there is no more room, which is noted. */
static int add_site(struct uprobe_sites *sites, const struct finder_place *place,
		    struct uprobe_site **ret)
{
	*ret = NULL;
	if (sites->count >= UPROBES_MOST) {
		sites->more = true;
		return 0;
	}
	*ret = APPEND(&sites->all, &sites->count);
	if (!*ret)
		return -ENOMEM;
	(*ret)->place = *place;
	return 0;
}

struct taking {
	struct uprobe_sites *sites;
	const struct uprobe_file *file;
};

static int take_place(void *context, const struct finder_place *place)
{
	const struct taking *taking = context;
	struct uprobe_site *site;
	char path[PATH_MAX + 32];
	int err = add_site(taking->sites, place, &site);

	if (err || !site)
		return err;
	snprintf(path, sizeof(path), "%s%s", taking->file->root, taking->file->path);
	site->file = strdup(path);
	site->where = *taking->file;
	return site->file ? 0 : -ENOMEM;
}

static int ask(struct finder *finder, const struct uprobe_spec *spec,
	       const struct uprobe_file *file, struct uprobe_sites *sites)
{
	static const enum finder_kind kinds[] = { [UPROBE_FUNCTION] = FINDER_FUNCTIONS,
						  [UPROBE_ADDRESS] = FINDER_ADDRESS,
						  [UPROBE_PROBE] = FINDER_PROBES };
	const struct finder_question question = { .kind = kinds[spec->kind],
						  .root = file->root,
						  .path = file->path,
						  .pattern = spec->name,
						  .at = spec->at,
						  .behind = spec->at,
						  .most = UPROBES_MOST };
	struct taking taking = { sites, file };
	bool more = false;
	int err = finder__ask(finder, &question, take_place, &taking, &more);

	sites->more |= more;
	return err;
}

/* Prepares `why` for the case that nothing is found. */
static int say_none(const struct uprobe_spec *spec, const struct uprobe_file *files, size_t count,
		    int err, struct uprobe_sites *sites)
{
	const char *what = spec->kind == UPROBE_PROBE ? "probe" : "function";
	char where[128];

	if (count == 1)
		snprintf(where, sizeof(where), "'%.100s'", files[0].path);
	else
		snprintf(where, sizeof(where), "any of %zu files", count);
	if (err == -ENOTSUP)
		snprintf(sites->why, sizeof(sites->why),
			 "%s has it only as an indirect function (IFUNC), whose code has other "
			 "names",
			 where);
	else if (err && err != -ENOENT)
		snprintf(sites->why, sizeof(sites->why), "%s cannot be read: %s", where,
			 err == -ENOEXEC ? "not a program or library" : strerror(-err));
	else if (spec->kind == UPROBE_ADDRESS)
		snprintf(sites->why, sizeof(sites->why), "%s has no code at that address", where);
	else
		snprintf(sites->why, sizeof(sites->why), "%s has no such %s%s", where, what,
			 spec->kind == UPROBE_PROBE && !*spec->file
				 ? " [FILE:provider:name says where it is]"
				 : "");
	return err && err != -ENOENT ? err : -ESRCH;
}

/* The kernel itself knows its functions; there is no file to read. */
static int add_kernel(const struct uprobe_spec *spec, struct uprobe_sites *sites)
{
	struct finder_place place = { .offset = spec->at };
	struct uprobe_site *site;
	int err;

	if (!sys__exists("/sys/bus/event_source/devices/kprobe/type")) {
		snprintf(sites->why, sizeof(sites->why), "this kernel has no kprobes");
		return -ENOTSUP;
	}
	snprintf(place.name, sizeof(place.name), "%s", spec->name);
	err = add_site(sites, &place, &site);
	if (!err && site)
		snprintf(site->where.path, sizeof(site->where.path), "kernel");
	return err;
}

int uprobes__resolve(struct finder *finder, const struct uprobe_spec *spec,
		     const struct uprobe_scope *scope, struct uprobe_sites *sites)
{
	cleanup(free_p) struct uprobe_file *files = NULL;
	size_t count = 0, before = sites->count;
	int err, last = 0;

	if (spec->kind == UPROBE_KERNEL)
		return add_kernel(spec, sites);
	err = uprobes__files(spec, scope, &files, &count);
	if (err) {
		snprintf(sites->why, sizeof(sites->why),
			 err == -ENOENT ? "no such program or library is in the target's processes "
					  "or in the usual folders"
					: "%s",
			 strerror(-err));
		return err;
	}
	/* One file that cannot be read does not keep others from being probed. */
	for (size_t i = 0; i < count; i++) {
		err = ask(finder, spec, &files[i], sites);
		if (err == -ENOMEM)
			return err;
		/* Among libraries, there are scripts of the linker. */
		if (err && last != -ENOTSUP && (err != -ENOEXEC || count == 1))
			last = err;
	}
	return sites->count > before || sites->more ? 0 : say_none(spec, files, count, last, sites);
}

void uprobes__release(struct uprobe_sites *sites)
{
	for (size_t i = 0; i < sites->count; i++)
		free(sites->all[i].file);
	free(sites->all);
	*sites = (struct uprobe_sites) {};
}

int uprobes__attach(const struct bpf_object *object, const char *program,
		    const struct uprobe_site *site, uint64_t cookie, struct bpf_link **ret)
{
	const struct hook_target target = { .file = site->file,
					    .symbol = site->file ? NULL : site->place.name,
					    .offset = site->place.offset,
					    .semaphore = site->place.semaphore,
					    .cookie = cookie };

	return hooks__attach(object, program, &target, ret);
}
