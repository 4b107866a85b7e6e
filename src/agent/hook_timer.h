/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times the hooks for 20 ms in every interval, at a random moment. The kernel's timing of BPF
 * programs needs CAP_SYS_ADMIN, so the supervisor does it; the worker reads the result from memory
 * that both share. Hooks that are attached, detached or enabled later are in the next result.
 *
 * The supervisor never reads what is shared.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/timing.h"

struct hook_timer;

/* Whether the kernel's timing can be used. */
bool hook_timer__is_permitted(void);

/* Before the first fork. The object must outlive the timer. */
int hook_timer__new(const struct bpf_object *object, struct hook_timer **ret);
void hook_timer__free(struct hook_timer *timer);

/*
 * In the supervisor, whenever it is due: begins or ends timing. Returns the milliseconds until it
 * is due again.
 */
int hook_timer__tend(struct hook_timer *timer, uint64_t interval_ns);
/* Ends timing, of which nothing counts: nobody tends the timer from now on. */
void hook_timer__pause(struct hook_timer *timer);

/*
 * In the worker: what was timed so far, of which each time counts half of the next one. work: all
 * context switches of the machine, and all calls, meanwhile. Returns how often hooks were timed; 0:
 * never, and *ret is unchanged.
 */
uint64_t hook_timer__read(const struct hook_timer *timer, struct timing_look *ret);
/* The programs that run in each call. */
size_t hook_timer__call_programs(const struct hook_timer *timer);

/* Context switches of the machine since it was started, by the kernel's own count; 0: unknown. */
uint64_t hook_timer__switches(void);
