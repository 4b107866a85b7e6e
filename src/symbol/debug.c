/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <elfutils/debuginfod.h>
#include <elfutils/libdwelf.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "symbol/broker.h"

#define DEBUG_FOLDER "/usr/lib/debug"
/* A server can send without end. The debug information of browsers has 1 to 2 GB. */
#define MOST_DOWNLOAD_BYTES (2L << 30)
#define MOST_DOWNLOAD_NS    (120 * SECOND_NS)
#define MOST_DOWNLOADS_NS   (300 * SECOND_NS) /* of all downloads together */
#define SECOND_NS           UINT64_C(1000000000)

/* The properties that a debug file must have. */
struct wanted {
	const char *build_id; /* hex, or NULL */
	uint32_t crc;         /* compared if one of the two files has no build-id */
	bool has_crc;
};

void debug_finder__release(struct debug_finder *finder)
{
	if (finder->client)
		debuginfod_end(finder->client);
	finder->client = NULL;
}

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

/* libdebuginfod's own timeout applies only to a server that sends nothing at all. */
static int on_progress(debuginfod_client *client, long done, long total)
{
	struct debug_finder *finder = debuginfod_get_user_data(client);
	const struct symbols_options *options = finder->options;
	uint64_t took_ns = clock__now_ns() - finder->began_ns;

	finder->is_over = done > MOST_DOWNLOAD_BYTES || total > MOST_DOWNLOAD_BYTES ||
			  took_ns > MOST_DOWNLOAD_NS ||
			  took_ns + finder->spent_ns > MOST_DOWNLOADS_NS;
	if (!finder->is_over && options->progress)
		finder->is_over = !options->progress(options->context, debuginfod_get_url(client),
						     done, total);
	return finder->is_over;
}

bool debug_finder__has_server(bool no_debuginfod)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);

	return !no_debuginfod && urls && *urls;
}

static int begin_client(struct debug_finder *finder)
{
	if (finder->is_offline || finder->client)
		return finder->is_offline ? -ENOENT : 0;
	finder->is_offline = !debug_finder__has_server(finder->options->no_debuginfod);
	if (finder->is_offline)
		return -ENOENT;
	finder->client = debuginfod_begin();
	if (!finder->client)
		return -ENOMEM;
	debuginfod_set_user_data(finder->client, finder);
	debuginfod_set_progressfn(finder->client, on_progress);
	return 0;
}

static int from_server(struct debug_finder *finder, const struct wanted *wanted, struct image **ret)
{
	struct image *image;
	int fd, err;

	if (!wanted->build_id)
		return -ENOENT;
	err = begin_client(finder);
	if (err)
		return err;
	finder->began_ns = clock__now_ns();
	finder->is_over = false;
	if (finder->options->progress &&
	    !finder->options->progress(finder->options->context, NULL, 0, 0)) {
		finder->is_offline = true;
		return -ENOENT;
	}
	fd = debuginfod_find_debuginfo(finder->client, (const unsigned char *)wanted->build_id, 0,
				       NULL);
	finder->spent_ns += clock__now_ns() - finder->began_ns;
	finder->ended += finder->is_over;
	if (finder->options->progress)
		(void)finder->options->progress(finder->options->context, NULL, -1, -1);
	if (fd < 0) {
		/* A try may take a minute and a half, and there are many files. */
		finder->is_offline = fd != -ENOENT;
		return -ENOENT;
	}
	err = image__open(fd, &image);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	if (!is_wanted(image, wanted)) {
		image__close(image);
		return -ENOENT;
	}
	*ret = image;
	return 0;
}

/* The text becomes part of a path, so it must be hex. */
static bool is_build_id(const char *text)
{
	size_t length = text ? strlen(text) : 0;

	return length >= 4 && length < BUILD_ID_TEXT_BYTES &&
	       strspn(text, "0123456789abcdef") == length;
}

int debug_finder__find(struct debug_finder *finder, const struct symbol_module *module,
		       const struct image *image, struct image **ret)
{
	char own_id[BUILD_ID_TEXT_BYTES];
	struct wanted wanted = {};
	int err;

	if (is_build_id(module->build_id))
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
int debug_finder__find_by_id(struct debug_finder *finder, const struct symbol_module *module,
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

	if (!is_build_id(module->build_id))
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

int debug_finder__find_shared(struct debug_finder *finder, const struct symbol_module *module,
			      const char *path, const char *build_id, struct image **ret)
{
	const struct wanted wanted = { .build_id = build_id };
	int err = by_build_id(module, &wanted, ret);

	if (err == -ENOENT && *path == '/')
		err = try_roots(module, path, &wanted, ret);
	return err == -ENOENT ? from_server(finder, &wanted, ret) : err;
}
