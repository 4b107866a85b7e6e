/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/cost.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "base/helper.h"
#include "record/quality.h"

/* CPU time of this process and its helpers so far. */
static int64_t own_cpu_ns(void)
{
	return (int64_t)(clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) + helper__all_cpu_ns());
}

void cost__open(struct cost *cost)
{
	cost->opened_cpu_ns = own_cpu_ns();
}

void cost__attached(struct cost *cost, const struct ledger *ledger)
{
	timing__add(&cost->timing, ledger__object(ledger));
	timing__calibrate(&cost->timing, ledger__calibration(ledger).plain_call_ns);
}

void cost__begin(struct cost *cost, uint64_t start_ns)
{
	cost->setup_cpu_ns = own_cpu_ns() - cost->opened_cpu_ns;
	cost->start_ns = start_ns;
}

int cost__write(const struct cost *cost, const struct timing_work *work,
		struct recording *recording, const struct samples *samples, struct mapper *mapper)
{
	uint64_t hooks_ns = timing__ns(&cost->timing, clock__now_ns() - cost->start_ns, work);
	int64_t own_ns = own_cpu_ns() - cost->opened_cpu_ns - cost->setup_cpu_ns;
	struct rusage usage;
	int err;

	/* The cost of names is written separately (naming_cpu_ns). */
	if (samples)
		own_ns -= samples__quality(samples).naming_ns;
	getrusage(RUSAGE_SELF, &usage);
	err = recording__put_cost(recording, "own_cpu_ns", (double)own_ns, "ns");
	if (!err)
		err = recording__put_cost(recording, "setup_cpu_ns", (double)cost->setup_cpu_ns,
					  "ns");
	/* 0: the recording ended before the hooks were timed, so their cost is unknown. */
	if (!err && hooks_ns)
		err = recording__put_cost(recording, "hooks_cpu_ns", (double)hooks_ns, "ns");
	if (!err)
		err = recording__put_cost(recording, "max_rss_bytes",
					  (double)usage.ru_maxrss * 1024, "bytes");
	return err || !samples ? err : quality__write_stack_cost(recording, samples, mapper);
}
