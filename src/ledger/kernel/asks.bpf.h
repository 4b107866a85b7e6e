/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests of each process that may be unanswered, and whether a call that waits for several
 * descriptors waits for the answer to one of them. Answers are noted in the sockets (talk.bpf.h);
 * here an answered request is forgotten when it is next looked at.
 */
#pragma once

#include "bpf/syscall.bpf.h"
#include "ledger/kernel/talk.bpf.h"
#include "ledger/kernel/tickets.bpf.h"

#define MOST_ASKS    32 /* a power of two */
#define ASK_PLACES   4
#define POLL_CHUNK   8
#define POLL_MOST    128  /* descriptors of a poll() that are looked at */
#define EPOLL_MOST   4    /* epoll instances that a socket is registered in */
#define POLL_FOR_IN  0x41 /* POLLIN | POLLRDNORM; the same bits for epoll */
#define POLL_FOR_OUT 0x104

const volatile __u8 talk_of[LEDGER_SYSCALLS]; /* enum ledger_talk */

struct asks {
	struct ask list[MOST_ASKS];
};

__u64 no_asks[sizeof(struct asks) / 8]; /* the value of a new entry, too large for the stack */

/* By process. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2048);
	__type(key, __u32);
	__type(value, struct asks);
} asks_of SEC(".maps");

/* A bit for each process that has a list, so that servers, which have none, need no look-up. */
#define ASKER_WORDS 64
__u64 askers[ASKER_WORDS];

static __always_inline __u64 *askers_of(__u32 pid)
{
	return &askers[pid / 64 & (ASKER_WORDS - 1)];
}

static __always_inline struct asks *find_asks(__u32 pid)
{
	return *askers_of(pid) >> (pid & 63) & 1 ? bpf_map_lookup_elem(&asks_of, &pid) : NULL;
}

/* Finds the list of a process, or begins it. NULL: no room. */
static __always_inline struct asks *make_asks(__u32 pid)
{
	struct asks *list = find_asks(pid);

	if (list)
		return list;
	bpf_map_update_elem(&asks_of, &pid, no_asks, BPF_NOEXIST);
	__sync_fetch_and_or(askers_of(pid), 1ULL << (pid & 63));
	return bpf_map_lookup_elem(&asks_of, &pid);
}

/* False if it was answered, or if the socket is gone. */
static __always_inline bool is_open(const struct ask *ask)
{
	struct talk *talk = find_talk(ask->inode);
	__u64 inode;
	__u32 mode;

	look_at_inode((struct file *)ask->file, &inode, &mode);
	return talk && talk->last == LAST_OURS && inode == ask->inode;
}

/* A place for a new request, one of ASK_PLACES; NULL if the socket has one. */
static __always_inline struct ask *place_for(struct asks *list, __u64 inode)
{
	__u32 first = inode * 0x9e3779b97f4a7c15ULL >> 32;

	for (__u32 i = 0; i < ASK_PLACES; i++) {
		struct ask *ask = &list->list[(first + i) & (MOST_ASKS - 1)];

		if (ask->inode == inode)
			return NULL;
		if (!ask->inode || !is_open(ask))
			return ask;
	}
	/* The latest request of each thread is not lost: it is in thread->asked too. */
	count_quality(QUALITY_TURNS_UNKNOWN);
	return &list->list[first & (MOST_ASKS - 1)];
}

/* Adds thread->asked to the list of its process. */
VERIFIED_ONCE int list_ask(struct thread *thread)
{
	struct asks *list;
	struct ask *ask;

	if (!thread)
		return 0;
	list = make_asks(thread->pid);
	if (!list) {
		count_quality(QUALITY_TURNS_UNKNOWN);
		return 0;
	}
	ask = place_for(list, thread->asked.inode);
	if (!ask)
		return 0;
	ask->inode = 0;
	ask->file = thread->asked.file;
	ask->fd = thread->asked.fd;
	ask->inode = thread->asked.inode;
	return 0;
}

/* The process has sent a request, or begun to connect. */
static __always_inline void note_ask(struct thread *thread, __u64 inode, __u64 file, __s32 fd)
{
	thread->asked = (struct ask) { .inode = inode, .file = file, .fd = fd };
	list_ask(thread);
}

struct polled {
	__u64 address;
	__u64 count;
	__u64 file;
	__u32 events;
	__u32 is_found;
};

static long look_at_chunk(__u32 i, struct polled *polled)
{
	struct {
		__s32 fd;
		__u16 events, revents;
	} chunk[POLL_CHUNK] = {};
	struct task_struct *current = bpf_get_current_task_btf();
	__u64 done = (__u64)i * POLL_CHUNK, left = polled->count - done;
	__u32 size = left < POLL_CHUNK ? left * sizeof(*chunk) : sizeof(chunk);

	if (done >= polled->count || size > sizeof(chunk) ||
	    bpf_probe_read_user(chunk, size, (void *)(polled->address + done * sizeof(*chunk))))
		return 1;
	for (int j = 0; j < POLL_CHUNK; j++) {
		if (!(chunk[j].events & polled->events) ||
		    (__u64)file_of(current, chunk[j].fd) != polled->file)
			continue;
		polled->is_found = 1;
		return 1;
	}
	return 0;
}

VERIFIED_ONCE bool is_polled(__u64 address, __u64 count, __u64 file, __u32 events)
{
	struct polled polled = {
		.address = address, .count = count, .file = file, .events = events
	};

	bpf_loop(POLL_MOST / POLL_CHUNK, look_at_chunk, &polled, 0);
	return polled.is_found;
}

/* `set`: the address of the fd_set for these events. */
static __always_inline bool is_selected(__u64 set, __u64 count, __s32 fd)
{
	__u64 word = 0;

	if (fd < 0 || (__u64)fd >= count || !set)
		return false;
	bpf_probe_read_user(&word, sizeof(word), (void *)(set + fd / 64 * 8));
	return word >> (fd & 63) & 1;
}

/* Whether a file is registered in an epoll instance for one of these events. */
VERIFIED_ONCE bool is_in_epoll(__u64 file, __u64 epoll, __u32 events)
{
	struct hlist_head *head = BPF_CORE_READ((struct file *)file, f_ep);
	struct hlist_node *node = head ? BPF_CORE_READ(head, first) : NULL;

	for (int i = 0; i < EPOLL_MOST && node; i++) {
		struct epitem *item = (void *)node - bpf_core_field_offset(struct epitem, fllink);

		if ((__u64)BPF_CORE_READ(item, ep) == epoll)
			return BPF_CORE_READ(item, event.events) & events;
		node = BPF_CORE_READ(node, next);
	}
	return false;
}

/* Whether the call that the current thread is in waits for these events of the socket. */
static __always_inline bool is_awaited(const struct ask *ask, struct task_struct *current,
				       __u32 talk, __u32 events)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct file *epoll;

	switch (talk) {
	case TALK_POLL:
		return is_polled(regs->ARCH_ARG1, regs->ARCH_ARG2, ask->file, events);
	case TALK_SELECT:
		return is_selected(events == POLL_FOR_IN ? regs->ARCH_ARG2 : regs->ARCH_ARG3,
				   regs->ARCH_ARG1, ask->fd);
	case TALK_EPOLL:
		epoll = file_of(current, (__s32)regs->ARCH_ARG1);
		return epoll &&
		       is_in_epoll(ask->file, (__u64)BPF_CORE_READ(epoll, private_data), events);
	}
	return false;
}

/*
 * Whether the process is known not to expect answers here. A socket that nobody has ever answered
 * is one only if a thread sends on it and then waits for it. If a wait covers other descriptors
 * too, waiting for this one may be incidental: then a datagram socket needs an answer before, and
 * a stream on which waits for answers were mostly in vain, or the only one was, is out.
 */
static __always_inline bool is_one_way(const struct thread *thread, const struct talk *talk,
				       bool is_sole)
{
	if (!(talk->flags & TALK_HEARD) && talk->asked_by != thread->id)
		return true;
	if (is_sole)
		return false;
	if (talk->flags & TALK_IS_DATAGRAM && !(talk->flags & TALK_HEARD))
		return true;
	return talk->in_vain > (talk->flags & TALK_HEARD ? 2 * talk->turns + 1 : 0);
}

/* The kernel's own test (tcp_nagle_check): a small segment waits for the ACK of another one. */
VERIFIED_ONCE bool is_held_by_nagle(__u64 sock)
{
	struct tcp_sock *tcp = (void *)sock;
	__u32 written = BPF_CORE_READ(tcp, write_seq), next = BPF_CORE_READ(tcp, snd_nxt);
	__u32 small, unacked, out;

	if (written == next || written - next >= BPF_CORE_READ(tcp, mss_cache) ||
	    BPF_CORE_READ_BITFIELD_PROBED(tcp, nonagle))
		return false;
	out = BPF_CORE_READ(tcp, packets_out);
	if (!out || out >= BPF_CORE_READ(tcp, snd_cwnd))
		return false;
	unacked = BPF_CORE_READ(tcp, snd_una);
	small = BPF_CORE_READ(tcp, snd_sml);
	return written - unacked <= BPF_CORE_READ(tcp, snd_wnd) && (__s32)(small - unacked) > 0 &&
	       (__s32)(small - next) <= 0;
}

/* Data came after the last that we sent: a thread without an account, or io_uring, has read it. */
static __always_inline bool was_answered_unseen(const struct talk *talk)
{
	struct tcp_sock *tcp = (void *)talk->sock;
	struct inet_connection_sock *connection = (void *)talk->sock;

	return (__s32)(BPF_CORE_READ(connection, icsk_ack.lrcvtime) -
		       BPF_CORE_READ(tcp, lsndtime)) > 0;
}

static __always_inline __u8 turn_asked(struct thread *thread, const struct talk *talk)
{
	if (!(talk->flags & TALK_IS_TCP))
		return TURN_ASKED;
	if (talk->tickets != TICKETS && was_answered_unseen(talk))
		return TURN_ANSWERED;
	if (!is_held_by_nagle(talk->sock))
		return TURN_ASKED;
	thread->turn_watch = WATCH_UNSENT;
	thread->turn_at = talk->sock;
	return TURN_UNSENT;
}

/* Socket and address together: each address that an unconnected socket sends to is an object. */
static __always_inline __u64 hash_of_peer(const struct talk *talk)
{
	const __u64 *address = (const __u64 *)talk->peer;

	if (!talk->peer_port)
		return 0;
	return ((address[0] ^ address[1]) * 0x9e3779b97f4a7c15ULL ^ talk->peer_port) | 1;
}
