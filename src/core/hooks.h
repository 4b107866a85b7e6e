/*
 * Hooks: places that programs of a kernel half are called from. What an object wants is a list of
 * struct hook; loader.h chooses a program for each. Hooks are attached and detached one by one,
 * also while the object is at work.
 *
 * Nothing here logs: whoever attaches says what it goes on without (law 5).
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
	HOOK_VITAL = 1,    /* without it, the object is of no use */
	HOOK_AT_CALLS = 2, /* runs at the begin or end of every syscall */
	HOOK_LAST = 4,     /* is attached after all others, those of other objects too */
};

/* One place in the kernel or in a program that an object wants to be called from. */
struct hook {
	const char *event; /* as users read it: "sched_process_exec" */
	/* Programs that serve it, best first; the kind is taken from the program's section. */
	const char *programs[HOOK_ALTERNATIVES];
	unsigned flags;      /* enum hook_flags */
	unsigned needed_for; /* bits that the object's owner gives a meaning; 0: it always is */
};

/*
 * Where, for kinds that the program's section does not say it of. Others take no target. All
 * strings stay the caller's.
 */
struct hook_target {
	pid_t pid;            /* of uprobes and USDT: this process alone; 0: all */
	const char *file;     /* likewise: a program or library, as gapless finds it */
	const char *symbol;   /* in `file`, or a function of the kernel; NULL: `offset` says all */
	uint64_t offset;      /* behind `symbol`; without one, of the instruction in `file` */
	const char *provider; /* of USDT … */
	const char *name;     /* … "python", "function__entry" */
	uint64_t cookie;      /* bpf_get_attach_cookie() has it */
	int event_fd;         /* of perf events; if it attaches, the link takes it over */
};

/* Of a program that is open, loaded or not. */
enum hook_kind hooks__kind(const struct bpf_program *program);
/* "tp_btf", "uprobe"; the feature that it needs. */
const char *hooks__kind_name(enum hook_kind kind);
enum feature hooks__feature(enum hook_kind kind);

/*
 * Attaches a program of a loaded object; `target` may be NULL if its section says where. -ENOENT:
 * no such program, or `file` has no such symbol or probe; -EINVAL: the target does not fit the
 * kind; or what the kernel says. One program may be attached to many targets.
 */
int hooks__attach(const struct bpf_object *object, const char *program,
		  const struct hook_target *target, struct bpf_link **ret);
/* When it returns, the program is not called from there any more. NULL is fine. */
void hooks__detach(struct bpf_link *link);

/* A target in words, for messages: "'work' in '/usr/bin/orders', process 7". */
void hooks__describe(const struct hook_target *target, char *ret, size_t size);
