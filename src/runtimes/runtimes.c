/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that looks for runtimes, and what it has to do. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/threads.h"
#include "base/vec.h"
#include "runtimes/runtimes_internal.h"

/* How often to look at a file, if the helper process does not answer. */
#define MOST_TRIES 5
/* Files that wait to be looked at; each has a descriptor. */
#define MOST_QUEUED 4096
#define THREAD_NICE (-15) /* as the threads that keep the tables */

/* --- the queue -------------------------------------------------------------------------------- */

static void release_task(const struct task *task)
{
	close_p(&task->mapping.fd);
	free(task->path);
}

/* Takes over fd and path. */
static void put_task(struct runtimes *runtimes, const struct task *task)
{
	struct task *added = NULL;

	pthread_mutex_lock(&runtimes->queue_lock);
	if (!task->path || runtimes->files_queued < MOST_QUEUED)
		added = APPEND(&runtimes->queue, &runtimes->queued);
	if (added) {
		*added = *task;
		runtimes->files_queued += task->path != NULL;
	}
	runtimes->dropped += !added;
	pthread_cond_signal(&runtimes->changed);
	pthread_mutex_unlock(&runtimes->queue_lock);
	if (!added)
		release_task(task);
}

/* --- the thread ------------------------------------------------------------------------------- */

static bool has_task(const struct runtimes *runtimes)
{
	return runtimes->first < runtimes->queued;
}

/* In a fork storm the queue is long, so the rest does not move each time. */
static struct task take_task(struct runtimes *runtimes)
{
	struct task task = runtimes->queue[runtimes->first++];

	runtimes->files_queued -= task.path != NULL;
	if (runtimes->first > runtimes->queued / 2) {
		runtimes->queued -= runtimes->first;
		memmove(runtimes->queue, runtimes->queue + runtimes->first,
			runtimes->queued * sizeof(*runtimes->queue));
		runtimes->first = 0;
	}
	return task;
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
	if (!has_task(runtimes) && !runtimes->stopping) {
		if (until_ns == UINT64_MAX)
			pthread_cond_wait(&runtimes->changed, &runtimes->queue_lock);
		else
			pthread_cond_timedwait(&runtimes->changed, &runtimes->queue_lock, &until);
	}
	found = runtimes->is_working = has_task(runtimes) && !runtimes->stopping;
	if (found)
		*ret = take_task(runtimes);
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

static void work_on(struct runtimes *runtimes, struct task *task)
{
	if (!task->path)
		runtimes__forget(runtimes, task->mapping.pid);
	else if (runtimes__look_at(runtimes, task) == -EAGAIN && ++task->tries < MOST_TRIES)
		put_task(runtimes, task);
	else
		release_task(task);
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
		if (found)
			work_on(runtimes, &task);
		until_ns = runtimes__retry(runtimes);
		pthread_mutex_unlock(&runtimes->lock);
	}
	return NULL;
}

void runtimes__mapped(struct runtimes *runtimes, const struct runtimes_mapping *mapping)
{
	struct task task = { .mapping = *mapping, .path = strdup(mapping->path) };

	task.mapping.path = NULL;
	task.mapping.fd = fcntl(mapping->fd, F_DUPFD_CLOEXEC, 0);
	if (task.path && task.mapping.fd >= 0) {
		put_task(runtimes, &task);
		return;
	}
	release_task(&task);
	pthread_mutex_lock(&runtimes->queue_lock);
	runtimes->dropped++;
	pthread_mutex_unlock(&runtimes->queue_lock);
}

void runtimes__gone(struct runtimes *runtimes, uint32_t pid)
{
	put_task(runtimes, &(struct task) { .mapping = { .pid = pid, .fd = -1 } });
}

bool runtimes__is_busy(struct runtimes *runtimes)
{
	bool busy;

	pthread_mutex_lock(&runtimes->queue_lock);
	busy = has_task(runtimes) || runtimes->is_working;
	pthread_mutex_unlock(&runtimes->queue_lock);
	return busy;
}

struct runtimes_quality runtimes__quality(struct runtimes *runtimes)
{
	struct runtimes_quality quality;

	pthread_mutex_lock(&runtimes->lock);
	quality = runtimes->quality;
	pthread_mutex_unlock(&runtimes->lock);
	pthread_mutex_lock(&runtimes->queue_lock);
	quality.failed += runtimes->dropped;
	pthread_mutex_unlock(&runtimes->queue_lock);
	return quality;
}

/* --- create and free -------------------------------------------------------------------------- */

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
	err = framer__new(&runtimes->framer);
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
	/* The kernel ends it with the thread that has started it: the next question would be lost.
	 */
	pthread_mutex_lock(&runtimes->lock);
	framer__restart(runtimes->framer);
	pthread_mutex_unlock(&runtimes->lock);
}

void runtimes__free(struct runtimes *runtimes)
{
	if (!runtimes)
		return;
	runtimes__stop(runtimes);
	for (size_t i = runtimes->first; i < runtimes->queued; i++)
		release_task(&runtimes->queue[i]);
	free(runtimes->queue);
	runtimes__release(runtimes);
	framer__free(runtimes->framer);
	pthread_cond_destroy(&runtimes->changed);
	pthread_mutex_destroy(&runtimes->lock);
	pthread_mutex_destroy(&runtimes->queue_lock);
	free(runtimes);
}
