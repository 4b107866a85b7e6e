/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of signals in the kernel half. What belongs to a part begins with the signal's name. A
 * part that is off costs nothing: its programs are not loaded, its maps have no room, and the
 * verifier drops its code from the ledger's programs.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/parts.h"
#include "ledger/reader/attach_internal.h"

DEFINE_CLEANUP(struct ledger_bpf *, ledger_bpf__destroy)

#define PART_NAME(name) #name,
static const char *const names[] = { EACH_SIGNAL(PART_NAME) };

static struct part *find_part(struct part *parts, enum signal_number number)
{
	for (struct part *part = parts; part->signal; part++)
		if (part->signal->number == number)
			return part;
	return NULL;
}

static bool is_on(struct part *parts, enum signal_number number)
{
	const struct part *part = find_part(parts, number);

	return part && part->is_on;
}

void parts__switch_all(struct part *parts, bool on)
{
	for (struct part *part = parts; part->signal; part++)
		part->is_on = on && !part->is_impossible;
}

bool parts__any(const struct part *parts)
{
	for (const struct part *part = parts; part->signal; part++)
		if (part->is_on)
			return true;
	return false;
}

static bool has_program(const struct signal *signal, const char *program)
{
	for (size_t i = 0; signal->hooks[i].event; i++)
		for (size_t j = 0; j < HOOK_ALTERNATIVES && signal->hooks[i].programs[j]; j++)
			if (!strcmp(signal->hooks[i].programs[j], program))
				return true;
	return false;
}

bool parts__need(const struct part *parts, const char *program)
{
	for (const struct part *part = parts; part->signal; part++)
		if (part->is_on && has_program(part->signal, program))
			return true;
	return false;
}

static void leave_out_programs(struct bpf_object *object, const char *name)
{
	struct bpf_program *program;

	bpf_object__for_each_program (program, object)
		if (signal__owns(name, bpf_program__name(program)))
			bpf_program__set_autoload(program, false);
}

/*
 * Programs of the ledger refer to the maps, although in code that never runs; libbpf replaces these
 * instructions. A program may refer to 64 maps at most, which the kernel counts in all code.
 */
static int leave_out_maps(struct bpf_object *object, const char *name)
{
	struct bpf_map *map;
	int err = 0;

	bpf_object__for_each_map (map, object)
		if (signal__owns(name, bpf_map__name(map)))
			err |= bpf_map__set_autocreate(map, false);
	return err;
}

int parts__leave_out(struct bpf_object *object, const char *name)
{
	leave_out_programs(object, name);
	return leave_out_maps(object, name);
}

/*
 * Sums by class are few, and nothing is sent. What is kept between two hooks is still counted if it
 * has no room.
 */
static int shrink_for_classes(struct bpf_object *object, const char *name)
{
	static const struct {
		const char *suffix;
		uint32_t most;
	} sizes[] = { { "sums_a", 1024 }, { "sums_b", 1024 },   { "buckets", 128 },
		      { "bios", 4096 },   { "requests", 4096 }, { "services_named", 1 } };
	struct bpf_map *map;
	int err = 0;

	bpf_object__for_each_map (map, object) {
		if (!signal__owns(name, bpf_map__name(map)))
			continue;
		if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF)
			err |= bpf_map__set_max_entries(map, (uint32_t)getpagesize());
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			if (!strcmp(bpf_map__name(map) + strlen(name) + 1, sizes[i].suffix))
				err |= bpf_map__set_max_entries(map, sizes[i].most);
	}
	return err;
}

/* A program of the ledger that is not loaded at this level serves no part either. */
static void leave_out_unloaded(const struct bpf_object *object, struct part *part)
{
	for (size_t i = 0; part->signal->hooks[i].event; i++) {
		struct hook_use *use = &part->hooks[i];

		if (!use->program || !(use->flags & HOOK_AT_CALLS) ||
		    bpf_program__autoload(bpf_object__find_program_by_name(object, use->program)))
			continue;
		use->program = NULL;
		snprintf(use->why_not, sizeof(use->why_not),
			 "level sched has no hooks at syscalls [--level full]");
	}
}

static int switch_on(struct ledger *ledger, struct part *part, struct features *features)
{
	const struct signal *signal = part->signal;
	struct bpf_object *object = ledger->skel->obj;
	struct bpf_program *program;
	bool at_calls[2];

	/* The choice must not load hooks at syscalls that the ledger goes without. */
	program = ledger->skel->progs.on_sys_enter;
	at_calls[0] = bpf_program__autoload(program);
	at_calls[1] = bpf_program__autoload(ledger->skel->progs.on_sys_exit);
	if (!loader__choose(object, signal->hooks, features, part->hooks)) {
		log_warning(
			"signal '%s' has no working hook on this machine: %s [see 'gapless doctor']; "
			"continuing without it",
			signal->name, part->hooks[0].why_not);
		part->is_impossible = true;
		part->is_on = false;
		return 0;
	}
	bpf_program__set_autoload(program, at_calls[0]);
	bpf_program__set_autoload(ledger->skel->progs.on_sys_exit, at_calls[1]);
	leave_out_unloaded(object, part);
	return signal->prepare ? signal->prepare(object, part->hooks) : 0;
}

int parts__set_up(struct ledger *ledger, const struct ledger_options *options,
		  struct features *features)
{
	int err = 0;

	ledger->skel->rodata->refused_signal = options->refused_signal;
	if (options->by_class)
		err = bpf_map__set_max_entries(ledger->skel->maps.series_owned, 1);
	for (unsigned i = 0; i < SIGNAL_COUNT && !err; i++) {
		if (is_on(options->parts, i))
			err = switch_on(ledger, find_part(options->parts, i), features);
		if (is_on(options->parts, i)) {
			ledger->skel->rodata->with_signal[i] = true;
			if (options->by_class)
				err |= shrink_for_classes(ledger->skel->obj, names[i]);
			continue;
		}
		err |= parts__leave_out(ledger->skel->obj, names[i]);
	}
	return err;
}

bool ledger__look_at(const struct signal *signal, struct features *features, struct hook_use *ret)
{
	cleanup(ledger_bpf__destroy_p) struct ledger_bpf *skel = ledger_bpf__open();

	return skel && loader__choose(skel->obj, signal->hooks, features, ret) > 0;
}
