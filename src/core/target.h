/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to observe. There may be several targets; a thread that matches any of them is observed. */
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
	uint64_t starts[TARGET_MOST_IDS]; /* start times, because pids and tids are reused */
	size_t count;
};

struct target {
	bool all;
	struct target_ids pids;    /* processes, with their children */
	struct target_ids tids;    /* threads, alone */
	struct target_ids cgroups; /* cgroup ids, with everything below */
	struct glob names[TARGET_MOST_NAMES];
	size_t name_count;
	int exe_fds[TARGET_MOST_EXES]; /* keep the files open, until gapless exits */
	size_t exe_count;
	uint32_t users[TARGET_MOST_USERS];
	size_t user_count;
	bool no_descendants; /* do not follow the children that exist at the start */
	char others[512];    /* the description of targets other than processes and threads */
	char words[768];     /* the description for users: "process 4242 and its children" */
};

/*
 * Each function adds one target and its description. -ESRCH: no such process or thread; -ENOENT: no
 * such cgroup; -ENAMETOOLONG, -EINVAL: a pattern that no thread's name can match; -E2BIG: too many.
 */
int target__add_pid(struct target *target, uint64_t pid);
int target__add_tid(struct target *target, uint64_t tid);
int target__add_name(struct target *target, const char *name);
/*
 * Processes that execute this file, and their children. -EACCES: not an executable file; -EISDIR;
 * -ENOEXEC: a script, which no process executes directly; or the errno of stat().
 */
int target__add_exe(struct target *target, const char *path);
/* By name or number. -ENOENT: no such user. */
int target__add_user(struct target *target, const char *user);
int target__add_cgroup(struct target *target, const char *path);      /* see cgroups__find() */
int target__add_unit(struct target *target, const char *name);        /* -ENOENT: not active */
int target__add_container(struct target *target, const char *prefix); /* -ENOENT, -ENOTUNIQ */
void target__add_all(struct target *target);

bool target__is_empty(const struct target *target);

/* Whether the target has processes whose existing children are to be followed too. */
bool target__has_descendants(const struct target *target);

/* Whether the target is only pids and tids: once all have ended, nothing more can come. */
bool target__is_by_number(const struct target *target);

/* Removes processes and threads that have ended since they were added. False: none is left. */
bool target__forget_ended(struct target *target);

/* Calls `take` for each existing process that was chosen by number or by name. */
void target__processes(const struct target *target, void (*take)(void *context, pid_t pid),
		       void *context);
