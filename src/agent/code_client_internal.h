/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to code_client.c, which knows modules, and code_asking.c, which asks the supervisor. */
#pragma once

#include "agent/code_client.h"
#include "agent/code_wire.h"
#include "agent/patience.h"
#include "base/map.h"

/* Code that is in no file, or whose file is not known. */
enum pseudo {
	PSEUDO_ANON,
	PSEUDO_KERNEL,
	PSEUDO_UNMAPPED,
	PSEUDO_LATE,
	PSEUDO_LATE_KERNEL,
	PSEUDO_COUNT
};

struct code_client {
	int fd;
	uint32_t sequence;
	struct patience patience;
	/* The question about code that has no answer yet; wish 0: none. */
	struct code_question open;
	uint64_t opened_ns;
	/* Sampling: what was asked for, and what the supervisor did. */
	struct {
		bool is_wanted, is_sent, is_answered;
		uint32_t sequence; /* of the last question */
		uint64_t asked_ns;
		int err; /* of the last answer */
		bool is_on;
		uint64_t since_ns, on_ns; /* the last change; the sum of earlier times */
	} sampling;
	bool must_rest;     /* CODE_REST could not be sent yet */
	struct map modules; /* by id of the mapper: struct code_module */
	struct code_module **kernel;
	size_t kernel_count;
	struct map unknown; /* by page of the kernel: when it was asked for */
	struct code_module pseudo[PSEUDO_COUNT];
	uint64_t anonymous_count, unanswered, gone;
};

/* Sends without waiting for an answer. Never blocks: -EAGAIN if there is no room. */
int code_client__tell(struct code_client *client, enum code_wish wish, uint64_t number);
/* Sends, and waits as long as patience lasts. The answer's error, or -errno; -ETIMEDOUT: none yet.
 */
int code_client__ask(struct code_client *client, enum code_wish wish, uint64_t number,
		     struct code_answer *ret);
/* Answers that came after they were given up: they are used all the same. -EPIPE: none will come.
 */
int code_client__listen(struct code_client *client);
/* Keeps a file that was named late. */
void code_client__adopt(struct code_client *client, uint64_t id, const struct code_answer *answer);
