/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/counters/counters.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/series.h"
#include "core/signal.h"
#include "core/sys.h"
#include "signals/counters/counter_samples.h"

static const struct hook hooks[] = {
	{ "sched_switch", { "counters_on_switch" }, HOOK_BY_SIGNAL },
	{ "overflow of a counter", { "counters_on_overflow" }, HOOK_BY_SIGNAL },
	{ "any tracepoint", { "counters_on_tracepoint" }, HOOK_BY_SIGNAL },
	{},
};

static const struct measure measures[] = {
	[COUNTERS_CYCLES] = { "cycles", "cycles" },
	[COUNTERS_INSTRUCTIONS] = { "instructions", "instructions" },
	[COUNTERS_CACHE_MISSES] = { "cache_misses", "cache misses" },
	[COUNTERS_PAGE_FAULTS] = { "page_faults", "page faults" },
	[COUNTERS_MIGRATIONS] = { "migrations", "migrations" },
	{},
};

static const struct column columns[] = { {} };

static const struct {
	__u32 type;
	__u64 config;
} events[COUNTERS_MEASURES] = {
	[COUNTERS_CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[COUNTERS_INSTRUCTIONS] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	[COUNTERS_CACHE_MISSES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	[COUNTERS_PAGE_FAULTS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	[COUNTERS_MIGRATIONS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};

/* Of the recording; there is one at a time. */
static int *descriptors; /* COUNTERS_SLOTS for each CPU; -1: none */
static int cpus;
static struct bpf_link *link_to_switch;
static bool is_refreshed;

static void close_all(void)
{
	for (int i = 0; descriptors && i < cpus * COUNTERS_SLOTS; i++)
		if (descriptors[i] >= 0)
			close(descriptors[i]);
	free(descriptors);
	descriptors = NULL;
}

/*
 * Pinned: the counter counts always or, if the PMU has no room for it, never. Otherwise the kernel
 * would let counters take turns, and the difference between two readings would be an estimate.
 */
static int open_one(int slot, int cpu)
{
	int measure = slot / COUNTERS_MODES, mode = slot % COUNTERS_MODES;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = events[measure].type,
		.config = events[measure].config,
		.pinned = 1,
		.exclude_user = mode != COUNTERS_USER,
		.exclude_kernel = mode != COUNTERS_KERNEL,
		.exclude_hv = mode != COUNTERS_KERNEL,
		.exclude_guest = 1,
	};
	int fd = sys__perf_event_open(&attr, -1, cpu);
	__u64 value;

	/* A pinned counter without room gives end of file. */
	if (fd >= 0 && read(fd, &value, sizeof(value)) != sizeof(value)) {
		close(fd);
		return -EBUSY;
	}
	return fd;
}

static bool is_absent(int err)
{
	return err == -ENODEV || err == -ENXIO; /* no such CPU, or it is offline */
}

/* Opens one counter on every CPU. If one fails, none of them remains. */
static int open_slot(int slot)
{
	int fd = 0, opened = 0;

	for (int cpu = 0; cpu < cpus && (fd >= 0 || is_absent(fd)); cpu++) {
		fd = open_one(slot, cpu);
		if (fd < 0)
			continue;
		descriptors[cpu * COUNTERS_SLOTS + slot] = fd;
		opened++;
	}
	if (opened && (fd >= 0 || is_absent(fd)))
		return 0;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int *each = &descriptors[cpu * COUNTERS_SLOTS + slot];

		if (*each >= 0)
			close(*each);
		*each = -1;
	}
	return fd < 0 ? fd : -ENODEV;
}

/* Says what is left out. No PMU is usual in virtual machines. */
static void say_missing(int measure, int err)
{
	log_info("'%s' cannot be counted here (%s); continuing without it", measures[measure].name,
		 err == -ENOENT || err == -EOPNOTSUPP
			 ? "this machine shows no such counter of its CPUs"
		 : err == -EBUSY ? "its counters are all in use"
				 : strerror(-err));
}

/* A bit for each slot that is open. A measure has all its modes or none. */
static __u32 open_all(void)
{
	__u32 opened = 0;

	for (int i = 0; i < COUNTERS_MEASURES; i++) {
		bool has_user = i != COUNTERS_MIGRATIONS; /* only the kernel moves threads */
		int slot = i * COUNTERS_MODES;
		int err = has_user ? open_slot(slot + COUNTERS_USER) : 0;

		if (!err)
			err = open_slot(slot + COUNTERS_KERNEL);
		if (err)
			say_missing(i, err);
		else
			opened |= (has_user ? 3U : 2U) << slot;
	}
	return opened;
}

static int counters_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "counters_opened");
	struct counters_knobs *knobs;
	size_t size = 0;

	knobs = series__section(object, ".rodata.counters", &size);
	if (!knobs || size < sizeof(*knobs) || !map)
		return -EPROTO;
	close_all();
	cpus = sys__possible_cpus();
	descriptors = malloc((size_t)cpus * COUNTERS_SLOTS * sizeof(*descriptors));
	if (!descriptors)
		return -ENOMEM;
	for (int i = 0; i < cpus * COUNTERS_SLOTS; i++)
		descriptors[i] = -1;
	knobs->opened = open_all();
	for (size_t i = 0; i < COUNTERS_SAMPLED; i++)
		knobs->periods[i] = counter_samples__period(i);
	return bpf_map__set_max_entries(map, (__u32)(cpus * COUNTERS_SLOTS));
}

static int counters_attach(struct bpf_object *object)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, "counters_opened");

	for (__u32 i = 0; descriptors && i < (__u32)(cpus * COUNTERS_SLOTS); i++)
		if (descriptors[i] >= 0 &&
		    bpf_map_update_elem(bpf_map__fd(map), &i, &descriptors[i], BPF_ANY))
			return -errno;
	is_refreshed = false;
	counter_samples__attach(object);
	return hooks__attach(object, "counters_on_switch", NULL, &link_to_switch);
}

static void counters_detach(void)
{
	hooks__detach(link_to_switch);
	link_to_switch = NULL;
	counter_samples__detach();
	close_all();
}

/*
 * A thread that does not leave its CPU has no switch, so at the start and at the end this thread
 * goes to each CPU once, which makes one.
 */
static int counters_refresh(struct bpf_object *object, struct bpf_link *const *unused, bool is_last)
{
	cpu_set_t before;
	int here = sched_getcpu();

	if ((is_refreshed && !is_last) || sched_getaffinity(0, sizeof(before), &before))
		return 0;
	is_refreshed = true;
	for (int cpu = 0; cpu < cpus; cpu++)
		if (cpu != here)
			sys__stay_on_cpu(cpu);
	if (here >= 0)
		sys__stay_on_cpu(here);
	return sched_setaffinity(0, sizeof(before), &before) ? -errno : 0;
}

static int counters_decode(const void *bytes, size_t size, struct event *ret)
{
	return -EBADMSG; /* it sends none */
}

static const char *operation(uint32_t operation)
{
	static const char *const names[] = { "user", "kernel" };

	return operation < COUNTERS_MODES ? names[operation]
					  : counter_samples__name(operation - COUNTERS_MODES);
}

static const struct signal_option options[] = { { "sample-on", counter_samples__ask }, {} };

const struct signal counters_signal = {
	.name = "counters",
	.number = SIGNAL_counters,
	.about = "counters of CPUs and kernel by thread: instructions, cycles, misses, page faults",
	.events = "readings",
	.role = ROLE_COUNTERS,
	.event_ns = 300,
	.options = options,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = counters_prepare,
	.attach = counters_attach,
	.detach = counters_detach,
	.refresh = counters_refresh,
	.decode = counters_decode,
	.operation = operation,
};
