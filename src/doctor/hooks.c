/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layers load and attach: tests every feature, and says what users lose without it. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "doctor/doctor.h"

struct line {
	enum feature feature;
	enum doctor_weight weight;
	const char *cost;
	const char *remedy;
};

#define NEWER_KERNEL "boot a kernel from 6.1 on"

static const struct line load_lines[] = {
	{ FEATURE_BTF, DOCTOR_ESSENTIAL, "gapless cannot fit its programs to this kernel",
	  "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y" },
	{ FEATURE_RING_BUFFER, DOCTOR_ESSENTIAL, "events cannot reach user space", NEWER_KERNEL },
	{ FEATURE_TASK_STORAGE, DOCTOR_ESSENTIAL, "threads have no account", NEWER_KERNEL },
	{ FEATURE_TASK_PT_REGS, DOCTOR_GAP, "waits have no cause without syscall hooks",
	  NEWER_KERNEL },
	{ FEATURE_TASK_STACK, DOCTOR_GAP, "waits have no kernel stack", NEWER_KERNEL },
	{ FEATURE_LOOP, DOCTOR_GAP, "user stacks are cut short", NEWER_KERNEL },
};

static const struct line attach_lines[] = {
	{ FEATURE_TASK_ITERATOR, DOCTOR_ESSENTIAL, "accounts cannot be read", NEWER_KERNEL },
	{ FEATURE_SLEEPABLE_ITERATOR, DOCTOR_GAP, "memory of blocked threads is read from outside",
	  NEWER_KERNEL },
	{ FEATURE_TP_BTF, DOCTOR_GAP, "slower hooks are used instead", NEWER_KERNEL },
	{ FEATURE_RAW_TP, DOCTOR_GAP, "the fallback of tp_btf is missing", NEWER_KERNEL },
	{ FEATURE_TRACEPOINT, DOCTOR_GAP, "the last fallback of tp_btf is missing",
	  "mount -t tracefs nodev /sys/kernel/tracing" },
	{ FEATURE_PERF_SAMPLING, DOCTOR_GAP, "no stacks of running code",
	  "boot a kernel with CONFIG_PERF_EVENTS=y" },
	{ FEATURE_PERF_MMAP2, DOCTOR_GAP, "libraries loaded later are found late",
	  "boot a kernel with CONFIG_PERF_EVENTS=y" },
	{ FEATURE_UPROBE, DOCTOR_GAP, "no user functions as windows",
	  "boot a kernel with CONFIG_UPROBE_EVENTS=y" },
	{ FEATURE_URETPROBE, DOCTOR_GAP, "user functions have no duration",
	  "boot a kernel with CONFIG_UPROBE_EVENTS=y" },
	{ FEATURE_USDT, DOCTOR_GAP, "no events of language runtimes",
	  "boot a kernel with CONFIG_UPROBE_EVENTS=y" },
	{ FEATURE_FENTRY, DOCTOR_GAP,
	  "signals that hook kernel functions use kprobes, or go without",
	  "boot a kernel with CONFIG_FUNCTION_TRACER=y that allows it" },
	{ FEATURE_FEXIT, DOCTOR_GAP,
	  "signals that hook kernel functions use kprobes, or go without",
	  "boot a kernel with CONFIG_FUNCTION_TRACER=y that allows it" },
	{ FEATURE_KPROBE, DOCTOR_GAP,
	  "signals that hook kernel functions use fentry, or go without",
	  "boot a kernel with CONFIG_KPROBE_EVENTS=y" },
};

/* A permission error has a different remedy than a missing feature. */
static const char *remedy_of(const struct doctor *doctor, const struct line *line, int err)
{
	if (err != -EPERM && err != -EACCES)
		return line->remedy;
	if (doctor->unprivileged || geteuid())
		return "run as root or with more capabilities [sudo gapless doctor --caps]";
	return "a policy of this machine refuses it: ask who runs it";
}

static void check(struct doctor *doctor, const char *layer, const struct line *line)
{
	const char *name = feature__name(line->feature);
	const struct feature_state *state;
	struct finding bad = {
		.layer = layer,
		.name = name,
		.status = DOCTOR_MISSING,
		.weight = line->weight,
		.cost = line->cost,
		.remedy = "see seccomp above",
	};

	if (doctor->seccomp) {
		doctor__add(doctor, &bad, "not tried: a seccomp filter forbids it");
		return;
	}
	state = features__get(doctor->features, line->feature);
	bad.remedy = remedy_of(doctor, line, state->err);
	if (state->stage == STAGE_DONE)
		doctor__add(doctor, &(struct finding) { .layer = layer, .name = name },
			    "tried: works");
	else
		doctor__add(doctor, &bad, "%s", state->why);
}

void doctor__check_load(struct doctor *doctor)
{
	for (size_t i = 0; i < sizeof(load_lines) / sizeof(*load_lines); i++)
		check(doctor, "load", &load_lines[i]);
}

void doctor__check_attach(struct doctor *doctor)
{
	for (size_t i = 0; i < sizeof(attach_lines) / sizeof(*attach_lines); i++)
		check(doctor, "attach", &attach_lines[i]);
}
