/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user half of stack sampling: the clock on every CPU, the ring, and the rate of drawn
 * intervals.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/sys.h"
#include "ledger/reader/attach_internal.h"

/*
 * Target and limit of drawn intervals per second on the whole machine. They also apply to stacks
 * taken when a thread leaves the CPU, of which at least one in 2^MOST_SHIFT is taken.
 */
#define RATE_AIM  1500
#define RATE_MOST 2000

/* Limit of paths per second: of each syscall, those that failed and the others. */
#define PATH_RATE_MOST 250

#define MOST_SHIFT 12

#define SECOND_NS        UINT64_C(1000000000)
#define MOST_PERIOD_NS   (100 * SECOND_NS)
#define LEAST_ELAPSED_NS (SECOND_NS / 20)

/*
 * Uses a fixed period, not a frequency: the kernel would keep adjusting the period, and the weight
 * of a tick would be unknown.
 */
static int open_clock(const struct ledger *ledger, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = ledger->tick_ns,
		.exclude_idle = 1,
	};

	return sys__perf_event_open(&attr, -1, cpu);
}

static int start_on(struct ledger *ledger, int cpu)
{
	int fd = open_clock(ledger, cpu), err;

	if (fd == -ENODEV || fd == -ENXIO)
		return 0; /* no such CPU, or it is offline */
	if (fd < 0)
		return fd;
	err = hooks__attach(ledger->skel->obj, "on_tick", &(struct hook_target) { .event_fd = fd },
			    &ledger->ticks[cpu]);
	if (err)
		close(fd);
	else
		ledger->tick_fds[cpu] = fd;
	return err;
}

int ticks__start(struct ledger *ledger)
{
	struct periods_options options = { .count = ledger->cpus,
					   .mean_ns = ledger->tick_ns,
					   .seed = ledger->seed + ledger->tick_starts++ };
	int err;

	if (!ledger->tick_ns)
		return 0;
	ledger->ticks = calloc((size_t)ledger->cpus, sizeof(*ledger->ticks));
	ledger->tick_fds = calloc((size_t)ledger->cpus, sizeof(*ledger->tick_fds));
	if (!ledger->ticks || !ledger->tick_fds)
		return -ENOMEM;
	ledger->rate_ns = clock__now_ns();
	for (int cpu = 0; cpu < ledger->cpus; cpu++) {
		ledger->tick_fds[cpu] = -1;
		if (cpu >= sys__cpus())
			continue;
		err = start_on(ledger, cpu);
		if (err)
			log_warning("the clock on CPU %d does not start (%s); continuing without "
				    "samples of running time there [see 'gapless doctor']",
				    cpu, strerror(-err));
	}
	options.fds = ledger->tick_fds;
	options.clocks_fd = bpf_map__fd(ledger->skel->maps.tick_clocks);
	err = periods__start(&options, &ledger->periods);
	if (err)
		log_warning("the clock's period cannot be changed (%s); continuing with a fixed "
			    "one, which can miss parts of a periodic program",
			    strerror(-err));
	return 0;
}

/*
 * The next ticks weigh the mean period until their own is known. With the old one, the first would
 * weigh all of the pause.
 */
static void forget_clocks(const struct ledger *ledger)
{
	const struct tick_clock none = {};

	for (int cpu = 0; cpu < ledger->cpus; cpu++)
		(void)bpf_map_update_elem(bpf_map__fd(ledger->skel->maps.tick_clocks), &cpu, &none,
					  BPF_ANY);
}

void ticks__stop(struct ledger *ledger)
{
	periods__stop(ledger->periods);
	ledger->periods = NULL;
	for (int cpu = 0; ledger->ticks && cpu < ledger->cpus; cpu++)
		hooks__detach(ledger->ticks[cpu]);
	if (ledger->ticks)
		forget_clocks(ledger);
	free(ledger->ticks);
	free(ledger->tick_fds);
	ledger->ticks = NULL;
	ledger->tick_fds = NULL;
}

/* The same for stacks taken at switch-out. Weights stay right: each includes its shift. */
static void hold_left(struct ledger *ledger, uint64_t elapsed_ns)
{
	uint64_t taken = ledger->skel->bss->left_taken;
	uint64_t rate = (taken - ledger->rate_left) * SECOND_NS / elapsed_ns;
	uint32_t shift = ledger->skel->bss->switch_out_shift;

	for (; rate > RATE_MOST && shift < MOST_SHIFT; rate /= 2)
		shift++;
	if (rate < RATE_AIM / 3 && shift > ledger->thin_shift)
		shift--;
	if (shift < ledger->thin_shift)
		shift = ledger->thin_shift;
	ledger->skel->bss->switch_out_shift = shift < MOST_SHIFT ? shift : MOST_SHIFT;
	ledger->skel->data->left_limit = taken + LEDGER_FUSE;
	ledger->rate_left = taken;
}

/* The same for paths of one syscall. A stream that is not in use needs no care. */
static void hold_paths(struct ledger_path_stream *stream, uint64_t *last, uint64_t elapsed_ns)
{
	uint64_t drawn = stream->drawn, rate = (drawn - *last) * SECOND_NS / elapsed_ns;
	uint32_t shift = stream->shift;

	for (; rate > PATH_RATE_MOST && shift < MOST_SHIFT; rate /= 2)
		shift++;
	if (rate < PATH_RATE_MOST / 4 && shift)
		shift--;
	if (stream->shift != shift)
		stream->shift = shift < MOST_SHIFT ? shift : MOST_SHIFT;
	if (stream->limit != drawn + LEDGER_PATH_FUSE)
		stream->limit = drawn + LEDGER_PATH_FUSE;
	*last = drawn;
}

/*
 * Raises the period at once, but lowers it by half at a time. Weights stay right, because each
 * sample contains its period.
 */
static void hold_drawn(struct ledger *ledger, uint64_t elapsed_ns)
{
	uint64_t drawn = ledger->skel->bss->drawn;
	uint64_t rate = (drawn - ledger->rate_drawn) * SECOND_NS / elapsed_ns;
	uint64_t period_ns = ledger->skel->bss->draw_period_ns;
	uint64_t least_ns = ledger->tick_ns << ledger->thin_shift;

	if (rate > RATE_MOST)
		period_ns = period_ns * rate / RATE_AIM;
	else if (rate < RATE_AIM / 3)
		period_ns /= 2;
	if (period_ns < least_ns)
		period_ns = least_ns;
	if (period_ns > MOST_PERIOD_NS)
		period_ns = MOST_PERIOD_NS;
	ledger->skel->bss->draw_period_ns = period_ns;
	ledger->skel->data->draw_limit = drawn + LEDGER_FUSE;
	ledger->rate_drawn = drawn;
}

void ledger__limit_calls(struct ledger *ledger, double share)
{
	ledger->skel->bss->call_budget = (uint32_t)ceil(share * LEDGER_WHOLE);
}

void ledger__thin_stacks(struct ledger *ledger, uint32_t shift)
{
	ledger->thin_shift = shift;
}

uint64_t ledger__drawn(const struct ledger *ledger)
{
	return ledger->skel->bss->drawn + ledger->skel->bss->left_taken;
}

void ledger__hold_rate(struct ledger *ledger)
{
	uint64_t now_ns = clock__now_ns(), elapsed_ns = now_ns - ledger->rate_ns;

	if (elapsed_ns < LEAST_ELAPSED_NS)
		return;
	ledger->rate_ns = now_ns;
	for (uint32_t i = 0; i < LEDGER_PATH_STREAMS; i++)
		hold_paths(&ledger->skel->bss->path_streams[i], &ledger->rate_paths[i], elapsed_ns);
	if (!ledger->tick_ns)
		return;
	hold_drawn(ledger, elapsed_ns);
	hold_left(ledger, elapsed_ns);
}

int ledger__poll_stacks(struct ledger *ledger)
{
	return ledger->stack_ring ? ring__poll(ledger->stack_ring, 0) : 0;
}

int ledger__poll(struct ledger *ledger, int timeout_ms)
{
	struct pollfd fds[2] = { { .fd = ring__fd(ledger->ring), .events = POLLIN },
				 { .fd = -1, .events = POLLIN } };
	int taken, more = 0, windows = 0;

	if (ledger->stack_ring)
		fds[1].fd = ring__fd(ledger->stack_ring);
	if (timeout_ms && poll(fds, 2, timeout_ms) < 0)
		return -errno;
	taken = ring__poll(ledger->ring, 0);
	if (taken >= 0)
		more = ledger__poll_stacks(ledger);
	if (taken >= 0 && more >= 0 && ledger->window_ring)
		windows = ring__poll(ledger->window_ring, 0);
	return taken < 0 ? taken : more < 0 ? more : windows < 0 ? windows : taken + more + windows;
}

void ledger__close_rings(struct ledger *ledger)
{
	ring__close(ledger->ring);
	if (ledger->stack_ring)
		ring__close(ledger->stack_ring);
	if (ledger->window_ring)
		ring__close(ledger->window_ring);
}

uint64_t ledger__seed(const struct ledger *ledger)
{
	return ledger->seed;
}

struct ledger_tables ledger__tables(const struct ledger *ledger)
{
	return (struct ledger_tables) {
		.processes_fd = bpf_map__fd(ledger->skel->maps.processes),
		.pages_fd = bpf_map__fd(ledger->skel->maps.pages),
		.asked_fd = bpf_map__fd(ledger->skel->maps.asked),
		.requests_fd = bpf_map__fd(ledger->skel->maps.requests),
		.stacks_fd = bpf_map__fd(ledger->skel->maps.stacks_seen),
		.objects_fd = bpf_map__fd(ledger->skel->maps.objects_seen),
	};
}

uint64_t ledger__malformed_stacks(const struct ledger *ledger)
{
	return ledger->stack_ring ? ring__malformed(ledger->stack_ring) : 0;
}

uint64_t ledger__event_stacks_missed(const struct ledger *ledger)
{
	return ledger->skel->bss->event_stacks_missed;
}

uint64_t ledger__unsampled_ns(const struct ledger *ledger)
{
	uint64_t sum_ns = 0;

	for (int slot = 0; slot < SLOT_COUNT; slot++)
		sum_ns += ledger->skel->bss->unsampled_ns[slot];
	return sum_ns;
}
