/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/watch_requests.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "live/rolling.h"

#define SECOND_NS UINT64_C(1000000000)
/* What is shown is taken out of the recording, so little of it is needed. */
#define KEPT_NS (10 * SECOND_NS)

DEFINE_CLEANUP(struct features *, features__free)
DEFINE_CLEANUP(struct rolling *, rolling__free)
DEFINE_CLEANUP(struct watch_requests *, watch_requests__free)

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

static int take(struct rolling *rolling, struct watch_requests *watch)
{
	int err = run__flush(rolling__run(rolling));

	return err ? err : watch_requests__take(watch);
}

/* *ret_shown: number of intervals shown. */
static int go_on(const struct requests_watch *options, struct rolling *rolling,
		 struct watch_requests *watch, uint64_t start_ns, uint64_t *ret_shown)
{
	uint64_t until_ns = options->duration_ns ? start_ns + options->duration_ns : 0;
	uint64_t end_ns = start_ns + options->interval_ns, now_ns = start_ns;
	int err = 0;

	while (!err && !*options->interrupted && (!until_ns || now_ns < until_ns) &&
	       (!options->intervals || *ret_shown < options->intervals)) {
		err = run__step(rolling__run(rolling), earlier(until_ns, end_ns));
		if (!err)
			err = rolling__work(rolling);
		now_ns = clock__now_ns();
		if (err || now_ns < end_ns)
			continue;
		err = take(rolling, watch);
		if (!err)
			err = watch_requests__interval(watch, now_ns);
		++*ret_shown;
		while (end_ns <= now_ns)
			end_ns += options->interval_ns;
	}
	return err;
}

static int watch_all(const struct requests_watch *options, struct rolling *rolling)
{
	uint64_t start_ns = clock__now_ns(), shown = 0;
	cleanup(watch_requests__free_p) struct watch_requests *watch = NULL;
	int err = watch_requests__new(recording__db(rolling__recording(rolling)), &options->show,
				      start_ns, &watch);

	if (!err)
		err = go_on(options, rolling, watch, start_ns, &shown);
	/* Requests before the interrupt still count. */
	if (!err)
		err = run__stop(rolling__run(rolling));
	if (!err)
		err = watch_requests__take(watch);
	return err ? err : watch_requests__summary(watch, clock__now_ns());
}

int requests_watch__run(const struct requests_watch *options)
{
	cleanup(features__free_p) struct features *features = features__new();
	cleanup(rolling__free_p) struct rolling *rolling = NULL;
	int err;

	if (!cli__may_measure() || !features || rolling__start(&options->run, features, &rolling))
		return 1;
	/* A warning has said why. */
	if (!run__has_windows(rolling__run(rolling)))
		return 1;
	rolling__keep(rolling, KEPT_NS);
	log_info("watching 'requests'; Ctrl-C to stop");
	err = watch_all(options, rolling);
	if (err)
		log_error("watching 'requests' ended early: %s", strerror(-err));
	return err ? 1 : 0;
}
