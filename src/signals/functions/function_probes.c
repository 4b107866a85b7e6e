/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/functions/function_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "core/probe_set.h"
#include "signals/functions/function_names.h"
#include "signals/functions/functions.h"

_Static_assert(FUNCTIONS_SITES == UPROBES_MOST + 1, "one for each site, and the calibration");
_Static_assert(sizeof(struct probe_argument) == sizeof(struct usdt_argument), "the same");

#define MOST_SPECS 32 /* of each option */

static const struct {
	const char *name;
	size_t most;
} option_words[] = {
	[FUNCTION_CALLS] = { "function", MOST_SPECS },
	[FUNCTION_WINDOW] = { "window", 16 },
	[FUNCTION_USDT] = { "usdt", MOST_SPECS },
};

/* What the command line names. */
static struct {
	const char *specs[FUNCTION_OPTIONS * MOST_SPECS];
	enum function_option options[FUNCTION_OPTIONS * MOST_SPECS];
	size_t count;
	bool force_returns; /* also where an exception would end the program */
} asked;

/* What was found of it; as the probes of `set`. */
static struct {
	struct uprobe_sites sites;
	char names[FUNCTIONS_SITES][FINDER_NAME_BYTES + 64]; /* by place, from 1 on */
	size_t places;
	uint32_t place[UPROBES_MOST];
	uint16_t flags[UPROBES_MOST]; /* enum functions_site_flags */
} chosen;

static struct probe_set set = { .program = "functions_on_entry",
				.at_return = "functions_on_return",
				.hits = "functions_hits" };

const char *function_probes__name(uint32_t place)
{
	return place && place <= chosen.places ? chosen.names[place] : "";
}

static void forget(void)
{
	probe_set__clear(&set);
	function_names__release();
	uprobes__release(&chosen.sites);
	memset(&chosen, 0, sizeof(chosen));
}

/* --- what the command line names -------------------------------------------------------------- */

static int parse(const char *text, bool is_probe, struct uprobe_spec *ret)
{
	return is_probe ? uprobes__parse_usdt(text, ret) : uprobes__parse(text, ret);
}

int function_probes__ask(const char *text, enum function_option option, char *why, size_t size)
{
	bool is_probe = option == FUNCTION_USDT;
	struct uprobe_spec spec;
	size_t same = 0;
	int err = parse(text, is_probe, &spec);

	for (size_t i = 0; i < asked.count; i++)
		same += asked.options[i] == option;
	if (err)
		snprintf(why, size, "'%s' is not a %s", text,
			 is_probe ? "probe [like 'python:gc__start' or "
				    "'/usr/bin/prog:provider:name']"
				  : "function [like 'libc:malloc', './prog:work' or "
				    "'./prog:0x1139']");
	else if (same == option_words[option].most)
		snprintf(why, size, "at most %zu [one can have a pattern: 'libc:mem*']", same);
	if (err || same == option_words[option].most)
		return err ? -EINVAL : -E2BIG;
	asked.specs[asked.count] = text;
	asked.options[asked.count++] = option;
	return 0;
}

void function_probes__force_returns(void)
{
	asked.force_returns = true;
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

static uint16_t flags_of(const struct uprobe_site *site, enum function_option option)
{
	bool is_probe = option == FUNCTION_USDT;
	bool at_entry = site->place.flags & FINDER_AT_ENTRY, is_go = site->place.flags & FINDER_GO;
	bool may_throw = site->place.flags & FINDER_MAY_THROW && !asked.force_returns;
	int flags = is_probe ? FUNCTIONS_IS_PROBE : 0;

	if (option == FUNCTION_WINDOW)
		flags |= FUNCTIONS_IS_WINDOW;
	if (!site->file)
		return (uint16_t)(flags |
				  (site->place.offset ? FUNCTIONS_COUNT_ONLY | FUNCTIONS_NO_CALLER
						      : FUNCTIONS_IN_KERNEL));
	if (!is_probe && (is_go || may_throw || !at_entry))
		flags |= FUNCTIONS_COUNT_ONLY;
	if (!at_entry)
		flags |= FUNCTIONS_NO_CALLER;
	return (uint16_t)flags;
}

static void add_site(const struct uprobe_site *site, enum function_option option)
{
	uint32_t place = place_of(site), number = (uint32_t)set.count;
	uint16_t flags = flags_of(site, option);

	if (!probe_set__add(&set, site, chosen.names[place],
			    !(flags & (FUNCTIONS_COUNT_ONLY | FUNCTIONS_IS_PROBE))))
		return;
	chosen.place[number] = place;
	chosen.flags[number] = flags;
}

static bool is_go(size_t number)
{
	return chosen.flags[number] & FUNCTIONS_COUNT_ONLY &&
	       set.probes[number].site->place.flags & FINDER_GO;
}

static bool may_throw(size_t number)
{
	const uint32_t both = FINDER_AT_ENTRY | FINDER_MAY_THROW;

	return chosen.flags[number] & FUNCTIONS_COUNT_ONLY && !is_go(number) &&
	       (set.probes[number].site->place.flags & both) == both;
}

static bool is_inside(size_t number)
{
	return chosen.flags[number] & FUNCTIONS_COUNT_ONLY && !is_go(number) && !may_throw(number);
}

static bool is_stepped(size_t number)
{
	return set.probes[number].site->file &&
	       set.probes[number].site->place.cost == INSTRUCTION_STEPPED;
}

/* "'libc:a'", or "'libc:a' and 3 more"; false if there is none. */
static bool list(bool (*is)(size_t number), char *ret, size_t size)
{
	const char *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < set.count; i++) {
		count += is(i);
		if (!first && count)
			first = set.probes[i].name;
	}
	if (count > 1)
		snprintf(ret, size, "'%s' and %zu more", first, count - 1);
	else if (first)
		snprintf(ret, size, "'%s'", first);
	return first;
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

static int resolve(struct finder *finder, size_t number, const struct uprobe_scope *scope)
{
	const char *text = asked.specs[number];
	struct uprobe_spec spec = {};
	enum function_option option = asked.options[number];
	int err = parse(text, option == FUNCTION_USDT, &spec);

	if (!err)
		err = uprobes__resolve(finder, &spec, scope, &chosen.sites);
	if (err) {
		log_error("--%s '%s': %s", option_words[option].name, text, chosen.sites.why);
		return err;
	}
	if (chosen.sites.more)
		log_warning("'%s' matches more than %d places with all others; continuing without "
			    "the rest",
			    text, UPROBES_MOST);
	chosen.sites.more = false;
	return 0;
}

DEFINE_CLEANUP(struct finder *, finder__free)

int function_probes__find(const struct uprobe_scope *scope, uint32_t budget_ppm)
{
	cleanup(finder__free_p) struct finder *finder = NULL;
	size_t ends[FUNCTION_OPTIONS * MOST_SPECS] = {};
	int err;

	forget();
	set.budget_ppm = budget_ppm;
	err = finder__new(&finder);
	for (size_t i = 0; i < asked.count && !err; i++) {
		err = resolve(finder, i, scope);
		ends[i] = chosen.sites.count;
	}
	/* The array of sites has moved while it was growing, but does not any more. */
	for (size_t i = 0, at = 0; i < asked.count && !err; i++)
		for (; at < ends[i]; at++)
			add_site(&chosen.sites.all[at], asked.options[i]);
	if (!err && !set.count) {
		log_error("there is no place to probe [--function, --window, --usdt]");
		err = -ENODATA;
	}
	if (err)
		forget();
	else
		say_limits();
	return err;
}

/* --- attaching -------------------------------------------------------------------------------- */

static int fill_site(int map, uint32_t number)
{
	const struct finder_place *place = &set.probes[number].site->place;
	struct functions_site site = { .place = chosen.place[number],
				       .flags = chosen.flags[number],
				       .argument_count = (uint16_t)place->argument_count };

	memcpy(site.arguments, place->arguments, sizeof(site.arguments));
	return bpf_map_update_elem(map, &(uint32_t) { number + 1 }, &site, BPF_ANY);
}

int function_probes__attach(struct bpf_object *object)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, "functions_sites");
	int err = map ? 0 : -EPROTO;

	for (uint32_t i = 0; i < set.count && !err; i++)
		err = fill_site(bpf_map__fd(map), i);
	return err ? err : probe_set__attach(&set, object);
}

void function_probes__detach(void)
{
	probe_set__detach(&set);
}

int function_probes__hold(struct bpf_object *object, bool is_last)
{
	return probe_set__hold(&set, object, is_last);
}

uint64_t function_probes__left_out(void)
{
	return probe_set__left_out(&set);
}
