/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/timing.h"

#include <bpf/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* The fastest batch counts: it was not disturbed. */
#define BATCHES 32

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
	to->others += now->others - then->others;
	to->other_ns += now->other_ns - then->other_ns;
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
	timing->work.calls += work->calls - timing->work_then.calls;
	timing->work.switches += work->switches - timing->work_then.switches;
	add_since(&timing->runs, &now, &timing->then);
	timing->wall_ns += clock__now_ns() - timing->since_ns;
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

static double kind_ns(const struct kind *kind, double work, double wall_ratio)
{
	double own = kind->work * kind->runs_each;
	double each = kind->runs_each;

	if (kind->runs <= 0 || kind->ns <= 0)
		return 0;
	/* A wait may end without a wakeup, and a hook may be missing. */
	if (own > kind->runs) {
		each = kind->runs / kind->work;
		own = kind->runs;
	}
	return kind->ns / kind->runs * (work * each + (kind->runs - own) * wall_ratio);
}

uint64_t timing__ns(const struct timing *timing, uint64_t wall_ns, const struct timing_work *work)
{
	const struct loader_runs *runs = &timing->runs;
	/* Assumption: calling a scheduler hook costs as much as calling a syscall hook. */
	const double extra_ns = timing->calibrated ? timing->extra_ns : DISPATCH_NS - EMPTY_NS;
	const struct kind calls = {
		.runs = (double)runs->calls,
		.ns = (double)runs->call_ns + (double)runs->calls * extra_ns,
		.work = (double)timing->work.calls,
		.runs_each = (double)timing->call_programs,
	};
	const struct kind others = {
		.runs = (double)runs->others,
		.ns = (double)runs->other_ns + (double)runs->others * extra_ns,
		.work = (double)timing->work.switches,
		.runs_each = RUNS_OF_SWITCH,
	};
	double ratio;

	if (!timing->wall_ns)
		return 0;
	ratio = (double)wall_ns / (double)timing->wall_ns;
	return (uint64_t)(kind_ns(&calls, (double)work->calls, ratio) +
			  kind_ns(&others, (double)work->switches, ratio));
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

void timing__calibrate(struct timing *timing, double plain_ns)
{
	struct loader_runs runs = count_runs(timing);
	double hooked_ns, told;

	if (!plain_ns || !runs.call_programs)
		return;
	hooked_ns = timing__call_ns();
	told = kernel_run_ns(timing);
	if (!told || hooked_ns <= plain_ns)
		return;
	timing->extra_ns = (hooked_ns - plain_ns) / (double)runs.call_programs - told;
	timing->calibrated = true;
}
