/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe costs a trap at each hit, in all processes that map the file, however little the BPF
 * program does. So each place is first tried for a moment with the probe at the entry alone: if
 * hits times the measured cost of one are over the budget, it is left out. Later, hits are looked
 * at once a second.
 */
#include "core/probe_set.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/words.h"
#include "core/hooks.h"

#define TRIAL_US 50000

/*
 * Around 6.18, a probe on a nop of 5 bytes becomes a call, which overwrites what a function without
 * calls of its own keeps below its stack pointer. At the entry, nothing is there yet.
 */
static bool is_unsafe(const struct uprobe_site *site)
{
	return site->place.cost == INSTRUCTION_NOP5 && !(site->place.flags & FINDER_AT_ENTRY) &&
	       uprobe_cost__optimizes_nops();
}

bool probe_set__add(struct probe_set *set, const struct uprobe_site *site, const char *name,
		    bool has_return)
{
	if (set->count == UPROBES_MOST)
		return false;
	if (is_unsafe(site)) {
		log_warning("'%s': this kernel may damage the program at a probe on a nop of 5 "
			    "bytes; continuing without that place",
			    name);
		return false;
	}
	set->probes[set->count++] =
		(struct probe) { .site = site, .name = name, .has_return = has_return };
	return true;
}

static void detach(struct probe *probe)
{
	/* The entry first: a return without an entry is not counted, the opposite is unpaired. */
	hooks__detach(probe->entry);
	hooks__detach(probe->back);
	probe->entry = probe->back = NULL;
}

static void leave_out(struct probe_set *set, struct probe *probe)
{
	for (size_t i = 0; i < set->count; i++) {
		struct probe *each = &set->probes[i];

		if (each != probe && !set->all_or_none)
			continue;
		each->is_out = true;
		each->lost_ns = 0;
		detach(each);
	}
}

void probe_set__detach(struct probe_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		detach(&set->probes[i]);
}

void probe_set__clear(struct probe_set *set)
{
	probe_set__detach(set);
	for (size_t i = 0; i < set->count; i++)
		free(set->probes[i].by_cpu);
	memset(set->probes, 0, sizeof(set->probes));
	set->count = 0;
}

/* --- attaching -------------------------------------------------------------------------------- */

static void attach_one(struct probe_set *set, const struct bpf_object *object, size_t number,
		       bool is_return)
{
	struct probe *probe = &set->probes[number];
	int err;

	if (probe->is_out)
		return;
	err = uprobes__attach(object, is_return ? set->at_return : set->program, probe->site,
			      number + 1, is_return ? &probe->back : &probe->entry);
	if (!err)
		return;
	log_warning("'%s' cannot be probed (%s); continuing without it", probe->name,
		    strerror(-err));
	leave_out(set, probe);
}

/* --- cost ------------------------------------------------------------------------------------- */

static uint64_t cost_of(const struct probe_set *set, const struct probe *probe)
{
	return uprobe_cost__of_hit(&set->cost, probe->site->place.cost, probe->has_return);
}

static void say_too_expensive(const struct probe_set *set, const struct probe *probe,
			      uint64_t elapsed_ns)
{
	log_warning("'%s' is called %s times a second: at about %s each, that is %.0f%% of a CPU, "
		    "and the budget is %g%%; continuing without it [--budget none]",
		    probe->name,
		    words__number((int64_t)((double)probe->lately * 1e9 / (double)elapsed_ns)).text,
		    words__time((int64_t)cost_of(set, probe)).text,
		    100.0 * (double)probe->lost_ns / (double)elapsed_ns, set->budget_ppm / 1e4);
}

/* `lost_ns` is of the CPU where it was hit most: what a thread there may have lost. */
static void take_hits(const struct probe_set *set, struct probe *probe, const uint64_t *hits,
		      int cpus)
{
	uint64_t most = 0;

	probe->lately = 0;
	for (int i = 0; i < cpus; i++) {
		uint64_t added = hits[i] - probe->by_cpu[i];

		most = added > most ? added : most;
		probe->lately += added;
		probe->by_cpu[i] = hits[i];
	}
	probe->hits += probe->lately;
	probe->lost_ns = probe->is_out ? 0 : most * cost_of(set, probe);
}

/* Leaves the most expensive ones out, until the others fit into the budget together. */
static void keep_to_budget(struct probe_set *set, uint64_t elapsed_ns)
{
	double most_ns = (double)elapsed_ns * set->budget_ppm / 1e6;

	for (;;) {
		struct probe *worst = &set->probes[0];
		uint64_t total_ns = 0;

		for (size_t i = 0; i < set->count; i++) {
			total_ns += set->probes[i].lost_ns;
			if (set->probes[i].lost_ns > worst->lost_ns)
				worst = &set->probes[i];
		}
		if ((double)total_ns <= most_ns)
			return;
		say_too_expensive(set, worst, elapsed_ns);
		leave_out(set, worst);
	}
}

/* Takes the hits since the last call. What costs more than the budget is left out. */
static int look(struct probe_set *set, const struct bpf_object *object, bool may_leave_out)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, set->hits);
	uint64_t now_ns = clock__now_ns(), elapsed_ns = now_ns - set->since_ns;
	int cpus = libbpf_num_possible_cpus();
	cleanup(free_p) uint64_t *hits = cpus > 0 ? calloc((size_t)cpus, sizeof(*hits)) : NULL;

	if (!hits || !map)
		return hits ? -EPROTO : -ENOMEM;
	set->since_ns = now_ns;
	for (uint32_t i = 0; i < set->count; i++) {
		struct probe *probe = &set->probes[i];

		if (!probe->by_cpu)
			probe->by_cpu = calloc((size_t)cpus, sizeof(*hits));
		if (!probe->by_cpu)
			return -ENOMEM;
		if (bpf_map_lookup_elem(bpf_map__fd(map), &(uint32_t) { i + 1 }, hits))
			return -errno;
		take_hits(set, probe, hits, cpus);
	}
	if (may_leave_out && set->budget_ppm)
		keep_to_budget(set, elapsed_ns);
	return 0;
}

uint64_t probe_set__left_out(const struct probe_set *set)
{
	uint64_t count = 0;

	for (size_t i = 0; i < set->count; i++)
		count += set->probes[i].is_out;
	return count;
}

int probe_set__attach(struct probe_set *set, const struct bpf_object *object)
{
	int err;

	uprobe_cost__measure(object, set->program, set->at_return, &set->cost);
	set->since_ns = clock__now_ns();
	for (size_t i = 0; i < set->count; i++)
		attach_one(set, object, i, false);
	err = look(set, object, false);
	if (!err && set->budget_ppm) {
		usleep(TRIAL_US);
		err = look(set, object, true);
	}
	for (size_t i = 0; i < set->count && !err; i++)
		if (set->probes[i].has_return)
			attach_one(set, object, i, true);
	if (!err && probe_set__left_out(set) == set->count)
		err = -EDQUOT;
	if (err)
		probe_set__detach(set);
	return err;
}

static void say_cost(const struct probe_set *set)
{
	uint64_t hits = 0, cost_ns = 0;
	char with_return[64] = "";

	for (size_t i = 0; i < set->count; i++) {
		hits += set->probes[i].hits;
		cost_ns += set->probes[i].hits * cost_of(set, &set->probes[i]);
	}
	if (set->at_return)
		words__say(with_return, sizeof(with_return), ", %s with its return",
			   words__time((int64_t)(set->cost.entry_ns + set->cost.return_ns)).text);
	log_info("probes were hit %s times, which took about %s of CPU time [measured: %s for an "
		 "entry%s]",
		 words__number((int64_t)hits).text, words__time((int64_t)cost_ns).text,
		 words__time((int64_t)set->cost.entry_ns).text, with_return);
}

int probe_set__hold(struct probe_set *set, const struct bpf_object *object, bool is_last)
{
	int err = look(set, object, !is_last);

	if (!err && is_last)
		say_cost(set);
	return err;
}
