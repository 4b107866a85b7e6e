/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows: requests and calls, by which the ledger is cut. A window begins and ends, and threads
 * work for it meanwhile. What they did is a difference of their accounts, so the parts of a window
 * add up to its length.
 *
 *   server request  R, the first byte readable in the socket → E, the return of the call that gave
 *                   the kernel the last byte of the answer
 *   client request  entry of the call that sends its first byte → return of the call that reads the
 *                   last byte of the answer
 *   call            entry → return of a function, on one thread
 */
#pragma once

#include "bpf/wire.h"
#include "vocabulary/histogram.h"
#include "vocabulary/slots.h"
#include "vocabulary/windows.def"

#define WINDOW_KIND_OF(kind, ...)         WINDOW_##kind,
#define WINDOW_PROTOCOL_OF(protocol, ...) WINDOW_PROTOCOL_##protocol,
#define WINDOW_STATUS_OF(status, ...)     WINDOW_STATUS_##status,
#define WINDOW_EVIDENCE_OF(evidence, ...) WINDOW_BY_##evidence,
#define WINDOW_PART_OF(part, ...)         WINDOW_PART_##part,

enum window_kind { WINDOW_KINDS(WINDOW_KIND_OF) WINDOW_KIND_COUNT };
enum window_protocol { WINDOW_PROTOCOLS(WINDOW_PROTOCOL_OF) WINDOW_PROTOCOL_COUNT };
enum window_status { WINDOW_STATUSES(WINDOW_STATUS_OF) WINDOW_STATUS_COUNT };
enum window_evidence { WINDOW_EVIDENCES(WINDOW_EVIDENCE_OF) WINDOW_EVIDENCE_COUNT };
enum window_part { WINDOW_PARTS(WINDOW_PART_OF) WINDOW_PART_COUNT };

/* Columns of times: first those of the states of threads that worked for it, then the parts. */
#define WINDOW_COLUMNS      (SLOT_COUNT + WINDOW_PART_COUNT)
#define WINDOW_COLUMN(part) (SLOT_COUNT + WINDOW_PART_##part)

#define WINDOW_TEXT_BYTES 64
/* Of the header of an HTTP request, which is looked at for ids and not kept. */
#define WINDOW_HEADER_BYTES 1024
#define WINDOW_WAITS        4
#define WINDOW_CLASSES      64
/* Bands that have room: a band has the windows of one class whose lengths are in one bucket. */
#define WINDOW_BANDS 2048
/* Places for windows of one band and period, see kept.bpf.h. */
#define WINDOW_KEPT 8

/* What windows have in common that are counted together. */
struct window_class_key {
	__u64 text;    /* hash of what the first words of the request stand for; 0: any */
	__u64 service; /* AF_UNIX: its name's address in the kernel; TCP: namespace, and peer */
	__u16 port;    /* of the side that serves; call: the number of the function */
	__u8 family;   /* AF_… */
	__u8 kind;
	__u8 protocol;
	__u8 status;
	__u8 pad[2];
};
_Static_assert(sizeof(struct window_class_key) == 24, "wire format");

/* Exact sums of the windows of one band on one CPU. Mapped by user space. */
struct window_band {
	__u64 count; /* of windows */
	__u64 n;     /* of requests: a window of pipelined commands has several */
	__u64 ns[WINDOW_COLUMNS];
};

/* The two ends of a connection. */
struct window_ends {
	__u64 service; /* as in struct window_class_key */
	__u16 local_port, peer_port;
	__u8 family;
	__u8 pad[3];
	__u8 local[16], peer[16]; /* addresses: the first 4 bytes for AF_INET */
};
_Static_assert(sizeof(struct window_ends) == 48, "wire format");

/* What one wait of a window was for. */
struct window_wait {
	__u64 object[2];
	__u64 by, first;
	__u64 ns;
	__u32 count;
	__u32 pid; /* as in struct ledger_key */
	__u8 slot, object_kind, by_kind, evidence;
	__u8 pad[4];
};
_Static_assert(sizeof(struct window_wait) == 56, "wire format");

/* A window, from its begin to its end. */
struct window {
	__u64 serial;
	__u64 thread;    /* the id of the thread that read its first byte, sent it or called */
	__u64 ready_ns;  /* R; client, call: the begin */
	__u64 read_ns;   /* its first byte was read; client: the request was sent */
	__u64 answer_ns; /* the first byte of the answer was sent, or read; 0: not yet */
	__u64 end_ns;    /* the last byte that is known */
	__u64 after_ns;  /* what its threads did for it after the last byte */
	__u64 parent;    /* serial of the window that this one works for; 0: none */
	__u32 n;         /* requests in it */
	__u32 left;      /* bytes of the answer in the send queue at the end */
	__u32 segments;
	__u8 evidence; /* of the parent, enum window_evidence */
	__u8 worker;   /* how the thread that answered is known to have worked for it, likewise */
	__u16 header;  /* 1 + its place, see request_header.bpf.h; 0: there is none */
	__u64 ns[WINDOW_COLUMNS];
	struct window_wait waits[WINDOW_WAITS]; /* the longest; ns 0: none */
	char text[WINDOW_TEXT_BYTES];           /* begin of the request; may not end with NUL */
};

enum window_record_kind { WINDOW_CLASS, WINDOW_KEPT_ONE, WINDOW_MARKED };

enum window_record_flags {
	WINDOW_IS_CHOSEN = 1, /* chosen at random among the windows of its band */
	WINDOW_IS_SLOW = 2,   /* one of the slowest of its class */
	WINDOW_IS_MARKED = 4, /* a sample belongs to it */
};

/* A class was seen for the first time. */
struct window_class_record {
	struct wire_head head;
	struct window_class_key key;
	__u64 thread; /* the id of a thread that works for its windows */
	__u32 class;
	__u32 pad;
	struct window_ends ends;
	char path[WINDOW_TEXT_BYTES]; /* AF_UNIX: the name of the serving socket */
	char text[WINDOW_TEXT_BYTES]; /* the begin of its first request */
};
_Static_assert(sizeof(struct window_class_record) == 24 + 24 + 16 + 48 + 128, "wire format");

/* A window that was chosen to be kept, or that a sample belongs to (only then it has no details).
 */
struct window_record {
	struct wire_head head; /* time_ns: E */
	__u32 class;
	__u32 flags;  /* enum window_record_flags */
	__u32 bucket; /* of its length */
	__u32 place;  /* chosen: which of the WINDOW_KEPT places of its band it takes */
	__u32 period; /* in which it was chosen; a number that user space increments */
	__u32 pad;
	struct window_ends ends;
	struct window window;
};

/* The same, with the begin of its header; it may not end with NUL. */
struct window_headed_record {
	struct window_record record;
	char header[WINDOW_HEADER_BYTES];
};

/* The same without details. */
struct window_marked_record {
	struct wire_head head;
	__u64 serial, thread, ready_ns, parent;
	__u32 class;
	__u32 pad;
};
_Static_assert(sizeof(struct window_marked_record) == 24 + 40, "wire format");

/* Counted where they happen. */
enum window_count {
	WINDOWS_LOST,         /* windows without room */
	WINDOWS_SOCKETS_LOST, /* sockets whose place another one took while a window was open */
	WINDOWS_MERGED,       /* windows of classes without room: they are in class 0 */
	WINDOWS_UNSENT,       /* records of single windows without room in the ring */
	WINDOWS_RESYNC,       /* times that a parser lost its place */
	WINDOWS_LATE_READY,   /* windows whose R is missing */
	WINDOWS_CONTRADICTED, /* links that turned out wrong, and were dropped */
	WINDOWS_REMAINDER,    /* windows whose parts do not add up to their length */
	WINDOWS_REMAINDER_NS,
	WINDOWS_UNHANDED,    /* windows of which it is not known when their worker began */
	WINDOWS_UNHANDED_NS, /* their time until then */
	WINDOWS_OPEN,        /* windows that had not ended at the end */
	WINDOWS_CALLS_OPEN,  /* calls that have not returned */
	WINDOWS_STREAMS,     /* windows that are streams: no length is claimed */
	WINDOWS_BY_SOCKET,   /* links, by evidence */
	WINDOWS_BY_SEGMENT,
	WINDOWS_BY_EDGE,
	WINDOWS_BY_INFERENCE,
	WINDOW_COUNTS,
};
