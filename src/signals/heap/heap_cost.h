/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel half has counted, and what hits of probes cost. The BPF program measures its own
 * time. The rest of a hit depends on what else the machine does, so it is measured again and again,
 * at a probe on a function of our own. For use by one thread at a time.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

#include "signals/heap/heap.h"

/* 0 or -errno. If the cost of a hit cannot be measured, a usual value is taken. */
int heap_cost__open(const struct bpf_object *object);
void heap_cost__close(void);

/* Measures a hit, which takes less than a millisecond, and returns its CPU time. */
uint64_t heap_cost__measure(void);

struct heap_totals heap_cost__totals(void);
/* CPU time of the hits between two readings. */
uint64_t heap_cost__between(const struct heap_totals *from, const struct heap_totals *to);
