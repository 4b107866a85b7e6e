/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The turn of a wait: has this side asked, and not been answered yet? A wait for an answer holds a
 * program up; the same wait in the same place after the answer is a wait for work.
 */
#pragma once

#include "ledger/kernel/describe.bpf.h"
#include "ledger/kernel/speak.bpf.h"

#define LEAST_HELD_JIFFIES 2

const volatile bool with_turns; /* sends and receives are hooked */
const volatile __u64 jiffy_ns;

static __always_inline bool has_siblings(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, nr_threads) > 1;
}

/* The turn of a wait on one socket, in a call or request of this kind (TALK_*). */
VERIFIED_ONCE int turn_of_call(struct thread *thread, __u64 file, __u32 kind)
{
	struct talk *talk;
	__u64 inode;

	if (!thread || !with_turns)
		return TURN_NONE;
	if (kind == TALK_CONNECT)
		return TURN_CONNECTING;
	if (kind != TALK_RECEIVE && kind != TALK_SPLICE)
		return TURN_NONE;
	inode = thread->wait.object[0];
	talk = talk_at(inode, (struct file *)file);
	if (!talk || talk->side == SIDE_NONE)
		return TURN_NONE;
	if (asks(talk)) {
		thread->wait.object[1] = hash_of_peer(talk);
		if (talk->last == LAST_OURS && (full || talk->asked_by == thread->id))
			return turn_asked(thread, talk);
		thread->turn_watch = full ? WATCH_SOCKET : WATCH_NOTHING;
	}
	return talk->last == LAST_THEIRS ? TURN_ANSWERED : TURN_NONE;
}

/* The turn of a wait for several descriptors, as far as this request is concerned. */
static __always_inline int turn_of_ask(struct thread *thread, struct ask *ask)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct talk *talk;
	__u64 inode, now_inode;
	__u32 kind, mode;

	inode = ask->inode;
	look_at_inode((struct file *)ask->file, &now_inode, &mode);
	talk = now_inode == inode ? find_talk(inode) : NULL;
	if (!talk || (talk->last != LAST_OURS && !(talk->flags & TALK_DIALLED))) {
		ask->inode = 0;
		return TURN_NONE;
	}
	kind = talk_in_flight(thread);
	if (talk->flags & TALK_DIALLED) {
		struct sock *sk = (void *)talk->sock;

		if (BPF_CORE_READ(sk, __sk_common.skc_state) != TCP_STATE_SYN_SENT ||
		    !is_awaited(ask, current, kind, POLL_FOR_OUT))
			return TURN_NONE;
		thread->wait.object[0] = inode;
		return TURN_CONNECTING;
	}
	if (!asks(talk) || (!full && talk->asked_by != thread->id) ||
	    is_one_way(thread, talk, kind == TALK_POLL && regs->ARCH_ARG2 == 1) ||
	    !is_awaited(ask, current, kind, POLL_FOR_IN))
		return TURN_NONE;
	talk->flags |= TALK_IN_VAIN;
	thread->wait.object[0] = inode;
	thread->wait.object[1] = hash_of_peer(talk);
	return turn_asked(thread, talk);
}

VERIFIED_ONCE int turn_if_awaited(struct thread *thread, struct ask *ask)
{
	int turn;

	if (!thread || !ask || !ask->inode)
		return TURN_NONE;
	turn = turn_of_ask(thread, ask);
	if (turn) {
		thread->wait.object_kind = OBJECT_SOCKET;
		if (!is_object_of_cell(thread))
			describe(thread, (struct file *)ask->file, NULL, ask->fd);
	}
	return turn;
}

/* The turn of a wait of the current thread for several descriptors. Its own latest request first.
 */
VERIFIED_ONCE int turn_of_poll(struct thread *thread)
{
	int turn = TURN_NONE;
	struct asks *list;

	if (!thread)
		return TURN_NONE;
	if (thread->asked.inode)
		turn = turn_if_awaited(thread, &thread->asked);
	if (turn)
		return turn;
	list = find_asks(thread->pid);
	if (!list)
		return TURN_NONE;
	for (__u32 i = 0; i < MOST_ASKS && !turn; i++)
		if (list->list[i].inode)
			turn = turn_if_awaited(thread, &list->list[i]);
	return turn;
}

/* The current thread begins to wait for several descriptors. */
static __always_inline void note_poll(struct thread *thread, struct task_struct *current)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct file *epoll;

	thread->wait.turn = turn_of_poll(thread);
	if (thread->wait.turn || !full || talk_in_flight(thread) != TALK_EPOLL ||
	    !has_siblings(current))
		return;
	epoll = file_of(current, (__s32)regs->ARCH_ARG1);
	if (!epoll)
		return;
	thread->turn_watch = WATCH_EPOLL;
	thread->turn_at = (__u64)BPF_CORE_READ(epoll, private_data);
}

/* Whether the current thread has read a request that nobody has answered yet. */
static __always_inline bool has_request(struct thread *thread, struct task_struct *current)
{
	struct file *file = NULL;
	struct talk *talk;

	if (!thread->request)
		return false;
	talk = find_talk(thread->request);
	if (talk && talk->last == LAST_THEIRS &&
	    socket_at(current, thread->request_fd, &file) == thread->request)
		return true;
	thread->request = 0;
	return false;
}

/* --- the end of a wait ---------------------------------------------------------------------- */

/* Another thread sent a request during the wait, and most of the wait came after that. */
static __always_inline bool was_asked_early(const struct thread *thread, const struct talk *talk,
					    __u64 ns)
{
	__u64 after_ns = talk->asked_ns - thread->account.since_ns;

	return talk->last == LAST_OURS && asks(talk) && after_ns <= ns / 2;
}

/* A part of the request was held back when the wait began. Was that most of the wait? */
static __always_inline bool was_held_long(const struct thread *thread, __u64 ns)
{
	struct tcp_sock *tcp = (void *)thread->turn_at;
	__u32 since = (__u32)bpf_jiffies64() - BPF_CORE_READ(tcp, lsndtime);
	__s64 held_ns = ns - since * jiffy_ns;

	return held_ns >= (__s64)(ns / 2) && held_ns >= (__s64)(LEAST_HELD_JIFFIES * jiffy_ns);
}

VERIFIED_ONCE int find_ask_in_epoll(struct thread *thread, __u64 ns)
{
	struct asks *list;

	if (!thread)
		return 0;
	list = find_asks(thread->pid);
	if (!list)
		return 0;
	for (__u32 i = 0; i < MOST_ASKS; i++) {
		struct ask *ask = &list->list[i];
		struct talk *talk = ask->inode ? find_talk(ask->inode) : NULL;

		if (!talk || !was_asked_early(thread, talk, ns) || !(talk->flags & TALK_HEARD) ||
		    !is_in_epoll(ask->file, thread->turn_at, POLL_FOR_IN))
			continue;
		thread->wait.object_kind = OBJECT_SOCKET;
		thread->wait.object[0] = ask->inode;
		thread->wait.object[1] = hash_of_peer(talk);
		thread->wait.turn = TURN_ASKED;
		describe(thread, (struct file *)ask->file, NULL, ask->fd);
		return 0;
	}
	return 0;
}

/* A wait ends, perhaps in an interrupt. If its wakeup is missed, the turn stays as it began. */
VERIFIED_ONCE int settle_turn(struct thread *thread, __u64 now)
{
	struct talk *talk;
	__u8 watch;
	__u64 ns;

	if (!thread)
		return 0;
	ns = now - thread->account.since_ns;
	watch = thread->turn_watch;
	thread->turn_watch = WATCH_NOTHING;
	write_begin(&thread->account);
	if (watch == WATCH_EPOLL) {
		find_ask_in_epoll(thread, ns);
	} else if (watch == WATCH_UNSENT) {
		if (!was_held_long(thread, ns))
			thread->wait.turn = TURN_ASKED;
	} else {
		talk = find_talk(thread->wait.object[0]);
		if (talk && was_asked_early(thread, talk, ns))
			thread->wait.turn = TURN_ASKED;
	}
	write_end(&thread->account);
	return 0;
}
