/* Whom to look at. Several at once; a thread that fits any of them is in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TARGET_MOST_IDS   256
#define TARGET_MOST_NAMES 8
#define TARGET_NAME_BYTES 16

struct target_ids {
	uint64_t ids[TARGET_MOST_IDS];
	uint64_t starts[TARGET_MOST_IDS]; /* of processes and threads: a number is used again */
	size_t count;
};

struct target {
	bool all;
	struct target_ids pids;    /* processes, with the children born later */
	struct target_ids tids;    /* threads, alone */
	struct target_ids cgroups; /* cgroup ids, with everything below */
	char names[TARGET_MOST_NAMES][TARGET_NAME_BYTES];
	size_t name_count;
	char words[256]; /* what a person reads: "process 4242 and its children" */
};

/*
 * Each adds one and its words. -ESRCH: no such process or thread; -ENOENT: no such cgroup;
 * -ENAMETOOLONG: a name that no thread can have; -E2BIG: too many.
 */
int target__add_pid(struct target *target, uint64_t pid);
int target__add_tid(struct target *target, uint64_t tid);
int target__add_name(struct target *target, const char *name);
int target__add_cgroup(struct target *target, const char *path);
void target__add_all(struct target *target);

bool target__is_empty(const struct target *target);

/* Nothing but numbers of processes and threads: when they have ended, there is no more to come. */
bool target__is_by_number(const struct target *target);

/* Takes out processes and threads that have ended since they were added. False: none is left. */
bool target__forget_ended(struct target *target);

/* The processes that are chosen by number or by name and are there now. */
void target__processes(const struct target *target, void (*take)(void *context, pid_t pid),
		       void *context);
