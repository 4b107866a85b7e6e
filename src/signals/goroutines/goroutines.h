/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every change of state of goroutines. goroutines.bpf.h adds up how long each was in each state;
 * user space says which processes have goroutines, and knows what they do at first and at last.
 */
#pragma once

#include "bpf/wire.h"
#include "vocabulary/runtimes.h"

/* The first number of the objects of sums; the second one is the address of the first function. */
#define GOROUTINES_ID_BITS            42
#define GOROUTINES_OBJECT(pid, id)    ((__u64)(pid) << GOROUTINES_ID_BITS | (id))
#define GOROUTINES_OBJECT_PID(object) ((__u32)((object) >> GOROUTINES_ID_BITS))
#define GOROUTINES_OBJECT_ID(object)  ((object) & ((1ULL << GOROUTINES_ID_BITS) - 1))

/* A process whose goroutines are followed. */
struct goroutines_process {
	__u64 since_ns;                   /* all changes are seen from then on */
	__u64 ended_ns;                   /* until then; 0: it goes on */
	__u64 thread;                     /* the ledger's id of its main thread; 0: not known */
	__u16 id_at, reason_at, start_at; /* in a g */
	__u8 pad[2];
	__u8 operations[FIBER_REASONS]; /* of the series, by the number of the reason */
};
_Static_assert(sizeof(struct goroutines_process) == 32 + FIBER_REASONS, "wire format");

struct goroutines_key {
	__u64 g; /* its address */
	__u32 pid;
	__u32 pad;
};
_Static_assert(sizeof(struct goroutines_key) == 16, "wire format");

/* What a g is used for now. Go never frees one, but uses it for one goroutine after the other. */
struct goroutine {
	__u64 since_ns; /* when the state began */
	__u64 id;       /* 0: not known yet */
	__u64 start;    /* address of its first function */
	__u32 state;    /* enum fiber_state; FIBER_STATES: there is no goroutine */
	__u16 operation;
	__u8 began_before; /* since_ns is only when we came to know it */
	__u8 pad;
};
_Static_assert(sizeof(struct goroutine) == 32, "wire format");
