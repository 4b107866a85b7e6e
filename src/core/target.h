/* Whom to look at. Several at once; a thread that fits any of them is in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/glob.h"

#define TARGET_MOST_IDS   256
#define TARGET_MOST_NAMES 8
#define TARGET_MOST_EXES  8
#define TARGET_MOST_USERS 8

struct target_ids {
	uint64_t ids[TARGET_MOST_IDS];
	uint64_t starts[TARGET_MOST_IDS]; /* of processes and threads: a number is used again */
	size_t count;
};

struct target {
	bool all;
	struct target_ids pids;    /* processes, with their children */
	struct target_ids tids;    /* threads, alone */
	struct target_ids cgroups; /* cgroup ids, with everything below */
	struct glob names[TARGET_MOST_NAMES];
	size_t name_count;
	int exe_fds[TARGET_MOST_EXES]; /* what hold the files open; theirs is the whole program's
					  life */
	size_t exe_count;
	uint32_t users[TARGET_MOST_USERS];
	size_t user_count;
	bool no_descendants; /* leaves out the children that are there at the start */
	char others[512];    /* the words for what is neither a process nor a thread */
	char words[768];     /* what a person reads: "process 4242 and its children" */
};

/*
 * Each adds one and its words. -ESRCH: no such process or thread; -ENOENT: no such cgroup;
 * -ENAMETOOLONG, -EINVAL: a pattern that no name of a thread can match; -E2BIG: too many.
 */
int target__add_pid(struct target *target, uint64_t pid);
int target__add_tid(struct target *target, uint64_t tid);
int target__add_name(struct target *target, const char *name);
/* Processes that run this file. -EACCES, -EISDIR and the like; -ENOEXEC: a script, which none does.
 */
int target__add_exe(struct target *target, const char *path);
/* By name or number. -ENOENT: no such user. */
int target__add_user(struct target *target, const char *user);
int target__add_cgroup(struct target *target, const char *path);      /* see cgroups__find() */
int target__add_unit(struct target *target, const char *name);        /* -ENOENT: none runs */
int target__add_container(struct target *target, const char *prefix); /* and -ENOTUNIQ */
void target__add_all(struct target *target);

bool target__is_empty(const struct target *target);

/* Whether there are processes among it whose children at the start are wanted too. */
bool target__has_descendants(const struct target *target);

/* Nothing but numbers of processes and threads: when they have ended, there is no more to come. */
bool target__is_by_number(const struct target *target);

/* Takes out processes and threads that have ended since they were added. False: none is left. */
bool target__forget_ended(struct target *target);

/* The processes that are chosen by number or by name and are there now. */
void target__processes(const struct target *target, void (*take)(void *context, pid_t pid),
		       void *context);
