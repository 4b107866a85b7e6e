/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs of windows. Those at the entry and the exit of syscalls are called by the ledger's
 * (tail calls), at the calls that concern windows only, and when the ledger's are done: the account
 * has just passed a transition, so it has no open interval, and its time is the time of the event.
 */
#pragma once

#include "ledger/windows/calls.bpf.h"
#include "ledger/windows/frames.bpf.h"
#include "ledger/windows/sides.bpf.h"

/* Two arrays: all programs of an array have the same tracepoint. The second one at exit: frames. */
struct windows_program {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
};

struct windows_program windows_enter SEC(".maps");
struct windows_program windows_exit SEC(".maps");

__u64 windows_sweep_before; /* answers whose last byte is older are complete */

/* --- when bytes become readable ----------------------------------------------------------------
 */

/* Of sockets that are not known yet, because they were not accepted: by cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} windows_early SEC(".maps");

/* A bit for each port that the target serves. */
#define PORT_WORDS (65536 / 64)
__u64 windows_ports[PORT_WORDS];

static __always_inline __u64 *ports_of(__u16 port)
{
	return &windows_ports[port / 64 & (PORT_WORDS - 1)];
}

static __always_inline void is_readable(struct sock *sk)
{
	struct socket *socket = sk->sk_socket;
	__u64 inode = socket->file->f_inode->i_ino, now, key;
	struct talk *talk = inode ? find_talk(inode) : NULL;
	__u16 port;

	if (talk && talk->sock == (__u64)sk) {
		now = bpf_ktime_get_ns();
		if (!talk->ready_ns)
			talk->ready_ns = now;
		talk->ready_last_ns = now;
		return;
	}
	port = sk->__sk_common.skc_family == AF_UNIX ? 0 : sk->__sk_common.skc_num;
	if (!(*ports_of(port) >> (port & 63) & 1))
		return;
	key = bpf_get_socket_cookie(sk);
	if (bpf_map_lookup_elem(&windows_early, &key))
		return;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&windows_early, &key, &now, BPF_ANY);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(windows_on_readable, struct sock *sk)
{
	if (base_ns && with_requests)
		is_readable(sk);
	return 0;
}

/* The tracepoint is there since Linux 6.3 (40e0b0908142). */
SEC("fentry/sock_def_readable")
int BPF_PROG(windows_on_readable_entry, struct sock *sk)
{
	if (base_ns && with_requests)
		is_readable(sk);
	return 0;
}

/* A socket is met for the first time. */
static __always_inline void look_for_early(struct talk *talk)
{
	struct sock *sk = (void *)talk->sock;
	__u64 key = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter), *ready_ns;
	__u16 port = 0;

	ready_ns = key ? bpf_map_lookup_elem(&windows_early, &key) : NULL;
	if (ready_ns && !talk->ready_ns)
		talk->ready_ns = talk->ready_last_ns = *ready_ns;
	if (ready_ns)
		bpf_map_delete_elem(&windows_early, &key);
	if (talk->family != AF_UNIX)
		port = BPF_CORE_READ(sk, __sk_common.skc_num);
	if (talk->side == SIDE_SERVES && !(*ports_of(port) >> (port & 63) & 1))
		__sync_fetch_and_or(ports_of(port), 1ULL << (port & 63));
}

/* --- the ends of calls -------------------------------------------------------------------------
 */

/*
 * The time of the transition that the ledger's program has just made. If not every call is timed,
 * this one may not be: then the time is divided here.
 */
static __always_inline __u64 time_of_event(struct thread *thread, struct here *here)
{
	__u64 now;

	if (!here)
		return thread->account.since_ns;
	if (!here->timed.shift)
		return here->since_ns;
	now = bpf_ktime_get_ns();
	here_begins(here);
	divide(here, 0, now);
	here_ends(here);
	return now;
}

/* What this program did is not the program's own time. */
static __always_inline void not_its_own(struct thread *thread, struct here *here)
{
	struct ledger_account *account = &thread->account;
	__u64 now = bpf_ktime_get_ns();

	if (is_over(now))
		return;
	if (here) {
		here_begins(here);
		here->kernel_ns += without_interrupts_here(here, now - here->since_ns);
		here->since_ns = now;
		here_ends(here);
	} else if (account->slot == SLOT_RUN_USER && now > account->since_ns) {
		write_begin(account);
		account->ns[SLOT_RUN_KERNEL] +=
			without_interrupts(account, now - account->since_ns);
		account->since_ns = now;
		write_end(account);
	}
}

/* The window of a socket, which another socket may have had before. */
static __always_inline struct socket_window *open_socket_window(const struct talk *talk,
								__u64 inode)
{
	struct socket_window *socket = socket_window_at(talk->place);

	if (!socket || socket->inode == inode)
		return socket;
	if (socket->phase == PHASE_ENDING)
		return NULL;
	if (socket->phase == PHASE_ANSWERED)
		window_ends(socket, PHASE_ANSWERED, 0);
	else if (socket->phase != PHASE_NONE)
		count_window(WINDOWS_SOCKETS_LOST, 1);
	socket->phase = PHASE_NONE;
	socket->inode = inode;
	socket->redis = (struct redis) {};
	if (speaks_http2(socket->protocol))
		socket->http2 = (struct http2) {};
	socket->dialled_for = 0;
	socket->class = 0;
	socket->protocol = WINDOW_PROTOCOL_NONE;
	socket->kind = WINDOW_KIND_COUNT;
	socket->flags = socket->misfits = socket->peer_looked = 0;
	socket->peer_inode = 0;
	socket->window.serial = 0;
	return socket;
}

static __always_inline bool asks_here(const struct exchange *of, bool is_sent)
{
	if (of->talk->side == SIDE_ASKS)
		return true;
	if (of->talk->side == SIDE_SERVES)
		return false;
	if (of->socket->kind != WINDOW_KIND_COUNT)
		return of->socket->kind == WINDOW_CLIENT;
	/* Whoever sends what looks like a request asks. */
	return is_sent;
}

/* The kernel takes nothing more of an answer. */
static __always_inline void takes_nothing(struct exchange *of, struct task_struct *current)
{
	of->socket->flags |= SOCKET_CHOKED;
	of->worker = worker_of(current, false);
	if (of->worker)
		of->worker->met_choked = 1;
}

/*
 * Whether the connection speaks HTTP/2, which has a program of its own: many windows are open at
 * once.
 */
static __always_inline bool is_http2(const struct exchange *of, bool asks, bool is_sent)
{
	struct socket_window *socket = of->socket;
	struct message *message = of->message;

	if (socket->protocol == WINDOW_PROTOCOL_NONE && asks == is_sent &&
	    is_http2_request(&message->head)) {
		socket->protocol = WINDOW_PROTOCOL_HTTP2;
		socket->kind = asks ? WINDOW_CLIENT : WINDOW_SERVER;
		socket->pid = of->thread->pid;
		http2_begins(&socket->http2, &message->head);
		describe_ends(socket, of->talk->sock, of->place);
	}
	if (!speaks_http2(socket->protocol))
		return false;
	message->now = of->now;
	message->place = of->place;
	message->is_sent = is_sent;
	return true;
}

/* Returns whether frames have passed. */
static __always_inline bool bytes_pass(struct thread *thread, struct here *here,
				       struct task_struct *current, struct pt_regs *regs, __u32 nr,
				       __u32 kind, long ret, __u64 now)
{
	bool is_sent = kind != TALK_RECEIVE, asks;
	struct exchange of = { .task = current, .thread = thread, .here = here, .now = now };
	struct file *file = NULL;
	__u64 inode;
	__s32 fd = (__s32)(kind == TALK_SPLICE ? regs->ARCH_ARG3 : regs->ARCH_ARG1);

	inode = socket_at(current, fd, &file);
	if (!inode && !is_sent)
		hears_nothing(worker_of(current, false));
	of.talk = inode ? talk_at(inode, file) : NULL;
	if (!of.talk || of.talk->side == SIDE_NONE || of.talk->flags & TALK_IS_DATAGRAM)
		return false;
	of.socket = open_socket_window(of.talk, inode);
	if (!of.socket)
		return false;
	of.place = of.talk->place;
	if (ret <= 0) {
		if (is_sent && ret == -EAGAIN)
			takes_nothing(&of, current);
		if (!is_sent && !ret) {
			of.worker = worker_of(current, false);
			answer_is_complete(&of);
		}
		return false;
	}
	if (!of.talk->is_met) {
		of.talk->is_met = 1;
		look_for_early(of.talk);
	}
	of.message = look_at_message(regs, nr, ret);
	if (!of.message)
		return false;
	of.message->begin_ns = here ? here->call_ns : thread->call_ns;
	asks = of.message->asks = asks_here(&of, is_sent);
	if (is_http2(&of, asks, is_sent))
		return true;
	if (asks) {
		of.worker = worker_of(current, false);
		if (is_sent)
			request_goes(&of);
		else
			answer_comes(&of);
		return false;
	}
	of.worker = worker_of(current, true);
	if (!of.worker) {
		count_window(WINDOWS_LOST, 1);
		return false;
	}
	if (is_sent) {
		of.message->is_short = is_short_send(of.talk, regs, nr, ret);
		answer_goes(&of);
		return false;
	}
	/* It blocked in this call. */
	if (thread->on_ns > of.message->begin_ns) {
		of.worker->poll_begin_ns = of.message->begin_ns;
		of.worker->woken_ns = thread->woken_ns;
		of.worker->on_ns = thread->on_ns;
		of.worker->poll_end_ns = now;
	}
	request_comes(&of);
	return false;
}

static __always_inline void poll_ended(struct thread *thread, const struct here *here,
				       struct task_struct *current, __u64 now)
{
	struct window_worker *worker = worker_of(current, false);

	if (!worker)
		return;
	worker->poll_begin_ns = here ? here->call_ns : thread->call_ns;
	worker->poll_end_ns = now;
	worker->woken_ns = thread->woken_ns;
	worker->on_ns = thread->on_ns;
	worker->hears = 0;
	/* It may go on with an answer: from here on, see goes_on_since_poll(). */
	if (worker->met_choked && !worker->serial && !worker->has_answered) {
		set_base(worker, thread, here, now);
		note_last_wait(worker, thread);
	}
}

/* The thread connects for the window that it works for. */
static __always_inline void dials_for(struct task_struct *current, struct pt_regs *regs)
{
	struct window_worker *worker = worker_of(current, false);
	struct socket_window *socket;
	struct file *file = NULL;
	struct talk *talk;
	__u64 inode;

	if (!worker || !worker->serial)
		return;
	inode = socket_at(current, (__s32)regs->ARCH_ARG1, &file);
	talk = inode ? find_talk(inode) : NULL;
	socket = talk ? open_socket_window(talk, inode) : NULL;
	if (!socket)
		return;
	socket->dialled_for = worker->serial;
	socket->parent_inode = worker->inode;
	socket->parent_place = worker->place;
}

static __always_inline void note_blocked(struct thread *thread, struct task_struct *current)
{
	struct window_worker *worker = worker_of(current, false);
	struct socket_window *socket;

	if (!worker ||
	    (worker->wait_number == thread->cell_number && worker->wait_ns == thread->cell_sum.ns))
		return;
	socket = window_of(worker);
	if (socket && socket->phase == PHASE_ASKED)
		note_window_wait(worker, socket, thread);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(windows_on_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	struct here *here = claimed_by(current);
	__u32 nr = (__u32)syscall_of(regs) & (LEDGER_SYSCALLS - 1), kind;
	__u64 now;

	if (!with_requests || !thread || thread->flags & (THREAD_OUTSIDE | THREAD_EXITING))
		return 0;
	now = time_of_event(thread, here);
	if (!base_ns || now < base_ns || is_over(now))
		return 0;
	kind = talk_of[nr];
	note_blocked(thread, current);
	if (kind >= TALK_POLL && kind <= TALK_EPOLL)
		poll_ended(thread, here, current, now);
	else if (kind == TALK_CONNECT && (!ret || ret == -EINPROGRESS))
		dials_for(current, regs);
	else if (kind >= TALK_SEND && kind <= TALK_RECEIVE &&
		 bytes_pass(thread, here, current, regs, nr, kind, ret, now))
		bpf_tail_call(ctx, &windows_exit, 1);
	not_its_own(thread, here);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(windows_on_frames, struct pt_regs *regs, long ret)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);

	if (!thread)
		return 0;
	frames_pass();
	not_its_own(thread, claimed_by(current));
	return 0;
}

/* --- the begins of calls -----------------------------------------------------------------------
 */

/* The thread waits for whatever comes next. */
static __always_inline void polls(struct thread *thread, const struct here *here,
				  struct task_struct *current, __u64 now)
{
	struct window_worker *worker = worker_of(current, false);
	struct socket_window *socket;

	if (!worker || !worker->serial)
		return;
	socket = window_of(worker);
	if (!socket || worker->serves_many || socket->phase == PHASE_ANSWERED)
		segment_ends(worker, thread, here, now);
	else
		segment_goes_on(worker, socket, thread, here, now);
}

static __always_inline void closes(struct thread *thread, const struct here *here,
				   struct task_struct *current, struct pt_regs *regs, __u64 now)
{
	struct window_worker *worker = worker_of(current, false);
	struct socket_window *socket;
	struct file *file = NULL;
	struct talk *talk;
	__u64 inode, sock;

	inode = socket_at(current, (__s32)regs->ARCH_ARG1, &file);
	talk = inode ? find_talk(inode) : NULL;
	socket = talk ? socket_window_at(talk->place) : NULL;
	if (!socket || socket->inode != inode)
		return;
	/* Another process may have the same socket. */
	if ((socket->phase != PHASE_NONE || speaks_http2(socket->protocol)) &&
	    socket->pid != thread->pid)
		return;
	sock = talk->sock;
	if (worker && worker->open_inode == inode)
		worker->open_inode = 0;
	if (worker && worker->serial && worker->inode == inode)
		segment_ends(worker, thread, here, now);
	if (speaks_http2(socket->protocol))
		streams_are_closed(socket, now, sock);
	if (socket->phase == PHASE_ASKED) {
		gap_ends(socket, now,
			 socket->kind == WINDOW_CLIENT ? WINDOW_PART_DOWNSTREAM
						       : WINDOW_PART_ELSEWHERE,
			 0);
		socket->window.end_ns = socket->cursor_ns;
		socket->status = WINDOW_STATUS_ABANDONED;
		window_ends(socket, PHASE_ASKED, sock);
	} else {
		window_ends(socket, PHASE_ANSWERED, sock);
	}
	socket->inode = 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(windows_on_enter, struct pt_regs *regs, long id)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);
	struct here *here = claimed_by(current);
	__u64 now;

	if (!with_requests || !thread || thread->flags & (THREAD_OUTSIDE | THREAD_EXITING))
		return 0;
	now = time_of_event(thread, here);
	if (!base_ns || now < base_ns || is_over(now))
		return 0;
	if (talk_of[id & (LEDGER_SYSCALLS - 1)] == TALK_CLOSE)
		closes(thread, here, current, regs, now);
	else
		polls(thread, here, current, now);
	return 0;
}

/* --- answers that nothing has followed ---------------------------------------------------------
 */

static long sweep_one(__u32 place, void *context)
{
	struct socket_window *socket = socket_window_at(place);
	struct talk *talk = bpf_map_lookup_elem(&talks, &place);

	if (!socket || !talk)
		return 1;
	if (socket->phase == PHASE_ANSWERED && socket->window.end_ns < windows_sweep_before)
		window_ends(socket, PHASE_ANSWERED, talk->inode == socket->inode ? talk->sock : 0);
	else if (socket->phase == PHASE_ASKED && windows_sweep_before == ~0ULL)
		count_window(WINDOWS_OPEN, 1);
	return 0;
}

static long count_open_stream(__u32 i, void *context)
{
	struct socket_window *stream = socket_window_at(STREAMS_FIRST + i);

	if (!stream)
		return 1;
	if (is_open_window(stream))
		count_window(WINDOWS_OPEN, 1);
	return 0;
}

SEC("syscall")
int windows_sweep(void *context)
{
	bpf_loop(1 << TALK_BITS, sweep_one, NULL, 0);
	/* The last one. The ends of streams are known. */
	if (windows_sweep_before == ~0ULL)
		bpf_loop(1 << STREAM_BITS, count_open_stream, NULL, 0);
	return 0;
}
