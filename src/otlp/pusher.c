/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "otlp/pusher.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/threads.h"

#define LONGEST_WAIT_MS 10000
#define MS_NS           UINT64_C(1000000)
#define LONGEST_S       30

struct pusher {
	pthread_t thread;
	bool is_started;
	struct http *http;
	struct courier *courier;

	pthread_mutex_t mutex;     /* protects what follows */
	struct courier_load *load; /* one that the thread has not seen; NULL: none */
	bool is_over;
	uint64_t skipped, skipped_profiles; /* of loads that the thread never saw */
	struct courier_status status;
};

DEFINE_CLEANUP(struct pusher *, pusher__free)

static uint64_t read_clock(void *context)
{
	return clock__now_ns();
}

/* Spreads retries; need not be unpredictable. */
static uint64_t read_random(void *context)
{
	uint64_t bits = 0;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) < 0)
		bits = clock__now_ns() / MS_NS;
	return bits;
}

/* --- the pusher's thread ---------------------------------------------------------------------- */

/* Gives the courier the newest load. Returns whether the thread goes on. */
static bool take_load(struct pusher *pusher)
{
	struct courier_load *load;
	bool goes_on;

	pthread_mutex_lock(&pusher->mutex);
	load = TAKE(pusher->load);
	goes_on = !pusher->is_over;
	pthread_mutex_unlock(&pusher->mutex);
	if (load)
		courier__offer(pusher->courier, load);
	return goes_on;
}

static void publish(struct pusher *pusher)
{
	pthread_mutex_lock(&pusher->mutex);
	courier__status(pusher->courier, &pusher->status);
	pthread_mutex_unlock(&pusher->mutex);
}

static unsigned int wait_ms(uint64_t until_ns)
{
	uint64_t now = clock__now_ns(), left_ms;

	if (!until_ns)
		return LONGEST_WAIT_MS;
	left_ms = until_ns > now ? (until_ns - now) / MS_NS + 1 : 0;
	return left_ms < LONGEST_WAIT_MS ? (unsigned int)left_ms : LONGEST_WAIT_MS;
}

static void *run(void *context)
{
	struct pusher *pusher = context;

	while (take_load(pusher)) {
		uint64_t next_ns = courier__step(pusher->courier);

		publish(pusher);
		http__wait(pusher->http, wait_ms(next_ns));
	}
	return NULL;
}

/* --- the caller's thread ---------------------------------------------------------------------- */

void pusher__offer(struct pusher *pusher, struct courier_load *load)
{
	struct courier_load *unseen;

	pthread_mutex_lock(&pusher->mutex);
	unseen = pusher->load;
	pusher->load = load;
	for (size_t i = 0; unseen && unseen->profiles && i < unseen->count; i++) {
		pusher->skipped++;
		pusher->skipped_profiles += unseen->profiles[i];
	}
	pthread_mutex_unlock(&pusher->mutex);
	courier__free_load(unseen);
	http__wake(pusher->http);
}

void pusher__status(struct pusher *pusher, struct courier_status *ret)
{
	pthread_mutex_lock(&pusher->mutex);
	*ret = pusher->status;
	ret->results[COURIER_SKIPPED] += pusher->skipped;
	ret->rejected += pusher->skipped_profiles;
	pthread_mutex_unlock(&pusher->mutex);
}

static bool leaves_in_clear(const char *url)
{
	static const char *const own[] = { "http://127.0.0.1", "http://[::1]", "http://localhost" };

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		size_t length = strlen(own[i]);

		if (!strncasecmp(url, own[i], length) &&
		    (!url[length] || strchr(":/", url[length])))
			return false;
	}
	return strncasecmp(url, "https://", 8) != 0;
}

static int open_parts(struct pusher *pusher, const struct pusher_options *options)
{
	const struct courier_clock clock = { read_clock, read_random, NULL };
	struct http_options http = options->http;
	struct http_transport transport;
	uint64_t interval_s = options->courier.interval_ns / (1000 * MS_NS);
	int err;

	/* An answer that comes after the next step is of no use. */
	if (!http.timeout_s)
		http.timeout_s = interval_s < 1           ? 1
				 : interval_s < LONGEST_S ? (unsigned int)interval_s
							  : LONGEST_S;
	err = http__new(&http, &pusher->http);
	if (err)
		return err;
	transport = http__transport(pusher->http);
	err = courier__new(&options->courier, &clock, &transport, &pusher->courier);
	if (!err)
		err = threads__start(run, pusher, &pusher->thread);
	pusher->is_started = !err;
	return err;
}

int pusher__new(const struct pusher_options *options, struct pusher **ret)
{
	cleanup(pusher__free_p) struct pusher *pusher = NULL;
	int err;

	if (options->http.token_file && leaves_in_clear(options->http.url))
		return -EPERM;
	pusher = calloc(1, sizeof(*pusher));
	if (!pusher)
		return -ENOMEM;
	pthread_mutex_init(&pusher->mutex, NULL);
	err = open_parts(pusher, options);
	if (!err)
		*ret = TAKE(pusher);
	return err;
}

void pusher__free(struct pusher *pusher)
{
	if (!pusher)
		return;
	if (pusher->is_started) {
		pthread_mutex_lock(&pusher->mutex);
		pusher->is_over = true;
		pthread_mutex_unlock(&pusher->mutex);
		http__wake(pusher->http);
		pthread_join(pusher->thread, NULL);
	}
	courier__free(pusher->courier);
	http__free(pusher->http);
	courier__free_load(pusher->load);
	pthread_mutex_destroy(&pusher->mutex);
	free(pusher);
}
