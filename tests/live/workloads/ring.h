/* SPDX-License-Identifier: GPL-2.0-or-later */
/* io_uring by bare system calls: liburing is not everywhere. */
#pragma once

#include <linux/io_uring.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "workload.h"

#define ENTRIES 4

struct ring {
	int fd;
	struct io_uring_params params;
	char *submission;
	char *completion;
	struct io_uring_sqe *entries;
};

static inline int ring_open(struct ring *ring)
{
	const struct io_uring_params *p = &ring->params;
	size_t submission, completion;

	ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &ring->params);
	if (ring->fd < 0)
		return -1;
	submission = p->sq_off.array + p->sq_entries * sizeof(unsigned int);
	completion = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	ring->submission = mmap(NULL, submission, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
				ring->fd, IORING_OFF_SQ_RING);
	ring->completion = mmap(NULL, completion, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
				ring->fd, IORING_OFF_CQ_RING);
	ring->entries =
		mmap(NULL, p->sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, ring->fd, IORING_OFF_SQES);
	if (ring->submission == MAP_FAILED || ring->completion == MAP_FAILED ||
	    ring->entries == MAP_FAILED)
		die("mmap");
	return 0;
}

static inline void ring_add(struct ring *ring, const struct io_uring_sqe *request)
{
	const struct io_uring_params *p = &ring->params;
	_Atomic unsigned int *tail = (void *)(ring->submission + p->sq_off.tail);
	unsigned int mask = *(unsigned int *)(ring->submission + p->sq_off.ring_mask);
	unsigned int *array = (void *)(ring->submission + p->sq_off.array);
	unsigned int slot = *tail & mask;

	ring->entries[slot] = *request;
	array[slot] = slot;
	atomic_fetch_add(tail, 1);
}

/* Submits `submitted` of what was added and waits until `finished` requests are finished. */
static inline void ring_enter(struct ring *ring, unsigned int submitted, unsigned int finished)
{
	if (syscall(SYS_io_uring_enter, ring->fd, submitted, finished,
		    (finished ? IORING_ENTER_GETEVENTS : 0) |
			    (ring->params.flags & IORING_SETUP_SQPOLL ? IORING_ENTER_SQ_WAKEUP : 0),
		    NULL, 0) != (long)submitted)
		die("io_uring_enter");
}

/* The result of the next finished request. */
static inline int ring_take(struct ring *ring)
{
	const struct io_uring_params *p = &ring->params;
	_Atomic unsigned int *head = (void *)(ring->completion + p->cq_off.head);
	struct io_uring_cqe *results = (void *)(ring->completion + p->cq_off.cqes);
	int result = results[*head & (p->cq_entries - 1)].res;

	atomic_fetch_add(head, 1);
	return result;
}
