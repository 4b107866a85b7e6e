/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that have a runtime, and the processes that have mapped them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "runtimes/runtimes_internal.h"

#define MS_NS UINT64_C(1000000)
/* How long to wait for a runtime to start: twice as long each time. */
#define LEAST_RETRY_NS (5 * MS_NS)
#define MOST_RETRY_NS  (500 * MS_NS)
/* Some programs have a runtime in a library but never start it. */
#define MOST_START_NS (8000 * MS_NS)
/* How long to leave a process alone that the helper did not answer about. */
#define LEAST_REST_NS (250 * MS_NS)
#define MOST_REST_NS  (64000 * MS_NS)
/* How often to ask for what is known later, with the pauses above: about 12 seconds. */
#define MOST_REFINEMENTS 32
/* More files without a runtime are not kept. */
#define MOST_FILES 16384

/* --- files ------------------------------------------------------------------------------------ */

bool runtimes__is_candidate(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (path[0] != '/')
		return false;
	if (!strstr(name, ".so"))
		return true;
	for (int kind = RUNTIME_NONE + 1; kind < RUNTIME_KINDS; kind++) {
		const struct language *language = language__of(kind);

		for (size_t i = 0; language && language->hints && language->hints[i]; i++)
			if (strstr(name, language->hints[i]))
				return true;
	}
	return false;
}

static uint64_t key_of(const struct stat *stat)
{
	uint64_t key = map__mix(map__mix(0, stat->st_dev), stat->st_ino);

	key = map__mix(map__mix(key, (uint64_t)stat->st_size), (uint64_t)stat->st_mtim.tv_sec);
	return map__mix(key, (uint64_t)stat->st_mtim.tv_nsec);
}

static void free_file(struct file *file)
{
	close_p(&file->fd);
	free(file->path);
	free(file);
}

/* If the helper process is a new one, it has to be told everything again. */
static void notice_restart(struct runtimes *runtimes)
{
	struct process *process;
	struct file *file;
	size_t at = 0;

	if (!framer__has_forgotten(runtimes->framer))
		return;
	while ((file = map__next(&runtimes->files, &at)))
		file->is_told = false;
	at = 0;
	while ((process = map__next(&runtimes->processes, &at)))
		process->is_told = false;
}

/* Whether the file itself is the reason; otherwise it is looked at again. */
static bool is_final(int err)
{
	return !err || err == -ENOEXEC || err == -EFBIG || err == -ENOENT;
}

static bool forget_file(void *context, uint64_t key, void *value)
{
	struct file *file = value;

	if (file->kind != RUNTIME_NONE)
		return false;
	free_file(file);
	return true;
}

/* Keeps what is known of a file. Takes over fd and path of one that has a runtime. */
static struct file *keep_file(struct runtimes *runtimes, const struct stat *stat, struct task *task,
			      enum runtime_kind kind)
{
	struct file *file = malloc(sizeof(*file));

	/* A machine that builds programs has new ones all the time. */
	if (runtimes->files.count >= MOST_FILES)
		map__sweep(&runtimes->files, forget_file, NULL);
	if (!file || map__put(&runtimes->files, key_of(stat), file)) {
		free(file);
		return NULL;
	}
	*file = (struct file) {
		.stat = *stat, .key = runtimes->last_file, .kind = kind, .fd = -1, .is_told = true
	};
	if (kind == RUNTIME_NONE)
		return file;
	file->fd = task->mapping.fd;
	file->path = TAKE(task->path);
	task->mapping.fd = -1;
	return file;
}

/* -EAGAIN: it could not be looked at now. */
static int find_file(struct runtimes *runtimes, struct task *task, struct file **ret)
{
	enum runtime_kind kind = RUNTIME_NONE;
	struct stat stat;
	int err;

	if (fstat(task->mapping.fd, &stat))
		return -errno;
	*ret = map__get(&runtimes->files, key_of(&stat));
	if (*ret)
		return 0;
	notice_restart(runtimes);
	err = framer__file(runtimes->framer, ++runtimes->last_file, task->mapping.fd, task->path,
			   &kind);
	runtimes->quality.failed += !is_final(err);
	if (!is_final(err))
		return -EAGAIN;
	*ret = keep_file(runtimes, &stat, task, err ? RUNTIME_NONE : kind);
	return *ret ? 0 : -ENOMEM;
}

/* --- processes ------------------------------------------------------------------------------- */

static void free_process(struct process *process)
{
	close_p(&process->memory_fd);
	close_p(&process->maps_fd);
	free(process);
}

static int open_proc(uint32_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void runtimes__forget(struct runtimes *runtimes, uint32_t pid)
{
	struct process *process = map__take(&runtimes->processes, pid);

	if (!process)
		return;
	notice_restart(runtimes);
	if (process->is_told)
		framer__forget(runtimes->framer, pid);
	free_process(process);
}

int runtimes__tell(struct runtimes *runtimes, struct process *process)
{
	struct file *file = (struct file *)process->file;
	int err = 0;

	notice_restart(runtimes);
	if (!file->is_told) {
		enum runtime_kind kind;

		err = framer__file(runtimes->framer, file->key, file->fd, file->path, &kind);
		if (err)
			return err;
		file->is_told = true;
	}
	if (process->is_told)
		return 0;
	err = framer__process(runtimes->framer, process->pid, process->memory_fd, process->maps_fd);
	if (!err)
		err = framer__open(runtimes->framer, process->pid, file->key, process->bias,
				   &process->opened);
	process->is_told = !err && !process->opened.err;
	process->rough = process->is_told && language__of(process->file->kind)->refine
				 ? MOST_REFINEMENTS
				 : 0;
	return err;
}

bool runtimes__is_there(const struct process *process)
{
	char byte;

	return pread(process->memory_fd, &byte, 1, (off_t)process->begin) == 1;
}

static void report(struct runtimes *runtimes, const struct process *process)
{
	const struct runtime_found found = {
		.pid = process->pid,
		.start_ticks = process->start_ticks,
		.kind = process->file->kind,
		.state = process->state,
		.version = process->opened.version,
		.path = process->file->path,
		.runtime = process->state == RUNTIME_KNOWN ? &process->opened.runtime : NULL,
	};

	runtimes->options.found(runtimes->options.context, &found);
}

static void look_again_later(struct process *process, uint64_t most_ns)
{
	process->pause_ns = process->pause_ns ? 2 * process->pause_ns : LEAST_RETRY_NS;
	if (process->pause_ns > most_ns)
		process->pause_ns = most_ns;
	process->retry_ns = clock__now_ns() + process->pause_ns;
	if (process->retry_ns < process->rests_ns)
		process->retry_ns = process->rests_ns;
}

static void open_memory(struct process *process)
{
	if (process->memory_fd < 0)
		process->memory_fd = open_proc(process->pid, "mem");
	if (process->maps_fd < 0)
		process->maps_fd = open_proc(process->pid, "maps");
}

/* The helper process did not answer, which says nothing of the process that was asked about. */
static bool is_passing(int err)
{
	return err == -ETIMEDOUT || err == -EPIPE || err == -ECHILD || err == -ENOMEM ||
	       err == -EMFILE || err == -ENFILE;
}

void runtimes__failed(struct runtimes *runtimes, struct process *process, int err)
{
	uint64_t rest_ns = LEAST_REST_NS << process->failures;

	runtimes->quality.failed++;
	if (err != -ETIMEDOUT && err != -EPIPE && err != -EFBIG && err != -EBADMSG)
		return;
	if (rest_ns < MOST_REST_NS)
		process->failures++;
	else
		rest_ns = MOST_REST_NS;
	process->rests_ns = clock__now_ns() + rest_ns;
}

bool runtimes__rests(const struct process *process)
{
	return process->rests_ns && clock__now_ns() < process->rests_ns;
}

static bool is_refused(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* Opens the runtime of a process, and reports what has become of it. */
static void try_open(struct runtimes *runtimes, struct process *process)
{
	int err;

	process->is_told = false;
	open_memory(process);
	err = process->memory_fd < 0 ? process->memory_fd : runtimes__tell(runtimes, process);
	if (!err)
		err = process->opened.err;
	if (err == -EAGAIN || err == -EFAULT || is_passing(err)) {
		if (is_passing(err))
			runtimes__failed(runtimes, process, err);
		if (process->memory_fd >= 0 && !runtimes__is_there(process)) {
			runtimes__forget(runtimes, process->pid);
			return;
		}
		look_again_later(process, MOST_START_NS);
		process->state = RUNTIME_NOT_STARTED;
		return;
	}
	/* It has ended meanwhile. */
	if (process->memory_fd < 0 && !is_refused(err)) {
		runtimes__forget(runtimes, process->pid);
		return;
	}
	process->state = !err              ? RUNTIME_KNOWN
			 : is_refused(err) ? RUNTIME_UNREADABLE
					   : RUNTIME_UNKNOWN;
	process->pause_ns = process->retry_ns = 0;
	runtimes->quality.processes += !err;
	runtimes->quality.unknown += err != 0;
	if (runtimes__is_there(process) || is_refused(err))
		report(runtimes, process);
	else
		runtimes__forget(runtimes, process->pid);
}

static bool is_same(const struct runtime *a, const struct runtime *b)
{
	const void *ours = a, *theirs = b;

	return !memcmp(ours, theirs, sizeof(*a));
}

/* Reports what has become known since. */
static void refine(struct runtimes *runtimes, struct process *process)
{
	struct framer_opened opened;
	int err = runtimes__tell(runtimes, process);

	err = err ?: process->opened.err ?: framer__refine(runtimes->framer, process->pid, &opened);
	if (is_passing(err))
		runtimes__failed(runtimes, process, err);
	if (process->rough)
		process->rough--;
	if (!err) {
		if (opened.err != -EAGAIN || !runtimes__is_there(process))
			process->rough = 0;
		if (!is_same(&opened.runtime, &process->opened.runtime)) {
			process->opened.runtime = opened.runtime;
			report(runtimes, process);
		}
	} else if (!is_passing(err)) {
		process->rough = 0;
	}
	if (process->rough)
		look_again_later(process, MOST_RETRY_NS);
}

int runtimes__look_at(struct runtimes *runtimes, struct task *task)
{
	const struct runtimes_mapping *mapping = &task->mapping;
	struct process *process;
	struct file *file;
	int err = find_file(runtimes, task, &file);

	if (err || file->kind == RUNTIME_NONE)
		return err;
	process = map__get(&runtimes->processes, mapping->pid);
	if (process && process->start_ticks == mapping->start_ticks &&
	    runtimes__is_there(process)) {
		/* The mapper has forgotten it, or this is a second runtime: the first one stays. */
		if (process->state == RUNTIME_KNOWN)
			report(runtimes, process);
		return 0;
	}
	runtimes__forget(runtimes, mapping->pid);
	process = calloc(1, sizeof(*process));
	if (!process || map__put(&runtimes->processes, mapping->pid, process)) {
		free(process);
		return -ENOMEM;
	}
	*process = (struct process) {
		.pid = mapping->pid,
		.start_ticks = mapping->start_ticks,
		.begin = mapping->begin,
		.bias = mapping->bias,
		.memory_fd = -1,
		.maps_fd = -1,
		.file = file,
	};
	try_open(runtimes, process);
	return 0;
}

uint64_t runtimes__retry(struct runtimes *runtimes)
{
	uint64_t now_ns = clock__now_ns(), next_ns = UINT64_MAX;
	struct process *process;
	size_t at = 0;

	while ((process = map__next(&runtimes->processes, &at))) {
		bool is_rough = process->state == RUNTIME_KNOWN && process->rough;

		if (process->state != RUNTIME_NOT_STARTED && !is_rough)
			continue;
		if (process->retry_ns <= now_ns) {
			/* It may remove the process: begin again with the next call. */
			if (is_rough)
				refine(runtimes, process);
			else
				try_open(runtimes, process);
			return now_ns;
		}
		if (process->retry_ns < next_ns)
			next_ns = process->retry_ns;
	}
	return next_ns;
}

void runtimes__release(struct runtimes *runtimes)
{
	struct process *process;
	struct file *file;
	size_t at = 0;

	while ((process = map__next(&runtimes->processes, &at)))
		free_process(process);
	map__release(&runtimes->processes);
	at = 0;
	while ((file = map__next(&runtimes->files, &at)))
		free_file(file);
	map__release(&runtimes->files);
}
