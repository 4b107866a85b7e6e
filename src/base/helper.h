/*
 * A process of our own for work on what somebody else wrote: it can be limited, waited for with a
 * deadline, and given up.
 *
 * A hostile file can make the libraries that read it take any amount of memory, and a read from a
 * stalled file system cannot be ended, not even by SIGKILL. So such work is done by a helper, which
 * has a limit on its memory and can be left behind. It is forked when first asked, and again after
 * it was given up; it answers one question after the other.
 *
 * Nothing here logs. A helper is for one thread at a time.
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
	const char *name; /* of the process, at most 15 bytes */
	/* That it may take beyond what it is born with. */
	uint64_t memory_bytes;
	/*
	 * Runs in the helper, where no other thread of ours exists. `question->fd` is its own to
	 * close. What it puts into `answer` is sent and then freed or closed. 0 or -errno, which
	 * helper__ask() returns.
	 */
	int (*serve)(void *context, const struct helper_parcel *question,
		     struct helper_parcel *answer);
	void *context; /* as it is when the helper is forked */
};

/* How long to wait for an answer. */
struct helper_patience {
	/*
	 * Without any CPU time being used. For all questions together, unless `in_full`: after a
	 * helper stalled once, a short wait is a stall too, which says little about the file.
	 */
	uint64_t stall_ns;
	bool in_full;
	uint64_t cpu_ns;   /* in all */
	size_t most_bytes; /* of the answer */
	/*
	 * Called many times a second while nothing comes. 0; 1 if it is known to be at work
	 * although it uses no CPU time; or an error to give it up with. May be NULL.
	 */
	int (*look)(void *context);
	void *context;
};

int helper__new(const struct helper_work *work, struct helper **ret);
void helper__free(struct helper *helper);

/*
 * *ret belongs to the caller: helper__release(). -ECHILD: no process could be started, and nothing
 * was asked. -ETIMEDOUT: given up, it stalled (helper__stalled() tells) or used too much CPU time;
 * -EPIPE: it died; -EFBIG: too long an answer; or what look() returned; after these the next
 * question goes to a new process. Or what serve() returned.
 */
int helper__ask(struct helper *helper, const struct helper_parcel *question,
		const struct helper_patience *patience, struct helper_parcel *ret);
void helper__release(struct helper_parcel *parcel);

/* Whether it was given up because it stalled, the last time that it was. */
bool helper__stalled(const struct helper *helper);

/* Ends the process; the next question goes to a new one. */
void helper__restart(struct helper *helper);

/* Whether the next question is the first one of a process. */
bool helper__is_fresh(const struct helper *helper);

/* CPU time of all processes of a helper, and of all helpers of this program. From any thread. */
uint64_t helper__cpu_ns(const struct helper *helper);
uint64_t helper__all_cpu_ns(void);

/* Whether a process is or was a helper of this program. From any thread. */
bool helper__is_own(pid_t pid);
