/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/download.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"

#define SECOND_NS UINT64_C(1000000000)
/* libdebuginfod calls back about once a second during a download. */
#define BEAT_NS (2 * SECOND_NS)
/* How long a download may continue after the user wanted to stop. */
#define AFTER_NS  (2 * SECOND_NS)
#define URL_BYTES 256

struct download_shared {
	_Atomic bool is_running, stop;
	_Atomic unsigned long beats; /* incremented at each callback of a download */
	_Atomic long done, total;
	char url[URL_BYTES];
};

int download__new(struct download *ret)
{
	void *shared = mmap(NULL, sizeof(*ret->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return -ENOMEM;
	*ret = (struct download) { .shared = shared };
	return 0;
}

void download__release(struct download *download)
{
	if (download->shared)
		munmap(download->shared, sizeof(*download->shared));
	download->shared = NULL;
}

bool download__note(struct download *download, const char *what, long done, long total)
{
	struct download_shared *shared = download->shared;

	/* The URL is known only after a server responded. */
	snprintf(shared->url, sizeof(shared->url), "%s", what ? what : "");
	shared->done = done;
	shared->total = total;
	shared->beats++;
	shared->is_running = done >= 0;
	return !shared->stop;
}

void download__clear(struct download *download)
{
	download->shared->is_running = false;
}

bool download__is_running(const struct download *download)
{
	return download->shared->is_running;
}

void download__stop(struct download *download)
{
	download->shared->stop = true;
}

bool download__is_stopped(const struct download *download)
{
	return download->shared->stop;
}

int download__look(struct download *download, bool (*is_interrupted)(void),
		   void (*say)(const char *what, long done, long total))
{
	struct download_shared *shared = download->shared;
	uint64_t now_ns = clock__now_ns();
	char url[URL_BYTES];

	if (shared->beats != download->beats) {
		download->beats = shared->beats;
		download->beat_ns = now_ns;
	}
	if (!download->interrupted_ns && is_interrupted && is_interrupted())
		download->interrupted_ns = now_ns;
	if (download->interrupted_ns && now_ns - download->interrupted_ns > AFTER_NS)
		shared->stop = true;
	if (shared->is_running && *shared->url && say && now_ns - download->said_ns > SECOND_NS) {
		download->said_ns = now_ns;
		memcpy(url, shared->url, sizeof(url));
		url[sizeof(url) - 1] = '\0';
		say(url, shared->done, shared->total);
	}
	return shared->is_running && now_ns - download->beat_ns < BEAT_NS;
}
