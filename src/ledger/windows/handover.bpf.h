/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hand-over: one thread reads a request, and another one answers it. Whoever sends on the socket of
 * a window works for it; since when is less sure:
 *
 *   edge      a thread that worked for the window woke it: since then
 *   inferred  it answered another window after this one was read, or was woken or born after that:
 *             since then
 *
 * An edge alone names the queue and not the window: whoever is woken may take what another one was
 * woken for. So an edge counts only if the thread then answers that very window.
 *
 * What a thread did since a wakeup is known only with its account at that time. It is kept when the
 * thread gets the CPU, because nobody else changes the account then.
 */
#pragma once

#include "ledger/windows/worker.bpf.h"

#define HANDOVER_EDGES 3
/* Whoever ran in user space for less than this has not begun with anything. */
#define LEAST_WORK_NS 2000
/* Whoever is awake looks for something to do for less than this. */
#define MOST_LOOKING_NS 1000000
#define READY_SLOTS     (SLOT_READY_END - SLOT_RUN_END)

/* In thread.handing, with the serial number of the window, if there is one: it is no time. */
#define IS_HANDING (1ULL << 63)

/* The thread got the CPU because it was woken by a thread that worked for a window. */
struct handover_edge {
	__u64 serial;   /* of that window; 0: it is the first time since its last answer */
	__u64 ready_ns; /* when it became ready */
	__u64 on_ns;    /* when it got the CPU */
	__u64 left_ns;  /* when it had left the CPU */
	__u64 wait_ns;  /* its last wait then, as in struct window_worker */
	__u32 wait_number, wait_count;
	__u64 base[SLOT_COUNT];        /* its account at ready_ns */
	__u64 base_ready[READY_SLOTS]; /* of it, at on_ns, what changed meanwhile */
};

/* Of a thread that answers what others read: since its last answer. */
struct handover {
	__u32 count;         /* of edges; the last one of several takes the last place */
	__u32 was_preempted; /* before the first of them: it did not wait */
	struct handover_edge edges[HANDOVER_EDGES];
};
_Static_assert(FITS_SLAB(struct handover, 1024), "the storage of one thread");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct handover);
} windows_handovers SEC(".maps");

static __always_inline struct handover *handover_of(struct task_struct *task, bool make)
{
	return bpf_task_storage_get(&windows_handovers, task, NULL,
				    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/* The current thread wakes `woken`. */
static __always_inline void note_handing(struct thread *woken)
{
	struct window_worker *worker = NULL;

	if (!woken->by_interrupt)
		worker = worker_of(bpf_get_current_task_btf(), false);
	if (worker && worker->serial)
		woken->handing = worker->serial | IS_HANDING;
	else if (woken->handing & IS_HANDING)
		woken->handing = IS_HANDING;
}

static __always_inline struct handover_edge *edge_at(struct handover *hand, __u32 number)
{
	__u64 at = number;

	barrier_var(at);
	return at < HANDOVER_EDGES ? &hand->edges[at] : NULL;
}

/* Returns 1 + the number of the edge; 0: there is none. */
VERIFIED_ONCE int add_edge(struct handover *hand, const struct thread *thread)
{
	struct handover_edge *edge;
	__u32 number;
	__u64 serial;

	if (!hand || !thread || !with_windows)
		return 0;
	serial = thread->handing & ~IS_HANDING;
	if (!serial && hand->count)
		return 0;
	number = hand->count < HANDOVER_EDGES ? hand->count : HANDOVER_EDGES - 1;
	edge = number ? edge_at(hand, number - 1) : NULL;
	/* Woken for the same window again: it may have begun before. */
	if (edge && edge->serial == serial)
		return 0;
	edge = edge_at(hand, number);
	if (!edge)
		return 0;
	hand->count = number + 1;
	if (!number)
		hand->was_preempted = thread->account.slot == SLOT_READY_PREEMPTED;
	edge->serial = serial;
	edge->ready_ns = edge->on_ns = thread->account.since_ns;
	edge->left_ns = thread->left_ns;
	edge->wait_ns = thread->cell_sum.ns;
	edge->wait_number = thread->cell_number;
	edge->wait_count = thread->cell_sum.count;
	for (int i = 0; i < SLOT_COUNT; i++)
		edge->base[i] = thread->account.ns[i];
	for (int i = 0; i < READY_SLOTS; i++)
		edge->base_ready[i] = edge->base[SLOT_RUN_END + i];
	return number + 1;
}

/*
 * A thread gets the CPU: its account has what it did before it became ready. Returns what
 * add_edge() does, for end_of_ready().
 */
static __always_inline __u32 gets_cpu_for(struct thread *thread, struct task_struct *task)
{
	struct handover *hand = handover_of(task, false);

	if (!hand || !SLOT_IS_READY(thread->account.slot) || thread->account.since_ns < base_ns)
		return 0;
	return add_edge(hand, thread);
}

/* It has the CPU: its account has how long it was ready, too. */
static __always_inline void end_of_ready(const struct thread *thread, struct task_struct *task,
					 __u32 number)
{
	struct handover *hand = handover_of(task, false);
	struct handover_edge *edge = hand ? edge_at(hand, number - 1) : NULL;

	if (!edge)
		return;
	edge->on_ns = thread->account.since_ns;
	for (int i = 0; i < READY_SLOTS; i++)
		edge->base_ready[i] = thread->account.ns[SLOT_RUN_END + i];
}

enum edge_wanted {
	OF_THIS_WINDOW,
	READY_SINCE_READ, /* of any window, and it became ready after this one was read */
	ON_SINCE_READ,    /* the same, and it got the CPU after that */
	ON_BEFORE_READ,   /* the last one shortly before that */
	FIRST,            /* the first time that it got the CPU since its last answer */
};

static __always_inline bool is_wanted_edge(const struct handover_edge *edge,
					   const struct window *window, enum edge_wanted wanted,
					   __u32 number)
{
	if (wanted == OF_THIS_WINDOW && edge->serial != window->serial)
		return false;
	if (wanted == FIRST ? number != 0 : !edge->serial)
		return false;
	if (wanted == ON_BEFORE_READ)
		return edge->on_ns < window->read_ns &&
		       window->read_ns - edge->on_ns < MOST_LOOKING_NS;
	return (wanted >= ON_SINCE_READ ? edge->on_ns : edge->ready_ns) >= window->read_ns;
}

/* 1 + the number of an edge; 0: there is none. They are in their order. */
static __always_inline __u32 find_edge(const struct handover *hand, const struct window *window,
				       enum edge_wanted wanted)
{
	__u32 found = 0;

	for (__u32 i = 0; i < HANDOVER_EDGES; i++)
		if (i < hand->count && (!found || wanted == ON_BEFORE_READ) &&
		    is_wanted_edge(&hand->edges[i], window, wanted, i))
			found = i + 1;
	return found;
}

/* Returns false if there is no such edge. */
static __always_inline bool begins_at_edge(struct window_worker *worker, struct handover *hand,
					   const struct window *window, enum edge_wanted wanted)
{
	__u32 number = find_edge(hand, window, wanted);
	const struct handover_edge *edge = number ? edge_at(hand, number - 1) : NULL;

	if (!edge)
		return false;
	worker->begin_ns = wanted >= ON_SINCE_READ ? edge->on_ns : edge->ready_ns;
	worker->wait_ns = edge->wait_ns;
	worker->wait_number = edge->wait_number;
	worker->wait_count = edge->wait_count;
	for (int i = 0; i < SLOT_COUNT; i++)
		worker->base[i] = edge->base[i];
	if (wanted >= ON_SINCE_READ)
		for (int i = 0; i < READY_SLOTS; i++)
			worker->base[SLOT_RUN_END + i] = edge->base_ready[i];
	return true;
}

/*
 * Whether it lost the CPU in the call that answered, so that it cannot have begun with another
 * window until it got the CPU again.
 */
static __always_inline bool lost_cpu_at_once(const struct window_worker *worker,
					     const struct handover *hand)
{
	const struct handover_edge *first = &hand->edges[0];

	return hand->count && hand->was_preempted &&
	       first->base[SLOT_RUN_USER] - worker->base[SLOT_RUN_USER] < LEAST_WORK_NS;
}

/* Whether it kept the CPU from its last answer until the window was read. */
static __always_inline bool ran_until_read(const struct handover *hand, const struct window *window,
					   const struct thread *thread)
{
	if (thread->handing & IS_HANDING)
		return true;
	return hand->count && hand->edges[0].left_ns >= window->read_ns;
}

/*
 * Moves its begin to when the window was read. What it did until then is not known in detail; it is
 * taken from its states in their order, so most of it is running.
 */
static __always_inline void begins_at_read(struct window_worker *worker,
					   const struct window *window, const struct thread *thread)
{
	__u64 left_ns = window->read_ns - worker->begin_ns;

	worker->begin_ns = window->read_ns;
	for (int i = 0; i < SLOT_COUNT; i++) {
		__u64 ns = thread->account.ns[i] - worker->base[i];

		if ((__s64)ns <= 0)
			continue;
		ns = ns < left_ns ? ns : left_ns;
		worker->base[i] += ns;
		left_ns -= ns;
	}
	worker->base[SLOT_RUN_USER] += left_ns;
}

/*
 * The current thread answers a window that another one read: finds out since when it works for it,
 * and sets the base of its segment. Returns how that is known, WINDOW_BY_NONE if it is not.
 */
VERIFIED_ONCE int find_begin(struct window_worker *worker, struct handover *hand,
			     const struct window *window, const struct thread *thread)
{
	if (!worker || !window || !thread || !with_windows)
		return WINDOW_BY_NONE;
	if (hand && begins_at_edge(worker, hand, window, OF_THIS_WINDOW))
		return WINDOW_BY_EDGE;
	/* The base is that of its last answer. */
	if (worker->has_answered && worker->begin_ns >= window->read_ns) {
		if (hand && lost_cpu_at_once(worker, hand))
			begins_at_edge(worker, hand, window, FIRST);
		return WINDOW_BY_INFERRED;
	}
	if (worker->has_answered && hand && ran_until_read(hand, window, thread)) {
		begins_at_read(worker, window, thread);
		return WINDOW_BY_INFERRED;
	}
	if (hand && (begins_at_edge(worker, hand, window, READY_SINCE_READ) ||
		     begins_at_edge(worker, hand, window, ON_SINCE_READ)))
		return WINDOW_BY_INFERRED;
	if (worker->has_answered && hand && lost_cpu_at_once(worker, hand) &&
	    begins_at_edge(worker, hand, window, FIRST))
		return WINDOW_BY_INFERRED;
	if (hand && begins_at_edge(worker, hand, window, ON_BEFORE_READ)) {
		begins_at_read(worker, window, thread);
		return WINDOW_BY_INFERRED;
	}
	if (worker->has_answered || thread->account.first_ns < window->read_ns)
		return WINDOW_BY_NONE;
	worker->begin_ns = thread->account.first_ns;
	__builtin_memset(worker->base, 0, sizeof(worker->base));
	note_last_wait(worker, thread);
	return WINDOW_BY_INFERRED;
}

/* Whether the window was handed to the current thread, as far as the order of calls shows. */
static __always_inline bool is_handed(const struct window_worker *worker,
				      const struct socket_window *socket,
				      const struct thread *thread)
{
	return socket->last_worker != thread->id || worker->has_answered;
}

/*
 * The current thread answers a window, and did not work for it until now as far as is known.
 * Returns whether it is known since when it did.
 */
static __always_inline bool takes_over_window(struct window_worker *worker,
					      struct socket_window *socket, __u32 place,
					      struct task_struct *current,
					      const struct thread *thread, __u64 now)
{
	struct handover *hand = handover_of(current, true);
	int known = find_begin(worker, hand, &socket->window, thread);

	if (hand)
		hand->count = 0;
	worker->serial = socket->window.serial;
	worker->inode = socket->inode;
	worker->place = place;
	worker->answers_handed = 1;
	socket->window.segments++;
	socket->last_worker = thread->id;
	if (known == WINDOW_BY_NONE) {
		if (socket->phase == PHASE_ASKED)
			socket->window.worker = WINDOW_BY_SOCKET;
		return false;
	}
	if (socket->phase == PHASE_ASKED) {
		socket->window.worker = known;
		count_window(known == WINDOW_BY_EDGE ? WINDOWS_BY_EDGE : WINDOWS_BY_INFERENCE, 1);
	}
	gap_ends(socket, worker->begin_ns < now ? worker->begin_ns : now, WINDOW_PART_HANDED, 0);
	return true;
}

/* It has answered: what it does next may be for any window. */
static __always_inline void gives_back_window(struct window_worker *worker, struct thread *thread)
{
	if (is_innermost(thread, worker->serial))
		thread->window = 0;
	worker->serial = 0;
	worker->answers_handed = 0;
	worker->has_answered = 1;
	worker->resumed_ns = 0;
	thread->handing = IS_HANDING;
}
