/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deep: what its variants share. A variant is a thread of its name that goes 200 calls deep,
 *
 *	run_variant → step_a → step_b → step_c → step_a → … → through_NAME → … → bottom_…
 *
 * and there spends known times: on the CPU in a bottom_… that may be its own, then in short sleeps
 * in bottom_nap. Tests expect exactly these names in this order in each sample.
 */
#pragma once

#include "workload.h"

#define DEEP_STEPS 200
#define NOINLINE   __attribute__((noinline))
/* Behind a call: it keeps the call from being the last thing, and so from being a jump. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")
/* Makes the frame as large as its locals say. */
#define OCCUPY(room) __asm__ volatile("" ::"r"(room) : "memory")

/* Registers that a function gives back as it found them. */
#ifdef __aarch64__
#define THREE_SAVED "x19", "x20", "x21"
#define SIX_SAVED   THREE_SAVED, "x22", "x23", "x24"
#else
#define THREE_SAVED "rbx", "r12", "r13"
#define SIX_SAVED   "rbx", "rbp", "r12", "r13", "r14", "r15"
#endif

extern uint64_t deep_ns; /* how long a variant burns CPU, and then how long it sleeps */

void bottom_burn(uint64_t ns);
void bottom_nap(uint64_t ns);

/* What a variant does behind its 200 steps. */
void through_plain(void);
void through_alloca(void);
void through_leaf(void);
void through_hot(void);
void through_realign(void);
void through_argument_pointer(void);
void through_big(void);
void through_limit(void);
void through_beyond(void);
void through_vdso(void);
void through_library(void);
void through_reopened(void);
void through_plt(void);
void through_signal(void);
void through_alternate_below(void);
void through_alternate_above(void);
void through_async(void);
void through_sigreturn(void);
void through_bare(void);

/* Made before the thread is, so that it lies above the thread's stack. */
extern void *alternate_above;
void make_alternate_above(void);
