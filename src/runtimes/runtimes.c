/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/runtimes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/threads.h"
#include "base/vec.h"
#include "runtimes/language.h"
#include "runtimes/reader.h"

#define MS_NS UINT64_C(1000000)
/* How long to wait for a runtime to start: twice as long each time. */
#define LEAST_RETRY_NS (5 * MS_NS)
#define MOST_RETRY_NS  (500 * MS_NS)
/* How often to look at a file, if the helper process does not answer. */
#define MOST_TRIES 5
/* How often to ask for what is known later, with the pauses above: about 12 seconds. */
#define MOST_REFINEMENTS 32
#define THREAD_NICE      (-15) /* as the threads that keep the tables */
/* Frames in one question. */
#define MOST_FRAMES 256

/* A file that was looked at. Without a runtime, only its identity is kept. */
struct file {
	struct stat stat;
	uint32_t key;
	enum runtime_kind kind;
	int fd; /* -1: has no runtime */
	char *path;
	bool is_told; /* the helper knows it */
};

struct process {
	uint32_t pid;
	uint64_t start_ticks, begin, bias;
	int memory_fd, maps_fd;
	const struct file *file;
	struct reader_opened opened;
	enum runtime_state state;
	bool is_told;
	unsigned rough;              /* how often to ask again for more; 0: all is known */
	uint64_t retry_ns, pause_ns; /* RUNTIME_NOT_STARTED or `rough`: when to look again */
};

/* What the thread has to do. */
struct task {
	struct runtimes_mapping mapping; /* fd −1: the process is gone */
	char *path;
	unsigned tries;
};

struct runtimes {
	struct runtimes_options options;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t queue_lock; /* protects these */
	pthread_cond_t changed;
	struct task *queue;
	size_t queued;
	bool is_working; /* on a task that is no longer in the queue */
	bool stopping;

	pthread_mutex_t lock; /* protects these; may be held for as long as the helper works */
	struct reader *reader;
	struct map files;     /* by hash of the identity */
	struct map processes; /* by pid */
	uint32_t last_file;
	struct runtimes_quality quality;
};

/* --- files --------------------------------------------------------------------------------------
 */

bool runtimes__is_candidate(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (path[0] != '/')
		return false;
	if (!strstr(name, ".so"))
		return true;
	for (int kind = RUNTIME_NONE + 1; kind < RUNTIME_KINDS; kind++) {
		const struct language *language = languages__of(kind);

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

	if (!reader__has_forgotten(runtimes->reader))
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

/* Keeps what is known of a file. Takes over fd and path of one that has a runtime. */
static struct file *keep_file(struct runtimes *runtimes, const struct stat *stat, struct task *task,
			      enum runtime_kind kind)
{
	struct file *file = malloc(sizeof(*file));

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
	err = reader__file(runtimes->reader, ++runtimes->last_file, task->mapping.fd, task->path,
			   &kind);
	runtimes->quality.failed += !is_final(err);
	if (!is_final(err))
		return -EAGAIN;
	*ret = keep_file(runtimes, &stat, task, err ? RUNTIME_NONE : kind);
	return *ret ? 0 : -ENOMEM;
}

/* --- processes ----------------------------------------------------------------------------------
 */

static void free_process(struct process *process)
{
	close_p(&process->memory_fd);
	close_p(&process->maps_fd);
	free(process);
}

static int open_proc(uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void forget(struct runtimes *runtimes, uint32_t pid)
{
	struct process *process = map__take(&runtimes->processes, pid);

	if (!process)
		return;
	notice_restart(runtimes);
	if (process->is_told)
		reader__forget(runtimes->reader, pid);
	free_process(process);
}

/* Makes sure that the helper process knows the process and the file with its runtime. */
static int tell(struct runtimes *runtimes, struct process *process)
{
	struct file *file = (struct file *)process->file;
	int err = 0;

	notice_restart(runtimes);
	if (!file->is_told) {
		enum runtime_kind kind;

		err = reader__file(runtimes->reader, file->key, file->fd, file->path, &kind);
		if (err)
			return err;
		file->is_told = true;
	}
	if (process->is_told)
		return 0;
	err = reader__process(runtimes->reader, process->pid, process->memory_fd, process->maps_fd);
	if (!err)
		err = reader__open(runtimes->reader, process->pid, file->key, process->bias,
				   &process->opened);
	process->is_told = !err && !process->opened.err;
	process->rough = process->is_told && languages__of(process->file->kind)->refine
				 ? MOST_REFINEMENTS
				 : 0;
	return err;
}

/* Whether the memory still belongs to the program: an exec gives the process another one. */
static bool is_there(const struct process *process)
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

static void look_again_later(struct process *process)
{
	process->pause_ns = process->pause_ns ? 2 * process->pause_ns : LEAST_RETRY_NS;
	if (process->pause_ns > MOST_RETRY_NS)
		process->pause_ns = MOST_RETRY_NS;
	process->retry_ns = clock__now_ns() + process->pause_ns;
}

/* The helper process did not answer, which says nothing of the process that was asked about. */
static bool is_passing(int err)
{
	return err == -ETIMEDOUT || err == -EPIPE || err == -ECHILD || err == -ENOMEM;
}

/* Opens the runtime of a process, and reports what has become of it. */
static void try_open(struct runtimes *runtimes, struct process *process)
{
	int err;

	process->is_told = false;
	err = process->memory_fd < 0 ? -EACCES : tell(runtimes, process);
	if (!err)
		err = process->opened.err;
	if (err == -EAGAIN || err == -EFAULT || is_passing(err)) {
		runtimes->quality.failed += is_passing(err);
		if (!is_there(process)) {
			forget(runtimes, process->pid);
			return;
		}
		look_again_later(process);
		process->state = RUNTIME_NOT_STARTED;
		return;
	}
	process->state = !err             ? RUNTIME_KNOWN
			 : err == -EACCES ? RUNTIME_UNREADABLE
					  : RUNTIME_UNKNOWN;
	process->pause_ns = process->retry_ns = 0;
	runtimes->quality.processes += !err;
	runtimes->quality.unknown += err != 0;
	if (is_there(process) || err == -EACCES)
		report(runtimes, process);
	else
		forget(runtimes, process->pid);
}

/* Reports what has become known since. */
static void refine(struct runtimes *runtimes, struct process *process)
{
	struct reader_opened opened;
	int err = tell(runtimes, process);

	err = err ?: process->opened.err ?: reader__refine(runtimes->reader, process->pid, &opened);
	runtimes->quality.failed += is_passing(err);
	if (process->rough)
		process->rough--;
	if (!err) {
		if (opened.err != -EAGAIN || !is_there(process))
			process->rough = 0;
		if (memcmp(&opened.runtime, &process->opened.runtime, sizeof(opened.runtime)) !=
		    0) {
			process->opened.runtime = opened.runtime;
			report(runtimes, process);
		}
	} else if (!is_passing(err)) {
		process->rough = 0;
	}
	if (process->rough)
		look_again_later(process);
}

static void release_task(const struct task *task)
{
	close_p(&task->mapping.fd);
	free(task->path);
}

/* Takes over fd and path. */
static void put_task(struct runtimes *runtimes, const struct task *task)
{
	struct task *added;

	pthread_mutex_lock(&runtimes->queue_lock);
	added = APPEND(&runtimes->queue, &runtimes->queued);
	if (added)
		*added = *task;
	pthread_cond_signal(&runtimes->changed);
	pthread_mutex_unlock(&runtimes->queue_lock);
	if (!added)
		release_task(task);
}

static void take_mapping(struct runtimes *runtimes, struct task *task)
{
	const struct runtimes_mapping *mapping = &task->mapping;
	struct process *process;
	struct file *file;
	int err = find_file(runtimes, task, &file);

	if (err == -EAGAIN && ++task->tries < MOST_TRIES) {
		put_task(runtimes, task);
		*task = (struct task) { .mapping.fd = -1 };
	}
	if (err || file->kind == RUNTIME_NONE)
		return;
	process = map__get(&runtimes->processes, mapping->pid);
	if (process && process->start_ticks == mapping->start_ticks && is_there(process)) {
		/* The mapper has forgotten it, or this is a second runtime: the first one stays. */
		if (process->state == RUNTIME_KNOWN)
			report(runtimes, process);
		return;
	}
	forget(runtimes, mapping->pid);
	process = calloc(1, sizeof(*process));
	if (!process || map__put(&runtimes->processes, mapping->pid, process)) {
		free(process);
		return;
	}
	*process = (struct process) {
		.pid = mapping->pid,
		.start_ticks = mapping->start_ticks,
		.begin = mapping->begin,
		.bias = mapping->bias,
		.memory_fd = open_proc(mapping->pid, "mem"),
		.maps_fd = open_proc(mapping->pid, "maps"),
		.file = file,
	};
	try_open(runtimes, process);
}

/* --- the thread ---------------------------------------------------------------------------------
 */

/* Opens the runtimes that may have started since. The time at which to look again. */
static uint64_t retry(struct runtimes *runtimes)
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

/* Waits for a task until `until_ns`. false: there is none. */
static bool next_task(struct runtimes *runtimes, uint64_t until_ns, struct task *ret)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ns / 1000000000),
		.tv_nsec = (long)(until_ns % 1000000000),
	};
	bool found;

	pthread_mutex_lock(&runtimes->queue_lock);
	runtimes->is_working = false;
	if (!runtimes->queued && !runtimes->stopping) {
		if (until_ns == UINT64_MAX)
			pthread_cond_wait(&runtimes->changed, &runtimes->queue_lock);
		else
			pthread_cond_timedwait(&runtimes->changed, &runtimes->queue_lock, &until);
	}
	found = runtimes->is_working = runtimes->queued && !runtimes->stopping;
	if (found) {
		*ret = runtimes->queue[0];
		memmove(runtimes->queue, runtimes->queue + 1,
			--runtimes->queued * sizeof(*runtimes->queue));
	}
	pthread_mutex_unlock(&runtimes->queue_lock);
	return found;
}

static bool is_stopping(struct runtimes *runtimes)
{
	bool stopping;

	pthread_mutex_lock(&runtimes->queue_lock);
	stopping = runtimes->stopping;
	pthread_mutex_unlock(&runtimes->queue_lock);
	return stopping;
}

static void *run(void *context)
{
	struct runtimes *runtimes = context;
	uint64_t until_ns = UINT64_MAX;
	struct task task;

	pthread_setname_np(pthread_self(), "gapless-langs");
	/* Stacks have a runtime's frames only from the time on when it has been found. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), THREAD_NICE);
	while (!is_stopping(runtimes)) {
		bool found = next_task(runtimes, until_ns, &task);

		pthread_mutex_lock(&runtimes->lock);
		if (found && task.path)
			take_mapping(runtimes, &task);
		else if (found)
			forget(runtimes, task.mapping.pid);
		if (found)
			release_task(&task);
		until_ns = retry(runtimes);
		pthread_mutex_unlock(&runtimes->lock);
	}
	return NULL;
}

void runtimes__mapped(struct runtimes *runtimes, const struct runtimes_mapping *mapping)
{
	struct task task = { .mapping = *mapping, .path = strdup(mapping->path) };

	task.mapping.path = NULL;
	task.mapping.fd = fcntl(mapping->fd, F_DUPFD_CLOEXEC, 0);
	if (task.path && task.mapping.fd >= 0)
		put_task(runtimes, &task);
	else
		release_task(&task);
}

void runtimes__gone(struct runtimes *runtimes, uint32_t pid)
{
	put_task(runtimes, &(struct task) { .mapping = { .pid = pid, .fd = -1 } });
}

bool runtimes__is_busy(struct runtimes *runtimes)
{
	bool busy;

	pthread_mutex_lock(&runtimes->queue_lock);
	busy = runtimes->queued || runtimes->is_working;
	pthread_mutex_unlock(&runtimes->queue_lock);
	return busy;
}

/* --- names --------------------------------------------------------------------------------------
 */

struct taking {
	runtimes_take_fn take;
	void *context;
	size_t first; /* frame of this question */
};

static int take_one(void *context, size_t index, const struct symbol_chain *chain)
{
	const struct taking *taking = context;

	return taking->take(taking->context, taking->first + index, chain);
}

int runtimes__name(struct runtimes *runtimes, uint32_t pid, const struct runtime_frame *frames,
		   size_t count, runtimes_take_fn take, void *context)
{
	struct taking taking = { take, context, 0 };
	struct process *process;
	int err = 0;

	pthread_mutex_lock(&runtimes->lock);
	process = map__get(&runtimes->processes, pid);
	if (!process || process->state != RUNTIME_KNOWN || tell(runtimes, process)) {
		runtimes->quality.names_late += count;
		count = 0;
	}
	for (; taking.first < count && !err; taking.first += MOST_FRAMES) {
		size_t some = count - taking.first;

		err = reader__name(runtimes->reader, pid, frames + taking.first,
				   some < MOST_FRAMES ? some : MOST_FRAMES, take_one, &taking,
				   &runtimes->quality.names_late);
	}
	/* The helper was given up: a hostile process costs its own names. */
	if (err && err != -ENOMEM) {
		runtimes->quality.failed++;
		err = 0;
	}
	pthread_mutex_unlock(&runtimes->lock);
	return err;
}

struct class_name {
	char *to;
	size_t size;
};

static int take_class(void *context, size_t index, const struct symbol_chain *chain)
{
	const struct class_name *name = context;

	snprintf(name->to, name->size, "%s", chain->frames[0].name);
	return 0;
}

int runtimes__class(struct runtimes *runtimes, uint32_t pid, uint64_t address, char *to,
		    size_t size)
{
	const struct runtime_frame frame = { .object = address, .cookie = RUNTIME_CLASS_COOKIE };
	struct class_name name = { to, size };
	int err;

	to[0] = '\0';
	err = runtimes__name(runtimes, pid, &frame, 1, take_class, &name);
	return err ? err : *to ? 0 : -ENOENT;
}

static int read_fibers(struct runtimes *runtimes, struct process *process, runtimes_fibers_fn take,
		       void *context)
{
	struct runtime_fibers fibers = {};
	int err = tell(runtimes, process);

	if (!err)
		err = reader__fibers(runtimes->reader, process->pid, &fibers);
	if (!err)
		err = take(context, process->pid, process->start_ticks, &fibers);
	else if (err != -ENOMEM && !is_there(process))
		err = 0;
	free(fibers.list);
	return err;
}

int runtimes__read_fibers(struct runtimes *runtimes, runtimes_fibers_fn take, void *context)
{
	struct process *process;
	size_t at = 0;
	int err = 0;

	pthread_mutex_lock(&runtimes->lock);
	while (!err && (process = map__next(&runtimes->processes, &at))) {
		if (process->state != RUNTIME_KNOWN ||
		    !languages__of(process->file->kind)->read_fibers)
			continue;
		err = read_fibers(runtimes, process, take, context);
		if (err == -ENOMEM || !err)
			continue;
		/* A hostile process costs only what is known of itself. */
		runtimes->quality.failed++;
		err = 0;
	}
	pthread_mutex_unlock(&runtimes->lock);
	return err;
}

struct runtimes_quality runtimes__quality(struct runtimes *runtimes)
{
	struct runtimes_quality quality;

	pthread_mutex_lock(&runtimes->lock);
	quality = runtimes->quality;
	pthread_mutex_unlock(&runtimes->lock);
	return quality;
}

/* --- create and free ----------------------------------------------------------------------------
 */

int runtimes__new(const struct runtimes_options *options, struct runtimes **ret)
{
	struct runtimes *runtimes = calloc(1, sizeof(*runtimes));
	pthread_condattr_t attributes;
	int err;

	if (!runtimes)
		return -ENOMEM;
	runtimes->options = *options;
	pthread_mutex_init(&runtimes->queue_lock, NULL);
	pthread_mutex_init(&runtimes->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&runtimes->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	err = reader__new(&runtimes->reader);
	if (!err)
		err = threads__start(run, runtimes, &runtimes->thread);
	if (err) {
		runtimes__free(runtimes);
		return err;
	}
	runtimes->has_thread = true;
	*ret = runtimes;
	return 0;
}

void runtimes__stop(struct runtimes *runtimes)
{
	if (!runtimes || !runtimes->has_thread)
		return;
	pthread_mutex_lock(&runtimes->queue_lock);
	runtimes->stopping = true;
	pthread_cond_signal(&runtimes->changed);
	pthread_mutex_unlock(&runtimes->queue_lock);
	pthread_join(runtimes->thread, NULL);
	runtimes->has_thread = false;
}

void runtimes__free(struct runtimes *runtimes)
{
	struct process *process;
	struct file *file;
	size_t at = 0;

	if (!runtimes)
		return;
	runtimes__stop(runtimes);
	for (size_t i = 0; i < runtimes->queued; i++)
		release_task(&runtimes->queue[i]);
	free(runtimes->queue);
	while ((process = map__next(&runtimes->processes, &at)))
		free_process(process);
	map__release(&runtimes->processes);
	at = 0;
	while ((file = map__next(&runtimes->files, &at)))
		free_file(file);
	map__release(&runtimes->files);
	reader__free(runtimes->reader);
	pthread_cond_destroy(&runtimes->changed);
	pthread_mutex_destroy(&runtimes->lock);
	pthread_mutex_destroy(&runtimes->queue_lock);
	free(runtimes);
}
