/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows of sockets while they are open, and what becomes of them at their end.
 *
 * The parts of a window reach from its begin to `cursor_ns`, without a gap. What a thread does for
 * it, and what a gap between two threads is, is added at the cursor and moves it, so that the parts
 * add up by construction. Which byte of an answer is the last one is often known only later: what
 * comes after a send is kept apart (`after`) until another send shows that it was not the last.
 *
 * A socket has one window at a time, in the place that it has among the talks (talk.bpf.h): an
 * array costs a tenth of a hash map with an insertion for each request. With HTTP/2, which has many
 * at a time, each stream has a place of its own behind those of the sockets. A window has a serial
 * number, because a socket has many windows one after the other, and a late answer must not find
 * the next one.
 */
#pragma once

#include "ledger/kernel/talk.bpf.h"
#include "ledger/windows/fold.h"
#include "ledger/windows/kept.bpf.h"
#include "ledger/windows/windows.h"

const volatile bool with_requests; /* not only calls */

enum window_phase {
	PHASE_NONE,     /* no window */
	PHASE_ASKED,    /* the request has begun */
	PHASE_ANSWERED, /* the answer has begun */
	PHASE_ENDING,   /* somebody counts it */
};

enum socket_window_flags {
	SOCKET_SPOKE = 1,    /* the last bytes were ours */
	SOCKET_STREAMS = 2,  /* no turns any more: a WebSocket, a tunnel */
	SOCKET_FINISHED = 4, /* TLS: the next record of data is still the handshake */
	SOCKET_CHOKED = 8,   /* the last send did not take all bytes */
	SOCKET_AHEAD = 32,   /* another request was read before the window was answered */
	SOCKET_SHARED = 16,  /* a client's: requests of several windows were on their way at once */
};

/* Places of streams of HTTP/2 are behind those of sockets. */
#define STREAMS_FIRST (1 << TALK_BITS)
#define STREAM_BITS   11

/* The protocol of a socket, and its window. */
struct socket_window {
	__u64 inode; /* of the socket */
	__u64 cursor_ns;
	__u64 text_hash;
	__u64 parent_inode; /* of a client's: the socket of window.parent */
	__u64 last_worker;  /* id of the thread that worked for the window last */
	__u64 dialled_for;  /* the window for which it was connected; 0: none */
	__u64 sent_ns;      /* of a client's: a request was sent last */
	__u64 heard_ns;     /* of a client's that is shared: an answer was read last */
	__u64 heard_ready_ns;
	__u64 class_text; /* text_hash of the window before */
	__u32 parent_place;
	__u32 phase; /* enum window_phase */
	__u32 pid;   /* the kernel's tgid of who has the window */
	__u8 protocol;
	__u8 kind; /* WINDOW_SERVER or WINDOW_CLIENT; WINDOW_KIND_COUNT: not known yet */
	__u8 flags;
	__u8 misfits; /* turns that are of no known protocol */
	__u8 status;
	__u8 has_after;
	__u8 marked;       /* a sample belongs to the window */
	__u8 class_status; /* of the window before */
	__u8 peer_looked;  /* times that its peer was looked for */
	__u8 pad[3];
	__u32 class;      /* of the window before, see class_status; 0: none */
	__u32 peer_place; /* of the other end on this machine */
	__u64 peer_inode; /* likewise; 0: not known */
	__u32 stream;     /* HTTP/2: which one of its connection has the window; see http2.bpf.h */
	__u32 connection; /* of a stream: the place of its connection */
	union {
		struct redis redis;
		struct mysql mysql;
	};
	struct window_ends ends;
	struct window window;
	union {
		__u64 after[WINDOW_COLUMNS];
		struct http2 http2; /* of a connection, which has no window itself */
	};
};
_Static_assert(sizeof(struct mysql) <= sizeof(struct redis), "one reset is enough for both");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STREAMS_FIRST + (1 << STREAM_BITS));
	__type(key, __u32);
	__type(value, struct socket_window);
} windows_sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WINDOW_CLASSES * 2);
	__type(key, struct window_class_key);
	__type(value, __u32);
} windows_classes SEC(".maps");

#define WINDOW_BAND_KEYS (WINDOW_CLASSES * HISTOGRAM_BUCKETS)
__u32 windows_band_of[WINDOW_BAND_KEYS]; /* by class and bucket; 0: none yet */

/* [CPU][band], mapped by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WINDOW_BANDS); /* × CPUs, set at load */
	__type(key, __u32);
	__type(value, struct window_band);
} windows_bands SEC(".maps");

__u64 windows_last_serial;
__u32 windows_last_class; /* numbers begin with 1; 0 is for all that have no room */
__u32 windows_last_band;  /* likewise */
/* --- the cursor ------------------------------------------------------------------------------ */

static __always_inline __u64 *columns_of(struct socket_window *socket)
{
	if (socket->phase != PHASE_ANSWERED)
		return socket->window.ns;
	socket->has_after = 1;
	return socket->after;
}

/*
 * No thread worked for the window until `now`; `what` ended that. If it was something to read, it
 * was readable at `ready_ns`; 0: not known.
 */
static __always_inline void gap_ends(struct socket_window *socket, __u64 now, enum window_part what,
				     __u64 ready_ns)
{
	__u64 since_ns = socket->cursor_ns, *to;

	if (now <= since_ns)
		return;
	to = columns_of(socket);
	if (ready_ns > since_ns && ready_ns < now) {
		to[SLOT_COUNT + what] += ready_ns - since_ns;
		to[WINDOW_COLUMN(NOTICED)] += now - ready_ns;
	} else if (ready_ns && ready_ns <= since_ns) {
		to[WINDOW_COLUMN(NOTICED)] += now - since_ns;
	} else {
		to[SLOT_COUNT + what] += now - since_ns;
	}
	socket->cursor_ns = now;
}

/* The answer goes on after its last known byte: what came in between was part of the window. */
static __always_inline void fold_after(struct socket_window *socket)
{
	if (!socket->has_after)
		return;
	for (int i = 0; i < WINDOW_COLUMNS; i++) {
		socket->window.ns[i] += socket->after[i];
		socket->after[i] = 0;
	}
	socket->has_after = 0;
}

/* --- the end --------------------------------------------------------------------------------- */

/* The band of these windows. 0: there is no room. */
static __noinline __u32 band_of(__u32 class, __u32 bucket)
{
	__u32 key = class * HISTOGRAM_BUCKETS + bucket, band, was;
	struct window_band_info *info;

	barrier_var(key);
	if (key >= WINDOW_BAND_KEYS)
		return 0;
	if (windows_band_of[key])
		return windows_band_of[key];
	if (windows_last_band + 1 >= WINDOW_BANDS)
		return 0;
	band = __sync_fetch_and_add(&windows_last_band, 1) + 1;
	info = band_info(band);
	if (!info)
		return 0;
	info->bucket = bucket;
	info->class = class;
	was = __sync_val_compare_and_swap(&windows_band_of[key], 0, band);
	if (!was)
		return band;
	info->class = 0; /* another CPU was faster */
	return was;
}

static __always_inline void sum_up(const struct window *window, __u32 band)
{
	__u32 index = bpf_get_smp_processor_id() * WINDOW_BANDS + band;
	struct window_band *sums = bpf_map_lookup_elem(&windows_bands, &index);

	if (!sums) {
		count_window(WINDOWS_LOST, window->n);
		return;
	}
	/*
	 * Atomic because a program of a uprobe may lose the CPU. Counted last: user space reads
	 * this meanwhile.
	 */
	for (int i = 0; i < WINDOW_COLUMNS; i++)
		if (window->ns[i])
			__sync_fetch_and_add(&sums->ns[i], window->ns[i]);
	__sync_fetch_and_add(&sums->n, window->n);
	__sync_fetch_and_add(&sums->count, 1);
}

/* The window is complete: counts it. `ends`: NULL for a call. */
VERIFIED_ONCE int count_done(struct window *window, const struct window_ends *ends, __u32 class,
			     __u32 marked)
{
	__u64 ns, remainder = 0;
	struct choice choice = {};
	__u32 band;

	if (!window || !with_windows)
		return 0;
	ns = window->end_ns - window->ready_ns;
	for (int i = 0; i < WINDOW_COLUMNS; i++)
		remainder += window->ns[i];
	remainder = ns - (remainder - 2 * window->ns[WINDOW_COLUMN(OVERLAP)]);
	if (remainder) {
		count_window(WINDOWS_REMAINDER, 1);
		count_window(WINDOWS_REMAINDER_NS, (__s64)remainder < 0 ? -remainder : remainder);
		/* Two CPUs booked at once: its parts may be wrong by any time, its length is not.
		 */
		__builtin_memset(window->ns, 0, sizeof(window->ns));
		window->ns[WINDOW_COLUMN(ELSEWHERE)] = ns;
	}
	choice.bucket = histogram_bucket(ns);
	band = band_of(class, choice.bucket);
	if (!band)
		count_window(WINDOWS_MERGED, window->n);
	sum_up(window, band);
	choose(band, &choice);
	if (is_slow_window(class, ns))
		choice.flags |= WINDOW_IS_SLOW;
	if (choice.flags && marked)
		choice.flags |= WINDOW_IS_MARKED;
	if (choice.flags)
		send_window(window, ends, class, &choice);
	else if (marked)
		send_marked(window, class);
	return 0;
}

/* --- classes --------------------------------------------------------------------------------- */

/* The name of the UNIX socket that serves. */
static __always_inline void describe_path(struct window_class_record *record, __u64 sock)
{
	struct unix_sock *named = (void *)sock;

	if (record->key.kind == WINDOW_CLIENT)
		named = (void *)BPF_CORE_READ(named, peer);
	bpf_probe_read_kernel(record->path, sizeof(record->path) - 1,
			      (void *)BPF_CORE_READ(named, addr) +
				      bpf_core_field_offset(struct unix_address, name) +
				      bpf_core_field_offset(struct sockaddr_un, sun_path));
}

/* Sent once for each class. False: not sent. */
static __noinline bool announce(const struct window_class_key *key, __u32 class,
				const struct window *window, const struct window_ends *ends,
				__u64 sock)
{
	struct window_class_record *record = bpf_ringbuf_reserve(&windows_ring, sizeof(*record), 0);

	if (!record) {
		count_lost(LOST_RING_FULL);
		return false;
	}
	__builtin_memset(record, 0, sizeof(*record));
	wire_head_init(&record->head, sizeof(*record), WINDOW_CLASS, 1);
	record->key = *key;
	record->class = class;
	record->thread = window->thread;
	if (ends)
		record->ends = *ends;
	if (sock && key->family == AF_UNIX)
		describe_path(record, sock);
	if (!without_text)
		bpf_probe_read_kernel(record->text, sizeof(record->text), window->text);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return true;
}

/* The number of a class. If there is no room for its text, that of all texts; else 0. */
VERIFIED_ONCE __u32 class_of_window(struct window_class_key *of, const struct window *window,
				    const struct window_ends *ends, __u64 sock)
{
	struct window_class_key key;
	__u32 *known, class;

	if (!of || !window || !with_windows)
		return 0;
	key = *of;
	known = bpf_map_lookup_elem(&windows_classes, &key);
	if (known)
		return *known;
	/* The last places are for classes without a text. */
	if (key.text && windows_last_class + 1 >= WINDOW_CLASSES / 4 * 3) {
		key.text = 0;
		known = bpf_map_lookup_elem(&windows_classes, &key);
		if (known)
			return *known;
	}
	if (windows_last_class + 1 >= WINDOW_CLASSES) {
		count_window(WINDOWS_MERGED, window->n);
		return 0;
	}
	class = __sync_fetch_and_add(&windows_last_class, 1) + 1;
	if (class >= WINDOW_CLASSES)
		class = 0;
	/* Only one of several CPUs announces it. */
	if (!class || bpf_map_update_elem(&windows_classes, &key, &class, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&windows_classes, &key);
		class = known ? *known : 0;
	} else if (!announce(&key, class, window, ends, sock)) {
		bpf_map_delete_elem(&windows_classes, &key);
		class = 0;
	}
	if (!class)
		count_window(WINDOWS_MERGED, window->n);
	return class;
}

static __always_inline void key_of_socket(struct window_class_key *key,
					  const struct socket_window *socket)
{
	key->text = socket->text_hash;
	key->kind = socket->kind;
	key->protocol = socket->protocol;
	key->status = socket->status;
	key->family = socket->ends.family;
	key->service = socket->ends.service;
	if (key->family != AF_UNIX)
		key->port = socket->kind == WINDOW_CLIENT ? socket->ends.peer_port
							  : socket->ends.local_port;
}

/*
 * The window has ended, and its end is known. Whoever comes first counts it. `sock`: 0 if the
 * socket may be gone.
 */
VERIFIED_ONCE int window_ends(struct socket_window *socket, __u32 phase, __u64 sock)
{
	struct window_class_key key = {};
	__u32 class;

	if (!socket || !with_windows)
		return 0;
	if (__sync_val_compare_and_swap(&socket->phase, phase, PHASE_ENDING) != phase)
		return 0;
	if (socket->has_after)
		for (int i = 0; i < SLOT_READY_END; i++)
			socket->window.after_ns += socket->after[i];
	class = socket->class;
	if (!class || socket->class_text != socket->text_hash ||
	    socket->class_status != socket->status) {
		key_of_socket(&key, socket);
		class = class_of_window(&key, &socket->window, &socket->ends, sock);
		socket->class = class;
		socket->class_text = socket->text_hash;
		socket->class_status = socket->status;
	}
	count_done(&socket->window, &socket->ends, class, socket->marked);
	socket->phase = PHASE_NONE;
	return 0;
}
