/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/timing.h"

#include <bpf/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* The fastest batch counts: it was not disturbed. */
#define BATCHES 32
/* Each causes two switches. */
#define SLEEPS 32

/*
 * Used if nothing was measured: the kernel's figure for an empty program, and the cost of calling a
 * program and returning.
 */
#define EMPTY_NS    35
#define DISPATCH_NS 15

/* Runs of scheduler hooks each time a thread is woken and gets a CPU. */
#define RUNS_OF_SWITCH 3

void timing__add(struct timing *timing, const struct bpf_object *object)
{
	if (timing->object_count < TIMING_OBJECTS)
		timing->objects[timing->object_count++] = object;
}

static struct loader_runs count_runs(const struct timing *timing)
{
	struct loader_runs runs = {};

	for (size_t i = 0; i < timing->object_count; i++)
		loader__add_runs(timing->objects[i], &runs);
	return runs;
}

static void add_since(struct loader_runs *to, const struct loader_runs *now,
		      const struct loader_runs *then)
{
	to->calls += now->calls - then->calls;
	to->call_ns += now->call_ns - then->call_ns;
	to->switches += now->switches - then->switches;
	to->switch_ns += now->switch_ns - then->switch_ns;
	to->others += now->others - then->others;
	to->other_ns += now->other_ns - then->other_ns;
}

static void add_look(struct timing_look *to, const struct timing_look *look)
{
	add_since(&to->runs, &look->runs, &(struct loader_runs) {});
	to->work.calls += look->work.calls;
	to->work.switches += look->work.switches;
	to->wall_ns += look->wall_ns;
}

static void halve(struct timing_look *look)
{
	look->runs.calls /= 2;
	look->runs.call_ns /= 2;
	look->runs.switches /= 2;
	look->runs.switch_ns /= 2;
	look->runs.others /= 2;
	look->runs.other_ns /= 2;
	look->work.calls /= 2;
	look->work.switches /= 2;
	look->wall_ns /= 2;
}

/*
 * If an account could not be read in one piece at the begin, the work seems to be that of a longer
 * time. But each call has run its programs, and each switch at least one.
 */
static void limit_work(const struct timing *timing, struct timing_look *look)
{
	uint64_t most = timing->call_programs ? look->runs.calls / timing->call_programs : 0;

	if (most && look->work.calls > most) {
		look->work.switches = (uint64_t)((double)look->work.switches * (double)most /
						 (double)look->work.calls);
		look->work.calls = most;
	}
	if (look->work.switches > look->runs.switches)
		look->work.switches = look->runs.switches;
}

void timing__set(struct timing *timing, bool on, const struct timing_work *work)
{
	struct loader_runs now;

	if (on == (timing->fd > 0))
		return;
	now = count_runs(timing);
	if (on) {
		int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

		timing->fd = fd > 0 ? fd : 0;
		timing->since_ns = clock__now_ns();
		timing->then = now;
		timing->work_then = *work;
		return;
	}
	timing->call_programs = now.call_programs;
	timing->last = (struct timing_look) {
		.wall_ns = clock__now_ns() - timing->since_ns,
		.work.calls = work->calls - timing->work_then.calls,
		.work.switches = work->switches - timing->work_then.switches,
	};
	add_since(&timing->last.runs, &now, &timing->then);
	limit_work(timing, &timing->last);
	add_look(&timing->all, &timing->last);
	halve(&timing->recent);
	add_look(&timing->recent, &timing->last);
	close(timing->fd);
	timing->fd = 0;
}

/*
 * Hooks of one kind during the timed intervals: their number of runs, their cost, and how much work
 * caused most of these runs.
 */
struct kind {
	double runs, ns, work;
	double runs_each; /* per unit of work */
};

/* How much of the work is the target's. */
static double target_part(uint64_t all, uint64_t outside)
{
	return all > outside ? (double)(all - outside) / (double)all : 0;
}

/* `passing_ns`: what a run costs that the work did not cause. */
static struct timing_cost kind_cost(const struct kind *kind, uint64_t work, uint64_t outside,
				    double wall_ratio, double passing_ns)
{
	double own = kind->work * kind->runs_each;
	double each = kind->runs_each;
	double own_ns, work_ns;

	if (kind->runs <= 0 || kind->ns <= 0)
		return (struct timing_cost) {};
	/* A wait may end without a wakeup, and a hook may be missing. */
	if (own > kind->runs) {
		each = kind->runs / kind->work;
		own = kind->runs;
	}
	own_ns = kind->ns - (kind->runs - own) * passing_ns;
	/* If the others seem to have taken all of it, every run counts the same. */
	if (own_ns < kind->ns / kind->runs * own)
		own_ns = kind->ns / kind->runs * own;
	work_ns = own > 0 ? own_ns / own * (double)work * each : 0;
	return (struct timing_cost) {
		.ns = work_ns + (kind->ns - own_ns) * wall_ratio,
		.target_ns = work_ns * target_part(work, outside),
	};
}

static void add_cost(struct timing_cost *to, struct timing_cost cost)
{
	to->ns += cost.ns;
	to->target_ns += cost.target_ns;
}

struct timing_cost timing__cost(const struct timing *timing, const struct timing_look *by,
				uint64_t wall_ns, uint64_t busy_ns, const struct timing_work *work)
{
	const struct loader_runs *runs = &by->runs;
	/* Assumption: calling a scheduler hook costs as much as calling a syscall hook. */
	const double extra_ns = timing->calibrated ? timing->extra_ns : DISPATCH_NS - EMPTY_NS;
	const double passing_ns = timing->calibrated ? timing->passing_ns : DISPATCH_NS;
	const double passing_switch_ns =
		timing->passing_switch_ns > 0 ? timing->passing_switch_ns : passing_ns;
	const struct kind calls = {
		.runs = (double)runs->calls,
		.ns = (double)runs->call_ns + (double)runs->calls * extra_ns,
		.work = (double)by->work.calls,
		.runs_each = (double)timing->call_programs,
	};
	const struct kind switches = {
		.runs = (double)runs->switches,
		.ns = (double)runs->switch_ns + (double)runs->switches * extra_ns,
		.work = (double)by->work.switches,
		.runs_each = RUNS_OF_SWITCH,
	};
	double others_ns = (double)runs->other_ns + (double)runs->others * extra_ns;
	double target_run_ns = (double)(work->run_ns - work->outside_run_ns);
	double share = (double)busy_ns > target_run_ns ? target_run_ns / (double)busy_ns : 1;
	struct timing_cost cost = {};
	double ratio;

	if (!by->wall_ns)
		return cost;
	ratio = (double)wall_ns / (double)by->wall_ns;
	add_cost(&cost, kind_cost(&calls, work->calls, work->outside_calls, ratio, passing_ns));
	cost.call_ns = cost.target_ns;
	add_cost(&cost, kind_cost(&switches, work->switches, work->outside_switches, ratio,
				  passing_switch_ns));
	if (others_ns > 0)
		add_cost(&cost, (struct timing_cost) { .ns = others_ns * ratio,
						       .target_ns = others_ns * ratio * share });
	return cost;
}

/* --- calibration ----------------------------------------------------------------------------- */

void timing__make_calls(void)
{
	for (int i = 0; i < TIMING_CALLS; i++)
		syscall(SYS_getppid);
}

double timing__call_ns(void)
{
	double least_ns = 0;

	for (int i = 0; i < BATCHES; i++) {
		uint64_t begin_ns = clock__now_ns();
		double ns;

		timing__make_calls();
		ns = (double)(clock__now_ns() - begin_ns) / TIMING_CALLS;
		least_ns = !least_ns || ns < least_ns ? ns : least_ns;
	}
	return least_ns;
}

/* The kernel's figure for one run, while no thread is recorded yet. */
static double kernel_run_ns(const struct timing *timing)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	double least_ns = 0;

	if (fd < 0)
		return 0;
	for (int i = 0; i < BATCHES; i++) {
		struct loader_runs then = count_runs(timing), now, runs = {};
		double ns;

		timing__make_calls();
		now = count_runs(timing);
		add_since(&runs, &now, &then);
		ns = runs.calls ? (double)runs.call_ns / (double)runs.calls : 0;
		least_ns = !least_ns || ns < least_ns ? ns : least_ns;
	}
	close(fd);
	return least_ns;
}

/* The same at switches. 0: unknown. */
static double kernel_switch_ns(const struct timing *timing)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct loader_runs then = count_runs(timing), now, runs = {};

	if (fd < 0)
		return 0;
	for (int i = 0; i < SLEEPS; i++)
		usleep(1);
	now = count_runs(timing);
	close(fd);
	add_since(&runs, &now, &then);
	return runs.switches < SLEEPS ? 0 : (double)runs.switch_ns / (double)runs.switches;
}

void timing__calibrate(struct timing *timing, double plain_ns)
{
	struct loader_runs runs = count_runs(timing);
	double hooked_ns, told, told_switch;

	if (!plain_ns || !runs.call_programs)
		return;
	hooked_ns = timing__call_ns();
	told = kernel_run_ns(timing);
	if (!told || hooked_ns <= plain_ns)
		return;
	timing->passing_ns = (hooked_ns - plain_ns) / (double)runs.call_programs;
	timing->extra_ns = timing->passing_ns - told;
	told_switch = kernel_switch_ns(timing);
	timing->passing_switch_ns = told_switch > 0 ? told_switch + timing->extra_ns : 0;
	timing->calibrated = true;
}
