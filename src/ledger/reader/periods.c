/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often does a period have to change? Let a program repeat itself every T, and let a run of
 * ticks have one period P, drawn from a range that is a multiple of T wide. The distance between
 * any two ticks of the run is a multiple of P, so it falls anywhere in the program's period with
 * equal probability. Any two ticks are then independent, and the variance of the run's sum is that
 * of independent ticks, however long the run is. Where T is wider than the range, ticks that follow
 * each other cannot both hit a short part of it, and the variance is smaller. The errors in a
 * report, which assume independent ticks, hold in both cases; the length of a run only decides how
 * many runs there are to average over. tests/bench/lockstep measures how often they hold.
 *
 * The moments of the changes are random as well. A change restarts the clock, so changes at a fixed
 * distance could run in lockstep with a program too.
 *
 * Rejected: a faster clock of which the kernel half ignores a random part. It still ticks at
 * multiples of one period, and each ignored tick costs an interrupt. Also rejected: the time since
 * the CPU's last tick as the weight. Some virtual machines deliver no ticks while they are idle.
 */
#include "ledger/reader/periods.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "stacks/thread.h"

/* The mean length of a run is the longest of these. */
#define RUN_TICKS      10
#define RUN_LEAST_NS   UINT64_C(20000000)
#define RUN_NS_PER_CPU UINT64_C(500000)

struct periods {
	struct periods_options options;
	int stop_fd;
	uint64_t run_ns, state;
	struct tick_clock *clocks;
	int64_t *carries_ns;
	pthread_t thread;
};

static void periods__free(struct periods *periods)
{
	if (!periods)
		return;
	if (periods->stop_fd >= 0)
		close(periods->stop_fd);
	free(periods->clocks);
	free(periods->carries_ns);
	free(periods);
}

DEFINE_CLEANUP(struct periods *, periods__free)

uint64_t periods__random(uint64_t *state)
{
	uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

uint64_t periods__draw(uint64_t *state, uint64_t mean_ns)
{
	return mean_ns / 2 + periods__random(state) % (mean_ns + 1);
}

struct tick_clock periods__next(const struct tick_clock *last, uint64_t now_ns, uint64_t period_ns,
				uint64_t run_ns, int64_t *carry_ns)
{
	int64_t ticks = (int64_t)(run_ns / period_ns), weight_ns = (int64_t)period_ns;

	if (last->period_ns) {
		uint64_t length_ns = now_ns - last->since_ns;

		*carry_ns += (int64_t)(length_ns - length_ns / last->period_ns * last->weight_ns);
	}
	if (ticks > 0)
		weight_ns += *carry_ns / ticks;
	/* Limit the correction. After a long pause of this thread, it is spread over several runs.
	 */
	if (weight_ns < (int64_t)period_ns / 2)
		weight_ns = (int64_t)period_ns / 2;
	if (weight_ns > (int64_t)period_ns * 2)
		weight_ns = (int64_t)period_ns * 2;
	return (struct tick_clock) { now_ns, period_ns, (uint64_t)weight_ns };
}

/* Does nothing for a CPU that is offline: it has no clock. */
static void change(struct periods *periods, uint32_t cpu, uint64_t run_ns)
{
	uint64_t period_ns = periods__draw(&periods->state, periods->options.mean_ns);
	uint64_t now_ns = clock__now_ns();
	int fd = periods->options.fds[cpu];

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_PERIOD, &period_ns))
		return;
	periods->clocks[cpu] = periods__next(&periods->clocks[cpu], now_ns, period_ns, run_ns,
					     &periods->carries_ns[cpu]);
	(void)bpf_map_update_elem(periods->options.clocks_fd, &cpu, &periods->clocks[cpu], BPF_ANY);
}

/* Returns false when the thread has to stop. */
static bool wait_run(const struct periods *periods, uint64_t run_ns)
{
	struct timespec timeout = { (time_t)(run_ns / 1000000000), (long)(run_ns % 1000000000) };
	struct pollfd stop = { .fd = periods->stop_fd, .events = POLLIN };

	return ppoll(&stop, 1, &timeout, NULL) == 0;
}

static void *change_periods(void *context)
{
	struct periods *periods = context;
	uint64_t run_ns;

	thread__begins("gapless-clock");
	do {
		run_ns = periods__draw(&periods->state, periods->run_ns);
		for (int cpu = 0; cpu < periods->options.count; cpu++)
			change(periods, (uint32_t)cpu, run_ns);
	} while (wait_run(periods, run_ns));
	return NULL;
}

static uint64_t mean_run_ns(const struct periods_options *options)
{
	uint64_t run_ns = RUN_TICKS * options->mean_ns;
	uint64_t all_cpus_ns = RUN_NS_PER_CPU * (uint64_t)options->count;

	if (run_ns < RUN_LEAST_NS)
		run_ns = RUN_LEAST_NS;
	return run_ns < all_cpus_ns ? all_cpus_ns : run_ns;
}

int periods__start(const struct periods_options *options, struct periods **ret)
{
	cleanup(periods__free_p) struct periods *periods = calloc(1, sizeof(*periods));
	int err;

	if (!periods)
		return -ENOMEM;
	periods->options = *options;
	periods->state = options->seed;
	periods->run_ns = mean_run_ns(options);
	periods->stop_fd = eventfd(0, EFD_CLOEXEC);
	periods->clocks = calloc((size_t)options->count, sizeof(*periods->clocks));
	periods->carries_ns = calloc((size_t)options->count, sizeof(*periods->carries_ns));
	if (periods->stop_fd < 0)
		return -errno;
	if (!periods->clocks || !periods->carries_ns)
		return -ENOMEM;
	err = thread__start(&periods->thread, change_periods, periods);
	if (!err)
		*ret = TAKE(periods);
	return err;
}

void periods__stop(struct periods *periods)
{
	if (!periods)
		return;
	(void)eventfd_write(periods->stop_fd, 1);
	pthread_join(periods->thread, NULL);
	periods__free(periods);
}
