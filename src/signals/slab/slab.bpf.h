/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Part slab: memory that the kernel allocates for itself, by the code that asks for it.
 *
 * A busy machine allocates a million times a second, so allocations are drawn: one of n bytes with
 * probability n/period, and it counts for `period` bytes. Larger ones than the period are all
 * taken. The sums are unbiased whatever the period is, so it can change at any time: it doubles
 * when too many are taken and halves when there are few. A thread that allocates little has exact
 * sums. Rejected: one in N, which finds few of the large allocations.
 *
 * Nothing tells which memory is still in use: kfree() has no call site of the allocation, and a map
 * of all pointers would cost more than the allocations.
 */
#pragma once

#include "bpf/drawn.bpf.h"
#include "bpf/identity.bpf.h"
#include "signals/slab/slab.h"

#define SLAB_A_SECOND 8192 /* about so many are taken, each for some 0.3 µs */

/* Bytes, and how many were drawn. */
SERIES_MAPS(slab, 2, 0x3, 8192);

/* The period is 2^shift bytes. */
struct draw slab_draw;

/* How many allocations of `bytes` one stands for that counts for `weight` bytes, on average. */
static __always_inline __u64 slab_count(__u64 bytes, __u64 weight)
{
	return weight / bytes + (bpf_get_prandom_u32() % bytes < weight % bytes);
}

VERIFIED_ONCE int slab_add(__u64 site, __u64 bytes, __u64 weight, __u32 operation)
{
	const struct series_maps maps = SERIES(slab);
	struct series_key key = {};
	struct series_sum *sum;
	struct identity who;

	if (!is_on(SIGNAL_slab) || !bytes || !is_wanted_now(SIGNAL_slab, &who))
		return 0;
	draw_taken(&slab_draw, SLAB_A_SECOND);
	key.thread = who.id;
	key.object[0] = site;
	key.operation = operation;
	series_reduce(&key);
	sum = series_sum_of(maps, series_turn(maps), &key);
	if (!sum)
		sum = &maps.control->overflow;
	/* Atomic: an interrupt may allocate meanwhile. */
	__sync_fetch_and_add(&sum->count, slab_count(bytes, weight));
	__sync_fetch_and_add(&sum->sum[0], weight);
	__sync_fetch_and_add(&sum->sum[1], 1);
	if (bytes > sum->max[0])
		sum->max[0] = bytes;
	return 0;
}

static __always_inline int slab_allocates(__u64 site, __u64 bytes, __u32 operation)
{
	__u64 period = 1ULL << (slab_draw.shift & 31);

	if (!is_on(SIGNAL_slab) || !series[SIGNAL_slab].enabled)
		return 0;
	if (bytes < period && bpf_get_prandom_u32() * period >> 32 >= bytes)
		return 0;
	return slab_add(site, bytes, bytes < period ? period : bytes, operation);
}

/*
 * Up to 6.1, the verifier refuses to read `memory`, which is a void pointer. So an allocation that
 * fails is not told from others.
 */
SEC("tp_btf/kmalloc")
int BPF_PROG(slab_on_kmalloc, unsigned long site, const void *memory, unsigned long asked,
	     unsigned long bytes)
{
	return slab_allocates(site, bytes, SLAB_KMALLOC);
}

SEC("tp_btf/kmem_cache_alloc")
int BPF_PROG(slab_on_cache, unsigned long site, const void *memory, struct kmem_cache *cache)
{
	return slab_allocates(site, cache->object_size, SLAB_CACHE);
}
