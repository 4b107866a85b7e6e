/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/features.h"

#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/probes.h"

struct features {
	struct btf *btf; /* the kernel's BTF; loaded on first use */
	bool probed[FEATURE_COUNT];
	struct feature_state states[FEATURE_COUNT];
};

static const char *const names[] = {
	[FEATURE_BTF] = "BTF",
	[FEATURE_RING_BUFFER] = "ring buffer",
	[FEATURE_TASK_STORAGE] = "task storage",
	[FEATURE_TASK_ITERATOR] = "task iterator",
	[FEATURE_SLEEPABLE_ITERATOR] = "sleepable iterator",
	[FEATURE_TP_BTF] = "tp_btf",
	[FEATURE_RAW_TP] = "raw_tp",
	[FEATURE_TRACEPOINT] = "tracepoint",
	[FEATURE_PERF_SAMPLING] = "perf_event sampling",
	[FEATURE_PERF_MMAP2] = "perf mmap2 records",
	[FEATURE_UPROBE] = "uprobe",
	[FEATURE_URETPROBE] = "uretprobe",
	[FEATURE_USDT] = "USDT",
	[FEATURE_FENTRY] = "fentry",
	[FEATURE_FEXIT] = "fexit",
	[FEATURE_KPROBE] = "kprobe",
	[FEATURE_TASK_PT_REGS] = "bpf_task_pt_regs",
	[FEATURE_TASK_STACK] = "bpf_get_task_stack",
	[FEATURE_LOOP] = "bpf_loop",
};

struct features *features__new(void)
{
	return calloc(1, sizeof(struct features));
}

void features__free(struct features *features)
{
	if (!features)
		return;
	btf__free(features->btf);
	free(features);
}

const struct feature_state *features__get(struct features *features, enum feature which)
{
	if (!features->probed[which]) {
		probes__run(which, &features->states[which]);
		features->probed[which] = true;
	}
	return &features->states[which];
}

bool features__has(struct features *features, enum feature which)
{
	return features__get(features, which)->stage == STAGE_DONE;
}

static bool is_withheld(const char *name)
{
	const char *list = getenv("GAPLESS_TEST_WITHOUT");
	size_t length = strlen(name);

	while (list && *list) {
		size_t end = strcspn(list, ",");

		if (end == length && !strncmp(list, name, length))
			return true;
		list += list[end] ? end + 1 : end;
	}
	return false;
}

bool features__is_withheld(enum feature which)
{
	return is_withheld(names[which]);
}

bool features__has_event(struct features *features, const char *event)
{
	char name[128];

	if (is_withheld(event))
		return false;
	if (!features->btf)
		features->btf = btf__load_vmlinux_btf();
	snprintf(name, sizeof(name), "btf_trace_%s", event);
	return features->btf && btf__find_by_name_kind(features->btf, name, BTF_KIND_TYPEDEF) > 0;
}

const char *feature__name(enum feature which)
{
	return names[which];
}

const char *feature__stage_name(enum feature_stage stage)
{
	static const char *const stages[] = { "load", "attach", "deliver", "done" };

	return stages[stage];
}
