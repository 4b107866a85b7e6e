/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes who spoke last on a socket. A call that sends is noted when it begins, so that another
 * thread's reading of the answer comes after it; a call that receives when it ends. At level sched
 * there is no hook at the beginning. There, a request counts only for the thread that sent it.
 */
#pragma once

#include <bpf/bpf_endian.h>

#include "ledger/kernel/asks.bpf.h"

#define EAGAIN      11
#define EINPROGRESS 115
#define MSG_PEEK    2

static __always_inline __u32 talk_in_flight(const struct thread *thread)
{
	return talk_of[thread->last_nr & (LEDGER_SYSCALLS - 1)];
}

/* The socket behind a descriptor of the current thread; 0 if it is none. */
static __always_inline __u64 socket_at(struct task_struct *current, __s32 fd,
				       struct file **ret_file)
{
	struct file *file = file_of(current, fd);
	__u64 inode;
	__u32 mode;

	if (!file)
		return 0;
	look_at_inode(file, &inode, &mode);
	*ret_file = file;
	return (mode & S_IFMT) == S_IFSOCK ? inode : 0;
}

static __always_inline struct talk *talk_at(__u64 inode, struct file *file)
{
	struct talk *talk = find_talk(inode);

	return talk ? talk : meet(inode, file);
}

/* Where a socket that is not connected sends to. */
static __noinline int note_peer(struct talk *talk, struct pt_regs *regs, __u32 kind)
{
	struct {
		__u16 family, port;
		__u8 rest[24]; /* IPv4: the address; IPv6: four bytes, and the address */
	} to = {};
	__u64 address = 0;

	if (kind == TALK_SENDTO)
		address = regs->ARCH_ARG5;
	else if (kind == TALK_SENDMSG)
		bpf_probe_read_user(&address, sizeof(address), (void *)regs->ARCH_ARG2);
	if (!address || bpf_probe_read_user(&to, 16, (void *)address))
		return 0;
	if (to.family == AF_INET6 && bpf_probe_read_user(&to, sizeof(to), (void *)address))
		return 0;
	if (to.family == AF_INET)
		__builtin_memcpy(talk->peer, to.rest, 4);
	else if (to.family == AF_INET6)
		__builtin_memcpy(talk->peer, to.rest + 4, 16);
	else
		return 0;
	talk->peer_port = bpf_ntohs(to.port);
	return 0;
}

/*
 * The thread sends; `now` is 0 if the call is not timed. Returns true if that is the first since
 * the peer spoke.
 */
static __always_inline bool we_speak(struct thread *thread, struct talk *talk, __u64 now)
{
	bool is_first = talk->last != LAST_OURS;

	if (talk->flags & TALK_IN_VAIN) {
		talk->in_vain++;
		talk->flags &= ~TALK_IN_VAIN;
	}
	if (talk->last == LAST_NOBODY && talk->flags & TALK_IS_NEW)
		talk->flags |= TALK_OURS_FIRST;
	talk->last = LAST_OURS;
	talk->flags &= ~TALK_DIALLED;
	talk->asked_ns = now || !full || !asks(talk) ? now : bpf_ktime_get_ns();
	talk->asked_by = thread->id;
	return is_first;
}

static __always_inline void they_speak(struct talk *talk)
{
	if (talk->last == LAST_OURS)
		talk->turns++;
	talk->last = LAST_THEIRS;
	talk->flags = (talk->flags & ~TALK_IN_VAIN) | TALK_HEARD;
	if (talk->turns >= 256) { /* what was long ago counts less */
		talk->turns /= 2;
		talk->in_vain /= 2;
	}
}

/* What is done for few sends. */
static __noinline int look_at_send(struct talk *talk, __u32 kind)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);

	if (talk->flags & TALK_IS_DATAGRAM && talk->family != AF_UNIX)
		note_peer(talk, regs, kind);
	if (talk->last == LAST_NOBODY && talk->side == SIDE_ASKS && talk->flags & TALK_IS_TCP)
		look_for_tls(talk, regs);
	return 0;
}

/* A call begins to send to the socket `inode`, which is `file` with descriptor `fd`. */
VERIFIED_ONCE int send_begins(struct thread *thread, __u64 now, __u64 inode, __u64 file, __s32 fd)
{
	struct talk *talk;
	bool is_new;

	if (!thread)
		return 0;
	talk = find_talk(inode);
	is_new = !talk;
	if (is_new)
		talk = meet(inode, (struct file *)file);
	if (!talk || talk->side == SIDE_NONE)
		return 0;
	if (talk->flags & TALK_IS_DATAGRAM || talk->last == LAST_NOBODY)
		look_at_send(talk, talk_in_flight(thread));
	thread->turn_undone = we_speak(thread, talk, now);
	if (thread->request == inode)
		thread->request = 0;
	if (asks(talk) && (is_new || thread->turn_undone || thread->asked.inode != inode))
		note_ask(thread, inode, file, fd);
	return 0;
}

/* A call begins that may send to a socket. Most calls write elsewhere, and cost little. */
static __always_inline void call_speaks(struct thread *thread, struct task_struct *current,
					struct pt_regs *regs, __u64 now)
{
	__s32 fd = talk_in_flight(thread) == TALK_SPLICE ? regs->ARCH_ARG3 : regs->ARCH_ARG1;
	struct file *file;
	__u64 inode = socket_at(current, fd, &file);

	if (inode)
		send_begins(thread, now, inode, (__u64)file, fd);
}

/* A send failed: nothing was said. */
static __always_inline void take_back(struct thread *thread, struct talk *talk)
{
	if (thread->turn_undone && talk->last == LAST_OURS)
		talk->last = talk->flags & TALK_HEARD ? LAST_THEIRS : LAST_NOBODY;
}

static __always_inline void hear(struct thread *thread, struct talk *talk, __u64 inode, __s32 fd,
				 long ret)
{
	if (ret == -EAGAIN || ret == -EINTR || is_broken_off(ret))
		return;
	they_speak(talk);
	if (ret > 0 && talk->side == SIDE_SERVES) {
		thread->request = inode;
		thread->request_fd = fd;
	} else if (thread->request == inode) {
		thread->request = 0;
	}
}

/* connect() on a socket, perhaps not for the first time. */
static __always_inline void dial(struct thread *thread, struct talk *talk, __u64 inode,
				 struct file *file, __s32 fd)
{
	struct talk now = {};

	learn(&now, (struct sock *)talk->sock);
	now.last = LAST_NOBODY;
	if (now.side != SIDE_NONE && !(now.flags & TALK_IS_DATAGRAM && now.family != AF_UNIX))
		now.side = SIDE_ASKS;
	now.flags |= TALK_DIALLED;
	now.inode = inode;
	now.is_used = 1;
	now.place = talk->place;
	*talk = now;
	if (now.flags & TALK_IS_TCP)
		note_ask(thread, inode, (__u64)file, fd);
}

static __always_inline void make_pair(struct task_struct *current, __u64 address)
{
	__s32 fds[2];

	if (bpf_probe_read_user(fds, sizeof(fds), (void *)address))
		return;
	for (int i = 0; i < 2; i++) {
		struct file *file = NULL;
		__u64 inode = socket_at(current, fds[i], &file);
		struct talk *talk = inode ? talk_at(inode, file) : NULL;

		if (talk)
			talk->flags |= TALK_IS_NEW;
	}
}

/* A call ended that may have received, connected, accepted, or failed to send. */
VERIFIED_ONCE int call_spoke(struct thread *thread, long ret)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct file *file = NULL;
	struct talk *talk;
	__u32 kind;
	__u64 inode;
	__s32 fd = (__s32)regs->ARCH_ARG1;

	if (!thread)
		return 0;
	kind = talk_in_flight(thread);
	if (kind == TALK_PAIR) {
		make_pair(current, regs->ARCH_ARG4);
		return 0;
	}
	if (kind == TALK_ACCEPT)
		fd = ret;
	inode = socket_at(current, fd, &file);
	talk = inode ? talk_at(inode, file) : NULL;
	if (!talk || talk->side == SIDE_NONE)
		return 0;
	if (kind == TALK_RECEIVE || kind == TALK_SPLICE) {
		hear(thread, talk, inode, fd, ret);
		if (heard_tickets(talk, regs, ret)) {
			talk->last = LAST_OURS;
			talk->turns--;
			note_ask(thread, inode, (__u64)file, fd);
		}
	} else if (kind == TALK_ACCEPT) {
		talk->side = SIDE_SERVES;
	} else if (kind == TALK_CONNECT && (!ret || ret == -EINPROGRESS)) {
		dial(thread, talk, inode, file, fd);
	} else if (kind != TALK_CONNECT) {
		take_back(thread, talk);
	}
	return 0;
}

/* Whether call_spoke() has anything to do for a call of this kind. */
static __always_inline bool has_spoken(__u32 kind, bool no_talk, long ret)
{
	switch (kind) {
	case TALK_SEND:
	case TALK_SENDTO:
	case TALK_SENDMSG:
		return ret < 0;
	case TALK_ACCEPT:
	case TALK_PAIR:
		return ret >= 0;
	case TALK_RECEIVE:
		return !no_talk && ret != -EAGAIN;
	case TALK_SPLICE:
	case TALK_CONNECT:
		return true;
	}
	return false;
}

static __always_inline bool will_speak(__u32 kind)
{
	return kind && kind <= TALK_SPLICE;
}

/* --- level sched ---------------------------------------------------------------------------- */

static __always_inline struct talk *talk_of_sock(struct sock *sk, __u64 *ret_inode,
						 struct file **ret_file)
{
	struct socket *socket = sk->sk_socket;
	struct file *file = socket->file;

	if (!file)
		return NULL;
	*ret_file = file;
	*ret_inode = file->f_inode->i_ino;
	return talk_at(*ret_inode, file);
}

/* No hook has noted the call in flight. A 32-bit program has other numbers. */
static __noinline int note_peer_of_call(struct talk *talk)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	__s64 nr = (__s64)regs->ARCH_CALL;

	if (nr < 0 || !ARCH_IS_64BIT(regs))
		return 0;
	return note_peer(talk, regs, talk_of[nr & (LEDGER_SYSCALLS - 1)]);
}

static __always_inline void sock_sends(struct sock *sk, int ret)
{
	struct thread *thread;
	struct file *file;
	struct talk *talk;
	bool is_first;
	__u64 inode;

	if (ret <= 0)
		return;
	thread = find(bpf_get_current_task_btf());
	if (!thread || is_over_now())
		return;
	talk = talk_of_sock(sk, &inode, &file);
	if (!talk || talk->side == SIDE_NONE)
		return;
	if (talk->flags & TALK_IS_DATAGRAM && talk->family != AF_UNIX)
		note_peer_of_call(talk);
	is_first = we_speak(thread, talk, 0);
	if (asks(talk) && (is_first || thread->asked.inode != inode))
		note_ask(thread, inode, (__u64)file, -1);
}

static __always_inline void sock_receives(struct sock *sk, int ret, int flags)
{
	struct file *file;
	struct talk *talk;
	__u64 inode;

	if (ret == -EAGAIN || flags & MSG_PEEK || is_over_now())
		return;
	if (!all_threads && !find(bpf_get_current_task_btf()))
		return;
	talk = talk_of_sock(sk, &inode, &file);
	if (talk && talk->side != SIDE_NONE)
		they_speak(talk);
}
