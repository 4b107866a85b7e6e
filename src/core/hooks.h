/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hooks: the places from which the programs of a kernel half are called. An object lists its hooks
 * in an array of struct hook; loader.h chooses a program for each. Hooks are attached and detached
 * one by one, also while the object is in use.
 *
 * Nothing here logs. The caller logs what it has to do without (law 5).
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/features.h"

#define HOOK_ALTERNATIVES 4

enum hook_kind {
	HOOK_TP_BTF,
	HOOK_RAW_TP,
	HOOK_TRACEPOINT,
	HOOK_FENTRY,
	HOOK_FEXIT,
	HOOK_KPROBE,
	HOOK_ITERATOR,
	HOOK_SLEEPABLE_ITERATOR,
	HOOK_PERF_EVENT,
	HOOK_UPROBE,
	HOOK_URETPROBE,
	HOOK_USDT,
	HOOK_UNKNOWN,
};

enum hook_flags {
	HOOK_VITAL = 1,     /* the object is useless without it */
	HOOK_AT_CALLS = 2,  /* runs at the entry or exit of every syscall */
	HOOK_BY_SIGNAL = 4, /* attached by the signal itself, see core/signal.h */
};

/* One place in the kernel or in a program from which the object is to be called. */
struct hook {
	const char *event; /* the name that users read: "sched_process_exec" */
	/* Alternative programs, best first; the kind follows from the program's section. */
	const char *programs[HOOK_ALTERNATIVES];
	unsigned flags;      /* enum hook_flags */
	unsigned needed_for; /* bits defined by the owner of the object; 0: always needed */
};

/*
 * Where to attach, for kinds whose section does not say it. Other kinds take no target. The caller
 * keeps the strings.
 */
struct hook_target {
	pid_t pid;            /* for uprobes and USDT: only this process; 0: all */
	const char *file;     /* for uprobes and USDT: a program or library; NULL: the kernel */
	const char *symbol;   /* in `file`, or a kernel function; NULL: `offset` alone is used */
	uint64_t offset;      /* from `symbol`; without a symbol, from the start of `file` */
	uint64_t semaphore;   /* for uprobes: offset of a counter that is raised meanwhile; or 0 */
	const char *provider; /* for USDT: "python"; for tracepoints the group: "sched" */
	const char *name;     /* for USDT: "function__entry"; for tracepoints: "sched_switch" */
	uint64_t cookie;      /* returned by bpf_get_attach_cookie() */
	int event_fd;         /* for perf events; owned by the link once attached */
};

/* The program must be open; it need not be loaded. */
enum hook_kind hooks__kind(const struct bpf_program *program);
/* "tp_btf", "uprobe". */
const char *hooks__kind_name(enum hook_kind kind);
enum feature hooks__feature(enum hook_kind kind);

/*
 * Attaches a program of a loaded object; `target` may be NULL if the section says where. One
 * program may be attached to many targets. -ENOENT: no such program, or `file` has no such symbol
 * or probe; -EINVAL: the target does not suit the kind; otherwise the kernel's error.
 */
int hooks__attach(const struct bpf_object *object, const char *program,
		  const struct hook_target *target, struct bpf_link **ret);
/* After the return, the program is not called from this hook any more. NULL is allowed. */
void hooks__detach(struct bpf_link *link);

/*
 * Runs an attached iterator to its end and ignores its output. NULL, which is not supported by this
 * kernel: does nothing. The link is that of the hook, because making one needs a capability that
 * the process may have given up. 0 or -errno.
 */
int hooks__iterate(struct bpf_link *link);

/* The target in words, for messages: "'work' in '/usr/bin/orders', process 7". */
void hooks__describe(const struct hook_target *target, char *ret, size_t size);
