/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record of the kernel counts only if it is younger than the last read of /proc. The content of
 * /proc already includes older records, and may supersede them.
 *
 * There is no record of munmap. An unmapped range stays until another one replaces it. That is
 * harmless, because no code runs there.
 */
#include "stacks/tracker.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "bpf/unwind.h"
#include "stacks/tables.h"
#include "stacks/tracker_internal.h"

#define SECOND_NS 1000000000ULL
/* Stacks of a process that ended may still arrive. */
#define GRACE_NS (2 * SECOND_NS)
/* Reading all of /proc again may take 1/REREAD_SHARE of the time. */
#define REREAD_SHARE   20
#define MOST_FORGOTTEN 256 /* in one sweep */

/* --- the kernel half's map -------------------------------------------------------------------- */

static void place(struct tracker *tracker, struct process *process)
{
	struct quality *quality = tracker->options.quality;

	tracker->scratch.start_ticks = process->start_ticks;
	tracker->scratch.pid = process->pid;
	tracker->scratch.runtime = process->runtime;
	if (!ranges__fill(&process->ranges, &tracker->scratch) && !process->is_crowded) {
		process->is_crowded = true;
		quality->crowded_processes++;
	}
	if (!tables__update(tracker->options.processes_fd, &process->pid, &tracker->scratch))
		process->is_placed = true;
	else
		quality->processes_failed++;
	tracker__offer_all(tracker, process);
}

static void clear_request(struct tracker *tracker, uint32_t pid)
{
	uint64_t key = UNWIND_ASKED(UNWIND_NEED_PROCESS, pid);

	bpf_map_delete_elem(tracker->options.asked_fd, &key);
}

/* --- processes -------------------------------------------------------------------------------- */

static void process_gone(struct tracker *tracker, struct process *process)
{
	if (process->gone_ns)
		return;
	process->gone_ns = clock__now_ns();
	if (process->is_placed)
		bpf_map_delete_elem(tracker->options.processes_fd, &process->pid);
	process->is_placed = false;
	clear_request(tracker, process->pid);
	tracker__drop_runtime(tracker, process, false);
}

static void forget(struct tracker *tracker, struct process *process)
{
	process_gone(tracker, process);
	pthread_mutex_lock(&tracker->lock);
	map__take(&tracker->processes, process->pid);
	pthread_mutex_unlock(&tracker->lock);
	tracker__free_process(process);
}

/* Takes over `process`, and replaces the previous process with this pid. */
static void enlist(struct tracker *tracker, struct process *process)
{
	struct process *before = map__get(&tracker->processes, process->pid);
	int err;

	pthread_mutex_lock(&tracker->lock);
	err = map__put(&tracker->processes, process->pid, process);
	pthread_mutex_unlock(&tracker->lock);
	if (err) {
		tracker__free_process(process);
		return;
	}
	if (before)
		tracker__free_process(before);
	if (!process->gone_ns)
		place(tracker, process);
}

void tracker__follow(struct tracker *tracker, uint32_t pid)
{
	struct process *before = map__get(&tracker->processes, pid), *process;
	int err = tracker__read_process(tracker, pid, &process);

	if (!err) {
		process->is_crowded = before && before->is_crowded;
		enlist(tracker, process);
		return;
	}
	if (err != -ESRCH) {
		/* A kernel thread has no mappings. */
		tracker->options.quality->processes_failed += err != -ENODATA;
		return;
	}
	if (before)
		process_gone(tracker, before);
	clear_request(tracker, pid);
}

void tracker__set_runtime(struct tracker *tracker, uint32_t pid, uint64_t start_ticks,
			  const struct runtime *runtime)
{
	struct process *process = map__get(&tracker->processes, pid);

	if (!process || process->gone_ns || process->start_ticks != start_ticks)
		return;
	process->runtime = *runtime;
	place(tracker, process);
}

/* --- records of the kernel -------------------------------------------------------------------- */

static void take_mmap(struct tracker *tracker, struct process *process, const struct event *event)
{
	struct module_place at = {
		.pid = event->pid,
		.begin = event->begin,
		.end = event->end,
		.device = event->device,
		.inode = event->inode,
		.path = event->path,
	};
	struct ranges ranges, before = process->ranges;

	/* Files are opened without the lock; readers see either the old ranges or the new ones. */
	if (ranges__copy(&before, &ranges))
		return;
	tracker__add_range(tracker, &ranges, &at, event->offset);
	pthread_mutex_lock(&tracker->lock);
	process->ranges = ranges;
	pthread_mutex_unlock(&tracker->lock);
	ranges__release(&before);
	place(tracker, process);
}

/* The mappings of the new program follow in records of their own. */
static void take_exec(struct tracker *tracker, struct process *process)
{
	struct ranges before = process->ranges;

	pthread_mutex_lock(&tracker->lock);
	process->ranges = (struct ranges) { 0 };
	pthread_mutex_unlock(&tracker->lock);
	ranges__release(&before);
	process->is_single = true;
	process->is_ending = false;
	tracker__drop_runtime(tracker, process, true);
	place(tracker, process);
}

static void take_fork(struct tracker *tracker, const struct event *event)
{
	struct process *before = map__get(&tracker->processes, event->pid);
	struct process *parent = map__get(&tracker->processes, event->parent_pid);
	cleanup(tracker__free_process_p) struct process *child = NULL;
	struct maps_stat stat = { 0 };
	int err;

	if (before && before->known_ns > event->time_ns)
		return;
	if (before)
		forget(tracker, before);
	if (!parent)
		return;
	child = calloc(1, sizeof(*child));
	if (!child || ranges__copy(&parent->ranges, &child->ranges))
		return;
	child->pid = event->pid;
	child->known_ns = event->time_ns;
	child->is_single = true;
	/* Its memory is still that of its parent. */
	child->runtime = parent->runtime;
	err = tracker__read_stat(child->pid, &stat);
	if (err && err != -ESRCH)
		return;
	/* The process has already ended, but its stacks may still arrive and need its ranges. */
	if (err)
		child->gone_ns = clock__now_ns();
	child->start_ticks = stat.start_ticks;
	enlist(tracker, TAKE(child));
}

/* Each thread has an exit record. Other threads may outlive the main thread. */
static void take_exit(struct tracker *tracker, struct process *process, const struct event *event)
{
	if (event->tid != event->pid)
		return;
	if (process->is_single)
		process_gone(tracker, process);
	else
		process->is_ending = true;
}

void tracker__take(void *context, const struct event *event)
{
	struct tracker *tracker = context;
	struct process *process = map__get(&tracker->processes, event->pid);

	if (event->kind == EVENT_LOST) {
		tracker->options.quality->lost_events += event->lost;
		tracker->must_reread = true;
		return;
	}
	if (event->kind == EVENT_FORK && event->pid != event->parent_pid) {
		take_fork(tracker, event);
		return;
	}
	if (!process || process->gone_ns || event->time_ns < process->known_ns)
		return;
	if (event->kind == EVENT_MMAP)
		take_mmap(tracker, process, event);
	else if (event->kind == EVENT_EXEC)
		take_exec(tracker, process);
	else if (event->kind == EVENT_EXIT)
		take_exit(tracker, process, event);
	else
		process->is_single = false; /* a new thread */
}

/* --- periodic work ---------------------------------------------------------------------------- */

/* Does not change the map of processes, because the caller iterates over it. */
static void refresh(struct tracker *tracker, struct process *process)
{
	struct process *now;
	struct ranges before = process->ranges;
	int err = tracker__read_process(tracker, process->pid, &now);

	if (err == -ESRCH)
		process_gone(tracker, process);
	if (err)
		return;
	pthread_mutex_lock(&tracker->lock);
	process->ranges = now->ranges;
	pthread_mutex_unlock(&tracker->lock);
	now->ranges = before;
	if (process->start_ticks != now->start_ticks)
		tracker__drop_runtime(tracker, process, true);
	process->start_ticks = now->start_ticks;
	process->known_ns = now->known_ns;
	process->is_single = false;
	place(tracker, process);
	tracker__free_process(now);
}

static void reread(struct tracker *tracker)
{
	uint64_t begin_ns = clock__now_ns(), took_ns;
	struct process *process;
	size_t at = 0;

	if (begin_ns < tracker->next_reread_ns)
		return;
	while ((process = map__next(&tracker->processes, &at))) {
		if (!process->gone_ns)
			refresh(tracker, process);
	}
	took_ns = clock__now_ns() - begin_ns;
	tracker->next_reread_ns = begin_ns + SECOND_NS + took_ns * REREAD_SHARE;
	tracker->must_reread = false;
}

void tracker__sweep(struct tracker *tracker)
{
	struct process *forgotten[MOST_FORGOTTEN], *process;
	uint64_t now_ns = clock__now_ns();
	struct maps_stat stat;
	size_t at = 0, count = 0;

	while (count < MOST_FORGOTTEN && (process = map__next(&tracker->processes, &at))) {
		if (process->gone_ns && now_ns - process->gone_ns > GRACE_NS)
			forgotten[count++] = process;
		else if (process->is_ending && !process->gone_ns &&
			 tracker__read_stat(process->pid, &stat) == -ESRCH)
			process_gone(tracker, process);
	}
	for (size_t i = 0; i < count; i++)
		forget(tracker, forgotten[i]);
	if (tracker->must_reread || !tracker->options.has_events)
		reread(tracker);
}

void tracker__mark(struct tracker *tracker, uint64_t now_ns)
{
	const struct process *process;
	size_t at = 0;

	while ((process = map__next(&tracker->processes, &at)))
		for (size_t i = 0; i < process->ranges.count; i++) {
			struct module *module = modules__get(tracker->options.modules,
							     process->ranges.list[i].module);

			if (module)
				module->mapped_ns = now_ns;
		}
}

/* --- from any thread -------------------------------------------------------------------------- */

bool tracker__locate(struct tracker *tracker, uint32_t pid, uint64_t address, uint32_t *ret_module,
		     uint64_t *ret_address)
{
	const struct process *process;
	const struct range *range = NULL;

	pthread_mutex_lock(&tracker->lock);
	process = map__get(&tracker->processes, pid);
	if (process)
		range = ranges__find(&process->ranges, address);
	if (range) {
		*ret_module = range->module;
		*ret_address = range->address + (address - range->begin);
	}
	pthread_mutex_unlock(&tracker->lock);
	return range != NULL;
}

/* The code of a file gives the address of its data, because a file is mapped in one piece. */
static bool is_in_file(const struct tracker *tracker, const struct range *range, uint64_t address,
		       uint64_t *ret)
{
	const struct module *module = modules__get(tracker->options.modules, range->module);
	uint64_t there = address - (range->begin - range->address);

	if (!module || there < module->headers.begin || there >= module->headers.end)
		return false;
	*ret = there;
	return true;
}

bool tracker__locate_variable(struct tracker *tracker, uint32_t pid, uint64_t address,
			      uint32_t *ret_module, uint64_t *ret_address)
{
	const struct process *process;
	bool found = false;

	pthread_mutex_lock(&tracker->lock);
	process = map__get(&tracker->processes, pid);
	for (size_t i = 0; process && i < process->ranges.count && !found; i++) {
		const struct range *range = &process->ranges.list[i];

		found = is_in_file(tracker, range, address, ret_address);
		if (found)
			*ret_module = range->module;
	}
	pthread_mutex_unlock(&tracker->lock);
	return found;
}

int tracker__new(const struct tracker_options *options, struct tracker **ret)
{
	struct tracker *tracker = calloc(1, sizeof(*tracker));

	if (!tracker)
		return -ENOMEM;
	tracker->options = *options;
	pthread_mutex_init(&tracker->lock, NULL);
	*ret = tracker;
	return 0;
}

void tracker__free(struct tracker *tracker)
{
	struct process *process;
	size_t at = 0;

	if (!tracker)
		return;
	while ((process = map__next(&tracker->processes, &at)))
		tracker__free_process(process);
	map__release(&tracker->processes);
	pthread_mutex_destroy(&tracker->lock);
	free(tracker);
}
