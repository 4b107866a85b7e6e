/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel supports. Each feature is tested by using it (load, attach, receive), never by
 * the kernel's version, because distributions backport features and security policies forbid them.
 * The loader asks here which kind of hook to use.
 */
#pragma once

#include <stdbool.h>

enum feature {
	FEATURE_BTF,
	FEATURE_RING_BUFFER,
	FEATURE_TASK_STORAGE,
	FEATURE_TASK_ITERATOR,
	FEATURE_SLEEPABLE_ITERATOR,
	FEATURE_TP_BTF,
	FEATURE_RAW_TP,
	FEATURE_TRACEPOINT,
	FEATURE_PERF_SAMPLING,
	FEATURE_PERF_MMAP2,
	FEATURE_UPROBE,
	FEATURE_URETPROBE,
	FEATURE_USDT,
	FEATURE_FENTRY,
	FEATURE_FEXIT,
	FEATURE_KPROBE,
	FEATURE_TASK_PT_REGS,
	FEATURE_TASK_STACK,
	FEATURE_LOOP,
	FEATURE_COUNT,
};

/* How far a probe came: all stages before this one worked. */
enum feature_stage { STAGE_LOAD, STAGE_ATTACH, STAGE_DELIVER, STAGE_DONE };

struct feature_state {
	enum feature_stage stage; /* STAGE_DONE: it works */
	int err;                  /* -errno of the failure, 0 when it works */
	char why[256];            /* the failure in words, "" when it works */
};

struct features;

/* NULL when out of memory. Probes nothing yet. Not for use from two threads at once. */
struct features *features__new(void);
void features__free(struct features *features);

/* Probes on first use and remembers. The result belongs to `features`. */
const struct feature_state *features__get(struct features *features, enum feature which);
bool features__has(struct features *features, enum feature which);

/*
 * For tests: whether the environment variable GAPLESS_TEST_WITHOUT, a comma-separated list of
 * feature names, contains this one. The loader then skips programs that need the feature if the
 * hook has another program that works. The list can have names of tracepoints too: this kernel is
 * then taken for one that does not have them.
 */
bool features__is_withheld(enum feature which);

/* Whether this kernel has a tracepoint of that name. Looks in BTF, as tp_btf and raw_tp do. */
bool features__has_event(struct features *features, const char *event);

/* The name that users read: "tp_btf", "task storage". */
const char *feature__name(enum feature which);
const char *feature__stage_name(enum feature_stage stage);
