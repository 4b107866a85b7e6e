/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * It has a connection of its own instead of the sender's, which has one request at a time and must
 * not wait for this one.
 */
#include "store/asker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/threads.h"

#define MS_NS           UINT64_C(1000000)
#define LONGEST_WAIT_MS 10000

struct asker {
	struct asker_options options;
	struct http *http;
	struct http_transport transport;
	pthread_t thread;
	bool is_started;
	/* Only for the asker's thread: */
	char *body; /* under way; NULL: nothing */
	uint64_t next_ns;
	struct answer answer;

	pthread_mutex_t mutex; /* protects what follows */
	char *sql;             /* NULL: none yet */
	struct asker_answer came;
	bool has_answer, has_failed, is_over;
	char problem[ASKER_PROBLEM_BYTES];
};

/* From 0 to below `most`, which is not 0. */
static uint64_t draw(uint64_t most)
{
	uint64_t bits;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits))
		bits = clock__now_ns() * UINT64_C(0x9e3779b97f4a7c15);
	return bits % most;
}

/* --- the asker's thread ----------------------------------------------------------------------- */

static void plan_next(struct asker *asker)
{
	uint64_t fifth_ns = asker->options.interval_ns / 5;

	asker->next_ns =
		clock__now_ns() + asker->options.interval_ns - fifth_ns + draw(2 * fifth_ns + 1);
}

static void fail(struct asker *asker, const char *problem)
{
	pthread_mutex_lock(&asker->mutex);
	asker->has_failed = true;
	snprintf(asker->problem, sizeof(asker->problem), "%s", problem);
	pthread_mutex_unlock(&asker->mutex);
}

static void keep(struct asker *asker, char *bytes, size_t size)
{
	pthread_mutex_lock(&asker->mutex);
	free(asker->came.bytes);
	asker->came = (struct asker_answer) { bytes, size };
	asker->has_answer = true;
	asker->has_failed = false;
	pthread_mutex_unlock(&asker->mutex);
}

static void take_answer(struct asker *asker)
{
	const struct answer *answer = &asker->answer;
	enum answer_means means = answer__means(answer, false);
	char problem[ASKER_PROBLEM_BYTES], *bytes;

	if (means != ANSWER_OK) {
		snprintf(problem, sizeof(problem), "%s, status %d, code %d", answer__word(means),
			 answer->status, answer__exception(answer));
		fail(asker, problem);
		return;
	}
	bytes = malloc(answer->body_bytes + 1);
	if (!bytes) {
		fail(asker, "no memory");
		return;
	}
	memcpy(bytes, answer->body, answer->body_bytes);
	bytes[answer->body_bytes] = '\0';
	keep(asker, bytes, answer->body_bytes);
}

static void ask(struct asker *asker)
{
	struct http_request request = { .query = "" };
	int err;

	pthread_mutex_lock(&asker->mutex);
	asker->body = asker->sql ? strdup(asker->sql) : NULL;
	pthread_mutex_unlock(&asker->mutex);
	if (!asker->body)
		return;
	plan_next(asker);
	request.body = asker->body;
	request.body_bytes = strlen(asker->body);
	err = asker->transport.start(asker->transport.context, &request);
	if (!err)
		return;
	fail(asker, strerror(-err));
	free(TAKE(asker->body));
}

static bool is_over(struct asker *asker)
{
	bool over;

	pthread_mutex_lock(&asker->mutex);
	over = asker->is_over;
	pthread_mutex_unlock(&asker->mutex);
	return over;
}

static unsigned int wait_ms(const struct asker *asker)
{
	uint64_t now_ns = clock__now_ns();

	if (asker->body || asker->next_ns <= now_ns ||
	    asker->next_ns - now_ns > LONGEST_WAIT_MS * MS_NS)
		return LONGEST_WAIT_MS;
	return (unsigned int)((asker->next_ns - now_ns) / MS_NS) + 1;
}

static void *run(void *context)
{
	struct asker *asker = context;

	while (!is_over(asker)) {
		if (asker->body &&
		    !asker->transport.poll(asker->transport.context, &asker->answer)) {
			take_answer(asker);
			free(TAKE(asker->body));
		}
		if (!asker->body && clock__now_ns() >= asker->next_ns)
			ask(asker);
		http__wait(asker->http, wait_ms(asker));
	}
	return NULL;
}

/* --- the caller's thread ---------------------------------------------------------------------- */

int asker__set(struct asker *asker, const char *sql)
{
	char *copy = strdup(sql);

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&asker->mutex);
	free(asker->sql);
	asker->sql = copy;
	pthread_mutex_unlock(&asker->mutex);
	http__wake(asker->http);
	return 0;
}

int asker__take(struct asker *asker, struct asker_answer *ret,
		char ret_problem[static ASKER_PROBLEM_BYTES])
{
	int err = -EAGAIN;

	pthread_mutex_lock(&asker->mutex);
	if (asker->has_answer) {
		*ret = asker->came;
		asker->came = (struct asker_answer) {};
		err = 0;
	} else if (asker->has_failed) {
		memcpy(ret_problem, asker->problem, sizeof(asker->problem));
		err = -EIO;
	}
	asker->has_answer = asker->has_failed = false;
	pthread_mutex_unlock(&asker->mutex);
	return err;
}

/* --- life ------------------------------------------------------------------------------------- */

DEFINE_CLEANUP(struct asker *, asker__free)

int asker__new(const struct asker_options *options, struct asker **ret)
{
	cleanup(asker__free_p) struct asker *asker = calloc(1, sizeof(*asker));
	int err;

	if (!asker)
		return -ENOMEM;
	pthread_mutex_init(&asker->mutex, NULL);
	asker->options = *options;
	asker->next_ns = clock__now_ns() + draw(options->first_ns + 1);
	err = http__new(&options->http, &asker->http);
	if (err)
		return err;
	asker->transport = http__transport(asker->http);
	err = threads__start(run, asker, &asker->thread);
	if (err)
		return err;
	asker->is_started = true;
	*ret = TAKE(asker);
	return 0;
}

void asker__free(struct asker *asker)
{
	if (!asker)
		return;
	if (asker->is_started) {
		pthread_mutex_lock(&asker->mutex);
		asker->is_over = true;
		pthread_mutex_unlock(&asker->mutex);
		http__wake(asker->http);
		pthread_join(asker->thread, NULL);
	}
	http__free(asker->http);
	free(asker->body);
	free(asker->sql);
	free(asker->came.bytes);
	pthread_mutex_destroy(&asker->mutex);
	free(asker);
}
