/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of which the recording has both halves: what a client of the target asks of a server of
 * the target. Both name the two ends of the connection, each its own first. A connection has one
 * request at a time, so the client's half is the one that had begun and not ended when the first
 * byte arrived. HTTP/2 and gRPC have many at once and are left out. In two network namespaces there
 * could be the same addresses and ports at one time, so this is not proof, and the evidence says
 * what it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "model/model.h"
#include "model/profile_rows.h"
#include "vocabulary/window_words.h"

/* The client's half, by the ends of its connection and its beginning. */
struct half {
	uint64_t hash;
	int64_t start_ns;
	uint32_t window;
};

static int by_hash(const void *a, const void *b)
{
	const struct half *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->window > y->window) - (x->window < y->window);
}

static bool is_kind(const struct profile *profile, const struct profile_window *window,
		    enum window_words_kind kind)
{
	return !strcmp(profile->classes[window->class].kind, window_words__kind(kind)->key);
}

static bool is_multiplexed(const struct profile *profile, const struct profile_window *window)
{
	const char *protocol = profile->classes[window->class].protocol;

	return !strcmp(protocol, "http2") || !strcmp(protocol, "grpc");
}

static uint64_t hash_of(const char *text, size_t size, uint64_t hash)
{
	for (size_t i = 0; i < size; i++)
		hash = map__mix(hash, (unsigned char)text[i]);
	return hash;
}

/* The hash of the two ends, that of the client first. Returns false if there are no two. */
static bool hash_of_ends(const char *ends, bool of_client, uint64_t *ret)
{
	const char *arrow = ends ? strstr(ends, MODEL_ARROW) : NULL, *far;
	size_t near;

	if (!arrow)
		return false;
	near = (size_t)(arrow - ends);
	far = arrow + strlen(MODEL_ARROW);
	*ret = of_client ? hash_of(ends, near, 0) : hash_of(far, strlen(far), 0);
	*ret = of_client ? hash_of(far, strlen(far), *ret) : hash_of(ends, near, *ret);
	return true;
}

/* Whether two texts name the same connection from its two sides. */
static bool is_reverse(const char *ends, const char *other)
{
	const char *arrow = strstr(ends, MODEL_ARROW), *far = arrow + strlen(MODEL_ARROW);
	size_t near = (size_t)(arrow - ends), length = strlen(far);

	return strlen(other) == strlen(ends) && !strncmp(other, far, length) &&
	       !strncmp(other + length, MODEL_ARROW, strlen(MODEL_ARROW)) &&
	       !strncmp(other + length + strlen(MODEL_ARROW), ends, near);
}

/* The last half that began up to the beginning of a request; NULL: there is none. */
static const struct half *find_half(const struct half *halves, size_t count, uint64_t hash,
				    int64_t start_ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct half *at = &halves[middle];

		if (at->hash < hash || (at->hash == hash && at->start_ns <= start_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && halves[low - 1].hash == hash ? &halves[low - 1] : NULL;
}

static void join(struct profile *profile, struct profile_window *server, const struct half *halves,
		 size_t count)
{
	const struct profile_window *client;
	const struct half *half;
	uint64_t hash;

	if (server->parent_id || !is_kind(profile, server, WORDS_KIND_SERVER) ||
	    !hash_of_ends(server->ends, false, &hash))
		return;
	half = find_half(halves, count, hash, server->start_ns);
	client = half ? &profile->windows[half->window] : NULL;
	if (!client || server->start_ns - client->start_ns > client->length_ns ||
	    !is_reverse(server->ends, client->ends))
		return;
	server->parent = half->window;
	server->parent_id = client->id;
	server->evidence = PROFILE_BY_ENDS;
}

int profile_windows__join(struct profile *profile)
{
	cleanup(free_p) struct half *halves = calloc(profile->window_count + 1, sizeof(*halves));
	size_t count = 0;

	if (!halves)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];
		struct half half = { .start_ns = window->start_ns, .window = i };

		if (window->has_details && is_kind(profile, window, WORDS_KIND_CLIENT) &&
		    !is_multiplexed(profile, window) &&
		    hash_of_ends(window->ends, true, &half.hash))
			halves[count++] = half;
	}
	qsort(halves, count, sizeof(*halves), by_hash);
	for (size_t i = 0; i < profile->window_count && count; i++)
		join(profile, &profile->windows[i], halves, count);
	return 0;
}
