/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the worker, which has no privileges, may ask the supervisor for: what code there is, and to
 * begin and end sampling. Over a SOCK_SEQPACKET pair, one struct per message.
 *
 * The supervisor trusts no question: it has a fixed size, it names code by number only, and no
 * answer contains more than a store gets anyway.
 */
#pragma once

#include <stdint.h>

#define CODE_BUILD_ID_BYTES 130 /* 64 bytes in hexadecimal, and the end */
#define CODE_PATH_BYTES     1024

enum code_wish {
	CODE_MODULE = 1, /* number: of a module (bpf/stack.h). It keeps its number until CODE_LEAVE
			  */
	CODE_KERNEL,     /* number: an address; which part of the kernel it is in */
	/* number: 1 begins sampling, 0 ends it; size: whether there is sampling now; base: since
	   when */
	CODE_SAMPLE,
	CODE_USED,  /* number: of a module whose tables are in use; no answer */
	CODE_LEAVE, /* number: of a module that is not needed any more; no answer */
	CODE_REST,  /* forget all code, if there is no sampling; no answer */
	CODE_COST, /* size: CPU time of the supervisor and its helpers; base: bytes of unwind tables
		    */
};

struct code_question {
	uint32_t wish;     /* enum code_wish */
	uint32_t sequence; /* the answer has the same */
	uint64_t number;
};
_Static_assert(sizeof(struct code_question) == 16, "wire format");

struct code_answer {
	int32_t err; /* 0 or -errno */
	uint32_t sequence;
	uint64_t base; /* of a part of the kernel: its first address */
	uint64_t size;
	uint8_t is_vdso;
	uint8_t wish; /* enum code_wish: the question's */
	uint8_t padding[4];
	char build_id[CODE_BUILD_ID_BYTES]; /* hexadecimal; "": none */
	char path[CODE_PATH_BYTES];         /* its end, if it is longer */
};
_Static_assert(sizeof(struct code_answer) == 24 + 6 + 130 + 1024, "wire format");
