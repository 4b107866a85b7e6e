/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/languages.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define WAIT_US 500

struct languages {
	struct runtimes *runtimes;
	/*
	 * Held while the two are made: the first runtime can be found before the mapper's address
	 * is known here.
	 */
	pthread_mutex_t lock;
	struct mapper *mapper;
};

DEFINE_CLEANUP(struct languages *, languages__free)

static void found(void *context, const struct runtime_found *found)
{
	struct languages *languages = context;

	pthread_mutex_lock(&languages->lock);
	if (languages->mapper && found->runtime)
		mapper__set_runtime(languages->mapper, found->pid, found->start_ticks,
				    found->runtime);
	pthread_mutex_unlock(&languages->lock);
}

static void take(void *context, const struct candidate_mapping *mapping)
{
	runtimes__mapped(context, &(struct runtimes_mapping) {
					  .pid = mapping->pid,
					  .start_ticks = mapping->start_ticks,
					  .fd = mapping->fd,
					  .path = mapping->path,
					  .begin = mapping->begin,
					  .bias = mapping->bias,
				  });
}

static void gone(void *context, uint32_t pid)
{
	runtimes__gone(context, pid);
}

int languages__new(struct mapper_options options, struct languages **ret)
{
	cleanup(languages__free_p) struct languages *languages = calloc(1, sizeof(*languages));
	const struct runtimes_options own = { .found = found, .context = languages };
	int err;

	if (!languages)
		return -ENOMEM;
	pthread_mutex_init(&languages->lock, NULL);
	err = runtimes__new(&own, &languages->runtimes);
	if (err)
		return err;
	options.languages = (struct candidate_taker) { .is_candidate = runtimes__is_candidate,
						       .take = take,
						       .gone = gone,
						       .context = languages->runtimes };
	pthread_mutex_lock(&languages->lock);
	err = mapper__new(&options, &languages->mapper);
	pthread_mutex_unlock(&languages->lock);
	if (!err)
		*ret = TAKE(languages);
	return err;
}

void languages__stop(struct languages *languages)
{
	if (!languages)
		return;
	mapper__stop(languages->mapper);
	runtimes__stop(languages->runtimes);
}

void languages__free(struct languages *languages)
{
	if (!languages)
		return;
	languages__stop(languages);
	mapper__free(languages->mapper);
	runtimes__free(languages->runtimes);
	pthread_mutex_destroy(&languages->lock);
	free(languages);
}

struct mapper *languages__mapper(struct languages *languages)
{
	return languages ? languages->mapper : NULL;
}

struct runtimes *languages__runtimes(struct languages *languages)
{
	return languages ? languages->runtimes : NULL;
}

void languages__wait(struct languages *languages, uint64_t most_ns)
{
	uint64_t until_ns = clock__now_ns() + most_ns;

	mapper__wait(languages->mapper, most_ns);
	while (runtimes__is_busy(languages->runtimes) && clock__now_ns() < until_ns)
		usleep(WAIT_US);
	/* The walk's tables have what was found. */
	if (clock__now_ns() < until_ns)
		mapper__wait(languages->mapper, until_ns - clock__now_ns());
}
