/*
 * What this kernel lets us do, found by doing it: load, attach, receive. Never by version, since
 * distributions backport and policies refuse. Later parts ask here which hook to use.
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

/* How far a probe came: everything before this stage worked. */
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
 * For tests: whether GAPLESS_TEST_WITHOUT, a list of names with commas in between, has this one. A
 * hook then passes over programs of that kind if another of its programs works.
 */
bool features__is_withheld(enum feature which);

/* Whether this kernel has a tracepoint of that name at all, as tp_btf and raw_tp find it: in BTF.
 */
bool features__has_event(struct features *features, const char *event);

/* As users read it: "tp_btf", "task storage". */
const char *feature__name(enum feature which);
const char *feature__stage_name(enum feature_stage stage);
