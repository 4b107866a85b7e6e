/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pushes loads to a receiver over HTTP, from a thread of its own, so that the thread that collects
 * never waits for a network. Bodies are packed in that thread too.
 *
 * Two threads: that of the caller, and that of the pusher.
 */
#pragma once

#include "otlp/courier.h"

struct pusher_options {
	struct http_options http; /* requests go to URL and the courier's path */
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

/* Takes over the load. See courier__offer(). */
void pusher__offer(struct pusher *pusher, struct courier_load *load);
void pusher__status(struct pusher *pusher, struct courier_status *ret);
