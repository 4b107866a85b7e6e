/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of functions and hits of declared probes. Sent by functions.bpf.h, decoded by functions.c.
 */
#pragma once

#include "bpf/path.h"
#include "bpf/probe_argument.h"
#include "bpf/wire.h"

/* The sites are numbered from 1; 0 is that of the calibration. */
#define FUNCTIONS_SITES     65
#define FUNCTIONS_ARGUMENTS 6

enum functions_kind { FUNCTIONS_CALL, FUNCTIONS_CALLER, FUNCTIONS_KEY };

enum functions_operation {
	FUNCTIONS_CALLED,   /* counted at the entry; the return is not observed */
	FUNCTIONS_ZERO,     /* what it returned, by sign */
	FUNCTIONS_POSITIVE, /* less than 2^32 */
	FUNCTIONS_NEGATIVE,
	FUNCTIONS_LARGE, /* 2^32 or more: an address, or a large number */
	FUNCTIONS_PROBE, /* a declared probe was hit */
	FUNCTIONS_OPERATIONS,
};

enum functions_site_flags {
	FUNCTIONS_COUNT_ONLY = 1, /* no probe is at the return */
	FUNCTIONS_IS_PROBE = 2,   /* USDT */
	FUNCTIONS_NO_CALLER = 4,  /* not at the entry: the return address is elsewhere */
	FUNCTIONS_IN_KERNEL = 8,
	FUNCTIONS_IS_WINDOW = 16, /* its calls are windows */
};

/* What the kernel half needs to know of a place. */
struct functions_site {
	__u32 place; /* of the series: one for each name, which may have several sites */
	__u16 flags; /* enum functions_site_flags */
	__u16 argument_count;
	struct probe_argument arguments[FUNCTIONS_ARGUMENTS];
};
_Static_assert(sizeof(struct functions_site) == 104, "wire format");

/* A slow call, or a hit of a declared probe. */
struct functions_record {
	struct wire_head head; /* head.time_ns: when it returned, or was hit */
	__u64 thread;
	__u64 stack; /* hash of its user stack; 0: none */
	__u64 object[2];
	__u64 duration_ns;
	__s64 returned;
	__s64 arguments[FUNCTIONS_ARGUMENTS];
	__u32 place;
	__u16 operation; /* enum functions_operation */
	__u8 argument_count;
	__u8 unread; /* a bit for each argument that could not be read */
};
_Static_assert(sizeof(struct functions_record) == 128, "wire format");

/* The first call from somewhere: what its object is. */
struct functions_caller {
	struct wire_head head;
	__u64 object[2];
	__u64 offset; /* of the return address, in the file */
	__u32 pid;    /* of a process that maps the file; 0: not visible here */
	__u32 pad;
	struct path_names path;
};
_Static_assert(sizeof(struct functions_caller) == 24 + 32 + 648, "wire format");

/* The first hit of a declared probe with this value of its first argument. */
struct functions_key {
	struct wire_head head;
	__u64 object[2];
	__s64 value;
};
_Static_assert(sizeof(struct functions_key) == 48, "wire format");
