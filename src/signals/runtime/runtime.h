/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What language runtimes do on their own: collections, stops of all threads, compilation. Sent by
 * runtime.bpf.h, decoded by runtime.c.
 */
#pragma once

#include <stdbool.h>

#include "bpf/probe_argument.h"
#include "bpf/wire.h"

/* Places are numbered from 1; 0 is none. */
#define RUNTIME_SITES      256 /* RUNTIME_MOST_PROBES */
#define RUNTIME_NAME_BYTES 48

/* The places of the series: kinds of pauses. */
enum pause_place {
	PAUSE_NONE,
	PAUSE_GC,        /* a collection */
	PAUSE_SAFEPOINT, /* all threads of the program are stopped */
	PAUSE_COMPILE,   /* code is generated */
	PAUSE_MARKING,   /* the collector marks objects between or beside its pauses */
	PAUSE_ASSIST,    /* an allocation works for the collector: counted, not timed */
	PAUSE_PLACES,
};

/* The operations of the series: what it was, as far as it is known. */
enum pause_cause {
	PAUSE_PLAIN,
	PAUSE_GENERATION_0,
	PAUSE_GENERATION_1,
	PAUSE_GENERATION_2,
	PAUSE_FULL,
	PAUSE_SCAVENGE,
	PAUSE_MARK_COMPACT,
	PAUSE_MINOR_MARK,
	PAUSE_CYCLE_BEGINS,
	PAUSE_CYCLE_ENDS,
	PAUSE_CAUSES,
};

/*
 * Whether HotSpot's VM Thread collects garbage in the operation with this name, for the thread that
 * asked for it and waits until it has ended. Others that have to do with collections are asked for
 * by threads of the collector.
 */
static inline bool runtime_is_collection(const char *name)
{
	const __u64 collect = 0x436f6c6c656374ULL, parallel = 0x506172616c6c656cULL;
	const __u64 g1_try = 0x4731547279ULL; /* G1TryInitiateConcMark */
	bool found = false;
	__u64 last = 0; /* up to eight letters */

#ifdef __clang__
#pragma clang loop unroll(disable)
#endif
	for (int i = 0; i < RUNTIME_NAME_BYTES; i++) {
		last = last << 8 | (__u8)name[i];
		found |= (last & ((1ULL << 56) - 1)) == collect;
		if (i == 4 || i == 7)
			found |= last == (i == 4 ? g1_try : parallel);
	}
	return found;
}

/* In the hash of a name: runtime_is_collection(). */
#define RUNTIME_COLLECTION 1ULL

/* The second number of objects, which are operations; the first is a hash of the name. */
#define PAUSE_OBJECT_NAMED 1

/* What a hit means. */
enum pause_step {
	PAUSE_STEP_NONE,
	PAUSE_BEGINS,
	PAUSE_ENDS,
	PAUSE_IS,      /* the open pause is of the site's place and cause */
	PAUSE_ASKED,   /* this thread asks for the operation that the argument names */
	PAUSE_WORKS,   /* the operation that the argument names begins; it stops all threads */
	PAUSE_WORKED,  /* it ends */
	PAUSE_COUNTED, /* something that has no end */
};

/* What the argument tells. */
enum pause_tells {
	PAUSE_TELLS_NOTHING,
	PAUSE_TELLS_GENERATION,
	PAUSE_TELLS_FULL, /* nonzero: PAUSE_FULL */
	PAUSE_TELLS_NAME, /* the address of a string */
};

enum pause_flags {
	PAUSE_BY_FRAME = 1, /* begins at the entry of a function and ends at its return */
	PAUSE_IS_STOP = 2,  /* PAUSE_WORKS: there is no other hook that shows the stop itself */
};

/* What the kernel half needs to know of a place in a program. */
struct runtime_site {
	struct probe_argument argument;
	struct probe_argument second; /* PAUSE_WORKS: 0 if the operation stops all threads */
	__u8 step;                    /* enum pause_step */
	__u8 place;                   /* enum pause_place */
	__u8 cause;                   /* enum pause_cause */
	__u8 tells;                   /* enum pause_tells */
	__u8 parameter;               /* of the function: has the argument; 0: `argument` says */
	__u8 flags;                   /* enum pause_flags */
	__u8 pad[2];
};
_Static_assert(sizeof(struct runtime_site) == 40, "wire format");

enum runtime_kinds { RUNTIME_PAUSE, RUNTIME_NAME };

/* A long pause. head.time_ns: when it ended. */
struct runtime_pause {
	struct wire_head head;
	__u64 thread; /* the one that asked for it, or ran it */
	__u64 stack;  /* hash of the user stack of the one that ran it; 0: none */
	__u64 object[2];
	__u64 pause_ns;
	__u64 run_ns; /* running time of the thread that ran it */
	__u32 place;
	__u16 operation;
	__u16 pad;
};
_Static_assert(sizeof(struct runtime_pause) == 24 + 56, "wire format");

/* The first operation with this name. */
struct runtime_name {
	struct wire_head head;
	__u64 object[2];
	char name[RUNTIME_NAME_BYTES];
};
_Static_assert(sizeof(struct runtime_name) == 24 + 16 + RUNTIME_NAME_BYTES, "wire format");
