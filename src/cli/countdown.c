/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/countdown.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define SECOND_NS UINT64_C(1000000000)

static uint64_t shown = UINT64_MAX;

void countdown__show(uint64_t begun_ns, uint64_t until_ns)
{
	uint64_t now_ns = clock__now_ns();
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	uint64_t seconds =
		until_ns ? (left_ns + SECOND_NS - 1) / SECOND_NS : (now_ns - begun_ns) / SECOND_NS;

	if (seconds == shown || (until_ns && !seconds) || !isatty(STDERR_FILENO))
		return;
	shown = seconds;
	/* Return to the first column and erase the rest of a longer line. */
	fprintf(stderr, "\r%" PRIu64 " s%s\033[K", seconds, until_ns ? " left" : "");
	fflush(stderr);
}

void countdown__clear(void)
{
	if (shown == UINT64_MAX)
		return;
	shown = UINT64_MAX;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}
