/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/cost.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper.h"
#include "core/sys.h"
#include "record/quality.h"

#define TIMED_US 5000
/* Hooks are timed for the first time after this long, and then about once a second. */
#define FIRST_TIMED_NS 200000000
#define TIMED_EVERY_NS 950000000
/* With fewer calls and switches, an interval says too little of the hooks. */
#define LEAST_WORK 256

/* CPU time of this process and its helpers so far. */
static int64_t own_cpu_ns(void)
{
	return (int64_t)(clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) + helper__all_cpu_ns());
}

/* Time in which CPUs were not idle, since boot; 0: unknown. */
static uint64_t busy_ns(void)
{
	uint64_t user, nice, system, idle, iowait, irq, softirq;
	char line[256];

	if (sys__read_line("/proc/stat", line, sizeof(line)) < 0 ||
	    sscanf(line,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   &user, &nice, &system, &idle, &iowait, &irq, &softirq) != 7)
		return 0;
	return (user + nice + system + irq + softirq) * 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
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
	cost->busy_ns = busy_ns();
	cost->then_ns = start_ns;
	cost->then_busy_ns = cost->busy_ns;
	cost->due_ns = start_ns + FIRST_TIMED_NS;
}

bool cost__is_due(const struct cost *cost, uint64_t now_ns)
{
	return now_ns >= cost->due_ns;
}

/* A snapshot at each end shows the work that the hooks did. */
int cost__time(struct cost *cost, struct intake *intake, uint64_t *looked_ns)
{
	struct timing_work work = collect__work(intake->collect);
	uint64_t began_ns;
	int err;

	timing__set(&cost->timing, true, &work);
	usleep(TIMED_US);
	began_ns = clock__now_ns();
	err = intake__snapshot(intake, *looked_ns);
	*looked_ns = began_ns;
	cost->due_ns = began_ns + TIMED_EVERY_NS;
	work = collect__work(intake->collect);
	timing__set(&cost->timing, false, &work);
	return err;
}

struct timing_cost cost__of_hooks(const struct cost *cost, const struct timing_work *work,
				  uint64_t now_ns)
{
	return timing__cost(&cost->timing, &cost->timing.all, now_ns - cost->start_ns,
			    busy_ns() - cost->busy_ns, work);
}

struct timing_cost cost__lately(struct cost *cost, const struct timing_work *work, uint64_t now_ns)
{
	const struct timing *timing = &cost->timing;
	const struct timing_work *last = &timing->last.work;
	const struct timing_look *by =
		last->calls + last->switches < LEAST_WORK ? &timing->recent : &timing->last;
	const struct timing_work newly = {
		.calls = work->calls - cost->then.calls,
		.switches = work->switches - cost->then.switches,
		.run_ns = work->run_ns - cost->then.run_ns,
		.outside_calls = work->outside_calls - cost->then.outside_calls,
		.outside_switches = work->outside_switches - cost->then.outside_switches,
		.outside_run_ns = work->outside_run_ns - cost->then.outside_run_ns,
	};
	uint64_t busy = busy_ns();
	struct timing_cost lately =
		timing__cost(timing, by, now_ns - cost->then_ns, busy - cost->then_busy_ns, &newly);

	cost->then_ns = now_ns;
	cost->then_busy_ns = busy;
	cost->then = *work;
	return lately;
}

int cost__write(const struct cost *cost, const struct timing_work *work,
		struct recording *recording, const struct samples *samples, struct mapper *mapper)
{
	struct timing_cost hooks = cost__of_hooks(cost, work, clock__now_ns());
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
	if (!err && hooks.ns > 0)
		err = recording__put_cost(recording, "hooks_cpu_ns", hooks.ns, "ns");
	if (!err && hooks.ns > 0)
		err = recording__put_cost(recording, "hooks_target_ns", hooks.target_ns, "ns");
	if (!err)
		err = recording__put_cost(recording, "max_rss_bytes",
					  (double)usage.ru_maxrss * 1024, "bytes");
	return err || !samples ? err : quality__write_stack_cost(recording, samples, mapper);
}
