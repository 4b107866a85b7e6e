/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the rings of all CPUs in order of time. A record is complete in its ring before an event
 * that depends on it begins. So all records older than the start of a round are visible in that
 * round. Each round takes the records up to its start, the oldest first, and leaves younger ones to
 * the next round.
 */
#include "stacks/events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "stacks/maps.h"

/* Per CPU: about 1,000 records, more than a busy machine writes in 100 ms. */
#define RING_BYTES (128UL * 1024)

/* The kernel appends this to every record (sample_id_all with TID and TIME). */
struct trailer {
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct task_body {
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time_ns;
};

struct mmap_body {
	uint32_t pid, tid;
	uint64_t address, size, offset;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint32_t prot, flags;
	char path[];
};

struct comm_body {
	uint32_t pid, tid;
};

struct lost_body {
	uint64_t id, lost;
};

/* --- one record ----------------------------------------------------------------------------- */

static int decode_mmap(const struct mmap_body *body, size_t size, struct event *event)
{
	if (size < sizeof(*body) + 1 || !memchr(body->path, '\0', size - sizeof(*body)) ||
	    !(body->prot & PROT_EXEC) || !body->size ||
	    __builtin_add_overflow(body->address, body->size, &event->end))
		return -EBADMSG;
	event->kind = EVENT_MMAP;
	event->pid = body->pid;
	event->tid = body->tid;
	event->begin = body->address;
	event->offset = body->offset;
	event->device = MAPS_DEVICE(body->major, body->minor);
	event->inode = body->inode;
	event->path = body->path;
	return 0;
}

static int decode_task(const struct task_body *body, size_t size, enum event_kind kind,
		       struct event *event)
{
	if (size < sizeof(*body))
		return -EBADMSG;
	event->kind = kind;
	event->pid = body->pid;
	event->tid = body->tid;
	event->parent_pid = body->parent_pid;
	return 0;
}

static int decode_comm(const struct comm_body *body, size_t size, uint16_t misc,
		       struct event *event)
{
	if (!(misc & PERF_RECORD_MISC_COMM_EXEC))
		return -ENOMSG;
	if (size < sizeof(*body))
		return -EBADMSG;
	event->kind = EVENT_EXEC;
	event->pid = body->pid;
	event->tid = body->tid;
	return 0;
}

static int decode_lost(const struct lost_body *body, size_t size, struct event *event)
{
	if (size < sizeof(*body))
		return -EBADMSG;
	event->kind = EVENT_LOST;
	event->lost = body->lost;
	return 0;
}

static int decode_body(const struct perf_event_header *head, size_t size, struct event *event)
{
	const void *body = head + 1;

	if (head->type == PERF_RECORD_MMAP2)
		return decode_mmap(body, size, event);
	if (head->type == PERF_RECORD_COMM)
		return decode_comm(body, size, head->misc, event);
	if (head->type == PERF_RECORD_FORK)
		return decode_task(body, size, EVENT_FORK, event);
	if (head->type == PERF_RECORD_EXIT)
		return decode_task(body, size, EVENT_EXIT, event);
	if (head->type == PERF_RECORD_LOST)
		return decode_lost(body, size, event);
	return -ENOMSG;
}

int events__decode(const void *record, size_t size, struct event *ret)
{
	const struct perf_event_header *head = record;
	const struct trailer *trailer;
	struct event event = { 0 };
	int err;

	if (size < sizeof(*head) + sizeof(*trailer) || head->size != size || size % 8)
		return -EBADMSG;
	trailer = (const void *)((const char *)record + size - sizeof(*trailer));
	event.time_ns = trailer->time_ns;
	err = decode_body(head, size - sizeof(*head) - sizeof(*trailer), &event);
	if (!err)
		*ret = event;
	return err;
}

/* --- the ring of one CPU --------------------------------------------------------------------- */

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page; /* the ring follows this page */
	uint64_t head, tail;               /* in this round */
	uint64_t next_ns;                  /* time of the record at `tail` */
};

struct events {
	struct cpu_ring *rings;
	size_t count;
	int epoll_fd;
	uint64_t record[UINT16_MAX / 8 + 1]; /* a copy of the current record, in one piece */
};

static const char *ring_bytes(const struct cpu_ring *ring)
{
	return (const char *)ring->page + sysconf(_SC_PAGESIZE);
}

static void copy_out(const struct cpu_ring *ring, uint64_t from, void *to, size_t size)
{
	size_t at = from % RING_BYTES;
	size_t piece = size < RING_BYTES - at ? size : RING_BYTES - at;

	memcpy(to, ring_bytes(ring) + at, piece);
	memcpy((char *)to + piece, ring_bytes(ring), size - piece);
}

/* The size of the record at the tail, 0 if there is none. */
static size_t record_size(const struct cpu_ring *ring)
{
	struct perf_event_header head;

	if (ring->head - ring->tail < sizeof(head))
		return 0;
	copy_out(ring, ring->tail, &head, sizeof(head));
	if (head.size < sizeof(head) + sizeof(struct trailer) ||
	    head.size > ring->head - ring->tail)
		return 0;
	return head.size;
}

static void find_next(struct cpu_ring *ring)
{
	size_t size = record_size(ring);
	struct trailer trailer;

	ring->next_ns = UINT64_MAX;
	if (!size) {
		/* There is no record, or an invalid one. */
		ring->tail = ring->head;
		return;
	}
	copy_out(ring, ring->tail + size - sizeof(trailer), &trailer, sizeof(trailer));
	ring->next_ns = trailer.time_ns;
}

static struct cpu_ring *oldest_before(struct events *events, uint64_t limit_ns)
{
	struct cpu_ring *oldest = NULL;

	for (size_t i = 0; i < events->count; i++) {
		if (events->rings[i].next_ns < limit_ns) {
			oldest = &events->rings[i];
			limit_ns = oldest->next_ns;
		}
	}
	return oldest;
}

/* One round. false: all rings are empty. */
static bool drain_once(struct events *events, events_take_fn take, void *context)
{
	uint64_t limit_ns = clock__now_ns();
	bool more = false;
	struct cpu_ring *ring;

	for (size_t i = 0; i < events->count; i++) {
		ring = &events->rings[i];
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		find_next(ring);
	}
	while ((ring = oldest_before(events, limit_ns))) {
		size_t size = record_size(ring);
		struct event event;

		copy_out(ring, ring->tail, events->record, size);
		ring->tail += size;
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
		find_next(ring);
		if (!events__decode(events->record, size, &event))
			take(context, &event);
	}
	for (size_t i = 0; i < events->count; i++) {
		ring = &events->rings[i];
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
		more |= ring->tail != ring->head;
	}
	return more;
}

/* --- all rings -------------------------------------------------------------------------------- */

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.exclude_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		/* Wakes the reader at every record; wakeup_events would count samples only. */
		.watermark = 1,
		.wakeup_watermark = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int open_ring(struct events *events, int cpu)
{
	struct cpu_ring *ring = &events->rings[events->count];
	struct epoll_event wish = { .events = EPOLLIN, .data.u64 = events->count };
	int fd = open_event(cpu), err;
	void *pages;

	if (fd < 0)
		return fd;
	pages = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES, PROT_READ | PROT_WRITE,
		     MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	*ring = (struct cpu_ring) { .fd = fd, .page = pages };
	events->count++;
	return epoll_ctl(events->epoll_fd, EPOLL_CTL_ADD, fd, &wish) ? -errno : 0;
}

static int open_rings(struct events *events)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err;

	events->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (events->epoll_fd < 0)
		return -errno;
	events->rings = calloc((size_t)cpus, sizeof(*events->rings));
	if (!events->rings)
		return -ENOMEM;
	for (int cpu = 0; cpu < cpus; cpu++) {
		err = open_ring(events, cpu);
		if (err == -ENODEV) /* offline */
			continue;
		if (err)
			return err;
	}
	return events->count ? 0 : -ENODEV;
}

int events__new(struct events **ret)
{
	struct events *events = calloc(1, sizeof(*events));
	int err;

	if (!events)
		return -ENOMEM;
	err = open_rings(events);
	if (err) {
		events__free(events);
		return err;
	}
	*ret = events;
	return 0;
}

void events__free(struct events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->count; i++) {
		munmap(events->rings[i].page, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
		close(events->rings[i].fd);
	}
	if (events->epoll_fd >= 0)
		close(events->epoll_fd);
	free(events->rings);
	free(events);
}

int events__fd(const struct events *events)
{
	return events->epoll_fd;
}

/* epoll reports the ring of an offline CPU as ready forever, so it is removed. */
static void drop_hung_up(struct events *events)
{
	struct epoll_event ready[16];
	int count = epoll_wait(events->epoll_fd, ready, 16, 0);

	for (int i = 0; i < count; i++) {
		if (ready[i].events & (EPOLLHUP | EPOLLERR))
			epoll_ctl(events->epoll_fd, EPOLL_CTL_DEL,
				  events->rings[ready[i].data.u64].fd, NULL);
	}
}

void events__drain(struct events *events, events_take_fn take, void *context)
{
	/* Call this before reading: polling a ring resets its readiness. */
	drop_hung_up(events);
	while (drain_once(events, take, context))
		;
}
