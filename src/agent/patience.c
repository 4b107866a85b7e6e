/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/patience.h"

#include <poll.h>
#include <time.h>

#include "base/clock.h"

#define MOST_NS UINT64_C(50000000)
#define SHARE   200
/* Shorter waits are not worth a call. */
#define LEAST_NS UINT64_C(100000)

struct patience patience__full(void)
{
	return (struct patience) { MOST_NS, clock__now_ns() };
}

bool patience__wait(struct patience *patience, int fd)
{
	struct pollfd wish = { .fd = fd, .events = POLLIN };
	uint64_t began_ns = clock__now_ns(), took_ns;
	struct timespec most;

	patience->left_ns += (began_ns - patience->saved_ns) / SHARE;
	if (patience->left_ns > MOST_NS)
		patience->left_ns = MOST_NS;
	patience->saved_ns = began_ns;
	if (patience->left_ns < LEAST_NS)
		return false;
	most = (struct timespec) { 0, (long)patience->left_ns };
	/* A signal ends the wait; whoever waits tries again. */
	(void)ppoll(&wish, 1, &most, NULL);
	took_ns = clock__now_ns() - began_ns;
	patience->left_ns -= took_ns < patience->left_ns ? took_ns : patience->left_ns;
	/* Waiting saves nothing. */
	patience->saved_ns += took_ns;
	return true;
}
