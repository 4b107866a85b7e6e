/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pushes the agent's steps to a receiver of OTLP over HTTP, from a thread of its own, so that the
 * thread that collects never waits for a network. Encoding is done in that thread too.
 *
 * Two threads: that of the caller, and that of the pusher.
 */
#pragma once

#include "otlp/courier.h"

struct pusher_options {
	struct http_options http; /* requests go to URL/v1/metrics */
	struct courier_options courier;
};

struct pusher;

/*
 * -EINVAL: the URL is not valid. -EPERM: the token would leave this machine without encryption.
 * The strings of `http` are copied.
 */
int pusher__new(const struct pusher_options *options, struct pusher **ret);
/* A request that is under way is given up. */
void pusher__free(struct pusher *pusher);

/* A step: takes a reference to its pages. See courier__offer(). */
void pusher__offer(struct pusher *pusher, struct pages *pages, uint64_t start_ns, uint64_t time_ns);
void pusher__status(struct pusher *pusher, struct courier_status *ret);
