/*
 * The kernel's own records of mmap, exec, fork and exit, of the whole machine: a perf event per
 * CPU that counts nothing and only carries them. (There is no tracepoint for a file mapping.)
 *
 * Records of different CPUs come in the order of their times, so that what a thread did on one CPU
 * comes before what it did on the next one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_kind { EVENT_MMAP, EVENT_EXEC, EVENT_FORK, EVENT_EXIT, EVENT_LOST };

struct event {
	enum event_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	uint32_t parent_pid; /* fork; the same as pid: a new thread */
	uint64_t lost;       /* how many */
	/* mmap of code: */
	uint64_t begin, end, offset;
	uint64_t device; /* MAPS_DEVICE() */
	uint64_t inode;  /* 0: no file */
	const char *path;
};

/*
 * One record as the kernel wrote it, aligned to 8 bytes. -ENOMSG: of a kind that does not matter;
 * -EBADMSG: nonsense. *ret changes only on success, and its path points into the record.
 */
int events__decode(const void *record, size_t size, struct event *ret);

struct events;
typedef void (*events_take_fn)(void *context, const struct event *event);

/* *ret belongs to the caller. -errno: this machine does not let us have them. */
int events__new(struct events **ret);
void events__free(struct events *events);

/* Readable when there are some. */
int events__fd(const struct events *events);
/* Hands over all that is there. `event` is valid only until the callback returns. */
void events__drain(struct events *events, events_take_fn take, void *context);
