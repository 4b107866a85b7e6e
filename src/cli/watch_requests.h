/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless watch requests: requests are no signal, so they have a loop of their own. */
#pragma once

#include <signal.h>

#include "live/watch_requests.h"
#include "record/run.h"

struct requests_watch {
	struct run_options run;
	struct watch_requests_options show;
	uint64_t duration_ns; /* 0: until interrupted */
	uint64_t interval_ns;
	uint64_t intervals; /* 0: no limit */
	const volatile sig_atomic_t *interrupted;
};

/* Returns the exit status. */
int requests_watch__run(const struct requests_watch *options);
