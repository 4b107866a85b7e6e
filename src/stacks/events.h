/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's records of mmap, exec, fork and exit on the whole machine. They come from one dummy
 * perf event per CPU, which counts nothing. (There is no tracepoint for a file mapping.)
 *
 * Records of different CPUs are delivered in order of time. So what a thread did on one CPU comes
 * before what it did later on another one.
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
	uint32_t parent_pid; /* fork; equal to pid: a new thread */
	uint64_t lost;       /* number of lost records */
	/* The rest: only for an mmap of code. */
	uint64_t begin, end, offset;
	uint64_t device; /* MAPS_DEVICE() */
	uint64_t inode;  /* 0: no file */
	const char *path;
};

/*
 * Decodes one record of the kernel, aligned to 8 bytes. -ENOMSG: a kind of record that we ignore;
 * -EBADMSG: invalid. *ret changes only on success, and its path points into the record.
 */
int events__decode(const void *record, size_t size, struct event *ret);

struct events;
typedef void (*events_take_fn)(void *context, const struct event *event);

/* *ret belongs to the caller. -errno: perf events are not available on this machine. */
int events__new(struct events **ret);
void events__free(struct events *events);

/* Readable when there are records. */
int events__fd(const struct events *events);
/* Passes all records to `take`. `event` is valid only until the callback returns. */
void events__drain(struct events *events, events_take_fn take, void *context);
