/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which windows are kept whole, and how they and what is counted of windows reach user space. */
#pragma once

#include "ledger/windows/request_header.bpf.h"
#include "ledger/windows/windows.h"

const volatile bool without_text; /* no text of requests leaves the kernel */

/* A band: which windows it has, and how many were offered to its places in this period. */
struct window_band_info {
	__u32 class, bucket;
	__u32 period, offered;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WINDOW_BANDS);
	__type(key, __u32);
	__type(value, struct window_band_info);
} windows_band_infos SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 * 1024 * 1024);
} windows_ring SEC(".maps");

__u64 windows_counts[WINDOW_COUNTS];
/* User space increments the period about once a second, and sets the others then. */
__u32 windows_period;
__u64 windows_slow_ns[WINDOW_CLASSES];
__u32 windows_slow_sent[WINDOW_CLASSES];

#define WINDOWS_SLOW_SENT 32 /* of a class in a period */

static __always_inline void count_window(enum window_count what, __u64 n)
{
	__sync_fetch_and_add(&windows_counts[what], n);
}

static __always_inline struct window_band_info *band_info(__u32 band)
{
	return bpf_map_lookup_elem(&windows_band_infos, &band);
}

/*
 * Whether the window is one of those that are kept. Each window of a band has the same chance
 * (algorithm R): the first WINDOW_KEPT take a place each, the k-th one of them with the chance
 * WINDOW_KEPT / k. User space replaces what was in the place.
 */
struct choice {
	__u32 flags; /* enum window_record_flags; 0: it is not kept */
	__u32 bucket, place, period;
};

static __always_inline void choose(__u32 band, struct choice *choice)
{
	struct window_band_info *info = band_info(band);
	__u32 period = windows_period, was, k, place;

	if (!info)
		return;
	was = info->period;
	if (was != period && __sync_val_compare_and_swap(&info->period, was, period) == was)
		info->offered = 0;
	k = __sync_fetch_and_add(&info->offered, 1);
	place = k < WINDOW_KEPT ? k : bpf_get_prandom_u32() % (k + 1);
	if (place >= WINDOW_KEPT)
		return;
	choice->place = place;
	choice->period = period;
	choice->flags = WINDOW_IS_CHOSEN;
}

static __always_inline bool is_slow_window(__u32 class, __u64 ns)
{
	class &= WINDOW_CLASSES - 1;
	return ns >= windows_slow_ns[class] && windows_slow_sent[class] < WINDOWS_SLOW_SENT &&
	       __sync_fetch_and_add(&windows_slow_sent[class], 1) < WINDOWS_SLOW_SENT;
}

static __always_inline void fill_kept(struct window_record *record, const struct window *window,
				      const struct window_ends *ends, __u32 class,
				      const struct choice *choice, __u16 size)
{
	__builtin_memset(record, 0, __builtin_offsetof(struct window_record, window));
	wire_head_at(&record->head, size, WINDOW_KEPT_ONE, 1, window->end_ns);
	record->class = class;
	record->flags = choice->flags;
	record->bucket = choice->bucket;
	record->place = choice->place;
	record->period = choice->period;
	if (ends)
		record->ends = *ends;
	bpf_probe_read_kernel(&record->window, sizeof(record->window), window);
	if (without_text)
		__builtin_memset(record->window.text, 0, WINDOW_TEXT_BYTES);
}

/* False: there is no room. */
static __always_inline bool send_with_header(const struct window *window,
					     const struct window_ends *ends, __u32 class,
					     const struct choice *choice,
					     const struct request_header *header)
{
	struct window_headed_record *record =
		bpf_ringbuf_reserve(&windows_ring, sizeof(*record), 0);

	if (!record)
		return false;
	fill_kept(&record->record, window, ends, class, choice, sizeof(*record));
	bpf_probe_read_kernel(record->header, sizeof(record->header), header->bytes);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return true;
}

static __noinline int send_window(const struct window *window, const struct window_ends *ends,
				  __u32 class, const struct choice *choice)
{
	const struct request_header *header = header_of(window);
	struct window_record *record;

	if (header && send_with_header(window, ends, class, choice, header))
		return 0;
	record = bpf_ringbuf_reserve(&windows_ring, sizeof(*record), 0);
	if (!record) {
		count_window(WINDOWS_UNSENT, 1);
		return 0;
	}
	fill_kept(record, window, ends, class, choice, sizeof(*record));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

static __noinline int send_marked(const struct window *window, __u32 class)
{
	struct window_marked_record *record =
		bpf_ringbuf_reserve(&windows_ring, sizeof(*record), 0);

	if (!record) {
		count_window(WINDOWS_UNSENT, 1);
		return 0;
	}
	wire_head_at(&record->head, sizeof(*record), WINDOW_MARKED, 1, window->end_ns);
	record->serial = window->serial;
	record->thread = window->thread;
	record->ready_ns = window->ready_ns;
	record->parent = window->parent;
	record->class = class;
	record->pad = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
