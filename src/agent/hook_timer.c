/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two results are shared, so that the worker can read one while the supervisor writes the other.
 *
 * Rejected: to scale the hooks' time by the time of day alone. In 20 ms there may be a burst, or
 * nothing; the cost of a switch varies much less than their number.
 */
#include "agent/hook_timer.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "ledger/reader/periods.h"

#define TIMED_NS UINT64_C(20000000)

struct shared {
	_Atomic uint64_t count;
	struct timing_look looks[2]; /* the newest is that of count % 2 */
};

struct hook_timer {
	struct shared *shared;
	struct timing timing;
	uint64_t count;
	uint64_t due_ns;
	uint64_t begin_ns; /* of the next interval; 0: it begins now */
	uint64_t random;
};

DEFINE_CLEANUP(struct hook_timer *, hook_timer__free)

bool hook_timer__is_permitted(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

uint64_t hook_timer__switches(void)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/stat", "re");
	char line[256];
	uint64_t count;

	/* The rest of a long line begins with a number. */
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "ctxt %" SCNu64, &count) == 1)
			return count;
	return 0;
}

int hook_timer__new(const struct bpf_object *object, struct hook_timer **ret)
{
	cleanup(hook_timer__free_p) struct hook_timer *timer = calloc(1, sizeof(*timer));
	struct loader_runs runs = {};

	if (!timer)
		return -ENOMEM;
	timer->shared = mmap(NULL, sizeof(*timer->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (timer->shared == MAP_FAILED) {
		timer->shared = NULL;
		return -errno;
	}
	loader__add_runs(object, &runs);
	timing__add(&timer->timing, object);
	timer->timing.call_programs = runs.call_programs;
	timer->random = clock__now_ns();
	*ret = TAKE(timer);
	return 0;
}

void hook_timer__free(struct hook_timer *timer)
{
	if (!timer)
		return;
	hook_timer__pause(timer);
	if (timer->shared)
		munmap(timer->shared, sizeof(*timer->shared));
	free(timer);
}

static void publish(struct hook_timer *timer)
{
	uint64_t count = timer->count + 1;
	struct timing_look *look = &timer->shared->looks[count % 2];

	*look = timer->timing.recent;
	if (timer->timing.call_programs)
		look->work.calls = look->runs.calls / timer->timing.call_programs;
	atomic_store_explicit(&timer->shared->count, count, memory_order_release);
	timer->count = count;
}

/* A random moment in the next interval. */
static void choose_moment(struct hook_timer *timer, uint64_t interval_ns, uint64_t now_ns)
{
	/* The machine may have slept. */
	if (timer->begin_ns + interval_ns < now_ns)
		timer->begin_ns = now_ns;
	timer->due_ns =
		timer->begin_ns + periods__random(&timer->random) % (interval_ns - TIMED_NS);
	timer->begin_ns += interval_ns;
}

int hook_timer__tend(struct hook_timer *timer, uint64_t interval_ns)
{
	uint64_t now_ns = clock__now_ns();
	struct timing_work work = {};

	if (!timer->due_ns)
		choose_moment(timer, interval_ns, now_ns);
	if (now_ns >= timer->due_ns) {
		bool was_on = timer->timing.fd > 0;

		work.switches = hook_timer__switches();
		timing__set(&timer->timing, !was_on, &work);
		if (timer->timing.fd > 0)
			timer->due_ns = now_ns + TIMED_NS;
		else
			choose_moment(timer, interval_ns, now_ns);
		if (was_on)
			publish(timer);
	}
	return timer->due_ns > now_ns ? (int)((timer->due_ns - now_ns) / 1000000) + 1 : 0;
}

void hook_timer__pause(struct hook_timer *timer)
{
	if (timer->timing.fd > 0)
		close(timer->timing.fd);
	timer->timing.fd = 0;
	timer->due_ns = timer->begin_ns = 0;
}

uint64_t hook_timer__read(const struct hook_timer *timer, struct timing_look *ret)
{
	uint64_t count, after;
	struct timing_look look;

	/* Again if it is not the newest any more: it may have been written meanwhile. */
	do {
		count = atomic_load_explicit(&timer->shared->count, memory_order_acquire);
		look = timer->shared->looks[count % 2];
		after = atomic_load_explicit(&timer->shared->count, memory_order_acquire);
	} while (after != count);
	if (count)
		*ret = look;
	return count;
}

size_t hook_timer__call_programs(const struct hook_timer *timer)
{
	return timer->timing.call_programs;
}
