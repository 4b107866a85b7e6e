/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hit of a probe costs, without what the BPF program itself measures. It depends on what
 * else the machine does, so it is measured again and again, at a probe on a function of our own.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

/* False: it cannot be measured. */
bool heap_cost__open(const struct bpf_object *object);
void heap_cost__close(void);

/* CPU time in nanoseconds. Takes less than a millisecond. 0: not measured. */
uint64_t heap_cost__measure(void);
