/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/cpu/cpu.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "core/series.h"
#include "core/signal.h"
#include "signals/cpu/cpu_totals.h"

#define FIRST_NORMAL 100 /* lower ones are real-time priorities */
#define NICE_0       120

static const struct hook hooks[] = {
	{ "sched_switch", { "on_switch" } },
	{ "sched_migrate_task", { "on_migrate" } },
	{},
};

static const struct measure measures[] = {
	[CPU_READY_NS] = { "ready", "ns" },
	[CPU_SLICE_NS] = { "slice", "ns" },
	[CPU_MIGRATIONS] = { "migrations", "moves" },
	[CPU_STEAL_NS] = { "steal", "ns" },
	[CPU_IDLE_NS] = { "idle", "ns" },
	[CPU_SPARE_NS] = { "spare", "ns" },
	{},
};

static const struct column columns[] = {
	{ "cpu", COLUMN_NUMBER, 4 },
	{ "priority", COLUMN_NUMBER, 8 },
	{},
};

static int cpu_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct cpu_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    rec->operation > CPU_THROTTLED || rec->priority < -1)
		return -EBADMSG;
	ret->duration_ns = rec->ready_ns;
	ret->thread = rec->thread;
	ret->object[0] = (__u64)(__s64)rec->priority;
	ret->object[1] = CPU_PRIORITY_OBJECT;
	ret->place = CPU_PLACE(rec->cpu);
	ret->operation = (uint16_t)rec->operation;
	ret->values[0].number = rec->cpu;
	ret->values[1].number = (uint64_t)(int64_t)rec->priority;
	ret->values[1].none = rec->priority < 0;
	return 0;
}

static const char *cpu_operation(uint32_t operation)
{
	static const char *const names[CPU_OPERATIONS] = {
		[CPU_WOKEN] = "wakeup",         [CPU_PREEMPTED] = "preemption",
		[CPU_THROTTLED] = "throttling", [CPU_MIGRATION] = "migration",
		[CPU_STEAL] = "steal",          [CPU_IDLE] = "idle",
		[CPU_PINNED] = "pinned",        [CPU_CONFINED] = "confined",
	};

	return operation < CPU_OPERATIONS ? names[operation] : NULL;
}

static void cpu_place(uint32_t place, char *ret, size_t size)
{
	snprintf(ret, size, "CPU %" PRIu32, place - 1);
}

static void cpu_object(const __u64 numbers[2], char *ret, size_t size)
{
	int64_t priority = (int64_t)numbers[0];

	if (priority >= FIRST_NORMAL)
		snprintf(ret, size, "nice %" PRId64, priority - NICE_0);
	else if (priority >= 0)
		snprintf(ret, size, "real-time %" PRId64, FIRST_NORMAL - 1 - priority);
	else
		snprintf(ret, size, "deadline");
}

/* Adds to a sum that no hook uses. There are readings, but no events: the count stays 0. */
static int add(struct bpf_object *object, const struct series_key *key, enum cpu_value value,
	       uint64_t ns)
{
	size_t size = 0;
	const struct series_control *control = series__section(object, ".data.series", &size);
	struct series_sum sum = {};
	int fd;

	if (!control || size != SIGNAL_COUNT * sizeof(*control))
		return -EPROTO;
	fd = bpf_object__find_map_fd_by_name(object, control[SIGNAL_cpu].active ? "cpu_sums_b"
										: "cpu_sums_a");
	(void)bpf_map_lookup_elem(fd, key, &sum);
	sum.sum[value] += ns;
	return bpf_map_update_elem(fd, key, &sum, BPF_ANY);
}

/* What the kernel has added up since the last time. */
static int add_total(struct bpf_object *object, size_t cpu, enum cpu_operation operation,
		     enum cpu_value value, uint64_t before, uint64_t now)
{
	const struct series_key key = { .place = CPU_PLACE((uint32_t)cpu), .operation = operation };

	return now > before ? add(object, &key, value, now - before) : 0;
}

/* What the kernel itself adds up: time that the hypervisor took, and idle time. */
static int cpu_refresh(struct bpf_object *object, struct bpf_link *const *links, bool is_last)
{
	static struct cpu_totals before;
	struct cpu_totals now = {};
	int err = cpu_totals__read(&now);

	for (size_t i = 0; i < now.count && i < before.count && !err; i++) {
		err = add_total(object, i, CPU_STEAL, CPU_STEAL_NS, before.steal_ns[i],
				now.steal_ns[i]);
		if (!err)
			err = add_total(object, i, CPU_IDLE, CPU_IDLE_NS, before.idle_ns[i],
					now.idle_ns[i]);
	}
	before = now;
	return err;
}

const struct signal cpu_signal = {
	.name = "cpu",
	.number = SIGNAL_cpu,
	.about = "slices of CPU time: how long ready before each, moves between CPUs, steal",
	.events = "events",
	.role = ROLE_CPUS,
	.event_ns = 150,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.decode = cpu_decode,
	.operation = cpu_operation,
	.place = cpu_place,
	.object = cpu_object,
	.refresh = cpu_refresh,
	.object_kind = "priority",
};
