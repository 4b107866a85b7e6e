/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "bpf/stack.h"
#include "stacks/maps.h"
#include "stacks/opener.h"

#define VDSO_NAME    "[vdso]"
#define DELETED_MARK " (deleted)"
/* File descriptors that modules leave to the rest of the program. */
#define SPARE_FDS  256
#define HASH_PRIME 0x9e3779b97f4a7c15ULL

struct modules {
	struct quality *quality;
	pthread_mutex_t lock; /* protects list and count: one thread writes, others read */
	struct module **list; /* by id − 1; NULL: the id is free */
	size_t count, capacity;
	size_t live; /* number of entries that are not NULL */
	size_t most; /* maximum number of modules with an open file */
	/* Used only by the writing thread: */
	struct map by_file;  /* hash of device and inode as in /proc/PID/maps → module */
	struct map by_build; /* hash of build-id and size → module */
	struct module *vdso; /* NULL: none */
	struct opener *opener;
};

/* --- look-up ---------------------------------------------------------------------------------- */

static uint64_t file_key(uint64_t device, uint64_t inode)
{
	uint64_t hash = (device * HASH_PRIME ^ inode) * HASH_PRIME;

	return hash ^ hash >> 29;
}

static uint64_t build_key(const struct headers *headers, off_t size)
{
	uint64_t hash = (uint64_t)size;

	for (size_t i = 0; i < headers->build_id_bytes; i++)
		hash = (hash ^ headers->build_id[i]) * HASH_PRIME;
	return hash ^ hash >> 29;
}

static bool is_unchanged(const struct stat *then, const struct statx *now)
{
	return then->st_dev == makedev(now->stx_dev_major, now->stx_dev_minor) &&
	       then->st_ino == now->stx_ino && then->st_size == (off_t)now->stx_size &&
	       then->st_mtim.tv_sec == now->stx_mtime.tv_sec &&
	       then->st_mtim.tv_nsec == now->stx_mtime.tv_nsec;
}

/*
 * Finds the module by its inode alone, because the process may already have ended. The inode number
 * cannot be reused while we hold the file open, but the file may have been overwritten.
 */
static struct module *find_by_file(struct modules *modules, const struct module_place *place)
{
	struct module *module = map__get(&modules->by_file, file_key(place->device, place->inode));
	struct statx now;

	/* DONT_SYNC: use cached attributes, because the file system may not respond. */
	if (!module || module->device != place->device || module->inode != place->inode ||
	    statx(module->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &now) ||
	    !is_unchanged(&module->stat, &now))
		return NULL;
	return module;
}

static struct module *find_by_build(struct modules *modules, const struct headers *headers,
				    const struct stat *stat)
{
	struct module *module;

	if (!headers->build_id_bytes)
		return NULL;
	module = map__get(&modules->by_build, build_key(headers, stat->st_size));
	/* The owner must be the same: no user can pass off a file as another user's. */
	if (!module || module->stat.st_size != stat->st_size ||
	    module->stat.st_uid != stat->st_uid ||
	    module->headers.build_id_bytes != headers->build_id_bytes ||
	    memcmp(module->headers.build_id, headers->build_id, headers->build_id_bytes))
		return NULL;
	return module;
}

struct module *modules__get(struct modules *modules, uint32_t id)
{
	struct module *module = NULL;

	pthread_mutex_lock(&modules->lock);
	if (id && id <= modules->count)
		module = modules->list[id - 1];
	pthread_mutex_unlock(&modules->lock);
	return module;
}

struct module *modules__hold(struct modules *modules, uint32_t id)
{
	struct module *module = NULL;

	pthread_mutex_lock(&modules->lock);
	if (id && id <= modules->count)
		module = modules->list[id - 1];
	if (module)
		module->holds++;
	pthread_mutex_unlock(&modules->lock);
	return module;
}

void modules__leave(struct modules *modules, uint32_t id)
{
	struct module *module;

	pthread_mutex_lock(&modules->lock);
	module = id && id <= modules->count ? modules->list[id - 1] : NULL;
	if (module && module->holds)
		module->holds--;
	pthread_mutex_unlock(&modules->lock);
}

void modules__use(struct modules *modules, uint32_t id)
{
	pthread_mutex_lock(&modules->lock);
	if (id && id <= modules->count && modules->list[id - 1])
		modules->list[id - 1]->used_ns = clock__now_ns();
	pthread_mutex_unlock(&modules->lock);
}

/* --- creation --------------------------------------------------------------------------------- */

static void module_free(struct module *module)
{
	if (!module)
		return;
	if (module->fd >= 0)
		close(module->fd);
	free(module->path);
	free(module->build_id);
	free(module);
}
DEFINE_CLEANUP(struct module *, module_free)

static char *copy_path(const char *path)
{
	size_t length = strlen(path), mark = strlen(DELETED_MARK);

	if (length > mark && !strcmp(path + length - mark, DELETED_MARK))
		length -= mark;
	return strndup(path, length);
}

static char *hex_of(const uint8_t *bytes, size_t count)
{
	char *text = malloc(2 * count + 1);

	for (size_t i = 0; text && i < count; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

/* Takes over `fd`, even if it fails. */
static struct module *module_new(int fd, const char *path, uint32_t pid,
				 const struct headers *headers)
{
	cleanup(module_free_p) struct module *module = calloc(1, sizeof(*module));

	if (!module) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	module->fd = fd;
	module->pid = (int)pid;
	module->headers = *headers;
	module->used_ns = clock__now_ns();
	module->path = copy_path(path);
	if (headers->build_id_bytes)
		module->build_id = hex_of(headers->build_id, headers->build_id_bytes);
	if (!module->path || (headers->build_id_bytes && !module->build_id))
		return NULL;
	return TAKE(module);
}

/* Assigns an id and adds the module to the list. */
static int enlist(struct modules *modules, struct module *module)
{
	size_t at = modules->live < modules->count ? 0 : modules->count;
	int err = 0;

	while (at < modules->count && modules->list[at])
		at++;
	pthread_mutex_lock(&modules->lock);
	if (at == modules->capacity) {
		size_t capacity = modules->capacity ? 2 * modules->capacity : 64;
		struct module **list = realloc(modules->list, capacity * sizeof(*list));

		if (list) {
			modules->list = list;
			modules->capacity = capacity;
		} else {
			err = -ENOMEM;
		}
	}
	if (!err) {
		modules->list[at] = module;
		modules->count += at == modules->count;
		modules->live++;
		module->id = (uint32_t)at + 1;
	}
	pthread_mutex_unlock(&modules->lock);
	modules->quality->modules += !err;
	return err;
}

/* Adds a file that is new, or finds the module of another file with the same build-id. */
static struct module *add(struct modules *modules, const struct module_place *place)
{
	cleanup(module_free_p) struct module *module = NULL;
	struct opened opened;
	const struct headers *headers = &opened.headers;
	struct module *same;
	int fd = opener__open(modules->opener, place, &opened);

	if (fd < 0) {
		modules->quality->modules_failed += fd == -EMFILE || fd == -ENFILE ||
						    fd == -ETIMEDOUT || fd == -EPIPE ||
						    fd == -ECHILD;
		return NULL;
	}
	same = find_by_build(modules, headers, &opened.stat);
	if (same || modules->live >= modules->most) {
		modules->quality->modules_failed += !same;
		close(fd);
		return same;
	}
	module = module_new(fd, place->path, place->pid, headers);
	if (!module)
		return NULL;
	module->stat = opened.stat;
	module->device = place->device;
	module->inode = place->inode;
	if (map__put(&modules->by_file, file_key(place->device, place->inode), module))
		return NULL;
	if (enlist(modules, module)) {
		map__take(&modules->by_file, file_key(place->device, place->inode));
		return NULL;
	}
	/* If this fails, a copy of the file becomes a module of its own. */
	if (headers->build_id_bytes)
		(void)map__put(&modules->by_build, build_key(headers, opened.stat.st_size), module);
	return TAKE(module);
}

struct module *modules__at(struct modules *modules, const struct module_place *place)
{
	struct module *module;

	if (!strcmp(place->path, VDSO_NAME)) {
		/* A 32-bit program has another vDSO. */
		module = modules->vdso;
		return module && place->end - place->begin == module->image_bytes ? module : NULL;
	}
	if (!place->inode)
		return NULL;
	module = find_by_file(modules, place);
	return module ? module : add(modules, place);
}

/* --- removal ---------------------------------------------------------------------------------- */

static bool may_go(const struct module *module, uint64_t before_ns, uint64_t mapped_ns)
{
	return module->fd >= 0 && !module->holds && module->mapped_ns != mapped_ns &&
	       module->used_ns < before_ns && !module->is_leaving;
}

/* Removes a module, so that it cannot be found. false: its rows are loaded or queued. */
static bool take_out(struct modules *modules, struct module *module)
{
	int known = MODULE_KNOWN, failed = MODULE_FAILED;
	uint64_t key;

	if (!atomic_compare_exchange_strong(&module->state, &known, MODULE_GONE) &&
	    !atomic_compare_exchange_strong(&module->state, &failed, MODULE_GONE))
		return false;
	key = file_key(module->device, module->inode);
	if (map__get(&modules->by_file, key) == module)
		map__take(&modules->by_file, key);
	key = build_key(&module->headers, module->stat.st_size);
	if (map__get(&modules->by_build, key) == module)
		map__take(&modules->by_build, key);
	modules->list[module->id - 1] = NULL;
	modules->live--;
	return true;
}

void modules__sweep(struct modules *modules, uint64_t before_ns, uint64_t mapped_ns,
		    modules_leave_fn leave, void *context)
{
	for (size_t i = 0; i < modules->count; i++) {
		struct module *module = modules->list[i];
		bool goes, is_out = false;

		pthread_mutex_lock(&modules->lock);
		goes = module && may_go(module, before_ns, mapped_ns);
		if (goes)
			is_out = take_out(modules, module);
		pthread_mutex_unlock(&modules->lock);
		if (goes)
			leave(context, module);
		if (is_out)
			module_free(module);
	}
}

/* --- the vDSO: the same in all processes, so we use our own ----------------------------------- */

/* The size of the mapping that begins at `begin` in our own memory; 0: none. */
static size_t size_of_mapping(uint64_t begin)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/self/maps", "re");
	cleanup(free_p) char *line = NULL;
	struct maps_line mapping;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!maps__parse(line, &mapping) && mapping.begin == begin)
			return mapping.end - mapping.begin;
	}
	return 0;
}

static int read_image(const void *image, size_t size, struct headers *ret)
{
	cleanup(close_p) int fd = memfd_create("vdso", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, image, size) != (ssize_t)size)
		return -EIO;
	return headers__read(fd, ret);
}

static int add_vdso(struct modules *modules)
{
	uintptr_t begin = getauxval(AT_SYSINFO_EHDR);
	size_t size = begin ? size_of_mapping(begin) : 0;
	const void *image = (const void *)begin; // NOLINT(performance-no-int-to-ptr)
	cleanup(module_free_p) struct module *module = NULL;
	struct headers headers;
	int err;

	if (!size || read_image(image, size, &headers))
		return 0;
	module = module_new(-1, VDSO_NAME, (uint32_t)getpid(), &headers);
	if (!module)
		return -ENOMEM;
	module->image = image;
	module->image_bytes = size;
	err = enlist(modules, module);
	if (!err)
		modules->vdso = TAKE(module);
	return err;
}

/* --- the registry ----------------------------------------------------------------------------- */

/*
 * Raises the soft limit of open files to the hard limit. The default soft limit of 1,024 exists for
 * programs that use select().
 */
static size_t raise_limit(void)
{
	struct rlimit limit = { 0 };
	size_t most;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < limit.rlim_max) {
		rlim_t before = limit.rlim_cur;

		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &limit))
			limit.rlim_cur = before;
	}
	most = limit.rlim_cur < FRAME_MOST_MODULES ? limit.rlim_cur : FRAME_MOST_MODULES;
	return most > SPARE_FDS ? most - SPARE_FDS : 0;
}

int modules__new(struct quality *quality, struct modules **ret)
{
	struct modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	pthread_mutex_init(&modules->lock, NULL);
	modules->quality = quality;
	modules->most = raise_limit();
	if (opener__new(&modules->opener) || add_vdso(modules)) {
		modules__free(modules);
		return -ENOMEM;
	}
	*ret = modules;
	return 0;
}

void modules__stop(struct modules *modules)
{
	opener__stop(modules->opener);
}

void modules__free(struct modules *modules)
{
	if (!modules)
		return;
	opener__free(modules->opener);
	for (size_t i = 0; i < modules->count; i++)
		module_free(modules->list[i]);
	map__release(&modules->by_file);
	map__release(&modules->by_build);
	pthread_mutex_destroy(&modules->lock);
	free(modules->list);
	free(modules);
}
