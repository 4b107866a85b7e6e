/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments: stretches in which a thread works for one window. What it does meanwhile is the
 * difference of its account at both ends, waits too.
 *
 * A segment begins when the thread reads bytes of the window, or of an answer to a request that was
 * sent for it. It ends when the thread reads bytes of another window, closes the socket, or polls.
 * Whoever serves one socket may poll for something else (PostgreSQL waits for locks in
 * epoll_wait()), so a poll ends the segment only of a thread that serves several at a time.
 */
#pragma once

#include "ledger/kernel/here.bpf.h"
#include "ledger/windows/window.bpf.h"

/* A thread that works for windows. */
struct window_worker {
	__u64 serial; /* of the window that it works for; 0: none */
	__u64 inode;  /* of its socket */
	__u32 place;
	__u8 serves_many;       /* it has more than one socket with windows at a time */
	__u8 answers_handed;    /* the window was handed to it, see handover.bpf.h */
	__u8 has_answered;      /* such a window, and has read no request since */
	__u8 met_choked;        /* a send of it did not take all bytes */
	__u64 begin_ns;         /* of the segment; of a thread with has_answered: of its answer */
	__u64 base[SLOT_COUNT]; /* the account then */
	__u64 open_inode;       /* the socket that it served last, until it is closed */
	/* Its last poll, or blocking read: */
	__u64 poll_begin_ns, poll_end_ns;
	__u64 woken_ns, on_ns; /* the last time that it was ready in it, and got the CPU */
	/* The last segment that ended: */
	__u64 served_ns;
	__u64 hears; /* the shared socket from which it has read, see shared.bpf.h; 0: none */
	/* An answer resumed the segment, and it has sent nothing since. */
	__u64 resumed_ns;            /* 0: none did */
	__u64 resumed_by;            /* the inode of the socket that it came from */
	__u64 waited_ns, noticed_ns; /* what the gap before it added to the window */
	__u32 resumed_by_place, hears_place;
	/* Of the last wait that was noted in a window: */
	__u64 wait_ns;
	__u32 wait_number;
	__u32 wait_count;
};
_Static_assert(FITS_SLAB(struct window_worker, 512), "the storage of one thread");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct window_worker);
} windows_workers SEC(".maps");

static __always_inline struct window_worker *worker_of(struct task_struct *task, bool make)
{
	return bpf_task_storage_get(&windows_workers, task, NULL,
				    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

static __always_inline struct socket_window *socket_window_at(__u32 place)
{
	return bpf_map_lookup_elem(&windows_sockets, &place);
}

/*
 * Adds the account of the current thread at `now`, less `base`: no open interval, because it has
 * just passed one of the ledger's hooks. Never more than the difference at a time, because another
 * CPU may add to the same window.
 */
static __always_inline void add_account(__u64 to[SLOT_COUNT], const __u64 *base,
					const struct thread *thread, const struct here *here,
					__u64 now)
{
	const struct ledger_account *account = &thread->account;
	__u64 since_ns = here ? here->since_ns : account->since_ns;
	__u32 slot = here ? (here->nr == NR_NONE ? SLOT_RUN_USER : SLOT_RUN_KERNEL) : account->slot;

	for (int i = 0; i < SLOT_COUNT; i++)
		to[i] += account->ns[i] - (base ? base[i] : 0);
	if (here) {
		to[SLOT_RUN_USER] += here->user_ns;
		to[SLOT_RUN_KERNEL] += here->kernel_ns;
		to[SLOT_RUN_IRQ] += here->irq_ns;
	}
	since_ns = now - since_ns;
	if (with_interrupts && SLOT_IS_RUN(slot)) {
		__u64 taken_ns = interrupts_pending();

		taken_ns = taken_ns < since_ns ? taken_ns : since_ns;
		to[SLOT_RUN_IRQ] += taken_ns;
		since_ns -= taken_ns;
	}
	barrier_var(slot);
	if (slot < SLOT_COUNT)
		to[slot] += since_ns;
}

/* What the current thread has on its CPU; NULL: nothing. */
static __always_inline struct here *claimed_by(struct task_struct *current)
{
	struct here *here = here_now();

	return here && here->task == (__u64)current ? here : NULL;
}

/* Whether samples of the thread belong to this window. In a call that is a window, they do not. */
static __always_inline bool is_innermost(const struct thread *thread, __u64 serial)
{
	return thread->window >> 1 == serial;
}

static __always_inline void set_base(struct window_worker *worker, const struct thread *thread,
				     const struct here *here, __u64 now)
{
	__builtin_memset(worker->base, 0, sizeof(worker->base));
	add_account(worker->base, NULL, thread, here, now);
	worker->begin_ns = now;
}

static __always_inline void note_last_wait(struct window_worker *worker,
					   const struct thread *thread)
{
	worker->wait_number = thread->cell_number;
	worker->wait_ns = thread->cell_sum.ns;
	worker->wait_count = thread->cell_sum.count;
}

/* The current thread begins to work for the window of a socket. */
static __always_inline void segment_begins(struct window_worker *worker,
					   struct socket_window *socket, __u32 place,
					   struct thread *thread, const struct here *here,
					   __u64 now)
{
	worker->serial = socket->window.serial;
	worker->inode = socket->inode;
	worker->place = place;
	worker->answers_handed = worker->has_answered = 0;
	worker->hears = 0;
	if (socket->kind == WINDOW_SERVER) {
		if (worker->open_inode && worker->open_inode != socket->inode)
			worker->serves_many = 1;
		worker->open_inode = socket->inode;
	}
	socket->window.segments++;
	socket->last_worker = thread->id;
	set_base(worker, thread, here, now);
	note_last_wait(worker, thread);
	if (!thread->window)
		thread->window = WINDOW_OF(worker->serial);
}

/* The socket of the worker's window, if the window is still open. */
static __always_inline struct socket_window *window_of(const struct window_worker *worker)
{
	struct socket_window *socket;

	if (!worker->serial)
		return NULL;
	socket = socket_window_at(worker->place);
	if (!socket || socket->inode != worker->inode || socket->window.serial != worker->serial ||
	    (socket->phase != PHASE_ASKED && socket->phase != PHASE_ANSWERED))
		return NULL;
	return socket;
}

/* Adds what the current thread did for the window since the last time. */
VERIFIED_ONCE int book_segment(struct window_worker *worker, struct socket_window *socket,
			       const struct thread *thread, const struct here *here, __u64 now)
{
	__u64 cursor_ns, begin_ns, *to;

	if (!worker || !socket || !thread || !with_windows)
		return 0;
	to = columns_of(socket);
	begin_ns = worker->begin_ns;
	cursor_ns = socket->cursor_ns;
	if (begin_ns > cursor_ns)
		to[WINDOW_COLUMN(ELSEWHERE)] += begin_ns - cursor_ns;
	else
		to[WINDOW_COLUMN(OVERLAP)] += (cursor_ns < now ? cursor_ns : now) - begin_ns;
	if (now > cursor_ns)
		socket->cursor_ns = now;
	add_account(to, worker->base, thread, here, now);
	return 0;
}

/* Notes what the last wait of the thread was for, if it was in this segment. */
VERIFIED_ONCE int note_window_wait(struct window_worker *worker, struct socket_window *socket,
				   const struct thread *thread)
{
	const struct ledger_key *key;
	struct window_wait *least = NULL, *wait;
	__u64 ns, least_ns = ~0ULL;
	__u32 count;

	if (!worker || !socket || !thread || !with_windows)
		return 0;
	ns = thread->cell_sum.ns;
	count = thread->cell_sum.count;
	if (thread->cell_number == worker->wait_number) {
		ns -= worker->wait_ns;
		count -= worker->wait_count;
	}
	note_last_wait(worker, thread);
	if (!count || !ns)
		return 0;
	key = &thread->cell;
	for (int i = 0; i < WINDOW_WAITS; i++) {
		wait = &socket->window.waits[i];
		if (wait->ns && wait->slot == key->slot && wait->object[0] == key->object[0] &&
		    wait->object[1] == key->object[1] && wait->by == key->by) {
			wait->ns += ns;
			wait->count += count;
			return 0;
		}
		if (wait->ns < least_ns) {
			least_ns = wait->ns;
			least = wait;
		}
	}
	if (!least || least_ns >= ns)
		return 0;
	least->object[0] = key->object[0];
	least->object[1] = key->object[1];
	least->by = key->by;
	least->first = key->first;
	least->ns = ns;
	least->count = count;
	least->pid = key->pid;
	least->slot = key->slot;
	least->object_kind = key->object_kind;
	least->by_kind = key->by_kind;
	least->evidence = key->evidence;
	return 0;
}

/* The current thread no longer works for its window. */
VERIFIED_ONCE int segment_ends(struct window_worker *worker, struct thread *thread,
			       const struct here *here, __u64 now)
{
	struct socket_window *socket;

	if (!worker || !thread || !with_windows)
		return 0;
	socket = window_of(worker);
	if (socket) {
		if (socket->phase == PHASE_ASKED)
			note_window_wait(worker, socket, thread);
		book_segment(worker, socket, thread, here, now);
		if (is_innermost(thread, worker->serial) &&
		    __sync_lock_test_and_set(&thread->window, 0) & WINDOW_SAMPLED)
			socket->marked = 1;
		worker->served_ns = now;
	}
	if (is_innermost(thread, worker->serial))
		thread->window = 0;
	worker->serial = 0;
	worker->resumed_ns = 0;
	return 0;
}

/* The thread goes on with the same window: what it did so far is booked. */
static __always_inline void segment_goes_on(struct window_worker *worker,
					    struct socket_window *socket, struct thread *thread,
					    const struct here *here, __u64 now)
{
	note_window_wait(worker, socket, thread);
	book_segment(worker, socket, thread, here, now);
	set_base(worker, thread, here, now);
	worker->resumed_ns = 0;
	if (is_innermost(thread, worker->serial) &&
	    __sync_fetch_and_and(&thread->window, ~WINDOW_SAMPLED) & WINDOW_SAMPLED)
		socket->marked = 1;
}
