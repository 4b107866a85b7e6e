/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracepoints, functions and declared probes that the command line names. events.c says what to
 * read of each (struct events_knobs, set before the load), events.bpf.h reads it and sends names
 * and single events.
 */
#pragma once

#include "bpf/wire.h"

#define EVENTS_SINGLES    16                                  /* of --event */
#define EVENTS_PAIRS      8                                   /* of --pair */
#define EVENTS_TRACED     (EVENTS_SINGLES + 2 * EVENTS_PAIRS) /* specs of tracepoints */
#define EVENTS_SPECS      128                                 /* with those of probes */
#define EVENTS_AT_ONE     4    /* that share a tracepoint or a probe */
#define EVENTS_TEXT_BYTES 128  /* with the NUL */
#define EVENTS_RECORD     8192 /* more than any event of the kernel has */

_Static_assert(!(EVENTS_SPECS & (EVENTS_SPECS - 1)), "it is used as a mask");

/* Operations: those of --event, then four for each --pair. */
enum events_outcome {
	EVENTS_PAIRED,
	EVENTS_BEGUN_AGAIN, /* a begin without an end: the same key began again */
	EVENTS_NOT_BEGUN,   /* an end without a begin */
	EVENTS_OPEN,        /* a begin whose end had not come when recording ended */
	EVENTS_OUTCOMES,
};
#define EVENTS_OPERATIONS (EVENTS_SINGLES + EVENTS_OUTCOMES * EVENTS_PAIRS)

enum events_kind {
	EVENTS_NO_FIELD,
	EVENTS_UNSIGNED,
	EVENTS_SIGNED,
	EVENTS_TEXT,     /* an array of characters */
	EVENTS_DATA_LOC, /* length and offset of a text */
	EVENTS_REL_LOC,  /* the same; the offset counts from behind the field */
};

/* Where a field is. The record of a probe is the registers, struct pt_regs. */
enum events_source {
	EVENTS_IN_RECORD,
	EVENTS_AT_ADDRESS, /* in user memory: `value` behind the address in the record */
	EVENTS_CONSTANT,   /* `value` itself */
};

struct events_field {
	__u16 offset; /* in the record */
	__u16 size;
	__u16 kind;   /* enum events_kind */
	__u16 source; /* enum events_source */
	__s64 value;
};
_Static_assert(sizeof(struct events_field) == 16, "wire format");

enum events_role { EVENTS_COUNTED, EVENTS_BEGINS, EVENTS_ENDS };

/* One thing to do when a tracepoint is reached. */
struct events_spec {
	struct events_field key;   /* of pairs: what both have in common; none: the thread */
	struct events_field value; /* not for pairs */
	__u32 role;                /* enum events_role */
	__u32 operation;
};
_Static_assert(sizeof(struct events_spec) == 40, "wire format");

/* One tracepoint or probe: the numbers of its specs, plus 1; 0: no more. Ends of pairs come first.
 */
struct events_point {
	__u8 specs[EVENTS_AT_ONE];
};

/* The only variable of the section .rodata.events, set before the load. */
struct events_knobs {
	struct events_spec specs[EVENTS_SPECS];
	struct events_point points[EVENTS_SPECS];
	__u32 first_probe; /* point: its cookie is 1; 0 is that of the calibration */
	__u32 pad;
};

/* Objects: the key is in numbers[0], the operation plus 1 in numbers[1], for texts with this. */
#define EVENTS_IS_TEXT ((__u64)1 << 32)

/* The key of a text among those whose names were sent. */
#define EVENTS_HASH_FACTOR             0x9e3779b97f4a7c15
#define EVENTS_NAMED_AS(hash, numbers) ((hash) ^ (numbers) * EVENTS_HASH_FACTOR)

/* Places. Values below 0 are kept apart, by their magnitude. */
enum events_place { EVENTS_ANYWHERE, EVENTS_NEGATIVE };

/* A begin that waits for its end. */
struct events_open_key {
	__u64 key; /* a number, a hash of a text, or the thread */
	__u64 operation;
};

struct events_open_value {
	__u64 time_ns;
	__u64 thread; /* that began */
};

enum events_record_kind { EVENTS_NAME, EVENTS_HAPPENED };

/* The text of an object, sent when it is first seen. */
struct events_name {
	struct wire_head head;
	__u64 object[2];
	char text[EVENTS_TEXT_BYTES]; /* truncated; ends with NUL */
};
_Static_assert(sizeof(struct events_name) == 168, "wire format");

/* A slow pair; with 'watch --every', each event and pair. */
struct events_happened {
	struct wire_head head;
	__u64 thread;
	__u64 stack; /* hash of its user stack; 0: none */
	__u64 object[2];
	__u64 duration_ns;
	__u64 value;
	__u32 place;
	__u32 operation;
};
_Static_assert(sizeof(struct events_happened) == 80, "wire format");
