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
#include "symbol/dwarf.h"
#include "symbol/foreign.h"
#include "symbol/module.h"

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
	int fd = foreign__open(root, path);
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
	int err = -ENOENT;

	if (module->root && *module->root)
		err = try_path(module->root, path, wanted, ret);
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

static int begin_client(struct debug_finder *finder)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);

	if (finder->is_offline || finder->client)
		return finder->is_offline ? -ENOENT : 0;
	finder->is_offline = finder->options->no_debuginfod || !urls || !*urls;
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

int debug_finder__find_shared(struct debug_finder *finder, const struct symbol_module *module,
			      const char *path, const char *build_id, struct image **ret)
{
	const struct wanted wanted = { .build_id = build_id };
	int err = by_build_id(module, &wanted, ret);

	if (err == -ENOENT && *path == '/')
		err = try_roots(module, path, &wanted, ret);
	return err == -ENOENT ? from_server(finder, &wanted, ret) : err;
}

/* --- modules ---------------------------------------------------------------------------------- */

void module__close_tables(struct module *module)
{
	dwarf__close(TAKE(module->dwarf));
	symtab__release(&module->functions);
	symtab__release(&module->variables);
	image__close(TAKE(module->mini));
	module->is_open = false;
}

void module__close(struct module *module)
{
	module__close_tables(module);
	image__close(TAKE(module->debug));
	image__close(TAKE(module->image));
}

bool module__has_copy(const struct module *module)
{
	return (module->image && module->image->map) || (module->debug && module->debug->map);
}

static int open_image(const struct symbol_module *name, struct image **ret)
{
	int fd;

	if (name->fd >= 0)
		return image__borrow(name->fd, ret);
	if (!name->path)
		return -ENOENT;
	fd = foreign__open(name->root ? name->root : "", name->path);
	return fd < 0 ? fd : image__open(fd, ret);
}

static int open_file(struct module *module, const struct symbol_module *name)
{
	int err = open_image(name, &module->image);

	if (err)
		return err;
	/* The values of its symbols are offsets in sections. */
	if (!image__has_addresses(module->image)) {
		image__close(TAKE(module->image));
		return -ENOEXEC;
	}
	return image__use_copy(module->image, name->depth == SYMBOL_WHOLE);
}

static bool needs_debug_file(const struct module *module, const struct symbol_module *name)
{
	if (module->has_no_debug || name->depth == SYMBOL_OWN_TABLES)
		return false;
	return name->depth == SYMBOL_WHOLE || !image__has_table(module->image, SHT_SYMTAB);
}

static int find_debug_file(struct module *module, const struct symbol_module *name,
			   struct debug_finder *finder)
{
	int err = debug_finder__find(finder, name, module->image, &module->debug);

	module->has_no_debug = err && err != -ENOMEM;
	return err ? err : image__use_copy(module->debug, name->depth == SYMBOL_WHOLE);
}

static void count_too_large(struct module *module, int err, struct symbols_quality *quality)
{
	quality->too_large += err == -EFBIG && !module->is_too_large;
	module->is_too_large |= err == -EFBIG;
}

/* The file is open. If there is no DWARF, that is no error. */
static int open_dwarf(struct module *module, const struct symbol_module *name,
		      struct debug_finder *finder, struct symbols_quality *quality)
{
	bool whole = name->depth == SYMBOL_WHOLE;
	int err = 0;

	if (!module->debug) {
		err = whole ? dwarf__open(module->image, finder, name, &module->dwarf) : -ENOENT;
		count_too_large(module, err, quality);
		if (err && err != -ENOMEM && needs_debug_file(module, name))
			err = find_debug_file(module, name, finder);
	}
	if (err != -ENOMEM && module->debug && whole) {
		err = dwarf__open(module->debug, finder, name, &module->dwarf);
		count_too_large(module, err, quality);
	}
	return err == -ENOMEM ? err : 0;
}

int module__open(struct module *module, const struct symbol_module *name,
		 struct debug_finder *finder, struct symbols_quality *quality)
{
	int err;

	if (module->is_open || module->is_unreadable)
		return 0;
	err = module->image ? 0 : open_file(module, name);
	if (!err)
		err = open_dwarf(module, name, finder, quality);
	if (err == -ENOMEM) {
		module__close(module);
		return err;
	}
	count_too_large(module, err, quality);
	if (!module->is_counted) {
		quality->modules++;
		quality->modules_failed += err != 0;
		quality->with_debug += module->dwarf != NULL;
	}
	module->is_counted = true;
	module->is_open = !err;
	module->is_unreadable = err != 0;
	return 0;
}

static int add_functions(struct module *module, struct symtab *tab)
{
	int err = image__add_symbols(module->image, SHT_SYMTAB, tab);

	if (err == -ENOENT && module->debug)
		err = image__add_symbols(module->debug, SHT_SYMTAB, tab);
	if (err != -ENOENT)
		return err;
	err = module->mini ? 0 : image__open_mini(module->image, &module->mini);
	if (!err)
		err = image__add_symbols(module->mini, SHT_SYMTAB, tab);
	/* The compressed table omits what .dynsym has. */
	return err == -ENOMEM ? err : image__add_symbols(module->image, SHT_DYNSYM, tab);
}

static int add_variables(struct module *module, struct symtab *tab)
{
	int err = image__add_variables(module->image, SHT_SYMTAB, tab);

	if (err == -ENOENT && module->debug)
		err = image__add_variables(module->debug, SHT_SYMTAB, tab);
	return err == -ENOENT ? image__add_variables(module->image, SHT_DYNSYM, tab) : err;
}

/* If a table is missing or broken, its names are unknown; that is no error. */
static int read_table(struct module *module, const struct addresses *wanted, struct symtab *tab,
		      int (*add)(struct module *module, struct symtab *tab),
		      struct symbols_quality *quality)
{
	int err = symtab__want(tab, wanted);

	if (!err)
		err = add(module, tab);
	if (err != -ENOMEM) {
		symtab__keep(tab);
		err = add(module, tab);
	}
	if (err == -ENOMEM)
		return err;
	count_too_large(module, err, quality);
	err = symtab__seal(tab);
	return err == -ENOMEM ? err : 0;
}

int module__read_functions(struct module *module, const struct addresses *wanted,
			   struct symbols_quality *quality)
{
	int err = 0;

	if (module->functions.version == wanted->version || !module->image)
		return 0;
	if (module->dwarf)
		err = dwarf__want(module->dwarf, wanted);
	return err ? err : read_table(module, wanted, &module->functions, add_functions, quality);
}

int module__read_variables(struct module *module, const struct addresses *wanted,
			   struct symbols_quality *quality)
{
	if (module->variables.version == wanted->version || !module->image)
		return 0;
	return read_table(module, wanted, &module->variables, add_variables, quality);
}
