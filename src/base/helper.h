/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A separate process for work on untrusted input. Its resources can be limited, waiting for it can
 * have a deadline, and it can be abandoned.
 *
 * A hostile file can make the libraries that read it allocate any amount of memory, and a read from
 * a stalled file system cannot be ended, not even by SIGKILL. So a helper does such work. It has a
 * memory limit and can be left behind. It is forked when first asked, and again after it was given
 * up. It answers one question after the other.
 *
 * Nothing here logs. A helper may be used by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct helper;

/* Bytes, and a descriptor or -1. */
struct helper_parcel {
	void *bytes;
	size_t size;
	int fd;
};

struct helper_work {
	const char *name; /* name of the process, at most 15 bytes */
	/* Memory that it may use in addition to what it has after the fork. */
	uint64_t memory_bytes;
	uint64_t file_bytes; /* the largest file that it may write; 0: it may write to none */
	/*
	 * Runs in the helper, which has no other threads of gapless. It must close `question->fd`.
	 * The content of `answer` is sent and then freed or closed. 0 or -errno, which
	 * helper__ask() returns.
	 */
	int (*serve)(void *context, const struct helper_parcel *question,
		     struct helper_parcel *answer);
	void *context; /* as it is at the time of the fork */
	/*
	 * Runs in the helper before the first question, to give up privileges. If it fails, the
	 * process ends. May be NULL.
	 */
	int (*confine)(void *context);
	/*
	 * Runs in the parent, during helper__ask(), for each helper__request(). A descriptor, which
	 * is passed on and closed, or -errno, which helper__request() returns; with -ETIMEDOUT the
	 * helper is given up as stalled. The request is untrusted. NULL: requests end the helper.
	 */
	int (*provide)(void *context, const struct helper_parcel *request);
};

/*
 * Asks the parent for a descriptor. Call it only during serve(). The descriptor belongs to the
 * caller. -errno: the result of provide(); -EMFILE. At most 8192 bytes.
 */
int helper__request(const void *bytes, size_t size);

/* How long to wait for an answer. */
struct helper_patience {
	/*
	 * Longest time without CPU time being used. This is the total of all questions, unless
	 * `in_full`: once a helper has stalled, even a short wait counts as a stall, which says
	 * little about the file.
	 */
	uint64_t stall_ns;
	bool in_full;
	/*
	 * Most CPU time for the question. Four times that and stall_ns is the most time as a whole,
	 * except for that in provide(), whatever the helper does meanwhile.
	 */
	uint64_t cpu_ns;
	size_t most_bytes; /* most bytes of the answer */
	/*
	 * Called many times a second while nothing arrives; may be NULL. Returns 0; 1 if the helper
	 * is known to be working although it uses no CPU time; or an error, with which the helper
	 * is given up.
	 */
	int (*look)(void *context);
	void *context;
};

int helper__new(const struct helper_work *work, struct helper **ret);
void helper__free(struct helper *helper);

/*
 * The caller frees *ret with helper__release(). Returns -ECHILD: no process could be started, and
 * nothing was asked; or what serve() returned. After the following errors, the next question goes
 * to a new process: -ETIMEDOUT: given up, because it stalled (see helper__stalled()) or used too
 * much CPU time; -EPIPE: it died; -EFBIG: the answer is too long; or what look() returned.
 */
int helper__ask(struct helper *helper, const struct helper_parcel *question,
		const struct helper_patience *patience, struct helper_parcel *ret);
void helper__release(struct helper_parcel *parcel);

/* Whether the last time that a process was given up, it had stalled. */
bool helper__stalled(const struct helper *helper);

/* Ends the process. The next question goes to a new one. */
void helper__restart(struct helper *helper);

/* Whether the next question will be the first one of a new process. */
bool helper__is_fresh(const struct helper *helper);

/*
 * CPU time of all processes of a helper, and of all helpers of this program. Call from any thread.
 */
uint64_t helper__cpu_ns(const struct helper *helper);
uint64_t helper__all_cpu_ns(void);

/* Whether a process is or was a helper of this program. Call from any thread. */
bool helper__is_own(pid_t pid);
