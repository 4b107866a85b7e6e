/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <elfutils/libdwelf.h>

#include "base/cleanup.h"
#include "symbol/broker.h"

#define DEBUG_FOLDER "/usr/lib/debug"
/* The properties that a debug file must have. */
struct wanted {
	const char *build_id; /* hex, or NULL */
	uint32_t crc;         /* compared if one of the two files has no build-id */
	bool has_crc;
};

static int checksum(int fd, uint32_t *ret)
{
	cleanup(free_p) unsigned char *buffer = malloc(1 << 20);
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t got;

	if (!buffer)
		return -ENOMEM;
	while ((got = pread(fd, buffer, 1 << 20, at)) > 0) {
		crc = crc32(crc, buffer, (uInt)got);
		at += got;
	}
	*ret = (uint32_t)crc;
	return got ? -errno : 0;
}

static bool is_wanted(const struct image *image, const struct wanted *wanted)
{
	char build_id[BUILD_ID_TEXT_BYTES];
	uint32_t crc;

	if (wanted->build_id && !image__build_id(image, build_id))
		return !strcmp(build_id, wanted->build_id);
	return wanted->has_crc && !checksum(image->fd, &crc) && crc == wanted->crc;
}

static int try_path(const char *root, const char *path, const struct wanted *wanted,
		    struct image **ret)
{
	struct image *image;
	int fd = broker__open(
		&(struct broker_request) { .kind = BROKER_ELF, .root = root, .path = path });
	int err = fd < 0 ? fd : image__open(fd, &image);

	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	if (!is_wanted(image, wanted)) {
		image__close(image);
		return -ENOENT;
	}
	*ret = image;
	return 0;
}

/* Tries the root directory of the process, then ours. */
static int try_roots(const struct symbol_module *module, const char *path,
		     const struct wanted *wanted, struct image **ret)
{
	char below[PATH_MAX];
	int err = -ENOENT;

	/* Of a module that is known by its id, it is a folder and not the root of a process. */
	if (module->root && *module->root && module->by_id) {
		if (snprintf(below, sizeof(below), "%s%s", module->root, path) < (int)sizeof(below))
			err = try_path("", below, wanted, ret);
	} else if (module->root && *module->root) {
		err = try_path(module->root, path, wanted, ret);
	}
	return err == -ENOENT ? try_path("", path, wanted, ret) : err;
}

static int by_build_id(const struct symbol_module *module, const struct wanted *wanted,
		       struct image **ret)
{
	char path[PATH_MAX];

	if (!wanted->build_id)
		return -ENOENT;
	snprintf(path, sizeof(path), DEBUG_FOLDER "/.build-id/%.2s/%s.debug", wanted->build_id,
		 wanted->build_id + 2);
	return try_roots(module, path, wanted, ret);
}

static int by_link(const struct symbol_module *module, const struct image *image,
		   const struct wanted *wanted, struct image **ret)
{
	static const struct {
		const char *above, *below;
	} places[] = { { "", "" }, { "", "/.debug" }, { DEBUG_FOLDER, "" } };
	struct wanted linked = { .build_id = wanted->build_id, .has_crc = true };
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(image->elf, &crc);
	const char *slash = module->path ? strrchr(module->path, '/') : NULL;
	int folder, err = -ENOENT;

	if (!name || !*name || strchr(name, '/') || !slash || *module->path != '/')
		return -ENOENT;
	linked.crc = crc;
	folder = (int)(slash - module->path);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && err == -ENOENT; i++) {
		char path[PATH_MAX];
		int length = snprintf(path, sizeof(path), "%s%.*s%s/%s", places[i].above, folder,
				      module->path, places[i].below, name);

		if (length > 0 && length < (int)sizeof(path))
			err = try_roots(module, path, &linked, ret);
	}
	return err;
}

static int from_server(const struct debug_finder *finder, const struct wanted *wanted,
		       struct image **ret)
{
	struct image *image;
	int fd, err;

	if (!wanted->build_id || finder->no_debuginfod)
		return -ENOENT;
	fd = broker__open(
		&(struct broker_request) { .kind = BROKER_DOWNLOAD, .path = wanted->build_id });
	err = fd < 0 ? -ENOENT : image__open(fd, &image);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	if (!is_wanted(image, wanted)) {
		image__close(image);
		return -ENOENT;
	}
	*ret = image;
	return 0;
}

int debug_finder__find(const struct debug_finder *finder, const struct symbol_module *module,
		       const struct image *image, struct image **ret)
{
	char own_id[BUILD_ID_TEXT_BYTES];
	struct wanted wanted = {};
	int err;

	if (broker__is_build_id(module->build_id))
		wanted.build_id = module->build_id;
	else if (!image__build_id(image, own_id))
		wanted.build_id = own_id;
	err = by_build_id(module, &wanted, ret);
	if (err == -ENOENT)
		err = by_link(module, image, &wanted, ret);
	if (err == -ENOENT)
		err = from_server(finder, &wanted, ret);
	return err;
}

/* Programs come first: they lead to their debug files, but not the other way round. */
int debug_finder__find_by_id(const struct debug_finder *finder, const struct symbol_module *module,
			     struct image **ret)
{
	static const struct {
		const char *above, *between, *below;
	} places[] = { { "/.build-id/", "/", "" },
		       { "/", "", "/executable" },
		       { "/.build-id/", "/", ".debug" },
		       { "/", "", "/debuginfo" },
		       { DEBUG_FOLDER "/.build-id/", "/", ".debug" } };
	const struct wanted wanted = { .build_id = module->build_id };
	int err = -ENOENT;

	if (!broker__is_build_id(module->build_id))
		return -ENOENT;
	if (module->path && *module->path == '/')
		err = try_roots(module, module->path, &wanted, ret);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && err == -ENOENT; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s%.2s%s%s%s", places[i].above, module->build_id,
			 places[i].between, module->build_id + 2, places[i].below);
		err = try_roots(module, path, &wanted, ret);
	}
	return err == -ENOENT ? from_server(finder, &wanted, ret) : err;
}

int debug_finder__find_shared(const struct debug_finder *finder, const struct symbol_module *module,
			      const char *path, const char *build_id, struct image **ret)
{
	const struct wanted wanted = { .build_id = build_id };
	int err = by_build_id(module, &wanted, ret);

	if (err == -ENOENT && *path == '/')
		err = try_roots(module, path, &wanted, ret);
	return err == -ENOENT ? from_server(finder, &wanted, ret) : err;
}
