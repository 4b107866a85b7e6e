/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/languages.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "record/names.h"
#include "recording/recording.h"
#include "runtimes/language.h"
#include "vocabulary/runtimes.h"

#define WAIT_US 500

/* What is known of a process. RUNTIME_NONE: it has executed a program without a runtime. */
struct note {
	uint32_t pid;
	uint64_t start_ticks;
	enum runtime_kind kind;
	enum runtime_state state;
	char version[RUNTIME_VERSION_BYTES];
};

struct languages {
	struct runtimes *runtimes;
	struct languages_watcher watcher;
	/*
	 * Held while the two are made: the first runtime can be found before the mapper's address
	 * is known here.
	 */
	pthread_mutex_t lock;
	struct mapper *mapper;
	struct note *notes; /* not written yet */
	size_t note_count;
};

DEFINE_CLEANUP(struct languages *, languages__free)

static void note(struct languages *languages, const struct runtime_found *found)
{
	struct note *note = APPEND(&languages->notes, &languages->note_count);

	/* Without memory, the recording does not say what runs the process. */
	if (!note)
		return;
	*note = (struct note) { .pid = found->pid,
				.start_ticks = found->start_ticks,
				.kind = found->kind,
				.state = found->state };
	snprintf(note->version, sizeof(note->version), "%s", found->version);
}

static void found(void *context, const struct runtime_found *found)
{
	struct languages *languages = context;

	pthread_mutex_lock(&languages->lock);
	note(languages, found);
	if (languages->mapper && found->runtime)
		mapper__set_runtime(languages->mapper, found->pid, found->start_ticks,
				    found->runtime);
	pthread_mutex_unlock(&languages->lock);
	languages->watcher.found(languages->watcher.context, found);
}

static void take(void *context, const struct candidate_mapping *mapping)
{
	struct languages *languages = context;

	runtimes__mapped(languages->runtimes, &(struct runtimes_mapping) {
						      .pid = mapping->pid,
						      .start_ticks = mapping->start_ticks,
						      .fd = mapping->fd,
						      .path = mapping->path,
						      .begin = mapping->begin,
						      .bias = mapping->bias,
					      });
}

static void gone(void *context, uint32_t pid, uint64_t start_ticks, bool executes)
{
	struct languages *languages = context;
	const struct runtime_found none = { .pid = pid, .start_ticks = start_ticks, .version = "" };

	runtimes__gone(languages->runtimes, pid);
	if (!executes)
		return;
	pthread_mutex_lock(&languages->lock);
	note(languages, &none);
	pthread_mutex_unlock(&languages->lock);
}

int languages__new(struct mapper_options options, const struct languages_watcher *watcher,
		   struct languages **ret)
{
	cleanup(languages__free_p) struct languages *languages = calloc(1, sizeof(*languages));
	const struct runtimes_options own = { .found = found, .context = languages };
	int err;

	if (!languages)
		return -ENOMEM;
	languages->watcher = *watcher;
	pthread_mutex_init(&languages->lock, NULL);
	err = runtimes__new(&own, &languages->runtimes);
	if (err)
		return err;
	options.languages = (struct candidate_taker) { .is_candidate = runtimes__is_candidate,
						       .take = take,
						       .gone = gone,
						       .context = languages };
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
	free(languages->notes);
	pthread_mutex_destroy(&languages->lock);
	free(languages);
}

struct mapper *languages__mapper(const struct languages *languages)
{
	return languages ? languages->mapper : NULL;
}

struct runtimes *languages__runtimes(const struct languages *languages)
{
	return languages ? languages->runtimes : NULL;
}

static int write_note(const struct note *note, int64_t process, struct recording *recording)
{
	const struct runtime_words *words = runtime__words(note->kind);

	return recording__set_runtime(recording, process, words ? words->key : NULL,
				      note->version[0] ? note->version : NULL,
				      words ? runtime__state_key(note->state) : NULL);
}

int languages__write(struct languages *languages, const struct names *names,
		     struct recording *recording)
{
	size_t kept = 0;
	int err = 0;

	pthread_mutex_lock(&languages->lock);
	for (size_t i = 0; i < languages->note_count; i++) {
		const struct note *note = &languages->notes[i];
		int64_t process = names__process_since(names, note->pid, note->start_ticks);

		if (!process)
			languages->notes[kept++] = *note;
		else if (!err)
			err = write_note(note, process, recording);
	}
	languages->note_count = kept;
	pthread_mutex_unlock(&languages->lock);
	return err;
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
