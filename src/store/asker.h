/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks the store a question again and again, in a thread of its own, so that whoever uses the
 * answer never waits for a network. Answers are bounded (ANSWER_MOST_BYTES).
 *
 * Two threads: that of the caller, and that of the asker.
 */
#pragma once

#include "store/http.h"

struct asker_options {
	struct http_options http; /* strings are copied */
	/* Between two questions, give or take 20 % at random, so that hosts do not ask together. */
	uint64_t interval_ns;
	uint64_t first_ns; /* the first question comes at a random time within this */
};

struct asker_answer {
	char *bytes; /* terminated; the caller frees them */
	size_t size;
};

struct asker;

/* -EINVAL: the URL. */
int asker__new(const struct asker_options *options, struct asker **ret);
/* A request that is under way is given up. */
void asker__free(struct asker *asker);

/* What to ask from now on; nothing is asked before the first call. Copies it. -ENOMEM. */
int asker__set(struct asker *asker, const char *sql);

#define ASKER_PROBLEM_BYTES 128
/*
 * The answer that came since the last call. -EAGAIN: none. -EIO: the last question failed;
 * `ret_problem` says why.
 */
int asker__take(struct asker *asker, struct asker_answer *ret,
		char ret_problem[static ASKER_PROBLEM_BYTES]);
