/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe costs a trap at each hit, in all processes that map the file, however little the BPF
 * program does. So each place is first tried for a moment with the probe at the entry alone: if
 * hits times the measured cost of one are over the budget, it is left out. Later, hits are looked
 * at once a second.
 */
#include "signals/functions/function_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/words.h"
#include "core/hooks.h"
#include "core/sys.h"
#include "signals/functions/function_cost.h"
#include "signals/functions/function_names.h"
#include "signals/functions/functions.h"

_Static_assert(FUNCTIONS_SITES == UPROBES_MOST + 1, "one for each site, and the calibration");
_Static_assert(sizeof(struct functions_argument) == sizeof(struct usdt_argument), "the same");

#define TRIAL_US 50000

/* A place and its probes. */
struct probed {
	const struct uprobe_site *site;
	uint32_t place;
	uint16_t flags; /* enum functions_site_flags */
	struct bpf_link *entry, *back;
	uint64_t hits, lately; /* in all, and when looked at last */
	uint64_t *by_cpu;      /* the same */
	uint64_t lost_ns;      /* lately, at most */
	bool is_out;           /* too expensive */
};

static struct {
	struct uprobe_sites sites;
	char names[FUNCTIONS_SITES][FINDER_NAME_BYTES + 64]; /* by place, from 1 on */
	size_t places;
	struct probed probed[FUNCTIONS_SITES];
	size_t count;
	uint32_t budget_ppm;
	bool force_returns;
	uint64_t since_ns;
	struct function_cost cost;
} chosen;

const char *function_probes__name(uint32_t place)
{
	return place && place <= chosen.places ? chosen.names[place] : "";
}

void function_probes__forget(void)
{
	function_probes__detach();
	for (size_t i = 0; i < chosen.count; i++)
		free(chosen.probed[i].by_cpu);
	function_names__release();
	uprobes__release(&chosen.sites);
	memset(&chosen, 0, sizeof(chosen));
}

/* --- choosing --------------------------------------------------------------------------------- */

/* The same name in several files or inlined copies is one place. */
static uint32_t place_of(const struct uprobe_site *site)
{
	char name[sizeof(chosen.names[0])];

	snprintf(name, sizeof(name), "%.60s:%s", uprobes__base(site->where.path), site->place.name);
	for (uint32_t i = 1; i <= chosen.places; i++)
		if (!strcmp(chosen.names[i], name))
			return i;
	chosen.places++;
	memcpy(chosen.names[chosen.places], name, sizeof(name));
	return (uint32_t)chosen.places;
}

static uint16_t flags_of(const struct uprobe_site *site, bool is_probe)
{
	bool at_entry = site->place.flags & FINDER_AT_ENTRY, is_go = site->place.flags & FINDER_GO;
	bool may_throw = site->place.flags & FINDER_MAY_THROW && !chosen.force_returns;
	int flags = is_probe ? FUNCTIONS_IS_PROBE : 0;

	if (!site->file)
		return site->place.offset ? FUNCTIONS_COUNT_ONLY | FUNCTIONS_NO_CALLER
					  : FUNCTIONS_IN_KERNEL;
	if (!is_probe && (is_go || may_throw || !at_entry))
		flags |= FUNCTIONS_COUNT_ONLY;
	if (!at_entry)
		flags |= FUNCTIONS_NO_CALLER;
	return (uint16_t)flags;
}

/*
 * Around 6.18, a probe on a nop of 5 bytes becomes a call, which overwrites what a function without
 * calls of its own keeps below its stack pointer. At the entry, nothing is there yet.
 */
static bool is_unsafe(const struct uprobe_site *site)
{
	return site->place.cost == INSTRUCTION_NOP5 && !(site->place.flags & FINDER_AT_ENTRY) &&
	       function_cost__optimizes_nops();
}

static void add_site(const struct uprobe_site *site, bool is_probe, const char *text)
{
	struct probed *probed = &chosen.probed[chosen.count];

	if (is_unsafe(site)) {
		log_warning("'%s': this kernel may damage the program at a probe on a nop of 5 "
			    "bytes; continuing without that place",
			    text);
		return;
	}
	*probed = (struct probed) { .site = site,
				    .place = place_of(site),
				    .flags = flags_of(site, is_probe) };
	chosen.count++;
}

static bool is_go(const struct probed *probed)
{
	return probed->flags & FUNCTIONS_COUNT_ONLY && probed->site->place.flags & FINDER_GO;
}

static bool may_throw(const struct probed *probed)
{
	return probed->flags & FUNCTIONS_COUNT_ONLY && !is_go(probed) &&
	       probed->site->place.flags & FINDER_AT_ENTRY &&
	       probed->site->place.flags & FINDER_MAY_THROW;
}

static bool is_inside(const struct probed *probed)
{
	return probed->flags & FUNCTIONS_COUNT_ONLY && !is_go(probed) && !may_throw(probed);
}

static bool is_stepped(const struct probed *probed)
{
	return probed->site->file && probed->site->place.cost == INSTRUCTION_STEPPED;
}

/* "'libc:a'", or "'libc:a' and 3 more"; false if there is none. */
static bool list(bool (*is)(const struct probed *), char *ret, size_t size)
{
	const struct probed *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < chosen.count; i++) {
		count += is(&chosen.probed[i]);
		if (!first && count)
			first = &chosen.probed[i];
	}
	if (!first)
		return false;
	if (count > 1)
		snprintf(ret, size, "'%s' and %zu more", chosen.names[first->place], count - 1);
	else
		snprintf(ret, size, "'%s'", chosen.names[first->place]);
	return true;
}

/* What is missing, and what is expensive. */
static void say_limits(void)
{
	static const char missing[] = "calls are counted, but durations and return values are "
				      "missing";
	char who[FINDER_NAME_BYTES + 128];

	if (list(is_go, who, sizeof(who)))
		log_warning("%s: in a Go program, whose stacks move: %s", who, missing);
	if (list(may_throw, who, sizeof(who)))
		log_warning("%s: an exception or a panic that passes a probe at the return would "
			    "end the program: %s [--force-returns]",
			    who, missing);
	if (list(is_inside, who, sizeof(who)))
		log_warning("%s: not known to be the start of a function: %s", who, missing);
	if (list(is_stepped, who, sizeof(who)))
		log_info("%s: the kernel cannot emulate the instruction there: a hit costs about "
			 "ten times as much",
			 who);
}

static int refuse(const char *option, const char *text, int err, const char *why)
{
	log_error("--%s '%s': %s", option, text, why);
	return err;
}

static int parse(const char *text, bool is_probe, struct uprobe_spec *ret)
{
	int err = is_probe ? uprobes__parse_usdt(text, ret) : uprobes__parse(text, ret);

	if (err)
		return refuse(is_probe ? "usdt" : "function", text, err,
			      is_probe ? "not a probe [like 'python:gc__start' or "
					 "'/usr/bin/prog:provider:name']"
				       : "not a function [like 'libc:malloc', './prog:work' or "
					 "'./prog:0x1139']");
	return 0;
}

static int resolve(struct finder *finder, const char *text, bool is_probe,
		   const struct uprobe_scope *scope)
{
	struct uprobe_spec spec = {};
	int err = parse(text, is_probe, &spec);

	if (err)
		return err;
	err = uprobes__resolve(finder, &spec, scope, &chosen.sites);
	if (err)
		return refuse(is_probe ? "usdt" : "function", text, err, chosen.sites.why);
	if (chosen.sites.more)
		log_warning("'%s' matches more than %d places with all others; continuing without "
			    "the rest",
			    text, UPROBES_MOST);
	chosen.sites.more = false;
	return 0;
}

DEFINE_CLEANUP(struct finder *, finder__free)

int function_probes__choose(const struct function_choice *choice, const struct uprobe_scope *scope)
{
	cleanup(finder__free_p) struct finder *finder = NULL;
	size_t ends[2 * FUNCTION_PROBES_SPECS] = {},
			specs = choice->function_count + choice->probe_count;
	int err;

	function_probes__forget();
	chosen.budget_ppm = choice->budget_ppm;
	chosen.force_returns = choice->force_returns;
	err = finder__new(&finder);
	for (size_t i = 0; i < specs && !err; i++) {
		bool is_probe = i >= choice->function_count;
		const char *text = is_probe ? choice->probes[i - choice->function_count]
					    : choice->functions[i];

		err = resolve(finder, text, is_probe, scope);
		ends[i] = chosen.sites.count;
	}
	/* The array of sites has moved while it was growing, but does not any more. */
	for (size_t i = 0, at = 0; i < specs && !err; i++)
		for (; at < ends[i]; at++)
			add_site(&chosen.sites.all[at], i >= choice->function_count,
				 i >= choice->function_count
					 ? choice->probes[i - choice->function_count]
					 : choice->functions[i]);
	if (!err && !chosen.count)
		err = -ENODATA;
	if (err)
		function_probes__forget();
	else
		say_limits();
	return err;
}

/* --- attaching -------------------------------------------------------------------------------- */

static void detach(struct probed *probed)
{
	/* The entry first: a return without an entry is not counted, the opposite is unpaired. */
	hooks__detach(probed->entry);
	hooks__detach(probed->back);
	probed->entry = probed->back = NULL;
}

void function_probes__detach(void)
{
	for (size_t i = 0; i < chosen.count; i++)
		detach(&chosen.probed[i]);
}

static int fill_site(const struct bpf_object *object, uint32_t number, const struct probed *probed)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, "functions_sites");
	const struct finder_place *place = &probed->site->place;
	struct functions_site site = { .place = probed->place,
				       .flags = probed->flags,
				       .argument_count = (uint16_t)place->argument_count };

	memcpy(site.arguments, place->arguments, sizeof(site.arguments));
	return map ? bpf_map_update_elem(bpf_map__fd(map), &number, &site, BPF_ANY) : -EPROTO;
}

static bool has_return(const struct probed *probed)
{
	return !(probed->flags & (FUNCTIONS_COUNT_ONLY | FUNCTIONS_IS_PROBE));
}

static void leave_out(struct probed *probed, int err)
{
	log_warning("'%s' cannot be probed (%s); continuing without it",
		    chosen.names[probed->place], strerror(-err));
	probed->is_out = true;
	detach(probed);
}

static void attach_entries(const struct bpf_object *object)
{
	for (uint32_t i = 0; i < chosen.count; i++) {
		struct probed *probed = &chosen.probed[i];
		int err = fill_site(object, i + 1, probed);

		if (!err)
			err = uprobes__attach(object, "functions_on_entry", probed->site, i + 1,
					      &probed->entry);
		if (err)
			leave_out(probed, err);
	}
}

static void attach_returns(const struct bpf_object *object)
{
	for (uint32_t i = 0; i < chosen.count; i++) {
		struct probed *probed = &chosen.probed[i];
		int err;

		if (probed->is_out || !has_return(probed))
			continue;
		err = uprobes__attach(object, "functions_on_return", probed->site, i + 1,
				      &probed->back);
		if (err)
			leave_out(probed, err);
	}
}

/* --- cost ------------------------------------------------------------------------------------- */

static uint64_t cost_of(const struct probed *probed)
{
	return function_cost__of_hit(&chosen.cost, probed->site->place.cost, has_return(probed));
}

static void say_too_expensive(const struct probed *probed, uint64_t elapsed_ns)
{
	log_warning(
		"'%s' is called %s times a second: at about %s each, that is %.0f%% of a CPU, "
		"and the budget is %g%%; continuing without it [--budget none]",
		chosen.names[probed->place],
		words__number((int64_t)((double)probed->lately * 1e9 / (double)elapsed_ns)).text,
		words__time((int64_t)cost_of(probed)).text,
		100.0 * (double)probed->lost_ns / (double)elapsed_ns, chosen.budget_ppm / 1e4);
}

/* `lost_ns` is of the CPU where it was hit most: what a thread there may have lost. */
static void take_hits(struct probed *probed, const uint64_t *hits, int cpus)
{
	uint64_t most = 0;

	probed->lately = 0;
	for (int i = 0; i < cpus; i++) {
		uint64_t added = hits[i] - probed->by_cpu[i];

		most = added > most ? added : most;
		probed->lately += added;
		probed->by_cpu[i] = hits[i];
	}
	probed->hits += probed->lately;
	probed->lost_ns = probed->is_out ? 0 : most * cost_of(probed);
}

/* Leaves the most expensive ones out, until the others fit into the budget together. */
static void keep_to_budget(uint64_t elapsed_ns)
{
	double most_ns = (double)elapsed_ns * chosen.budget_ppm / 1e6;

	for (;;) {
		struct probed *worst = &chosen.probed[0];
		uint64_t total_ns = 0;

		for (size_t i = 0; i < chosen.count; i++) {
			total_ns += chosen.probed[i].lost_ns;
			if (chosen.probed[i].lost_ns > worst->lost_ns)
				worst = &chosen.probed[i];
		}
		if ((double)total_ns <= most_ns)
			return;
		say_too_expensive(worst, elapsed_ns);
		worst->is_out = true;
		worst->lost_ns = 0;
		detach(worst);
	}
}

/* Takes the hits since the last call. What costs more than the budget is left out. */
static int look(const struct bpf_object *object, bool may_leave_out)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, "functions_hits");
	uint64_t now_ns = clock__now_ns(), elapsed_ns = now_ns - chosen.since_ns;
	int cpus = libbpf_num_possible_cpus();
	cleanup(free_p) uint64_t *hits = cpus > 0 ? calloc((size_t)cpus, sizeof(*hits)) : NULL;

	if (!hits || !map)
		return hits ? -EPROTO : -ENOMEM;
	chosen.since_ns = now_ns;
	for (uint32_t i = 0; i < chosen.count; i++) {
		struct probed *probed = &chosen.probed[i];

		if (!probed->by_cpu)
			probed->by_cpu = calloc((size_t)cpus, sizeof(*hits));
		if (!probed->by_cpu)
			return -ENOMEM;
		if (bpf_map_lookup_elem(bpf_map__fd(map), &(uint32_t) { i + 1 }, hits))
			return -errno;
		take_hits(probed, hits, cpus);
	}
	if (may_leave_out && chosen.budget_ppm)
		keep_to_budget(elapsed_ns);
	return 0;
}

static size_t count_attached(void)
{
	size_t count = 0;

	for (size_t i = 0; i < chosen.count; i++)
		count += !chosen.probed[i].is_out;
	return count;
}

int function_probes__attach(struct bpf_object *object)
{
	int err;

	if (!chosen.count) {
		log_warning("no function was chosen [--function, --usdt]");
		return -ENODATA;
	}
	function_cost__measure(object, &chosen.cost);
	chosen.since_ns = clock__now_ns();
	attach_entries(object);
	err = look(object, false);
	if (!err && chosen.budget_ppm) {
		usleep(TRIAL_US);
		err = look(object, true);
	}
	attach_returns(object);
	if (!err && !count_attached())
		err = -EDQUOT;
	if (err)
		function_probes__detach();
	return err;
}

static void say_cost(void)
{
	uint64_t hits = 0, cost_ns = 0;

	for (size_t i = 0; i < chosen.count; i++) {
		hits += chosen.probed[i].hits;
		cost_ns += chosen.probed[i].hits * cost_of(&chosen.probed[i]);
	}
	log_info("probes were hit %s times, which took about %s of CPU time [measured: %s for an "
		 "entry, %s with its return]",
		 words__number((int64_t)hits).text, words__time((int64_t)cost_ns).text,
		 words__time((int64_t)chosen.cost.entry_ns).text,
		 words__time((int64_t)(chosen.cost.entry_ns + chosen.cost.return_ns)).text);
}

int function_probes__hold(struct bpf_object *object, bool is_last)
{
	int err = look(object, !is_last);

	if (!err && is_last)
		say_cost();
	return err;
}
